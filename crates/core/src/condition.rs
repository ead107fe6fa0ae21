//! What ends a suspension: a tree over the signals that have arrived.
//!
//! The evaluator is incremental: each leaf of the tree keeps 8-byte fingerprints of what it has counted,
//! so no signal is read again. A leaf counts by itself: what one has counted says nothing about another.

use serde::{Deserialize, Serialize};

use crate::bounds::{CONDITION_COUNT, CONDITION_DEPTH, CONDITION_NODES};
use crate::digest::{Digest, Fields};
use crate::name::{SignalName, Source, WaitpointKey};
use crate::refusal::Refusal;
use crate::words;

/// What ends a suspension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Condition {
    /// A signal at a waitpoint.
    Signal {
        /// Where.
        waitpoint: WaitpointKey,
        /// Of this name; of any if there is none.
        name: Option<SignalName>,
    },
    /// All of these.
    All(Vec<Condition>),
    /// One of these.
    Any(Vec<Condition>),
    /// So many of something.
    Count {
        /// How many.
        n: u32,
        /// Of what.
        of: CountOf,
        /// At which waitpoints; at every one of the suspension if there are none.
        waitpoints: Vec<WaitpointKey>,
        /// Only signals of this name; of any if there is none.
        name: Option<SignalName>,
    },
}

words!(
    /// What a condition counts.
    CountOf {
        /// Signals.
        Signals = "signals",
        /// Distinct sources of signals: a second signal by the same one does not count.
        Sources = "sources",
        /// Distinct waitpoints that have received one.
        Waitpoints = "waitpoints",
    }
);

/// What a leaf has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counted {
    /// Which node of the tree, in the order in which it is read.
    pub node: u8,
    /// The fingerprint of what was counted.
    pub digest: u64,
    /// The signal by which it was counted.
    pub signal: u64,
}

/// What the evaluator needs of a signal. Fingerprints of names, 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Arrival {
    /// Its number among the signals of the execution.
    pub number: u64,
    /// Its name.
    pub name: u64,
    /// Its source.
    pub source: u64,
}

impl Arrival {
    /// What the evaluator needs of a signal.
    pub fn new(number: u64, name: Option<&SignalName>, source: &Source) -> Arrival {
        Arrival { number, name: name_digest(name), source: digest(source.as_str()) }
    }
}

fn digest(text: &str) -> u64 {
    Digest::of(|fields| fields.text(text)).get()
}

fn name_digest(name: Option<&SignalName>) -> u64 {
    name.map_or(0, |name| digest(name.as_str()))
}

impl Condition {
    /// Refuses a tree that is too large, that names a waitpoint outside `waitpoints`, or that no
    /// signals satisfy.
    pub fn check(&self, waitpoints: &[WaitpointKey]) -> Result<(), Refusal> {
        let (mut nodes, mut sum) = (0, 0);
        self.measure(1, &mut nodes, &mut sum, waitpoints)
    }

    fn measure(
        &self,
        depth: usize,
        nodes: &mut usize,
        sum: &mut usize,
        all: &[WaitpointKey],
    ) -> Result<(), Refusal> {
        *nodes += 1;
        Refusal::cap("condition", depth, CONDITION_DEPTH, "levels")?;
        Refusal::cap("condition", *nodes, CONDITION_NODES, "nodes")?;
        let known = |key: &WaitpointKey| match all.contains(key) {
            true => Ok(()),
            false => {
                let why = format!("names waitpoint {key}, which is not among the waitpoints");
                Err(Refusal::invalid("condition", why))
            }
        };
        match self {
            Condition::Signal { waitpoint, .. } => {
                *sum += 1;
                known(waitpoint)?;
            }
            Condition::All(parts) | Condition::Any(parts) => {
                if parts.is_empty() {
                    let why = "has an empty all or any; give it at least one part";
                    return Err(Refusal::invalid("condition", why));
                }
                parts.iter().try_for_each(|part| part.measure(depth + 1, nodes, sum, all))?;
            }
            Condition::Count { n, of, waitpoints, .. } => {
                *sum += *n as usize;
                waitpoints.iter().try_for_each(known)?;
                let most = match (of, waitpoints.len()) {
                    (CountOf::Signals | CountOf::Sources, _) => CONDITION_COUNT,
                    (CountOf::Waitpoints, 0) => all.len(),
                    (CountOf::Waitpoints, named) => named,
                };
                let repeats =
                    (1..waitpoints.len()).any(|at| waitpoints[..at].contains(&waitpoints[at]));
                if repeats {
                    return Err(Refusal::invalid(
                        "condition",
                        "names a waitpoint twice in one count",
                    ));
                }
                if *n == 0 || *n as usize > most {
                    let why = format!("counts to {n}; give 1 to {most}");
                    return Err(Refusal::invalid("condition", why));
                }
            }
        }
        Refusal::cap("condition", *sum, CONDITION_COUNT, "counted in all")
    }

