//! What producers and operators do.

use async_trait::async_trait;
use ff_core::bounds::{BATCH_BYTES, END_WAIT_MAX, PAGE};
use ff_core::collection::{Collection, Element, ElementRange};
use ff_core::explain::{ExplainInputs, Explanation, explain, may_lack_worker};
use ff_core::machine::{
    Cancel, Cancelled, Replay, Revoke, SetPriority, SetTags, Submit, Submitted, Target,
};
use ff_core::payload::{BlobKey, BlobPart, PayloadShape};
use ff_core::placement::{QueueEntry, Score};
use ff_core::record::{Attempt, Exited};
use ff_core::resource::{LaneState, Registration};
use ff_core::state::{Outcome, State};
use ff_core::{
    Description, ExecutionId, IdempotencyKey, Lane, Millis, Namespace, Partition, Patch, Payload,
    PolicyOverrides, Refusal, Resource, ResourceKey, ResourceKind, ResourceName, Time,
    WorkerInstanceId,
};

use super::{
    Answer, BulkBackend, Engine, EventsBackend, FlowBackend, LimitsBackend, NamedTokensBackend,
    SchedulesBackend, SignalBackend, StreamBackend, TokenBackend, WebhooksBackend, done, only,
};
use crate::ends;
use crate::error::StoreError;
use crate::journal::{self, JournalPage, Which};
use crate::lanes;
use crate::listing::{self, ListPage, Listing};
use crate::mint;
use crate::store::{ResourceScan, Store};

/// How many of the nodes that a member waits for an explanation names.
const UPSTREAMS: usize = 5;

/// Submits, inspects and controls executions.
#[async_trait]
pub trait ClientBackend:
    BulkBackend
    + FlowBackend
    + LimitsBackend
    + NamedTokensBackend
    + SchedulesBackend
    + SignalBackend
    + StreamBackend
    + TokenBackend
    + EventsBackend
    + WebhooksBackend
{
    /// A new id for work with this key, or without one.
    fn new_id(&self, namespace: &Namespace, key: Option<&IdempotencyKey>) -> ExecutionId;

    /// Accepts executions; each gets its own answer, with what it names that is not there.
    async fn submit(&self, batch: Vec<Submit>) -> Result<Vec<Answer<Submitted>>, StoreError>;

    /// All there is to know of an execution.
    async fn describe(&self, target: &Target) -> Result<Description, StoreError>;

    /// The same once the execution has ended, or as it is after `longest`; a server may answer sooner.
    /// What does not exist is refused at once. See [`until_ended`](super::until_ended).
    async fn wait(&self, target: &Target, longest: Millis) -> Result<Description, StoreError>;

    /// What an execution was submitted with.
    async fn input(&self, target: &Target) -> Result<Payload, StoreError>;

    /// What a run completed with; `None` means the current run.
    async fn result(&self, target: &Target, run: Option<u32>) -> Result<Payload, StoreError>;

    /// Attempts from number `from` on, oldest first, at most `limit`.
    async fn attempts(
        &self,
        target: &Target,
        from: u32,
        limit: usize,
    ) -> Result<Vec<Attempt>, StoreError>;

    /// The journal from number `from` on, oldest entry first, at most `limit` entries and about a
    /// megabyte; with what replays have hidden.
    async fn steps(
        &self,
        target: &Target,
        from: u64,
        limit: usize,
    ) -> Result<JournalPage, StoreError>;

    /// One page of a listing.
    async fn list(&self, listing: &Listing) -> Result<ListPage, StoreError>;

    /// Cancels.
    async fn cancel(&self, cancel: Cancel) -> Result<Cancelled, StoreError>;

    /// Starts a new run and answers its number.
    async fn replay(&self, replay: Replay) -> Result<u32, StoreError>;

    /// Takes a lease away.
    async fn revoke(&self, revoke: Revoke) -> Result<Exited, StoreError>;

    /// Changes a priority.
    async fn set_priority(&self, set: SetPriority) -> Result<(), StoreError>;

    /// Changes tags.
    async fn set_tags(&self, set: SetTags) -> Result<(), StoreError>;

    /// Registered workers in the order of their instance ids, after `after`, at most `limit`. One that
    /// is silent for too long is among them until time has removed it.
    async fn workers(
        &self,
        namespace: &Namespace,
        after: Option<&WorkerInstanceId>,
        limit: usize,
    ) -> Result<Vec<Registration>, StoreError>;

    /// Says something of a lane. It is acknowledged when every claim and submit goes by it.
    async fn update_lane(&self, order: LaneUpdate) -> Result<LaneState, StoreError>;

    /// The settings of a lane; one without settings is open.
    async fn lane(&self, namespace: &Namespace, lane: &Lane) -> Result<LaneState, StoreError>;

    /// The lanes of which something was said, in the order of their names.
    async fn lanes(
        &self,
        namespace: &Namespace,
        after: Option<&Lane>,
        limit: usize,
    ) -> Result<Vec<LaneView>, StoreError>;

    /// Why an execution is in its state, and what it waits for.
    async fn explain(&self, target: &Target) -> Result<Explanation, StoreError>;
}

