//! The evaluator against a naive one that reads all signals again, over a million random cases.

use std::collections::BTreeSet;

use fastrand::Rng;

use super::*;

const CASES: u64 = 1_000_000;
const KEYS: [&str; 4] = ["a", "b", "c", "d"];
const NAMES: [Option<&str>; 3] = [None, Some("yes"), Some("no")];
const SOURCES: [&str; 3] = ["ann", "bob", "cleo"];

/// A signal as it came.
#[derive(Debug, Clone)]
struct Came {
    at: WaitpointKey,
    name: Option<SignalName>,
    source: Source,
}

fn key(key: &str) -> WaitpointKey {
    WaitpointKey::new(key).unwrap()
}

fn name(rng: &mut Rng) -> Option<SignalName> {
    NAMES[rng.usize(..NAMES.len())].map(|name| SignalName::new(name).unwrap())
}

fn came(rng: &mut Rng, keys: &[WaitpointKey]) -> Came {
    Came {
        at: keys[rng.usize(..keys.len())].clone(),
        name: name(rng),
        source: Source::new(SOURCES[rng.usize(..SOURCES.len())]).unwrap(),
    }
}

/// A tree of at most this many levels.
fn tree(rng: &mut Rng, levels: usize, keys: &[WaitpointKey]) -> Condition {
    let parts = |rng: &mut Rng| {
        (0..1 + rng.usize(..3)).map(|_| tree(rng, levels - 1, keys)).collect::<Vec<_>>()
    };
    match rng.u8(..8) {
        0 | 1 if levels > 1 => Condition::All(parts(rng)),
        2 | 3 if levels > 1 => Condition::Any(parts(rng)),
        4 | 5 => {
            Condition::Signal { waitpoint: keys[rng.usize(..keys.len())].clone(), name: name(rng) }
        }
        _ => {
            let waitpoints: Vec<_> = keys.iter().filter(|_| rng.bool()).cloned().collect();
            let of = CountOf::ALL[rng.usize(..CountOf::ALL.len())];
            let there = if waitpoints.is_empty() { keys.len() } else { waitpoints.len() };
            let most = if of == CountOf::Waitpoints { there as u32 } else { 4 };
            Condition::Count { n: 1 + rng.u32(..most), of, waitpoints, name: name(rng) }
        }
    }
}

/// What the condition means, said once more: it reads every signal.
fn means(condition: &Condition, all: &[Came]) -> bool {
    let named = |name: &Option<SignalName>, came: &Came| {
        name.as_ref().is_none_or(|name| came.name.as_ref() == Some(name))
    };
    match condition {
        Condition::Signal { waitpoint, name } => {
            all.iter().any(|came| came.at == *waitpoint && named(name, came))
        }
        Condition::All(parts) => parts.iter().all(|part| means(part, all)),
        Condition::Any(parts) => parts.iter().any(|part| means(part, all)),
        Condition::Count { n, of, waitpoints, name } => {
            let here = |came: &&Came| waitpoints.is_empty() || waitpoints.contains(&came.at);
            let counted = all.iter().filter(here).filter(|came| named(name, came));
            let count = match of {
                CountOf::Signals => counted.count(),
                CountOf::Sources => counted.map(|came| &came.source).collect::<BTreeSet<_>>().len(),
                CountOf::Waitpoints => counted.map(|came| &came.at).collect::<BTreeSet<_>>().len(),
            };
            count >= *n as usize
        }
    }
}

#[test]
fn the_evaluator_agrees_with_one_that_reads_all_signals_again() {
    let seed = std::env::var("FF_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    let (mut rng, mut cases, mut satisfied) = (Rng::with_seed(seed), 0, 0_u64);
    let keys = KEYS.map(key);
    while cases < CASES {
        let condition = tree(&mut rng, CONDITION_DEPTH, &keys);
        if condition.check(&keys).is_err() {
            continue;
        }
        let capacity = condition.capacity();
        let (mut counted, mut all) = (Vec::new(), Vec::new());
        for number in 0..8 {
            let signal = came(&mut rng, &keys);
            let arrival = Arrival::new(number, signal.name.as_ref(), &signal.source);
            condition.count(&mut counted, &signal.at, arrival);
            all.push(signal);
            let answer = condition.is_satisfied(&counted);
            assert_eq!(answer, means(&condition, &all), "seed {seed}: {condition:?} of {all:?}");
            (cases, satisfied) = (cases + 1, satisfied + u64::from(answer));
            let most: u32 = capacity.iter().sum();
            assert!(counted.len() <= most as usize, "{condition:?} counted {counted:?}");
        }
    }
    assert!((CASES / 10..CASES * 9 / 10).contains(&satisfied), "{satisfied} of {cases} satisfied");
}

#[test]
fn a_tree_as_large_as_allowed_is_taken_and_one_larger_is_not() {
    let keys = KEYS.map(key);
    let leaf = || Condition::Signal { waitpoint: key("a"), name: None };
    let nested = |levels| (1..levels).fold(leaf(), |inner, _| Condition::All(vec![inner]));
    assert_eq!(nested(CONDITION_DEPTH).check(&keys), Ok(()));
    assert!(nested(CONDITION_DEPTH + 1).check(&keys).is_err());
    let wide = |nodes: usize| Condition::Any(vec![leaf(); nodes - 1]);
    assert_eq!(wide(CONDITION_NODES).check(&keys), Ok(()));
    assert!(wide(CONDITION_NODES + 1).check(&keys).is_err());
    let count = |n| Condition::Count { n, of: CountOf::Signals, waitpoints: vec![], name: None };
    assert_eq!(count(CONDITION_COUNT as u32).check(&keys), Ok(()));
    let two = Condition::Any(vec![count(CONDITION_COUNT as u32), leaf()]);
    assert!(two.check(&keys).is_err());
}
