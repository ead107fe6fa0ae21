//! `ff approve` and `ff reject`: decide on what an execution asks.

use clap::Args;
use ff_api::{ApprovalView, SignalledView};
use ff_core::approval::Decision;
use ff_core::machine::{self, Target, WaitpointRef};
use ff_core::signal::SignalEffect;
use ff_core::state::State;
use ff_core::suspension::SuspendReason;
use ff_core::{ExecutionId, Source, WaitpointKey};
use ff_store::ClientAndWorker;

use super::Verdict;
use crate::error::Error;
use crate::id::Id;
use crate::session::Session;

/// `ff approve`.
#[derive(Debug, Args)]
pub(crate) struct Approve {
    #[command(flatten)]
    decide: Decide,
}

/// `ff reject`.
#[derive(Debug, Args)]
pub(crate) struct Reject {
    #[command(flatten)]
    decide: Decide,
}

/// What both take.
#[derive(Debug, Args)]
struct Decide {
    /// The execution: its id, or a unique prefix of it.
    id: Id,

    /// The key of the waitpoint; needed only if the execution waits at several.
    #[arg(value_name = "WAITPOINT")]
    waitpoint: Option<WaitpointKey>,

    /// What to tell the execution with the decision.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    comment: Option<String>,
}

impl Approve {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        self.decide.run(Decision::Approve, session).await
    }
}

impl Reject {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        self.decide.run(Decision::Reject, session).await
    }
}

impl Decide {
    async fn run(self, decision: Decision, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let id = self.id.find(session, &*backend).await?;
        let target = session.target(id);
        let waitpoint = match self.waitpoint {
            Some(key) => key,
            None => awaited(&*backend, &target).await?,
        };
        let source = Source::new("local")?;
        let approved = decision == Decision::Approve;
        let signal = machine::Signal {
            target,
            waitpoint: WaitpointRef::ByKey(waitpoint),
            // Without one, the first decision of a source stands.
            key: None,
            name: Some(decision.name()?),
            category: Some(Decision::category()?),
            source,
            payload: ApprovalView { approved, comment: self.comment }.payload(),
        };
        let view = SignalledView::new(id, backend.signal(signal).await?);
        session.output.answer(&view, |view| format!("{}\n", said(decision, view.effect)))?;
        session.next(format_args!("show {id}"));
        Ok(Verdict::Good)
    }
}

/// The decision and its effect, for people.
fn said(decision: Decision, effect: SignalEffect) -> String {
    let decided = match decision {
        Decision::Approve => "approved",
        Decision::Reject => "rejected",
    };
    match effect {
        SignalEffect::Resumed => format!("{decided}; the execution continues"),
        SignalEffect::Recorded => format!("{decided}; the execution waits for more"),
        SignalEffect::Duplicate => "you have decided before; that decision stands".to_owned(),
        SignalEffect::TooLate => "too late: its time was over".to_owned(),
    }
}

/// The one waitpoint at which the execution waits for an approval.
pub(super) async fn awaited(
    backend: &dyn ClientAndWorker,
    target: &Target,
) -> Result<WaitpointKey, Error> {
    let record = backend.describe(target).await?;
    let State::Suspended { suspension } = &record.state else {
        return Err(unasked(target.execution));
    };
    if suspension.reason != SuspendReason::Approval {
        return Err(unasked(target.execution));
    }
    let open = backend.waitpoints(target).await?;
    let mut keys =
        open.into_iter().filter(|one| one.of == Some(suspension.number)).map(|one| one.key);
    match (keys.next(), keys.next()) {
        (Some(key), None) => Ok(key),
        (None, _) => Err(unasked(target.execution)),
        (Some(first), Some(second)) => {
            let why =
                format!("the execution waits at several waitpoints, such as {first} and {second}");
            Err(Error::usage("waitpoint", format!("{why}; name one")))
        }
    }
}

fn unasked(id: ExecutionId) -> Error {
    let why =
        format!("{id} waits for no approval; `ff waitpoints {id}` lists where it takes signals");
    Error::usage("id", why)
}
