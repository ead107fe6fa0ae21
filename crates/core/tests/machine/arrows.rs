//! The machine makes exactly the moves of the transition table, and random histories are not
//! vacuous: they take every arrow often and see every refusal they can provoke.

use std::collections::{BTreeMap, BTreeSet};

use ff_core::machine::{Reply, Submit};
use ff_core::table::{ARROWS, Arrow};
use ff_core::{Capabilities, Code, Full, Refusal, bounds};

use crate::fixture::make::{brief, cancel, complete, id, replay, submit};
use crate::fixture::random::{Move, Script};
use crate::fixture::{Fixture, report};

const SEEDS: u64 = 3_000;
const STEPS: usize = 300;
const LEAST: u64 = 20;

/// What the histories of all seeds did.
#[derive(Default)]
struct Seen {
    arrows: BTreeMap<Arrow, u64>,
    codes: BTreeMap<Code, u64>,
}

fn histories() -> Seen {
    let mut seen = Seen::default();
    for seed in 0..SEEDS {
        let mut fixture = Fixture::new();
        let mut script = Script::new(seed);
        for _ in 0..STEPS {
            match script.next(&fixture) {
                Move::Wait(span) => fixture.now = fixture.now + span,
                Move::StepBack(span) => fixture.now = fixture.now - span,
                Move::Run(command) => {
                    if let Err(refusal) = fixture.run(&command) {
                        *seen.codes.entry(refusal.code()).or_default() += 1;
                    }
                }
            }
        }
        for (arrow, count) in fixture.arrows {
            *seen.arrows.entry(arrow).or_default() += count;
        }
    }
    seen
}

#[test]
fn every_arrow_of_the_table_is_taken_and_no_other() {
    let seen = histories().arrows;
    for ((from, verb, to), count) in &seen {
        eprintln!("{count:7}  {} --{verb}--> {}", from.as_str(), to.as_str());
    }
    let table: BTreeSet<_> = ARROWS.iter().copied().collect();
    assert_eq!(table.len(), ARROWS.len(), "no arrow is listed twice");
    let taken: BTreeSet<_> = seen.keys().copied().collect();
    assert_eq!(taken.difference(&table).collect::<Vec<_>>(), [] as [&Arrow; 0]);
    assert_eq!(table.difference(&taken).collect::<Vec<_>>(), [] as [&Arrow; 0]);
    let rare: Vec<_> = seen.iter().filter(|(_, count)| **count < LEAST).collect();
    assert_eq!(rare, [], "every arrow is taken at least {LEAST} times");
    report::counts("arrows", &[("arrows", taken.len() as u64)]);
}

#[test]
fn random_histories_see_every_refusal_but_those_of_resources_and_limits_of_collections() {
    let seen = histories().codes;
    eprintln!("{seen:?}");
    let missing: Vec<_> = Code::ALL.into_iter().filter(|code| !seen.contains_key(code)).collect();
    let of_resources =
        [Code::WorkerAlive, Code::NotRegistered, Code::LanePaused, Code::LaneDraining];
    let of_keys = [Code::InvalidToken, Code::NoSigningKey, Code::KeyConflict];
    let of_reads = [Code::CursorExpired, Code::TargetRefused];
    let expected = [&of_resources[..], &[Code::LimitReached], &of_keys[..], &of_reads[..]].concat();
    assert_eq!(missing, expected);
}

#[test]
fn the_number_of_runs_is_bounded() {
    let mut fixture = Fixture::new();
    fixture.submitted(1, brief());
    for run in 0..bounds::RUNS - 1 {
        fixture.act(cancel(id(1), None)).unwrap();
        assert_eq!(fixture.act(replay(id(1), run)), Ok(Reply::Replayed(run + 1)));
    }
    let last = fixture.claimed("a");
    fixture.act(complete(last.hold(), "done")).unwrap();
    let refusal = fixture.act(replay(id(1), bounds::RUNS - 1));
    let what = Full::Runs { most: bounds::RUNS };
    assert_eq!(refusal, Err(Refusal::LimitReached { what }));
}

#[test]
fn the_number_of_required_sets_queued_in_a_lane_is_bounded() {
    let requires = |n: u32| Capabilities::new([format!("c{n}")]).unwrap();
    let mut fixture = Fixture::new();
    let most = bounds::CLASSES_PER_LANE as u32;
    for n in 0..most {
        fixture.act(Submit { requires: requires(n), ..submit(n, brief()) }).unwrap();
    }
    let over = Submit { requires: requires(most), ..submit(most, brief()) };
    let refusal = fixture.act(over).unwrap_err();
    assert_eq!(refusal.code(), Code::LimitReached);
    let said = refusal.to_string();
    assert!(said.starts_with("the lane already queues 1024 distinct capability sets"), "{said}");
    fixture.act(Submit { requires: requires(0), ..submit(most, brief()) }).unwrap();
    fixture.act(submit(most + 1, brief())).unwrap();
}
