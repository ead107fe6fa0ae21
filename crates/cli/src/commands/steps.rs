//! `ff steps`: the journal of an execution.

use clap::Args;
use ff_api::{StepView, StepsView};
use ff_core::bounds::PAGE;
use ff_store::{Clock, SystemClock};

use super::Verdict;
use crate::error::Error;
use crate::id::Id;
use crate::output::steps;
use crate::session::Session;

/// `ff steps`.
#[derive(Debug, Args)]
pub(crate) struct Steps {
    /// The execution: its id, or a unique prefix of it.
    id: Id,

    /// Leave out what replays have hidden.
    #[arg(long)]
    visible: bool,
}

impl Steps {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let id = self.id.find(session, &*backend).await?;
        let target = session.target(id);
        let mut view = StepsView { steps: Vec::new(), next: None };
        let mut from = Some(0);
        while let Some(number) = from {
            let page = match self.visible {
                true => backend.journal(&target, number, PAGE).await?,
                false => backend.steps(&target, number, PAGE).await?,
            };
            view.steps.extend(page.entries.iter().map(StepView::from));
            from = page.next;
        }
        let style = session.output.style();
        session.output.answer(&view, |view| steps::table(view, SystemClock.now(), style))?;
        if view.steps.is_empty() {
            session.output.talk("its journal is empty");
        }
        session.next(format_args!("show {id}"));
        Ok(Verdict::Good)
    }
}
