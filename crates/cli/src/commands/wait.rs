//! `ff wait`: wait for the end of an execution.

use std::time::Duration;

use clap::Args;
use ff_api::ExecutionView;
use ff_core::machine::Target;
use ff_core::{Description, Millis, PublicState};
use ff_store::ClientAndWorker;
use ff_store::roles::until_ended;

use super::Verdict;
use crate::duration;
use crate::error::Error;
use crate::id::Id;
use crate::output::text;
use crate::session::Session;

const ENDS: &str =
    "Exits with 0 if the execution completed, with 1 if it ended otherwise or the timeout passed.";

/// `ff wait`.
#[derive(Debug, Args)]
#[command(after_help = ENDS)]
pub(crate) struct Wait {
    /// The execution: its id, or a unique prefix of it.
    id: Id,

    /// How long to wait at most; the execution keeps running.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    timeout: Option<Millis>,
}

impl Wait {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let id = self.id.find(session, &*backend).await?;
        for_end(session, &*backend, &session.target(id), self.timeout).await
    }
}

/// Waits until `target` has ended, prints its result, and returns whether it completed.
pub(super) async fn for_end(
    session: &Session<'_>,
    backend: &dyn ClientAndWorker,
    target: &Target,
    timeout: Option<Millis>,
) -> Result<Verdict, Error> {
    let record = match timeout {
        None => until_ended(backend, target).await?,
        Some(timeout) => {
            let waited = Duration::from_millis(timeout.get());
            match tokio::time::timeout(waited, until_ended(backend, target)).await {
                Ok(ended) => ended?,
                Err(_) => {
                    session.next(format_args!("show {}", target.execution));
                    return Err(not_yet(target, timeout));
                }
            }
        }
    };
    report(session, backend, target, &record).await
}

fn not_yet(target: &Target, timeout: Millis) -> Error {
    let id = target.execution;
    Error::WaitTimeout(format!("execution {id} has not ended after {timeout}; it keeps running"))
}

async fn report(
    session: &Session<'_>,
    backend: &dyn ClientAndWorker,
    target: &Target,
    record: &Description,
) -> Result<Verdict, Error> {
    let view = ExecutionView::from(record);
    let completed = record.public_state() == PublicState::Completed;
    let verdict = if completed { Verdict::Good } else { Verdict::Bad };
    if session.output.is_json() {
        session.output.answer(&view, |_| String::new())?;
        return Ok(verdict);
    }
    if completed {
        // Of this run: a replay may already have started another.
        let result = backend.result(target, Some(record.run.number)).await?;
        session.output.bytes(&result.bytes)?;
        return Ok(verdict);
    }
    let reason = view.reason.as_deref().unwrap_or_default();
    let (state, reason) =
        (session.output.style().state(view.state.as_str()), text::lines(reason, ""));
    session.output.talk(format_args!("{state}: {reason}"));
    session.next(format_args!("attempts {}", view.id));
    Ok(verdict)
}
