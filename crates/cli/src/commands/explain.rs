//! `ff explain`: why an execution is in its state.

use clap::Args;
use ff_api::ExplanationView;
use ff_core::explain::Reason;
use ff_store::{Clock, SystemClock};

use super::Verdict;
use crate::error::Error;
use crate::id::Id;
use crate::output::{explanation, terminal};
use crate::session::Session;

/// `ff explain`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The execution: its id, or a unique prefix of it.
    id: Id,
}

impl Explain {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let id = self.id.find(session, &*backend).await?;
        let explained = backend.explain(&session.target(id)).await?;
        let view = ExplanationView::new(id, &explained);
        let style = session.output.style();
        let columns = terminal::of_stdout().map(|size| size.columns);
        session
            .output
            .answer(&view, |view| explanation::list(view, SystemClock.now(), style, columns))?;
        session.next(match explained.reasons.first() {
            Some(Reason::LanePaused { lane, .. }) => format!("lane resume {lane}"),
            Some(Reason::NoWorkerOnLane { lane }) => format!("worker --lane {lane} --exec cat"),
            Some(Reason::NoCapableWorker { .. }) => "workers".to_owned(),
            Some(Reason::Blocked { on, .. }) => format!("{} show {}", on.kind.as_str(), on.name),
            _ => format!("show {}", id),
        });
        Ok(Verdict::Good)
    }
}
