//! The roles, spoken over HTTP.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ff_core::bounds::{BATCH, BATCH_BYTES, END_WAIT_MAX};
use ff_core::explain::Explanation;
use ff_core::limits::Amounts;
use ff_core::machine::{
    Cancel, CancelHeld, Cancelled, ClaimGranted, ClaimRequest, Claimed, Complete, Delay, Fail,
    GrantNext, Granted, LeaseRef, RecordStep, RecordedStep, Registered, Renewed, Replay,
    ReportProgress, ReportUsage, Revoke, SetPriority, SetTags, Submit, Submitted, Target,
};
use ff_core::record::{Attempt, Exited};
use ff_core::resource::{LaneState, Registration};
use ff_core::view::{BlockingReason, ExitOutcome};
use ff_core::{
    Description, ExecutionId, IdempotencyKey, Lane, Millis, Namespace, Partition, Payload, Refusal,
    RequestId, WorkerInstanceId,
};
use ff_store::journal::JournalPage;
use ff_store::listing::{ListPage, Listing};
use ff_store::roles::{self, Answer, LaneUpdate, Registering, Session};
use ff_store::stops::{StopCursor, StopNews};
use ff_store::{ClientBackend, StoreError, WorkerBackend, mint};
use serde::de::DeserializeOwned;

use super::answers::{claimed, error_of, exited, exits, one_each, registered, renewed, understood};
use super::explained::explained;
use super::paths::{lane_path, list_path, page_path};
use super::transport::{HttpClient, broken};
use crate::http::{
    BatchAnswer, BatchComplete, CancelHeldRequest, CancelRequest, ClaimGrantedRequest,
    CompleteRequest, DelayRequest, ExitAnswers, FailRequest, GrantRequest, GrantedView,
    HeartbeatView, HoldBody, LaneRequest, Leases, PriorityRequest, ProgressRequest,
    RecordedStepView, RegisterRequest, ReplayRequest, RevokeRequest, SessionBody, StepRequest,
    StopsView, SubmitBatch, SubmitRequest, TagsRequest, UsageRequest, UsedView,
};
use crate::{
    AttemptsView, CancelledView, ExecutionView, LanePageView, LaneView, ListPageView, ReplayedView,
    RevokedView, WarningView, WorkerPageView,
};

impl HttpClient {
    /// The lanes that have settings and those in which something waits, in the order of their names,
    /// after `after`, at most `limit`.
    pub async fn lane_page(
        &self,
        namespace: &Namespace,
        after: Option<&Lane>,
        limit: usize,
    ) -> Result<LanePageView, StoreError> {
        self.get(&page_path("lanes", namespace, after.map(Lane::as_str), limit)).await
    }

    pub(super) fn execution(target: &Target, call: &str) -> String {
        format!("/v1/executions/{}{call}?namespace={}", target.execution, target.namespace)
    }

    /// A call by the holder of a lease, or by an operator.
    pub(super) async fn steer<T: DeserializeOwned>(
        &self,
        target: &Target,
        call: &str,
        body: &impl serde::Serialize,
    ) -> Result<T, StoreError> {
        let path = HttpClient::execution(target, call);
        self.post(&path, body, Duration::ZERO).await?.ok_or_else(|| broken("no content"))
    }

    async fn exit(
        &self,
        target: &Target,
        call: &str,
        body: &impl serde::Serialize,
    ) -> Result<Exited, StoreError> {
        exited(&self.steer(target, call, body).await?)
    }

    /// A change that has nothing to tell.
    async fn change(
        &self,
        target: &Target,
        call: &str,
        body: &impl serde::Serialize,
    ) -> Result<(), StoreError> {
        let path = HttpClient::execution(target, call);
        self.post::<()>(&path, body, Duration::ZERO).await.map(drop)
    }

