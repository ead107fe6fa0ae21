//! Replay: run a finished execution again.

use super::journal::entry_of;
use super::{Context, Decide, Facts, ReadSet, Reply, Step, Target};
use crate::act::Deed;
use crate::bounds::RUNS;
use crate::event::EventKind;
use crate::journal::ReplayJournal;
use crate::record::{PastRun, Run};
use crate::refusal::{Full, Refusal};
use crate::state::{Intent, State};
use crate::table::Verb;

/// Starts a new run with clean counters. It names the run it follows, so that a repeated call does
/// not start two. Old attempts, results and entries of the journal stay readable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// Which execution.
    pub target: Target,
    /// The run that has ended.
    pub run: u32,
    /// How much of its journal later attempts find.
    pub journal: ReplayJournal,
}

impl Decide for Replay {
    fn facts(&self) -> Facts<'_> {
        Facts { adds: true, ..Facts::execution(self.target.execution, Verb::Replay) }
    }

    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        let execution = self.target.execution;
        let step = self.journal.step().map(|step| entry_of(execution, step));
        ReadSet { elements: step.into_iter().collect(), ..ReadSet::record(execution) }
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.found(&self.target)?;
        if record.member.is_some() || record.flow.is_some() {
            let why =
                "is of a flow or a node of one; replay the flow, which runs what did not complete";
            return Err(Refusal::invalid("id", why));
        }
        let current = record.run.number;
        if self.run.checked_add(1) == Some(current) {
            return Ok(Step::answer(Reply::Replayed(current)));
        }
        if self.run != current {
            return Err(Refusal::RunMismatch { current });
        }
        let State::Finished { outcome, at } = &record.state else {
            return Err(Refusal::WrongState {
                command: "replay",
                state: record.public_state(),
                needs: "finished",
            });
        };
        if current + 1 >= RUNS {
            return Err(Refusal::LimitReached { what: Full::Runs { most: RUNS } });
        }
        let mut after = record.clone();
        match &self.journal {
            ReplayJournal::Keep => {}
            ReplayJournal::Drop => after.journal.keep_up_to(None),
            ReplayJournal::UpTo(step) => {
                let last = context.entry(record, step).ok_or(Refusal::NoSuchStep)?.number;
                after.journal.keep_up_to(Some(last));
            }
        }
        after.past_runs.push(PastRun {
            started: record.run.started,
            ended: *at,
            outcome: outcome.clone(),
        });
        after.run = Run::start(current + 1, context.now, &record.spec.policy);
        after.waits.last = None;
        after.queued_at = context.now;
        after.state = State::Queued { why: Intent::Replay };
        context.sign(&mut after, Deed::Replay);
        let write = context.update(record, after, EventKind::Replayed);
        Ok(Step::write(write, Reply::Replayed(current + 1)))
    }
}
