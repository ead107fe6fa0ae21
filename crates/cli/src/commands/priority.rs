//! `ff priority`: change the priority of an execution.

use clap::Args;
use ff_api::ExecutionView;
use ff_core::bounds::{PRIORITY, PRIORITY_MIN};
use ff_core::machine;

use super::{Verdict, parse};
use crate::error::Error;
use crate::id::Id;
use crate::session::Session;

/// `ff priority`.
#[derive(Debug, Args)]
pub(crate) struct Priority {
    /// The execution: its id, or a unique prefix of it.
    id: Id,

    /// Higher goes first: -9000 to 9000.
    #[arg(value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = parse::integer::<i16>(PRIORITY_MIN.into(), PRIORITY.into()))]
    priority: i16,
}

impl Priority {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let id = self.id.find(session, &*backend).await?;
        let target = session.target(id);
        let set = machine::SetPriority { target: target.clone(), priority: self.priority };
        backend.set_priority(set).await?;
        let view = ExecutionView::from(&backend.describe(&target).await?);
        session.output.answer(&view, |view| format!("priority {}\n", view.priority))?;
        session.next(format_args!("show {}", id));
        Ok(Verdict::Good)
    }
}
