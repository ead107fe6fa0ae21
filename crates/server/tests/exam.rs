//! The exam that every backend sits, sat over HTTP: clients and workers call a real server, and
//! only the maintenance role calls the store directly.
#![allow(clippy::expect_used, reason = "a test that cannot continue fails")]
#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod fixture;

use std::sync::Arc;

use async_trait::async_trait;
use ff_api::client::HttpClient;
use ff_backend_memory::MemoryStore;
use ff_conformance::Subject;
use ff_core::budget::{BudgetLimits, BudgetView};
use ff_core::continuation::Continuation;
use ff_core::credential::TokenView;
use ff_core::explain::Explanation;
use ff_core::feed::FeedState;
use ff_core::graph::FlowSubmission;
use ff_core::limits::{Amounts, Blocker};
use ff_core::machine::{
    AppendFrames, AppendedFrames, Cancel, CancelFlow, CancelHeld, Cancelled, ClaimGranted,
    ClaimRequest, Claimed, CloseWaitpoint, Complete, Continued, Delay, Delete, Fail, FlowPage,
    FlowSubmitted, GrantNext, Granted, LeaseRef, OpenWaitpoint, PatchSummary, PatchedSummary,
    RecordStep, RecordedStep, Registered, Renewed, Replay, ReportProgress, ReportUsage, Resume,
    Revoke, SetPriority, SetTags, Signal, Signalled, Submit, Submitted, Suspend, Target, Ticked,
    WaitpointRef,
};
use ff_core::quota::{QuotaLimits, QuotaView};
use ff_core::record::{Attempt, Exited};
use ff_core::resource::{LaneState, Registration};
use ff_core::schedule::ScheduleSpec;
use ff_core::signal::ReceivedSignal;
use ff_core::signing::{Fingerprint, SigningKeys};
use ff_core::summary::Summary;
use ff_core::suspension::Waitpoint;
use ff_core::webhook::{DeliveryReport, Webhook};
use ff_core::{
    Actor, Description, ExecutionId, IdempotencyKey, Kid, Lane, Millis, Namespace, NodeName,
    Payload, RequestId, ResourceKey, ResourceName, Time, TokenName, WorkerInstanceId,
};
use ff_store::audit::Rows;
use ff_store::backlog::Backlog;
use ff_store::events::{EventsPage, EventsRequest, FeedUpdate};
use ff_store::journal::JournalPage;
use ff_store::listing::{ListPage, Listing};
use ff_store::ring::{Claims, KeyFile, Purpose, SignedToken};
use ff_store::roles::{
    Answer, Bulk, BulkSlice, CreateToken, CreatedToken, Engine, FlowCancelled, LaneUpdate,
    LaneView, MadeToken, NewToken, OpenedWaitpoint, Parked, Registering, Session, TokenSignal,
    Verified,
};
use ff_store::schedules::{BackfillRange, NamedSchedule};
use ff_store::stops::{StopCursor, StopNews};
use ff_store::tails::{Follow, FramePage};
use ff_store::webhooks::{NamedWebhook, Reach, Turn, WebhookUpdate};
use ff_store::{
    BulkBackend, ClientBackend, DeliveryBackend, DueCursor, DueTimers, EmitBackend, EngineBackend,
    EngineId, EventsBackend, FlowBackend, KeysBackend, LimitsBackend, MaintenanceBackend,
    MemberBackend, NamedTokensBackend, PartitionSet, Repaired, SchedulesBackend, SignalBackend,
    Stats, StoreError, StreamBackend, SuspendBackend, TokenBackend, VerifyBackend, Wakeups,
    WebhooksBackend, WorkerBackend,
};
use fixture::Fixture;

/// Two roles over HTTP, the third in process.
struct OverHttp {
    http: HttpClient,
    store: Engine<MemoryStore>,
}

async fn over_http() -> Subject {
    let server = Fixture::start().await;
    let (store, clock) = (server.store.clone(), server.clock.clone());
    let backend = OverHttp { http: server.client(), store: store.clone() };
    Subject::over(Arc::new(backend), store.store().clone(), clock).keeping(server)
}

ff_conformance::exam!(http, over_http);

impl EngineBackend for OverHttp {
    /// The client of this exam has one credential: who else acts does so in process.
    fn acting(&self, by: Actor) -> Arc<dyn EngineBackend> {
        self.store.acting(by)
    }
}

/// Implements a role of [`OverHttp`] by passing each call to a field.
macro_rules! pass {
    ($role:ident to $field:ident {
        $($call:ident($($name:ident: $kind:ty),*) -> $answer:ty;)+
    } $($rest:tt)*) => {
        #[async_trait]
        impl $role for OverHttp {
            $(async fn $call(&self, $($name: $kind),*) -> Result<$answer, StoreError> {
                $role::$call(&self.$field, $($name),*).await
            })+
            $($rest)*
        }
    };
}