    /// Counts a signal that has arrived at `waitpoint`.
    pub fn count(&self, counted: &mut Vec<Counted>, waitpoint: &WaitpointKey, arrival: Arrival) {
        self.count_from(&mut 0, counted, waitpoint, arrival);
    }

    fn count_from(
        &self,
        node: &mut u8,
        counted: &mut Vec<Counted>,
        at: &WaitpointKey,
        arrival: Arrival,
    ) {
        let this = *node;
        *node += 1;
        let is_named = |name: &Option<SignalName>| {
            name.is_none() || name_digest(name.as_ref()) == arrival.name
        };
        let (n, digest) = match self {
            Condition::All(parts) | Condition::Any(parts) => {
                return parts.iter().for_each(|part| part.count_from(node, counted, at, arrival));
            }
            Condition::Signal { waitpoint, name } if waitpoint == at && is_named(name) => {
                (1, arrival.number)
            }
            Condition::Count { n, of, waitpoints, name }
                if (waitpoints.is_empty() || waitpoints.contains(at)) && is_named(name) =>
            {
                let digest = match of {
                    CountOf::Signals => arrival.number,
                    CountOf::Sources => arrival.source,
                    CountOf::Waitpoints => digest(at.as_str()),
                };
                (*n as usize, digest)
            }
            Condition::Signal { .. } | Condition::Count { .. } => return,
        };
        let mine = || counted.iter().filter(|one| one.node == this);
        if mine().count() < n && mine().all(|one| one.digest != digest) {
            counted.push(Counted { node: this, digest, signal: arrival.number });
        }
    }

    /// Whether what was counted satisfies it.
    pub fn is_satisfied(&self, counted: &[Counted]) -> bool {
        self.is_satisfied_from(&mut 0, counted)
    }

    fn is_satisfied_from(&self, node: &mut u8, counted: &[Counted]) -> bool {
        let this = *node;
        *node += 1;
        let so_far = || counted.iter().filter(|one| one.node == this).count();
        // Each part is visited, also when the answer is known: the nodes behind it need their numbers.
        let mut satisfied = |parts: &[Condition]| -> Vec<bool> {
            parts.iter().map(|part| part.is_satisfied_from(node, counted)).collect()
        };
        match self {
            Condition::All(parts) => satisfied(parts).into_iter().all(|part| part),
            Condition::Any(parts) => satisfied(parts).into_iter().any(|part| part),
            Condition::Signal { .. } => so_far() > 0,
            Condition::Count { n, .. } => so_far() >= *n as usize,
        }
    }

    /// The most that its leaves can have counted, by node: what `counted` may hold.
    pub fn capacity(&self) -> Vec<u32> {
        let mut most = Vec::new();
        self.add_capacity(&mut most);
        most
    }

    fn add_capacity(&self, most: &mut Vec<u32>) {
        match self {
            Condition::Signal { .. } => most.push(1),
            Condition::Count { n, .. } => most.push(*n),
            Condition::All(parts) | Condition::Any(parts) => {
                most.push(0);
                parts.iter().for_each(|part| part.add_capacity(most));
            }
        }
    }

    pub(crate) fn fingerprint(&self, fields: &mut Fields) {
        let name = |fields: &mut Fields, name: &Option<SignalName>| {
            fields.text(name.as_ref().map_or("", SignalName::as_str));
        };
        match self {
            Condition::Signal { waitpoint, name: of } => {
                fields.number(0);
                fields.text(waitpoint.as_str());
                name(fields, of);
            }
            Condition::All(parts) | Condition::Any(parts) => {
                fields.number(if matches!(self, Condition::All(_)) { 1 } else { 2 });
                fields.number(parts.len() as u64);
                parts.iter().for_each(|part| part.fingerprint(fields));
            }
            Condition::Count { n, of, waitpoints, name: named } => {
                fields.number(3);
                fields.number(u64::from(*n));
                fields.text(of.as_str());
                fields.number(waitpoints.len() as u64);
                waitpoints.iter().for_each(|key| fields.text(key.as_str()));
                name(fields, named);
            }
        }
    }
}

#[cfg(test)]
#[path = "condition_tests.rs"]
mod tests;
