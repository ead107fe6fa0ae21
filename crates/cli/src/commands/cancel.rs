//! `ff cancel`: end executions from outside.

use clap::Args;
use ff_api::CancelledView;
use ff_core::{Millis, machine};
use ff_store::roles::BulkAction;
use ff_store::{Clock, SystemClock};

use super::Verdict;
use super::bulk::BulkFlags;
use crate::duration;
use crate::error::Error;
use crate::id::Id;
use crate::output::when;
use crate::session::Session;

/// `ff cancel`.
#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// The execution: its id, or a unique prefix of it. To cancel many, give a filter instead.
    id: Option<Id>,

    /// How long its worker may still finish; without it the lease ends at once.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    grace: Option<Millis>,

    /// The reason, shown to people.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,

    #[command(flatten)]
    #[command(next_help_heading = "Many at once")]
    many: BulkFlags,
}

impl Cancel {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let (grace, reason) = (self.grace, self.reason.map(String::into_boxed_str));
        let Some(id) = self.many.one(self.id)? else {
            return self.many.run(BulkAction::Cancel { grace, reason }, session).await;
        };
        let backend = session.open().await?;
        let id = id.find(session, &*backend).await?;
        let cancel = machine::Cancel { target: session.target(id), grace, reason };
        let view = CancelledView::new(id, backend.cancel(cancel).await?);
        session.output.answer(&view, |view| match view.by {
            Some(by) => {
                let by = when::full(by, SystemClock.now());
                format!("{}, at the latest {by}\n", view.status)
            }
            None => format!("{}\n", view.status),
        })?;
        session.next(format_args!("show {}", id));
        Ok(Verdict::Good)
    }
}