/// Why an execution is in its state, if the workers may change that reason.
pub async fn explained<C: ClientBackend + ?Sized>(
    client: &C,
    target: &Target,
    record: &Description,
) -> Result<Option<Explanation>, StoreError> {
    match may_lack_worker(record) {
        true => client.explain(target).await.map(Some),
        false => Ok(None),
    }
}

/// What an operator says of a lane.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaneUpdate {
    /// The tenant.
    pub namespace: Namespace,
    /// Which lane.
    pub lane: Lane,
    /// Whether anything of it is claimed; `None` leaves that as it is.
    pub paused: Option<bool>,
    /// Whether nothing new is submitted to it; `None` leaves that as it is.
    pub draining: Option<bool>,
    /// How many of it may run at once.
    pub max_active: Patch<u32>,
    /// What its submits ask for where they say nothing, as a whole: what this leaves open is built in.
    pub defaults: Patch<Box<PolicyOverrides>>,
    /// Why, for people.
    pub reason: Option<Box<str>>,
}

/// A lane and its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneView {
    /// Which lane.
    pub lane: Lane,
    /// What was said.
    pub state: LaneState,
}

#[async_trait]
impl<S: Store + ?Sized> ClientBackend for Engine<S> {
    fn new_id(&self, namespace: &Namespace, key: Option<&IdempotencyKey>) -> ExecutionId {
        match (self.store().partitions(), key) {
            (1, _) => mint::execution_id(Partition::ONLY),
            (_, Some(key)) => mint::execution_id(Partition::of_key(namespace, key)),
            (_, None) => mint::scattered_id(),
        }
    }

    async fn submit(&self, batch: Vec<Submit>) -> Result<Vec<Answer<Submitted>>, StoreError> {
        let bytes: usize = batch.iter().map(|submit| submit.input.bytes.len()).sum();
        if batch.len() > 1 && bytes > BATCH_BYTES {
            let refusal =
                Refusal::TooLarge { field: "batch", got: bytes, most: BATCH_BYTES, unit: "bytes" };
            return Err(refusal.into());
        }
        let limited = |submit: &Submit| !submit.limits.is_empty();
        let named: Vec<_> = match batch.iter().any(limited) {
            true => batch.iter().map(|s| (s.namespace.clone(), s.limits.clone())).collect(),
            false => Vec::new(),
        };
        let mut answers = self.many(batch, only!(Submitted)).await?;
        for (answer, (namespace, limits)) in answers.iter_mut().zip(named) {
            if let Ok(submitted) = answer
                && !limits.is_empty()
            {
                // It is accepted, whether or not there is an answer here.
                let warnings = self.0.known.warnings(&*self.0.store, &namespace, &limits).await;
                submitted.warnings = warnings.unwrap_or_default();
            }
        }
        Ok(answers)
    }

    async fn describe(&self, target: &Target) -> Result<Description, StoreError> {
        let record = self.store().record(target.execution).await?;
        let mine = record.filter(|record| record.spec.namespace == target.namespace);
        mine.map(|record| record.description).ok_or_else(|| Refusal::NotFound.into())
    }

    async fn wait(&self, target: &Target, longest: Millis) -> Result<Description, StoreError> {
        let longest = longest.within("wait", Millis::ZERO, END_WAIT_MAX)?;
        ends::end(&**self.store(), target, longest).await
    }

    async fn input(&self, target: &Target) -> Result<Payload, StoreError> {
        let record = self.describe(target).await?;
        payload(&*self.0.store, target, BlobPart::Input, &record.spec.input).await
    }