pass!(ClientBackend to http {
    submit(batch: Vec<Submit>) -> Vec<Answer<Submitted>>;
    describe(target: &Target) -> Description;
    wait(target: &Target, longest: Millis) -> Description;
    input(target: &Target) -> Payload;
    result(target: &Target, run: Option<u32>) -> Payload;
    attempts(target: &Target, from: u32, limit: usize) -> Vec<Attempt>;
    steps(target: &Target, from: u64, limit: usize) -> JournalPage;
    list(listing: &Listing) -> ListPage;
    cancel(cancel: Cancel) -> Cancelled;
    replay(replay: Replay) -> u32;
    revoke(revoke: Revoke) -> Exited;
    set_priority(set: SetPriority) -> ();
    set_tags(set: SetTags) -> ();
    workers(
        namespace: &Namespace, after: Option<&WorkerInstanceId>, limit: usize
    ) -> Vec<Registration>;
    update_lane(order: LaneUpdate) -> LaneState;
    lane(namespace: &Namespace, lane: &Lane) -> LaneState;
    lanes(namespace: &Namespace, after: Option<&Lane>, limit: usize) -> Vec<LaneView>;
    explain(target: &Target) -> Explanation;
} fn new_id(&self, namespace: &Namespace, key: Option<&IdempotencyKey>) -> ExecutionId {
    self.http.new_id(namespace, key)
});

pass!(EmitBackend to http {
    append_frames(append: AppendFrames) -> AppendedFrames;
    patch_summary(patch: PatchSummary) -> PatchedSummary;
});

pass!(StreamBackend to http {
    frames(target: &Target, from: u64, limit: usize) -> FramePage;
    follow(target: &Target, from: u64) -> Box<dyn Follow>;
    summary(target: &Target) -> Option<Summary>;
});

pass!(FlowBackend to http {
    submit_flow(flow: FlowSubmission) -> FlowSubmitted;
    flow(target: &Target, from: u32, limit: usize) -> FlowPage;
    cancel_flow(cancel: CancelFlow) -> FlowCancelled;
    replay_flow(target: &Target, run: u32) -> u32;
});

pass!(MemberBackend to http {
    upstream(target: &Target, upstream: &NodeName) -> Payload;
});

pass!(SuspendBackend to http {
    open_waitpoint(open: OpenWaitpoint) -> OpenedWaitpoint;
    close_waitpoint(close: CloseWaitpoint) -> ();
    suspend(suspend: Suspend) -> Parked;
    received(target: &Target, from: u64, limit: usize) -> Vec<ReceivedSignal>;
});

#[async_trait]
impl SignalBackend for OverHttp {
    /// The client of this exam has one credential: signals of other sources, and those that a token
    /// carries, come from elsewhere.
    async fn signal(&self, signal: Signal) -> Result<Signalled, StoreError> {
        let is_own = signal.source.as_str() == "local";
        match is_own && matches!(signal.waitpoint, WaitpointRef::ByKey(_)) {
            true => self.http.signal(signal).await,
            false => self.store.signal(signal).await,
        }
    }

    async fn resume(&self, resume: Resume) -> Result<bool, StoreError> {
        self.http.resume(resume).await
    }

    async fn waitpoints(&self, target: &Target) -> Result<Vec<Waitpoint>, StoreError> {
        self.http.waitpoints(target).await
    }

    async fn signals(
        &self,
        target: &Target,
        from: u64,
        limit: usize,
    ) -> Result<Vec<ReceivedSignal>, StoreError> {
        self.http.signals(target, from, limit).await
    }
}

pass!(EventsBackend to http {
    events(request: EventsRequest) -> EventsPage;
    feed(namespace: &Namespace) -> FeedState;
    set_feed(update: FeedUpdate) -> FeedState;
});

pass!(WebhooksBackend to http {
    set_webhook(update: WebhookUpdate) -> NamedWebhook;
    webhook(namespace: &Namespace, name: &ResourceName) -> NamedWebhook;
    webhooks(namespace: &Namespace) -> Vec<NamedWebhook>;
    delete_webhook(namespace: &Namespace, name: &ResourceName) -> ();
});

#[async_trait]
impl DeliveryBackend for OverHttp {
    async fn next_turn(&self) -> Turn {
        self.store.next_turn().await
    }

    async fn report_delivery(
        &self,
        key: &ResourceKey,
        turn: u64,
        report: DeliveryReport,
    ) -> Result<Webhook, StoreError> {
        self.store.report_delivery(key, turn, report).await
    }

    fn reach(&self) -> Reach {
        self.store.reach()
    }

    fn set_reach(&self, reach: Reach) {
        self.store.set_reach(reach);
    }

    async fn store_time(&self) -> Result<Time, StoreError> {
        self.store.store_time().await
    }
}

pass!(SchedulesBackend to http {
    set_schedule(namespace: &Namespace, name: &ResourceName, spec: ScheduleSpec) -> NamedSchedule;
    schedule(namespace: &Namespace, name: &ResourceName) -> NamedSchedule;
    schedules(
        namespace: &Namespace, after: Option<&ResourceName>, limit: usize
    ) -> Vec<NamedSchedule>;
    pause_schedule(
        namespace: &Namespace, name: &ResourceName, paused: bool, reason: Option<Box<str>>
    ) -> NamedSchedule;
    run_schedule(namespace: &Namespace, name: &ResourceName, request: RequestId) -> Submitted;
    backfill_schedule(
        namespace: &Namespace, name: &ResourceName, range: BackfillRange
    ) -> NamedSchedule;
    delete_schedule(namespace: &Namespace, name: &ResourceName) -> ();
});

