//! One bad item costs one item: what cannot be read hides nothing behind it, and a claim or grant
//! always comes to a decision within its rounds.

use ff_core::limits::ExecutionLimits;
use ff_core::machine::{ClaimRequest, GrantNext, Reply, Submit};
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::{ExecutionId, ResourceName};

use crate::fixture::Fixture;
use crate::fixture::make::{assignments, brief, claim, grant, id, ms, submit};

/// A lane with `count` executions, the first `bad` of which cannot be read.
fn lane(count: u32, bad: u32, spoil: fn(&mut Fixture, ExecutionId)) -> Fixture {
    let mut fixture = Fixture::new();
    for n in 1..=count {
        fixture.submitted(n, brief());
    }
    (1..=bad).for_each(|n| spoil(&mut fixture, id(n)));
    fixture
}

fn spoil_record(fixture: &mut Fixture, id: ExecutionId) {
    fixture.unreadable.insert(id);
}

fn spoil_input(fixture: &mut Fixture, execution: ExecutionId) {
    fixture.store.blobs.remove(&BlobKey { execution, part: BlobPart::Input });
}

const SPOILS: [fn(&mut Fixture, ExecutionId); 2] = [spoil_record, spoil_input];

fn claims(fixture: &mut Fixture, claim: ClaimRequest) -> Vec<ExecutionId> {
    assignments(fixture.act(claim).unwrap()).iter().map(|a| a.execution).collect()
}

#[test]
fn a_claim_passes_over_unreadable_heads() {
    for spoil in SPOILS {
        for bad in 1..=8 {
            for retry in [false, true] {
                let mut fixture = lane(bad + 1, bad, spoil);
                let found = claims(&mut fixture, ClaimRequest { retry, ..claim("a", 1) });
                assert_eq!(found, [id(bad + 1)], "{bad} unreadable, retry {retry}");
            }
        }
    }
}

#[test]
fn a_large_claim_takes_what_can_be_read() {
    for spoil in SPOILS {
        let mut fixture = lane(20, 3, spoil);
        let found = claims(&mut fixture, ClaimRequest { max: 10, ..claim("a", 1) });
        assert_eq!(found, (4..=10).map(id).collect::<Vec<_>>());
        let rest = claims(&mut fixture, ClaimRequest { max: 20, ..claim("a", 2) });
        assert_eq!(rest, (11..=20).map(id).collect::<Vec<_>>());
    }
}

#[test]
fn a_claim_of_nothing_readable_answers_nothing() {
    for spoil in SPOILS {
        for count in 1..=12 {
            for (max, retry) in [(1, false), (1, true), (3, false), (3, true), (12, false)] {
                let mut fixture = lane(count, count, spoil);
                let found = claims(&mut fixture, ClaimRequest { max, retry, ..claim("a", 1) });
                assert_eq!(found, [], "{count} unreadable, max {max}, retry {retry}");
            }
        }
    }
}

#[test]
fn a_grant_passes_over_unreadable_heads() {
    for bad in 1..=8 {
        for retry in [false, true] {
            let mut fixture = lane(bad + 1, bad, spoil_record);
            let reply = fixture.act(GrantNext { retry, ..grant("a", 1, ms(50)) });
            let Ok(Reply::Granted(granted)) = reply else { panic!("{reply:?}") };
            assert_eq!(granted.offer.map(|offer| offer.execution), Some(id(bad + 1)));
        }
    }
}

#[test]
fn a_grant_of_nothing_readable_offers_nothing() {
    for count in 1..=12 {
        let mut fixture = lane(count, count, spoil_record);
        let reply = fixture.act(grant("a", 1, ms(50)));
        let Ok(Reply::Granted(granted)) = reply else { panic!("{reply:?}") };
        assert_eq!((granted.offer, granted.again), (None, false));
    }
}

#[test]
fn limited_work_behind_an_unreadable_head_is_asked_for() {
    for spoil in SPOILS {
        let mut fixture = lane(1, 1, spoil);
        let limits = ExecutionLimits {
            quotas: [ResourceName::new("api").unwrap()].into(),
            ..ExecutionLimits::default()
        };
        fixture.act(Submit { limits, ..submit(2, brief()) }).unwrap();
        let Ok(Reply::Claimed(claimed)) = fixture.act(claim("a", 1)) else { panic!("refused") };
        let needs: Vec<_> = claimed.needs_admission.iter().map(|needs| needs.execution).collect();
        assert_eq!(needs, [id(2)]);
    }
}