    async fn complete_part(
        &self,
        path: &str,
        part: &[Complete],
    ) -> Result<Vec<Answer<Exited>>, StoreError> {
        let body = BatchComplete { completions: part.iter().map(CompleteRequest::from).collect() };
        let view: Option<ExitAnswers> = self.post(path, &body, Duration::ZERO).await?;
        one_each(exits(view.ok_or_else(|| broken("no content"))?), part.len())
    }

    /// The path of a call about leases, of which this is the first.
    fn path_of(&self, first: Option<&LeaseRef>, call: &str, namespace: &Namespace) -> String {
        let request = first.map_or(RequestId::new(0), |hold| hold.fence.lease.request);
        format!("{}?namespace={namespace}", self.workers.path(request, call))
    }

    /// A call about several leases of one namespace.
    async fn leases<T: DeserializeOwned>(
        &self,
        call: &str,
        holds: &[LeaseRef],
    ) -> Result<T, StoreError> {
        let namespace = one_namespace(holds.iter().map(|hold| &hold.target.namespace))?;
        let body = Leases { leases: holds.iter().map(HoldBody::from).collect() };
        let path = self.path_of(holds.first(), call, namespace);
        self.post(&path, &body, Duration::ZERO).await?.ok_or_else(|| broken("no content"))
    }
}

#[async_trait]
impl ClientBackend for HttpClient {
    fn new_id(&self, namespace: &Namespace, key: Option<&IdempotencyKey>) -> ExecutionId {
        match key {
            // The partition that all callers agree on.
            Some(key) => mint::execution_id(Partition::of_key(namespace, key)),
            None => mint::scattered_id(),
        }
    }

    async fn submit(&self, batch: Vec<Submit>) -> Result<Vec<Answer<Submitted>>, StoreError> {
        check_batch(batch.len())?;
        let namespace = one_namespace(batch.iter().map(|submit| &submit.namespace))?.clone();
        let body = SubmitBatch { executions: batch.iter().map(SubmitRequest::from).collect() };
        let path = format!("/v1/executions/batch?namespace={namespace}");
        let answer: Option<BatchAnswer> = self.post(&path, &body, Duration::ZERO).await?;
        let answers = answer.ok_or_else(|| broken("no content"))?.answers;
        let answers = answers.into_iter().map(|answer| match (answer.submitted, answer.error) {
            (Some(view), _) => Ok(Submitted {
                execution: view.id,
                created: view.new,
                state: view.state,
                warnings: understood(view.warnings.iter().map(WarningView::warning).collect())?,
            }),
            (None, Some(error)) => Err(error_of(error)),
            (None, None) => Err(broken("an empty answer")),
        });
        one_each(answers.collect(), batch.len())
    }

    async fn describe(&self, target: &Target) -> Result<Description, StoreError> {
        let view: ExecutionView = self.get(&HttpClient::execution(target, "")).await?;
        Description::try_from(view).map_err(|error| broken(&error.0))
    }

    async fn wait(&self, target: &Target, longest: Millis) -> Result<Description, StoreError> {
        let wait_ms = longest.within("wait", Millis::ZERO, END_WAIT_MAX)?.get();
        let path = format!("{}&wait_ms={wait_ms}", HttpClient::execution(target, ""));
        let view: ExecutionView = self.get_in(&path, Duration::from_millis(wait_ms)).await?;
        Description::try_from(view).map_err(|error| broken(&error.0))
    }

    async fn input(&self, target: &Target) -> Result<Payload, StoreError> {
        self.get_payload(&HttpClient::execution(target, "/input")).await
    }

    async fn result(&self, target: &Target, run: Option<u32>) -> Result<Payload, StoreError> {
        let run = run.map(|run| format!("&run={run}")).unwrap_or_default();
        self.get_payload(&format!("{}{run}", HttpClient::execution(target, "/result"))).await
    }

