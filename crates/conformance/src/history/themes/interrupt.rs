//! Random commands on work that leaves its worker and continues where it was: steps and sleeps, and
//! replays that find more or less of them.

use ff_core::journal::ReplayJournal;
use ff_core::machine::{Action, Delay, RecordStep, Replay, Tick};
use ff_core::table::Verb;
use ff_core::{Code, Execution, StepName};

use super::Theme;
use crate::history::generate::Generator;
use crate::history::make::{self, chance, one};
use crate::history::pair::View;

/// Steps are recorded, sleeps end, and replays hide some of them.
pub(super) const THEME: Theme = Theme {
    name: "interrupt",
    histories: 300,
    least: 20,
    owns: |(_, verb, _)| matches!(verb, Verb::RecordStep),
    refusals: &[Code::StepConflict],
    kinds: &[
        (24, |g, v| g.record_step(v)),
        // A holder that is asked to stop still records.
        (9, |g, v| Some(g.cancel(v)?.into())),
        (6, |g, v| g.sleep(v)),
        (5, |g, v| g.replay_journal(v)),
        (6, |g, v| Some(Tick { execution: g.due_id(v) }.into())),
    ],
    beginnings: &[],
};

impl Generator {
    fn record_step(&mut self, view: View<'_>) -> Option<Action> {
        let hold = self.hold(view)?;
        let result = make::payload(&mut self.rng);
        let name = self.step_name(view.held.record(hold.target.execution));
        Some(RecordStep { hold, name, result }.into())
    }

    fn sleep(&mut self, view: View<'_>) -> Option<Action> {
        let (hold, until) = (self.hold(view)?, make::when(&mut self.rng, view.now));
        let step = Some(self.step_name(view.held.record(hold.target.execution)));
        Some(Delay { hold, until, step }.into())
    }

    /// Replays what has a journal, mostly.
    fn replay_journal(&mut self, view: View<'_>) -> Option<Action> {
        let finished = |record: &Execution| record.outcome().is_some();
        let steps = |record: &Execution| finished(record) && record.journal.visible() > 0;
        let record = self.some(view, steps).or_else(|| self.some(view, finished))?;
        let journal = match self.rng.u8(..5) {
            0 => ReplayJournal::Keep,
            1 => ReplayJournal::Drop,
            _ => ReplayJournal::UpTo(self.known_name(record)),
        };
        let run = record.run.number;
        Some(Replay { target: self.target_of(record), run, journal }.into())
    }

    /// The name of a step of `record`: mostly one that it has not used.
    fn step_name(&mut self, record: Option<&Execution>) -> StepName {
        match record {
            Some(record) if chance(&mut self.rng, 35) => self.known_name(record),
            Some(record) => name(record.epoch * 10 + self.rng.u64(..6)),
            None => name(0),
        }
    }

    /// A name that `record` may have used.
    fn known_name(&mut self, record: &Execution) -> StepName {
        let epoch = one(&mut self.rng, &[0, 0, 1, 2]);
        name(record.epoch.saturating_sub(epoch) * 10 + self.rng.u64(..6))
    }
}

fn name(number: u64) -> StepName {
    StepName::new(format!("step {number}")).unwrap()
}