    async fn result(&self, target: &Target, run: Option<u32>) -> Result<Payload, StoreError> {
        let record = self.describe(target).await?;
        let run = run.unwrap_or(record.run.number);
        let outcome = match run == record.run.number {
            true => record.outcome().map(|(outcome, _)| outcome),
            false => record.past_runs.get(run as usize).map(|past| &past.outcome),
        };
        let Some(Outcome::Success { result }) = outcome else {
            return Err(Refusal::WrongState {
                command: "reading the result",
                state: record.public_state(),
                needs: "completed",
            }
            .into());
        };
        payload(&*self.0.store, target, BlobPart::Result(run), result).await
    }

    async fn attempts(
        &self,
        target: &Target,
        from: u32,
        limit: usize,
    ) -> Result<Vec<Attempt>, StoreError> {
        if limit == 0 || limit > PAGE {
            let why = format!("is {limit}; give 1 to {PAGE}");
            return Err(Refusal::invalid("limit", why).into());
        }
        let record = self.describe(target).await?;
        let (owner, collection) = (target.execution, Collection::Attempts);
        let Some(newest) = record.attempt.filter(|newest| newest.number >= from) else {
            return Ok(Vec::new());
        };
        let mut attempts = Vec::new();
        let mut next = from;
        // A read may end early. The record was read first: what has ended since is not asked for.
        while next < newest.number && attempts.len() < limit {
            let left = (newest.number - next) as usize;
            let limit = left.min(limit - attempts.len());
            let range = ElementRange { owner, collection, from: next.into(), limit };
            let page = self.store().elements(range).await?.into_iter();
            let before = attempts.len();
            attempts.extend(page.filter_map(Element::into_attempt));
            if attempts.len() == before {
                break;
            }
            next = attempts.last().map_or(next, |last: &Attempt| last.number + 1);
        }
        if next == newest.number && attempts.len() < limit {
            attempts.push(newest);
        }
        Ok(attempts)
    }

    async fn steps(
        &self,
        target: &Target,
        from: u64,
        limit: usize,
    ) -> Result<JournalPage, StoreError> {
        journal::page(&*self.0.store, target, Which::All, from, limit).await
    }

    async fn list(&self, listing: &Listing) -> Result<ListPage, StoreError> {
        let namespace = &listing.namespace;
        let around = match listing.filter.lacks_worker {
            true => Some(self.around(namespace, self.now().await?).await?),
            false => None,
        };
        let mut page = listing::page(&*self.0.store, listing, around.as_ref()).await?;
        if page.executions.iter().any(may_lack_worker) {
            let around = match around {
                Some(around) => around,
                None => self.around(namespace, self.now().await?).await?,
            };
            let lacking = page.executions.iter().filter(|record| around.lacks_worker_for(record));
            page.lacks_worker = lacking.map(|record| record.id).collect();
        }
        Ok(page)
    }

    async fn cancel(&self, cancel: Cancel) -> Result<Cancelled, StoreError> {
        self.one(cancel).await.and_then(only!(Cancelled))
    }

    async fn replay(&self, replay: Replay) -> Result<u32, StoreError> {
        self.one(replay).await.and_then(only!(Replayed))
    }

    async fn revoke(&self, revoke: Revoke) -> Result<Exited, StoreError> {
        self.one(revoke).await.and_then(only!(Exited))
    }

    async fn set_priority(&self, set: SetPriority) -> Result<(), StoreError> {
        self.one(set).await.and_then(done)
    }

    async fn set_tags(&self, set: SetTags) -> Result<(), StoreError> {
        self.one(set).await.and_then(done)
    }

    async fn workers(
        &self,
        namespace: &Namespace,
        after: Option<&WorkerInstanceId>,
        limit: usize,
    ) -> Result<Vec<Registration>, StoreError> {
        let found = self.resources(namespace, ResourceKind::Worker, after.map(Into::into), limit);
        Ok(found.await?.iter().filter_map(|found| found.as_worker().cloned()).collect())
    }

    async fn update_lane(&self, order: LaneUpdate) -> Result<LaneState, StoreError> {
        let (process, by) = (self.0.clone(), self.2.clone());
        self.0.call(async move { lanes::order(&process, order, by).await }).await
    }