    async fn attempts(
        &self,
        target: &Target,
        from: u32,
        limit: usize,
    ) -> Result<Vec<Attempt>, StoreError> {
        let path = HttpClient::execution(target, "/attempts");
        let view: AttemptsView = self.get(&format!("{path}&cursor={from}&limit={limit}")).await?;
        let attempts = view.attempts.into_iter().map(Attempt::try_from);
        attempts.collect::<Result<_, _>>().map_err(|error| broken(&error.0))
    }

    async fn steps(
        &self,
        target: &Target,
        from: u64,
        limit: usize,
    ) -> Result<JournalPage, StoreError> {
        self.journal_page(target, from, limit, "").await
    }

    async fn list(&self, listing: &Listing) -> Result<ListPage, StoreError> {
        let page: ListPageView = self.get(&list_path(listing)).await?;
        let lacks = BlockingReason::WaitingForCapableWorker;
        let lacking = page.executions.iter().filter(|it| it.state_vector.blocking_reason == lacks);
        let lacks_worker = lacking.map(|view| view.id).collect();
        let executions = page.executions.into_iter().map(Description::try_from);
        Ok(ListPage {
            lacks_worker,
            unreadable: page.unreadable,
            executions: executions.collect::<Result<_, _>>().map_err(|error| broken(&error.0))?,
            next: match page.next {
                Some(cursor) => Some(cursor.parse().map_err(|_| broken("a bad cursor"))?),
                None => None,
            },
        })
    }

    async fn cancel(&self, cancel: Cancel) -> Result<Cancelled, StoreError> {
        let body = CancelRequest {
            grace_ms: cancel.grace.map(Millis::get),
            reason: cancel.reason.as_deref().map(str::to_owned),
        };
        let view: CancelledView = self.steer(&cancel.target, "/cancel", &body).await?;
        Ok(match view.by {
            Some(by) => Cancelled::Cancelling { by: by.0 },
            None => Cancelled::Finished,
        })
    }

    async fn replay(&self, replay: Replay) -> Result<u32, StoreError> {
        let body = ReplayRequest::from(&replay);
        let view: ReplayedView = self.steer(&replay.target, "/replay", &body).await?;
        Ok(view.run)
    }

    async fn revoke(&self, revoke: Revoke) -> Result<Exited, StoreError> {
        let body = RevokeRequest { lease: revoke.lease.to_string() };
        let view: RevokedView = self.steer(&revoke.target, "/revoke", &body).await?;
        match view.status {
            ExitOutcome::Revoked => Ok(Exited::Revoked),
            ExitOutcome::Cancelled => Ok(Exited::Cancelled),
            other => Err(broken(other.as_str())),
        }
    }

    async fn set_priority(&self, set: SetPriority) -> Result<(), StoreError> {
        let body = PriorityRequest { priority: set.priority };
        self.change(&set.target, "/priority", &body).await
    }

    async fn set_tags(&self, set: SetTags) -> Result<(), StoreError> {
        let body = TagsRequest { set: set.set, remove: set.remove };
        self.change(&set.target, "/tags", &body).await
    }

    async fn workers(
        &self,
        namespace: &Namespace,
        after: Option<&WorkerInstanceId>,
        limit: usize,
    ) -> Result<Vec<Registration>, StoreError> {
        let after = after.map(WorkerInstanceId::as_str);
        let page: WorkerPageView = self.get(&page_path("workers", namespace, after, limit)).await?;
        let workers = page.workers.into_iter().map(|view| view.registration());
        understood(workers.collect())
    }

    async fn update_lane(&self, order: LaneUpdate) -> Result<LaneState, StoreError> {
        let path = lane_path(&order.namespace, &order.lane);
        let view: LaneView = self.patch(&path, &LaneRequest::from(&order)).await?;
        Ok(view.state())
    }

    async fn lane(&self, namespace: &Namespace, lane: &Lane) -> Result<LaneState, StoreError> {
        let view: LaneView = self.get(&lane_path(namespace, lane)).await?;
        Ok(view.state())
    }