pass!(BulkBackend to http {
    delete(delete: Delete) -> ();
    bulk(bulk: &Bulk) -> BulkSlice;
});

pass!(LimitsBackend to http {
    put_budget(namespace: &Namespace, name: &ResourceName, limits: BudgetLimits) -> BudgetView;
    reset_budget(namespace: &Namespace, name: &ResourceName) -> BudgetView;
    budget(namespace: &Namespace, name: &ResourceName) -> BudgetView;
    budgets(namespace: &Namespace, after: Option<&ResourceName>, limit: usize) -> Vec<BudgetView>;
    delete_budget(namespace: &Namespace, name: &ResourceName) -> ();
    put_quota(namespace: &Namespace, name: &ResourceName, limits: QuotaLimits) -> QuotaView;
    quota(namespace: &Namespace, name: &ResourceName) -> QuotaView;
    quotas(namespace: &Namespace, after: Option<&ResourceName>, limit: usize) -> Vec<QuotaView>;
    delete_quota(namespace: &Namespace, name: &ResourceName) -> ();
});

pass!(NamedTokensBackend to http {
    create_token(create: CreateToken) -> CreatedToken;
    tokens(after: Option<&TokenName>, limit: usize) -> Vec<TokenView>;
    revoke_token(name: &TokenName, number: Option<u32>, by: Actor) -> TokenView;
});

pass!(VerifyBackend to store {
    verify_token(text: &str) -> Option<Verified>;
    note_token_use(name: &TokenName) -> ();
});

pass!(WorkerBackend to http {
    ping() -> ();
    claim(claim: ClaimRequest, wait: Millis) -> Claimed;
    grant(grant: GrantNext) -> Granted;
    claim_granted(claim: ClaimGranted) -> Claimed;
    renew(holds: Vec<LeaseRef>) -> Vec<Answer<Renewed>>;
    stops(
        namespace: &Namespace, instance: &WorkerInstanceId, after: Option<StopCursor>, wait: Millis
    ) -> StopNews;
    progress(report: ReportProgress) -> ();
    complete(batch: Vec<Complete>) -> Vec<Answer<Exited>>;
    fail(fail: Fail) -> Exited;
    delay(delay: Delay) -> Exited;
    cancel_held(cancel: CancelHeld) -> Exited;
    hand_back(holds: Vec<LeaseRef>) -> Vec<Answer<Exited>>;
    report_usage(report: ReportUsage) -> Amounts;
    record_step(record: RecordStep) -> RecordedStep;
    journal(target: &Target, from: u64, limit: usize) -> JournalPage;
    register(worker: Registering) -> Registered;
    heartbeat(session: &Session) -> Registered;
    disconnect(session: &Session) -> ();
} fn on_own_connections(&self) -> Arc<dyn WorkerBackend> {
    self.http.on_own_connections()
});

pass!(TokenBackend to http {
    waitpoint_token(new: NewToken) -> MadeToken;
    signal_by_token(token: &SignedToken, signal: TokenSignal) -> (ExecutionId, Signalled);
});

pass!(KeysBackend to store {
    signing_keys() -> (SigningKeys, Time);
    serve_keys(file: Option<KeyFile>) -> ();
    use_keys(file: KeyFile) -> ();
    refresh_keys() -> Vec<Kid>;
    rotate_key(kid: &Kid, fingerprint: Fingerprint, grace: Millis) -> SigningKeys;
    retire_key(kid: &Kid) -> SigningKeys;
    verify(purpose: Purpose, token: &SignedToken) -> Claims;
} fn sign(&self, purpose: Purpose, claims: &Claims) -> Result<SignedToken, StoreError> {
    self.store.sign(purpose, claims)
});

pass!(MaintenanceBackend to store {
    due(share: &PartitionSet, after: Option<DueCursor>, limit: usize) -> DueTimers;
    engine_heartbeat(engine: EngineId) -> Vec<EngineId>;
    leave(engine: EngineId) -> ();
    tick(ids: Vec<ExecutionId>) -> Vec<Answer<Ticked>>;
    tick_resource(key: ResourceKey) -> bool;
    run_continuations(due: Vec<Continuation>) -> Vec<Answer<Continued>>;
    blockers(
        share: &PartitionSet, after: Option<&(Namespace, Blocker)>, limit: usize
    ) -> Vec<(Namespace, Blocker)>;
    release(namespace: &Namespace, on: &Blocker) -> u64;
    backlog() -> Backlog;
    rows() -> Rows;
    repair() -> Repaired;
} fn wakeups(&self) -> &Wakeups {
    self.store.wakeups()
}

fn stats(&self) -> Option<Stats> {
    self.store.stats()
}

async fn drain(&self) {
    self.store.drain().await;
}

fn partitions(&self) -> u16 {
    self.store.partitions()
});
