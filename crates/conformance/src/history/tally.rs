//! What happened in histories, and whether that was enough to conclude anything.

use std::collections::{BTreeMap, BTreeSet};

use ff_core::machine::Command;
use ff_core::table::{ARROWS, Arrow, Node, Verb};
use ff_core::{Code, Execution, ExecutionId, Time, timer};
use ff_testkit::report;

use super::clock::Set;
use super::compare::Answer;
use crate::snapshot::Snapshot;

/// How often each arrow of the transition table must be taken.
const EACH_ARROW: u64 = 20;

/// Counts over histories.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    commands: u64,
    accepted: u64,
    moved: u64,
    arrows: BTreeMap<Arrow, u64>,
    codes: BTreeMap<Code, u64>,
    /// How often the clock was set, and how.
    pub(super) sets: BTreeMap<Set, u64>,
    /// How many executions were removed.
    pub(super) removed: u64,
}

impl Tally {
    pub(crate) fn commands(&self) -> u64 {
        self.commands
    }

    pub(crate) fn add(&mut self, other: &Tally) {
        self.commands += other.commands;
        self.accepted += other.accepted;
        self.moved += other.moved;
        for (arrow, times) in &other.arrows {
            *self.arrows.entry(*arrow).or_default() += times;
        }
        for (code, times) in &other.codes {
            *self.codes.entry(*code).or_default() += times;
        }
        for (set, times) in &other.sets {
            *self.sets.entry(*set).or_default() += times;
        }
        self.removed += other.removed;
    }

    /// Counts one command of the model and the moves it made. A move that is not in the transition
    /// table, or made by a refused command, is an error.
    pub(crate) fn command(
        &mut self,
        command: &Command,
        answer: &Answer,
        before: &Snapshot,
        after: &Snapshot,
        now: Time,
    ) -> Result<(), String> {
        self.commands += 1;
        let changed = changed(before, after);
        self.moved += u64::from(!changed.is_empty());
        match answer {
            Ok(_) => self.accepted += 1,
            Err(error) => {
                let refusal = error.refusal().ok_or_else(|| format!("the model fails: {error}"))?;
                *self.codes.entry(refusal.code()).or_default() += 1;
                if before != after {
                    return Err(format!("the model changes although it refuses: {refusal}"));
                }
            }
        }
        for id in changed {
            let (old, new) = (before.record(id), after.record(id));
            self.removed += u64::from(new.is_none());
            let due = old.and_then(|record| timer::due(record, now));
            let verb = Verb::of(&command.action, id, due).ok_or("a tick moved what was not due")?;
            let arrow = (Node::of(old), verb, Node::of(new));
            if !ARROWS.contains(&arrow) {
                return Err(format!("the model makes a move that is not in the table: {arrow:?}"));
            }
            *self.arrows.entry(arrow).or_default() += 1;
        }
        Ok(())
    }

    /// Prints the counts.
    pub(crate) fn report(&self, name: &str, histories: u64) {
        report::count("histories", histories);
        report::count("history_commands", self.commands);
        report::count("history_accepted", self.accepted);
        report::count("arrows_taken", self.arrows.len() as u64);
        let rarest = ARROWS.iter().min_by_key(|arrow| self.times(arrow));
        let rarest = rarest.map(|arrow| (arrow, self.times(arrow)));
        eprintln!(
            "{name}: {histories} histories, {} commands, {} accepted, {} changed something",
            self.commands, self.accepted, self.moved
        );
        eprintln!("  {} of {} arrows, the rarest {rarest:?}", self.arrows.len(), ARROWS.len());
        eprintln!("  refusals {:?}", self.codes);
    }

    /// Panics unless enough happened.
    pub(crate) fn assert_not_vacuous(&self, name: &str) {
        let rare: Vec<_> = ARROWS
            .iter()
            .filter(|arrow| self.times(arrow) < EACH_ARROW)
            .map(|arrow| (arrow, self.times(arrow)))
            .collect();
        assert!(rare.is_empty(), "{name}: taken less than {EACH_ARROW} times: {rare:#?}");
        let unseen: Vec<_> = Code::ALL.iter().filter(|c| !self.codes.contains_key(c)).collect();
        assert!(unseen.is_empty(), "{name}: nothing was refused with {unseen:?}");
        assert!(
            self.accepted * 2 >= self.commands,
            "{name}: {} of {} commands were accepted, less than half",
            self.accepted,
            self.commands
        );
    }

    fn times(&self, arrow: &Arrow) -> u64 {
        self.arrows.get(arrow).copied().unwrap_or(0)
    }
}

/// The records that differ.
fn changed(before: &Snapshot, after: &Snapshot) -> Vec<ExecutionId> {
    let version = |record: Option<&Execution>| record.map(|record| record.version);
    let all: BTreeSet<_> = before.records.keys().chain(after.records.keys()).copied().collect();
    all.into_iter().filter(|id| version(before.record(*id)) != version(after.record(*id))).collect()
}
