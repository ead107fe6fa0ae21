//! `ff replay`: run finished executions again.

use clap::{Args, ValueEnum};
use ff_api::ReplayedView;
use ff_core::journal::ReplayJournal;
use ff_core::{StepName, machine};
use ff_store::roles::BulkAction;

use super::bulk::BulkFlags;
use super::{Verdict, parse};
use crate::error::Error;
use crate::id::Id;
use crate::session::Session;

/// `ff replay`.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The execution: its id, or a unique prefix of it. To replay many, give a filter instead.
    id: Option<Id>,

    /// The run to replay, so that a repeated call starts only one [default: the current run].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<u32>(0, u32::MAX.into()))]
    run: Option<u32>,

    /// How much of its journal the new attempts find: steps that they find are not done again.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t, conflicts_with = "up_to")]
    journal: Journal,

    /// Keep the journal up to this step, with it; what came after it is done again.
    #[arg(long, value_name = "STEP")]
    up_to: Option<StepName>,

    #[command(flatten)]
    #[command(next_help_heading = "Many at once")]
    many: BulkFlags,
}

/// How much of a journal is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Journal {
    /// All that is visible.
    #[default]
    Keep,
    /// Nothing.
    Drop,
}

impl Replay {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let Some(id) = self.many.one(self.id)? else {
            if self.run.is_some() {
                let why = "--run is the run of one execution; give its id";
                return Err(Error::usage("--run", why));
            }
            if self.up_to.is_some() || self.journal != Journal::Keep {
                let why = "--journal and --up-to are about one execution; give its id";
                return Err(Error::usage("--journal", why));
            }
            return self.many.run(BulkAction::Replay, session).await;
        };
        let backend = session.open().await?;
        let id = id.find(session, &*backend).await?;
        let target = session.target(id);
        let run = match self.run {
            Some(run) => run,
            None => backend.describe(&target).await?.run.number,
        };
        let journal = match (self.up_to, self.journal) {
            (Some(step), _) => ReplayJournal::UpTo(step),
            (None, Journal::Keep) => ReplayJournal::Keep,
            (None, Journal::Drop) => ReplayJournal::Drop,
        };
        let run = backend.replay(machine::Replay { target, run, journal }).await?;
        let view = ReplayedView { id, run };
        session.output.answer(&view, |view| format!("run {} is waiting\n", view.run))?;
        session.next(format_args!("show {}", id));
        Ok(Verdict::Good)
    }
}
