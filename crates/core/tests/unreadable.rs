//! One bad item costs one item: what cannot be read hides nothing behind it, and a claim or grant
//! always comes to a decision within its rounds.
#![allow(clippy::unwrap_used)]

mod world;

use ff_core::limits::ExecutionLimits;
use ff_core::machine::{ClaimRequest, GrantNext, Reply, Submit};
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::{ExecutionId, ResourceName};
use world::World;
use world::make::{assignments, brief, claim, grant, id, ms, submit};

/// A lane with `count` executions, the first `bad` of which cannot be read.
fn lane(count: u32, bad: u32, spoil: fn(&mut World, ExecutionId)) -> World {
    let mut world = World::new();
    for n in 1..=count {
        world.submitted(n, brief());
    }
    (1..=bad).for_each(|n| spoil(&mut world, id(n)));
    world
}

fn spoil_record(world: &mut World, id: ExecutionId) {
    world.unreadable.insert(id);
}

fn spoil_input(world: &mut World, execution: ExecutionId) {
    world.store.blobs.remove(&BlobKey { execution, part: BlobPart::Input });
}

const SPOILS: [fn(&mut World, ExecutionId); 2] = [spoil_record, spoil_input];

fn claims(world: &mut World, claim: ClaimRequest) -> Vec<ExecutionId> {
    assignments(world.act(claim).unwrap()).iter().map(|a| a.execution).collect()
}

#[test]
fn a_claim_passes_over_unreadable_heads() {
    for spoil in SPOILS {
        for bad in 1..=8 {
            for retry in [false, true] {
                let mut world = lane(bad + 1, bad, spoil);
                let found = claims(&mut world, ClaimRequest { retry, ..claim("a", 1) });
                assert_eq!(found, [id(bad + 1)], "{bad} unreadable, retry {retry}");
            }
        }
    }
}

#[test]
fn a_large_claim_takes_what_can_be_read() {
    for spoil in SPOILS {
        let mut world = lane(20, 3, spoil);
        let found = claims(&mut world, ClaimRequest { max: 10, ..claim("a", 1) });
        assert_eq!(found, (4..=10).map(id).collect::<Vec<_>>());
        let rest = claims(&mut world, ClaimRequest { max: 20, ..claim("a", 2) });
        assert_eq!(rest, (11..=20).map(id).collect::<Vec<_>>());
    }
}

#[test]
fn a_claim_of_nothing_readable_answers_nothing() {
    for spoil in SPOILS {
        for count in 1..=12 {
            for (max, retry) in [(1, false), (1, true), (3, false), (3, true), (12, false)] {
                let mut world = lane(count, count, spoil);
                let found = claims(&mut world, ClaimRequest { max, retry, ..claim("a", 1) });
                assert_eq!(found, [], "{count} unreadable, max {max}, retry {retry}");
            }
        }
    }
}

#[test]
fn a_grant_passes_over_unreadable_heads() {
    for bad in 1..=8 {
        for retry in [false, true] {
            let mut world = lane(bad + 1, bad, spoil_record);
            let reply = world.act(GrantNext { retry, ..grant("a", 1, ms(50)) });
            let Ok(Reply::Granted(granted)) = reply else { panic!("{reply:?}") };
            assert_eq!(granted.offer.map(|offer| offer.execution), Some(id(bad + 1)));
        }
    }
}

#[test]
fn a_grant_of_nothing_readable_offers_nothing() {
    for count in 1..=12 {
        let mut world = lane(count, count, spoil_record);
        let reply = world.act(grant("a", 1, ms(50)));
        let Ok(Reply::Granted(granted)) = reply else { panic!("{reply:?}") };
        assert_eq!((granted.offer, granted.again), (None, false));
    }
}

#[test]
fn limited_work_behind_an_unreadable_head_is_asked_for() {
    for spoil in SPOILS {
        let mut world = lane(1, 1, spoil);
        let limits = ExecutionLimits {
            quotas: [ResourceName::new("api").unwrap()].into(),
            ..ExecutionLimits::default()
        };
        world.act(Submit { limits, ..submit(2, brief()) }).unwrap();
        let Ok(Reply::Claimed(claimed)) = world.act(claim("a", 1)) else { panic!("refused") };
        let needs: Vec<_> = claimed.needs_admission.iter().map(|needs| needs.execution).collect();
        assert_eq!(needs, [id(2)]);
    }
}
