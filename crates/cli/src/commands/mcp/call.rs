//! What each tool does: the same as the command of its name.

use std::collections::BTreeMap;

use ff_api::http::SubmitRequest;
use ff_api::{
    ApprovalView, CancelledView, ExecutionView, ExplanationView, FramesView, ListPageView,
    ReplayedView, SignalledView, SubmittedView,
};
use ff_core::approval::Decision;
use ff_core::journal::ReplayJournal;
use ff_core::machine::{self, Target, WaitpointRef};
use ff_core::suspension::SuspendReason;
use ff_core::{Kind, Lane, Millis, Refusal, Source, StepName, TagKey, TagValue, WaitpointKey};
use ff_store::listing::{Filter, Listing, StateFilter};
use ff_store::roles::explained;
use ff_store::{ClientAndWorker, StoreError};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::approve::awaited;
use super::tools::{LONGEST_WAIT_MS, MOST, Tool};
use crate::error::Error;
use crate::id::Id;
use crate::session::Session;

/// Entries of a page by default.
const FEW: usize = 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    #[serde(default)]
    state: Vec<String>,
    reason: Option<String>,
    lane: Option<String>,
    kind: Option<String>,
    #[serde(default)]
    tags: BTreeMap<String, String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct IdArguments {
    id: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TailArguments {
    id: String,
    #[serde(default)]
    from: u64,
    limit: Option<usize>,
    #[serde(default)]
    wait_ms: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CancelArguments {
    id: String,
    grace_ms: Option<u64>,
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplayArguments {
    id: String,
    run: Option<u32>,
    journal: Option<Journal>,
    up_to: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Journal {
    Keep,
    Drop,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ApproveArguments {
    id: String,
    decision: DecisionWord,
    waitpoint: Option<String>,
    comment: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DecisionWord {
    Approve,
    Reject,
}

/// Calls a tool, and gives what it answers.
pub(super) async fn carry_out(
    tool: Tool,
    arguments: Value,
    session: &Session<'_>,
) -> Result<Value, Error> {
    let backend = session.open().await?;
    let backend = &*backend;
    match tool {
        Tool::List => list(read(arguments)?, session, backend).await,
        Tool::Explain => {
            let target = target(&read::<IdArguments>(arguments)?.id, session, backend).await?;
            let explained = backend.explain(&target).await?;
            answer(&ExplanationView::new(target.execution, &explained))
        }
        Tool::Show => {
            let target = target(&read::<IdArguments>(arguments)?.id, session, backend).await?;
            let record = backend.describe(&target).await?;
            let explanation = explained(backend, &target, &record).await?;
            answer(&ExecutionView::new(&record, explanation.as_ref()))
        }
        Tool::Tail => tail(read(arguments)?, session, backend).await,
        Tool::Submit => submit(arguments, session, backend).await,
        Tool::Cancel => {
            let CancelArguments { id, grace_ms, reason } = read(arguments)?;
            let target = target(&id, session, backend).await?;
            let (grace, id) = (grace_ms.map(Millis::new), target.execution);
            let cancel = machine::Cancel { target, grace, reason: reason.map(Into::into) };
            answer(&CancelledView::new(id, backend.cancel(cancel).await?))
        }
        Tool::Replay => replay(read(arguments)?, session, backend).await,
        Tool::Approve => approve(read(arguments)?, session, backend).await,
    }
}

/// The arguments of a tool.
fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, Error> {
    let read = serde_json::from_value(arguments);
    read.map_err(|why| Refusal::invalid("arguments", format!("do not fit the tool: {why}")).into())
}

fn answer(view: &impl serde::Serialize) -> Result<Value, Error> {
    serde_json::to_value(view).map_err(|why| Error::Output(why.into()))
}

/// The execution that an id or its beginning names.
async fn target(
    id: &str,
    session: &Session<'_>,
    backend: &dyn ClientAndWorker,
) -> Result<Target, Error> {
    Ok(session.target(id.parse::<Id>()?.find(session, backend).await?))
}

/// A number of entries within its bound.
fn limit(asked: Option<usize>, usual: usize) -> Result<usize, Error> {
    let limit = asked.unwrap_or(usual);
    match (1..=MOST).contains(&limit) {
        true => Ok(limit),
        false => Err(Refusal::invalid("limit", format!("is {limit}; give 1 to {MOST}")).into()),
    }
}

async fn list(
    arguments: ListArguments,
    session: &Session<'_>,
    backend: &dyn ClientAndWorker,
) -> Result<Value, Error> {
    let states: Result<Vec<StateFilter>, Refusal> =
        arguments.state.iter().map(|state| state.parse()).collect();
    let suspended_for = arguments.reason.map(|text| {
        let unknown =
            || Refusal::invalid("reason", format!("{text:?} is no reason of a suspension"));
        SuspendReason::parse(&text).ok_or_else(unknown)
    });
    let tags = arguments.tags.into_iter();
    let tags = tags.map(|(key, value)| Ok((TagKey::new(key)?, TagValue::new(value)?)));
    let filter = Filter {
        suspended_for: suspended_for.transpose()?,
        lane: arguments.lane.map(Lane::new).transpose()?,
        kind: arguments.kind.map(Kind::new).transpose()?,
        tags: tags.collect::<Result<_, Refusal>>()?,
        ..Filter::default()
    };
    let listing = Listing {
        namespace: session.namespace.clone(),
        filter: filter.in_states(states?),
        after: arguments.cursor.map(|cursor| cursor.parse()).transpose()?,
        limit: limit(arguments.limit, FEW)?,
    };
    answer(&ListPageView::from(&backend.list(&listing).await?))
}

async fn tail(
    arguments: TailArguments,
    session: &Session<'_>,
    backend: &dyn ClientAndWorker,
) -> Result<Value, Error> {
    let TailArguments { id, from, limit: most, wait_ms } = arguments;
    let wait =
        Millis::new(wait_ms).within("wait_ms", Millis::ZERO, Millis::new(LONGEST_WAIT_MS))?;
    let most = limit(most, MOST)?;
    let target = target(&id, session, backend).await?;
    let mut page = backend.frames(&target, from, most).await?;
    if page.frames.is_empty() && page.end.is_none() && wait > Millis::ZERO {
        page = backend.follow(&target, from).await?.next(wait).await?;
    }
    answer(&FramesView::from(&page))
}

async fn submit(
    arguments: Value,
    session: &Session<'_>,
    backend: &dyn ClientAndWorker,
) -> Result<Value, Error> {
    // As text, so that its input is taken as it was written.
    let request: SubmitRequest = serde_json::from_str(&arguments.to_string())
        .map_err(|why| Refusal::invalid("arguments", format!("do not fit the tool: {why}")))?;
    let namespace = session.namespace.clone();
    let new_id = |key: Option<&_>| backend.new_id(&session.namespace, key);
    let answers = backend.submit(vec![request.into_submit(namespace, new_id)?]).await?;
    let none = || Err(StoreError::Corrupt("a submit was not answered".to_owned()));
    answer(&SubmittedView::from(&answers.into_iter().next().unwrap_or_else(none)?))
}

async fn replay(
    arguments: ReplayArguments,
    session: &Session<'_>,
    backend: &dyn ClientAndWorker,
) -> Result<Value, Error> {
    let journal = match (arguments.up_to, arguments.journal) {
        (Some(_), Some(_)) => {
            return Err(Refusal::invalid("up_to", "is given with journal; give one of them").into());
        }
        (Some(step), None) => ReplayJournal::UpTo(StepName::new(step)?),
        (None, Some(Journal::Drop)) => ReplayJournal::Drop,
        (None, Some(Journal::Keep) | None) => ReplayJournal::Keep,
    };
    let target = target(&arguments.id, session, backend).await?;
    let run = match arguments.run {
        Some(run) => run,
        None => backend.describe(&target).await?.run.number,
    };
    let id = target.execution;
    let run = backend.replay(machine::Replay { target, run, journal }).await?;
    answer(&ReplayedView { id, run })
}

async fn approve(
    arguments: ApproveArguments,
    session: &Session<'_>,
    backend: &dyn ClientAndWorker,
) -> Result<Value, Error> {
    let decision = match arguments.decision {
        DecisionWord::Approve => Decision::Approve,
        DecisionWord::Reject => Decision::Reject,
    };
    let target = target(&arguments.id, session, backend).await?;
    let waitpoint = match arguments.waitpoint {
        Some(key) => WaitpointKey::new(key)?,
        None => awaited(backend, &target).await?,
    };
    let approved = decision == Decision::Approve;
    let id = target.execution;
    let signal = machine::Signal {
        target,
        waitpoint: WaitpointRef::ByKey(waitpoint),
        // Without one, the first decision of a source stands.
        key: None,
        name: Some(decision.name()?),
        category: Some(Decision::category()?),
        source: Source::new("local")?,
        payload: ApprovalView { approved, comment: arguments.comment }.payload(),
    };
    answer(&SignalledView::new(id, backend.signal(signal).await?))
}
