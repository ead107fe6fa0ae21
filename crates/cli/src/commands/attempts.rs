//! `ff attempts`: the attempts of an execution.

use clap::Args;
use ff_api::{AttemptView, AttemptsView};
use ff_core::bounds::PAGE;
use ff_store::{Clock, SystemClock};

use super::Verdict;
use crate::error::Error;
use crate::id::Id;
use crate::output::attempts;
use crate::session::Session;

/// `ff attempts`.
#[derive(Debug, Args)]
pub(crate) struct Attempts {
    /// The execution: its id, or a unique prefix of it.
    id: Id,
}

impl Attempts {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let id = self.id.find(session, &*backend).await?;
        let target = session.target(id);
        let mut view = AttemptsView { attempts: Vec::new(), next: None };
        loop {
            let from = view.attempts.last().map_or(0, |last: &AttemptView| last.attempt + 1);
            let page = backend.attempts(&target, from, PAGE).await?;
            view.attempts.extend(page.iter().map(AttemptView::from));
            if page.len() < PAGE {
                break;
            }
        }
        let style = session.output.style();
        session.output.answer(&view, |view| attempts::table(view, SystemClock.now(), style))?;
        if view.attempts.is_empty() {
            session.output.talk("no attempt was made yet");
        }
        session.next(format_args!("show {}", id));
        Ok(Verdict::Good)
    }
}
