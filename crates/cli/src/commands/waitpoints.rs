//! `ff waitpoints`: where signals for an execution arrive.

use clap::Args;
use ff_api::{WaitpointView, WaitpointsView};
use ff_store::{Clock, SystemClock};

use super::Verdict;
use crate::error::Error;
use crate::id::Id;
use crate::output::waitpoints;
use crate::session::Session;

/// `ff waitpoints`.
#[derive(Debug, Args)]
pub(crate) struct Waitpoints {
    /// The execution: its id, or a unique prefix of it.
    id: Id,
}

impl Waitpoints {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let id = self.id.find(session, &*backend).await?;
        let found = backend.waitpoints(&session.target(id)).await?;
        let waitpoints = found.iter().map(WaitpointView::from).collect();
        let view = WaitpointsView { id, waitpoints };
        let style = session.output.style();
        session.output.answer(&view, |view| waitpoints::table(view, SystemClock.now(), style))?;
        match view.waitpoints.first() {
            Some(first) => session.next(format_args!("signal {id} {}", first.key)),
            None => session.output.talk("no waitpoint is open"),
        }
        Ok(Verdict::Good)
    }
}
