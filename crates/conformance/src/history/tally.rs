//! What happened in histories, and whether that was enough to conclude anything.

use std::collections::{BTreeMap, BTreeSet};

use ff_core::machine::Command;
use ff_core::table::{Arrow, Node, Verb};
use ff_core::{Code, Execution, ExecutionId, Time, timer};
use ff_testkit::report;

use super::clock::Set;
use super::compare::Answer;
use super::themes::{THEMES, Theme, every_move};
use crate::snapshot::Snapshot;

/// Counts over histories.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    histories: u64,
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
    /// Nothing has happened yet.
    pub(crate) fn of_a_history() -> Tally {
        Tally { histories: 1, ..Tally::default() }
    }

    pub(crate) fn commands(&self) -> u64 {
        self.commands
    }

    pub(crate) fn add(&mut self, other: &Tally) {
        self.histories += other.histories;
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
            if !every_move().any(|known| *known == arrow) {
                return Err(format!("the model makes a move that is not in the table: {arrow:?}"));
            }
            *self.arrows.entry(arrow).or_default() += 1;
        }
        Ok(())
    }

    /// How often a move was made.
    fn times(&self, arrow: &Arrow) -> u64 {
        self.arrows.get(arrow).copied().unwrap_or(0)
    }

    fn accepts_half(&self) -> bool {
        self.accepted * 2 >= self.commands
    }
}

/// A theme, the counts of its histories, and how often each of its moves was made.
struct Counted<'a> {
    theme: &'static Theme,
    own: &'a Tally,
    moves: Vec<(u64, &'static Arrow)>,
}

/// Counts over the histories of each theme.
#[derive(Debug, Default)]
pub(crate) struct Tallies(BTreeMap<&'static str, Tally>);

impl Tallies {
    pub(crate) fn add(&mut self, theme: &'static str, tally: &Tally) {
        self.0.entry(theme).or_default().add(tally);
    }

    pub(crate) fn join(&mut self, others: &Tallies) {
        others.0.iter().for_each(|(theme, tally)| self.add(theme, tally));
    }

    fn all(&self) -> Tally {
        let mut all = Tally::default();
        self.0.values().for_each(|tally| all.add(tally));
        all
    }

    /// Each theme that has histories. Its moves count in these; those of the theme that every history has
    /// commands of, in all of them.
    fn themes(&self) -> Vec<Counted<'_>> {
        let all = self.all();
        let counted = THEMES.iter().filter_map(|theme| {
            let own = self.0.get(theme.name)?;
            let counts = if theme.is_everywhere() { &all } else { own };
            let moves = theme.moves().map(|arrow| (counts.times(arrow), arrow)).collect();
            Some(Counted { theme, own, moves })
        });
        counted.collect()
    }

    /// Prints the counts.
    pub(crate) fn report(&self, name: &str) {
        let all = self.all();
        report::count("histories", all.histories);
        report::count("history_commands", all.commands);
        report::count("history_accepted", all.accepted);
        report::count("arrows_taken", all.arrows.len() as u64);
        eprintln!(
            "{name}: {} histories, {} commands, {} accepted, {} changed something, {} of {} moves",
            all.histories,
            all.commands,
            all.accepted,
            all.moved,
            all.arrows.len(),
            every_move().count()
        );
        for Counted { theme, own, moves } in self.themes() {
            let taken = moves.iter().filter(|(times, _)| *times > 0).count();
            eprintln!(
                "  {}: {} histories, {} commands, {} accepted, {taken} of its {} moves, the rarest {:?}",
                theme.name,
                own.histories,
                own.commands,
                own.accepted,
                moves.len(),
                moves.iter().min()
            );
        }
        eprintln!("  refusals {:?}", all.codes);
    }

    /// Whether too little happened to conclude anything.
    pub(crate) fn is_vacuous(&self) -> bool {
        self.lacking().is_some()
    }

    /// Panics unless enough happened in each theme.
    pub(crate) fn assert_not_vacuous(&self, name: &str) {
        if let Some(lacking) = self.lacking() {
            panic!("{name}: {lacking}");
        }
    }

    /// What happened too rarely, if anything did.
    fn lacking(&self) -> Option<String> {
        for Counted { theme, own, moves } in self.themes() {
            let (about, least) = (theme.name, theme.least);
            let rare: Vec<_> = moves.into_iter().filter(|(times, _)| *times < least).collect();
            if !rare.is_empty() {
                return Some(format!("{about} made less than {least} times: {rare:#?}"));
            }
            let unseen = theme.refusals.iter().filter(|code| !own.codes.contains_key(code));
            let unseen: Vec<_> = unseen.collect();
            if !unseen.is_empty() {
                return Some(format!("{about} was not refused with {unseen:?}"));
            }
            let (accepted, commands) = (own.accepted, own.commands);
            if !own.accepts_half() {
                let counts = format!("{accepted} of {commands} commands were accepted");
                return Some(format!("of {about} {counts}, less than half"));
            }
        }
        let codes = self.all().codes;
        let unseen = Code::ALL.iter().filter(|code| !NOT_IN_HISTORIES.contains(code));
        let unseen: Vec<_> = unseen.filter(|code| !codes.contains_key(code)).collect();
        (!unseen.is_empty()).then(|| format!("nothing was refused with {unseen:?}"))
    }
}

/// Refusals of signing keys, tokens, cursors and targets: those of the last three are decided outside of
/// commands, and keys belong to no namespace of a history.
const NOT_IN_HISTORIES: &[Code] = &[
    Code::InvalidToken,
    Code::NoSigningKey,
    Code::KeyConflict,
    Code::CursorExpired,
    Code::TargetRefused,
];

/// The records that differ.
fn changed(before: &Snapshot, after: &Snapshot) -> Vec<ExecutionId> {
    let version = |record: Option<&Execution>| record.map(|record| record.version);
    let all: BTreeSet<_> = before.records.keys().chain(after.records.keys()).copied().collect();
    all.into_iter().filter(|id| version(before.record(*id)) != version(after.record(*id))).collect()
}
