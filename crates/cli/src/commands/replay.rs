//! `ff replay`: run finished executions again.

use clap::Args;
use ff_api::ReplayedView;
use ff_core::machine;
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

    #[command(flatten)]
    #[command(next_help_heading = "Many at once")]
    many: BulkFlags,
}

impl Replay {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let Some(id) = self.many.one(self.id)? else {
            if self.run.is_some() {
                let why = "--run is the run of one execution; give its id";
                return Err(Error::usage("--run", why));
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
        let run = backend.replay(machine::Replay { target, run }).await?;
        let view = ReplayedView { id, run };
        session.output.answer(&view, |view| format!("run {} is waiting\n", view.run))?;
        session.next(format_args!("show {}", id));
        Ok(Verdict::Good)
    }
}
