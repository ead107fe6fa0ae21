//! `ff workers`: the registered workers.

use clap::Args;
use ff_api::WorkerPageView;
use ff_core::WorkerInstanceId;
use ff_core::bounds::PAGE;
use ff_store::{Clock, SystemClock};

use super::{Verdict, parse};
use crate::error::Error;
use crate::output::workers;
use crate::session::Session;

/// `ff workers`.
#[derive(Debug, Args)]
pub(crate) struct Workers {
    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 50, allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<usize>(1, PAGE as u64))]
    limit: usize,

    /// Continue after this instance.
    #[arg(long, value_name = "INSTANCE")]
    after: Option<WorkerInstanceId>,
}

impl Workers {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let namespace = &session.namespace;
        let found = backend.workers(namespace, self.after.as_ref(), self.limit).await?;
        let view = WorkerPageView::new(&found, self.limit);
        let style = session.output.style();
        session.output.answer(&view, |view| workers::table(view, SystemClock.now(), style))?;
        match &view.next {
            Some(last) => session.next(parse::continued("workers", self.limit, last)),
            None if found.is_empty() => {
                session.output.talk("no worker is registered");
                session.next("worker --exec cat");
            }
            None => session.next("lane ls"),
        }
        Ok(Verdict::Good)
    }
}