    async fn lane(&self, namespace: &Namespace, lane: &Lane) -> Result<LaneState, StoreError> {
        let key = ResourceKey::lane(namespace, lane, self.store().partitions());
        let found = self.store().resource(&key).await?;
        Ok(found.as_ref().and_then(|found| found.as_lane()).cloned().unwrap_or_default())
    }

    async fn lanes(
        &self,
        namespace: &Namespace,
        after: Option<&Lane>,
        limit: usize,
    ) -> Result<Vec<LaneView>, StoreError> {
        let found = self.resources(namespace, ResourceKind::Lane, after.map(Into::into), limit);
        let view = |found: &Resource| {
            Some(LaneView { lane: (&found.key.name).into(), state: found.as_lane()?.clone() })
        };
        Ok(found.await?.iter().filter_map(view).collect())
    }

    async fn explain(&self, target: &Target) -> Result<Explanation, StoreError> {
        let record = self.describe(target).await?;
        let now = self.now().await?;
        if let State::Blocked { on, .. } = &record.state {
            let key = self.limit(on.kind, &target.namespace, &on.name);
            let around = match self.store().resource(&key).await {
                Err(StoreError::Corrupt(_)) => {
                    ExplainInputs { limit_is_unreadable: true, ..Default::default() }
                }
                found => ExplainInputs { limit: found?, ..Default::default() },
            };
            return Ok(explain(&record, now, &around));
        }
        if let (State::Awaiting { .. }, Some(member)) = (&record.state, &record.member) {
            let upstreams = self.unfinished_upstreams(member.flow, member.node, UPSTREAMS).await?;
            return Ok(explain(&record, now, &ExplainInputs { upstreams, ..Default::default() }));
        }
        if !matches!(record.state, State::Queued { .. }) {
            return Ok(explain(&record, now, &ExplainInputs::default()));
        }
        let place = QueueEntry {
            namespace: record.spec.namespace.clone(),
            lane: record.spec.lane.clone(),
            class: record.spec.requires.clone(),
            score: Score::of(record.priority, record.queued_at),
        };
        let around = ExplainInputs {
            lane: Some(self.lane(&target.namespace, &record.spec.lane).await?),
            ahead: Some(self.store().ahead(&place, record.id).await?),
            ..self.around(&target.namespace, now).await?
        };
        Ok(explain(&record, now, &around))
    }
}

impl<S: Store + ?Sized> Engine<S> {
    /// The live workers of a namespace, and who else was seen to claim in it.
    pub(super) async fn around(
        &self,
        namespace: &Namespace,
        now: Time,
    ) -> Result<ExplainInputs, StoreError> {
        let claimers = self.0.claimers.of(namespace);
        let mut around = ExplainInputs { claimers, ..ExplainInputs::default() };
        let mut after = None;
        loop {
            let page = self.workers(namespace, after.as_ref(), PAGE).await?;
            after = page.last().map(|last| last.worker.instance.clone());
            let whole = page.len() == PAGE;
            around.workers.extend(page.into_iter().filter(|worker| worker.until() > now));
            if !whole {
                return Ok(around);
            }
        }
    }

    pub(super) async fn resources(
        &self,
        namespace: &Namespace,
        kind: ResourceKind,
        after: Option<ResourceName>,
        limit: usize,
    ) -> Result<Vec<Resource>, StoreError> {
        if limit == 0 || limit > PAGE {
            let why = format!("is {limit}; give 1 to {PAGE}");
            return Err(Refusal::invalid("limit", why).into());
        }
        self.store()
            .resources(ResourceScan { namespace: namespace.clone(), kind, after, limit })
            .await
    }
}

async fn payload(
    store: &dyn Store,
    target: &Target,
    part: BlobPart,
    shape: &PayloadShape,
) -> Result<Payload, StoreError> {
    let bytes = store.blob(BlobKey { execution: target.execution, part }).await?;
    let Some(bytes) = bytes else {
        // Removed with its execution since the record was read, or lost: the record says which.
        return match store.record(target.execution).await? {
            None => Err(Refusal::NotFound.into()),
            Some(_) => {
                let what = format!("{part:?} of {} is missing", target.execution);
                Err(StoreError::Corrupt(what))
            }
        };
    };
    Ok(Payload { content_type: shape.content_type.clone(), bytes })
}