    async fn lanes(
        &self,
        namespace: &Namespace,
        after: Option<&Lane>,
        limit: usize,
    ) -> Result<Vec<roles::LaneView>, StoreError> {
        let path = page_path("lanes", namespace, after.map(Lane::as_str), limit);
        let page: LanePageView = self.get(&format!("{path}&configured=true")).await?;
        let lane = |view: LaneView| roles::LaneView { state: view.state(), lane: view.lane };
        Ok(page.lanes.into_iter().map(lane).collect())
    }

    async fn explain(&self, target: &Target) -> Result<Explanation, StoreError> {
        explained(self.get(&HttpClient::execution(target, "/explain")).await?)
    }
}

#[async_trait]
impl WorkerBackend for HttpClient {
    async fn ping(&self) -> Result<(), StoreError> {
        // An id that nobody has used: a wrong token is found at once, and the store is asked.
        let namespace = Namespace::default();
        let target = Target { execution: self.new_id(&namespace, None), namespace };
        match self.describe(&target).await {
            Err(error) if error.refused() != Some(ff_core::Code::NotFound) => Err(error),
            _ => Ok(()),
        }
    }

    async fn claim(&self, claim: ClaimRequest, wait: Millis) -> Result<Claimed, StoreError> {
        self.claim_for_caller(claim, wait).await
    }

    async fn grant(&self, grant: GrantNext) -> Result<Granted, StoreError> {
        let path = format!("/v1/workers/{}/grant?namespace={}", grant.worker.id, grant.namespace);
        let body = GrantRequest::from(&grant);
        match self.post::<GrantedView>(&path, &body, Duration::ZERO).await? {
            Some(view) => understood(view.granted()),
            None => Ok(Granted::default()),
        }
    }

    async fn claim_granted(&self, claim: ClaimGranted) -> Result<Claimed, StoreError> {
        let (worker, namespace) = (&claim.worker.id, &claim.target.namespace);
        let path = format!("/v1/workers/{worker}/claim-granted?namespace={namespace}");
        let body = ClaimGrantedRequest::from(&claim);
        self.workers.remember(claim.request, worker);
        claimed(self.post(&path, &body, Duration::ZERO).await?)
    }

    async fn renew(&self, holds: Vec<LeaseRef>) -> Result<Vec<Answer<Renewed>>, StoreError> {
        check_batch(holds.len())?;
        let view: HeartbeatView = self.leases("heartbeat", &holds).await?;
        one_each(view.leases.into_iter().map(renewed).collect(), holds.len())
    }

    async fn stops(
        &self,
        namespace: &Namespace,
        instance: &WorkerInstanceId,
        after: Option<StopCursor>,
        wait: Millis,
    ) -> Result<StopNews, StoreError> {
        let wait_ms = wait.within("wait", Millis::ZERO, END_WAIT_MAX)?.get();
        let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
        let path =
            format!("/v1/stops?namespace={namespace}&instance={instance}&wait_ms={wait_ms}{after}");
        let view: StopsView = self.get_in(&path, Duration::from_millis(wait_ms)).await?;
        understood(view.news())
    }

    async fn progress(&self, report: ReportProgress) -> Result<(), StoreError> {
        let body = ProgressRequest::from(&report);
        self.change(&report.hold.target, "/progress", &body).await
    }

    async fn complete(&self, batch: Vec<Complete>) -> Result<Vec<Answer<Exited>>, StoreError> {
        check_batch(batch.len())?;
        let namespace = one_namespace(batch.iter().map(|c| &c.hold.target.namespace))?;
        let path = self.path_of(batch.first().map(|one| &one.hold), "complete", namespace);
        let mut answers = Vec::new();
        // One request carries about as much as one payload; the batch goes in parts.
        let mut rest = &batch[..];
        while !rest.is_empty() {
            let (part, more) = rest.split_at(fitting(rest));
            match self.complete_part(&path, part).await {
                Ok(part) => answers.extend(part),
                Err(error) if answers.is_empty() => return Err(error),
                Err(error) => answers.extend(part.iter().map(|_| Err(error.clone()))),
            }
            rest = more;
        }
        Ok(answers)
    }

