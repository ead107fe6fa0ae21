//! `ff show`: all that is known about an execution.

use clap::Args;
use ff_api::ExecutionView;
use ff_core::bounds::PAGE;
use ff_core::state::State;
use ff_core::suspension::SuspendReason;
use ff_core::{Description, ExecutionId, PublicState};
use ff_store::journal::JournalPage;
use ff_store::roles::explained;
use ff_store::{Clock, SystemClock};

use super::Verdict;
use crate::error::Error;
use crate::id::Id;
use crate::output::{execution, steps};
use crate::session::Session;

/// `ff show`.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The execution: its id, or a unique prefix of it.
    id: Id,
}

impl Show {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let id = self.id.find(session, &*backend).await?;
        let target = session.target(id);
        let record = backend.describe(&target).await?;
        let explanation = explained(&*backend, &target, &record).await?;
        let view = ExecutionView::new(&record, explanation.as_ref());
        let journal = match record.attempt.is_some() && !session.output.is_json() {
            true => backend.journal(&target, 0, PAGE).await?,
            false => JournalPage::default(),
        };
        let names = journal.entries.iter().map(|it| it.entry.name.as_str());
        let names = steps::names(names, journal.next.is_some());
        let style = session.output.style();
        session
            .output
            .answer(&view, |view| execution::sheet(view, names, SystemClock.now(), style))?;
        session.next(match record.public_state() {
            PublicState::Waiting | PublicState::Resumable => {
                format!("worker --lane {} --exec cat", view.lane)
            }
            PublicState::Suspended => answer(&record, id),
            PublicState::RateLimited | PublicState::WaitingChildren | PublicState::Skipped => {
                format!("explain {}", id)
            }
            PublicState::Completed => format!("result {}", id),
            PublicState::Failed | PublicState::Expired => format!("attempts {}", id),
            PublicState::Cancelled => format!("replay {}", id),
            PublicState::Active | PublicState::Delayed => format!("cancel {}", id),
        });
        Ok(Verdict::Good)
    }
}

/// The command that answers what a suspended execution waits for.
fn answer(record: &Description, id: ExecutionId) -> String {
    match &record.state {
        State::Suspended { suspension } if suspension.reason == SuspendReason::Approval => {
            format!("approve {id}")
        }
        _ => format!("waitpoints {id}"),
    }
}