    async fn fail(&self, fail: Fail) -> Result<Exited, StoreError> {
        self.exit(&fail.hold.target, "/fail", &FailRequest::from(&fail)).await
    }

    async fn delay(&self, delay: Delay) -> Result<Exited, StoreError> {
        self.exit(&delay.hold.target, "/delay", &DelayRequest::from(&delay)).await
    }

    async fn cancel_held(&self, cancel: CancelHeld) -> Result<Exited, StoreError> {
        self.exit(&cancel.hold.target, "/cancel-held", &CancelHeldRequest::from(&cancel)).await
    }

    async fn hand_back(&self, holds: Vec<LeaseRef>) -> Result<Vec<Answer<Exited>>, StoreError> {
        check_batch(holds.len())?;
        one_each(exits(self.leases("disconnect", &holds).await?), holds.len())
    }

    async fn report_usage(&self, report: ReportUsage) -> Result<Amounts, StoreError> {
        let body = UsageRequest::from(&report);
        let view: UsedView = self.steer(&report.hold.target, "/usage", &body).await?;
        Ok(view.used)
    }

    async fn record_step(&self, record: RecordStep) -> Result<RecordedStep, StoreError> {
        let body = StepRequest::from(&record);
        let view: RecordedStepView = self.steer(&record.hold.target, "/steps", &body).await?;
        Ok(RecordedStep { number: view.number })
    }

    async fn journal(
        &self,
        target: &Target,
        from: u64,
        limit: usize,
    ) -> Result<JournalPage, StoreError> {
        self.journal_page(target, from, limit, "&visible=true").await
    }

    async fn register(&self, worker: Registering) -> Result<Registered, StoreError> {
        let (id, namespace) = (&worker.worker.id, &worker.namespace);
        let path = format!("/v1/workers/{id}/register?namespace={namespace}");
        self.workers.remember(worker.session, id);
        registered(self.post(&path, &RegisterRequest::from(&worker), Duration::ZERO).await?)
    }

    async fn heartbeat(&self, session: &Session) -> Result<Registered, StoreError> {
        let path = self.workers.path(session.session, "heartbeat");
        let path = format!("{path}?namespace={}", session.namespace);
        registered(self.post(&path, &SessionBody::from(session), Duration::ZERO).await?)
    }

    async fn disconnect(&self, session: &Session) -> Result<(), StoreError> {
        let path = self.workers.path(session.session, "disconnect");
        let path = format!("{path}?namespace={}", session.namespace);
        self.post::<()>(&path, &SessionBody::from(session), Duration::ZERO).await.map(drop)
    }

    fn on_own_connections(&self) -> Arc<dyn WorkerBackend> {
        Arc::new(self.with_own_connections())
    }
}

/// How many of `batch`, at least one, go into one request.
fn fitting(batch: &[Complete]) -> usize {
    let mut bytes = 0;
    let fits = |complete: &&Complete| {
        bytes += complete.result.bytes.len();
        bytes <= BATCH_BYTES
    };
    batch.iter().take_while(fits).count().max(1)
}

fn check_batch(len: usize) -> Result<(), Refusal> {
    match len {
        1..=BATCH => Ok(()),
        _ => Err(Refusal::invalid("batch", format!("has {len} commands; give 1 to {BATCH}"))),
    }
}

/// One request speaks for one namespace.
fn one_namespace<'a>(
    mut all: impl Iterator<Item = &'a Namespace>,
) -> Result<&'a Namespace, Refusal> {
    let first = all.next().ok_or_else(|| Refusal::invalid("batch", "is empty"))?;
    match all.all(|namespace| namespace == first) {
        true => Ok(first),
        false => {
            Err(Refusal::invalid("batch", "names several namespaces; send one batch for each"))
        }
    }
}
