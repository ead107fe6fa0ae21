//! Helpers for commands that are the same each time they are made.

use ff_core::FrameType;
use ff_core::budget::{BudgetLimits, DimensionLimits, OnBreach};
use ff_core::collection::{Collection, ElementName};
use ff_core::condition::{Condition, CountOf};
use ff_core::continuation::{Continuation, ContinuationKind};
use ff_core::journal::ReplayJournal;
use ff_core::limits::{Amounts, Blocker, ExecutionLimits};
use ff_core::machine::{
    Action, AdmissionBatch, AdmissionRequest, Admissions, Admit, Admitted, AppendFrames, Block,
    Cancel, Claim, ClaimGranted, ClaimRequest, CloseWaitpoint, Command, Complete, Continue, Delay,
    Fail, GrantNext, HandBack, Home, LeaseRef, NeedsAdmission, NewWaitpoint, OpenWaitpoint,
    PatchSummary, Phase, PutBudget, PutQuota, RecordStep, Register, Renew, Replay, ReportProgress,
    Resume, Revoke, SetLane, SetPriority, SetTags, Settlement, Signal, Submit, Suspend,
    TOY_ATTENTION, Target, Tick, Toy, ToyLater, ToyPart, ToySubmit, Unblock, WaitpointRef,
};
use ff_core::policy::{Backoff, Policy, Retry};
use ff_core::quota::QuotaLimits;
use ff_core::record::{Progress, Tags, Version};
use ff_core::state::{Failure, Worker};
use ff_core::stream::Frame;
use ff_core::suspension::{OnTimeout, SuspendReason};
use ff_core::{
    AdmissionId, Capabilities, Category, Dimension, ExecutionId, Fence, IdempotencyKey, Lane,
    LeaseId, Millis, Namespace, Patch, Payload, PolicyOverrides, RequestId, ResourceKey,
    ResourceKind, ResourceName, Source, Time, WaitpointId, WaitpointKey, When, WorkerId,
    WorkerInstanceId,
};

use crate::faulty::Step;

/// More bytes than a record keeps.
pub(crate) const LONG: usize = 300;

/// The randomness of every command.
const ENTROPY: u64 = 7;

pub(crate) fn command(action: impl Into<Action>) -> Command {
    Command { entropy: ENTROPY, by: None, action: action.into() }
}

pub(crate) fn run(action: impl Into<Action>) -> Step {
    Step::Run(Box::new(command(action)))
}

pub(crate) fn namespace(name: &str) -> Namespace {
    Namespace::new(name).unwrap()
}

/// The n-th execution.
pub(crate) fn id(n: u32) -> ExecutionId {
    format!("018bcfe5-6800-7000-8b6f-{n:012x}").parse().unwrap()
}

pub(crate) fn ms(span: u64) -> Millis {
    Millis::new(span)
}

/// A lease of 10 s, three attempts at once after each other, an hour of retention.
pub(crate) fn policy() -> Policy {
    Policy {
        retry: Retry { max_attempts: 3, backoff: Backoff::none(), categories: None },
        attempt_timeout: None,
        deadline: None,
        lease_ttl: ms(10_000),
        max_reclaims: 2,
        retention: Millis::from_days(1),
        stream: Default::default(),
    }
}

/// The n-th execution: plain work.
pub(crate) fn work(n: u32) -> Submit {
    Submit { namespace: namespace("acme"), policy: policy().into(), ..Submit::new(id(n)) }
}

/// The n-th execution, with all that an execution can have.
pub(crate) fn laden(n: u32) -> Submit {
    Submit {
        input: long("in"),
        key: Some(IdempotencyKey::new(format!("order-{n}")).unwrap()),
        requires: gpu(),
        policy: Policy { deadline: Some(ms(60_000_000)), ..policy() }.into(),
        ..work(n)
    }
}

pub(crate) fn gpu() -> Capabilities {
    Capabilities::new(["gpu"]).unwrap()
}

pub(crate) fn long(text: &str) -> Payload {
    Payload::bytes(text.repeat(LONG))
}

fn worker() -> Worker {
    let instance = WorkerInstanceId::new("ada-1").unwrap();
    Worker { id: WorkerId::new("ada").unwrap(), instance }
}

/// The r-th claim, by a worker that offers a GPU.
pub(crate) fn claim(r: u128, max: u16) -> ClaimRequest {
    ClaimRequest {
        namespace: namespace("acme"),
        lane: Lane::default(),
        worker: worker(),
        capabilities: gpu(),
        request: RequestId::new(r),
        max,
        retry: false,
    }
}

/// The n-th execution, which a quota must admit.
pub(crate) fn limited(n: u32) -> Submit {
    let limits = ExecutionLimits {
        quotas: [ResourceName::new("api").unwrap()].into(),
        ..ExecutionLimits::default()
    };
    Submit { limits, ..work(n) }
}

fn api() -> Blocker {
    Blocker { kind: ResourceKind::Quota, name: ResourceName::new("api").unwrap() }
}

/// Blocks the n-th execution on that quota.
pub(crate) fn block(n: u32) -> Block {
    Block { execution: id(n), on: api(), detail: "2 of 2 run".into() }
}

/// Unblocks the n-th execution.
pub(crate) fn unblock(n: u32) -> Unblock {
    Unblock { execution: id(n), on: api() }
}

/// The r-th claim, for which these executions are admitted.
pub(crate) fn admitted(r: u128, max: u16, executions: &[u32]) -> Claim {
    let all = executions.iter().map(|n| {
        let needs = NeedsAdmission {
            execution: id(*n),
            version: Version::first(ENTROPY as u32),
            limits: ExecutionLimits::default(),
            used: Amounts::new(),
        };
        let id = AdmissionId { batch: RequestId::new(99), index: *n as u16 };
        let request = AdmissionRequest { id, needs };
        Admitted { request, usable_until: Time::MAX, counts_start: false }
    });
    Claim { call: claim(r, max), first: 0, admissions: Admissions::Only(all.collect()) }
}

pub(crate) fn grant(r: u128) -> GrantNext {
    let ClaimRequest { namespace, lane, worker, capabilities, request, .. } = claim(r, 1);
    GrantNext {
        namespace,
        lane,
        worker,
        capabilities,
        request,
        ttl: ms(5_000),
        retry: false,
        at: None,
        admissions: Admissions::Any,
    }
}

/// The key of the lane's settings.
pub(crate) fn lane_key() -> ResourceKey {
    ResourceKey::lane(&namespace("acme"), &Lane::default(), 1)
}

pub(crate) fn set_lane(paused: bool, draining: bool) -> SetLane {
    let (paused, draining) = (Some(paused), Some(draining));
    let (max_active, defaults) = (Patch::Unset, Patch::Unset);
    SetLane { key: lane_key(), paused, draining, max_active, defaults, reason: None, spread: true }
}

/// At most this many of the lane run at once.
pub(crate) fn limit_lane(most: u32) -> SetLane {
    SetLane { max_active: Patch::Set(most), ..set_lane(false, false) }
}

/// The default policy of the lane.
pub(crate) fn lane_defaults(ask: impl Into<PolicyOverrides>) -> SetLane {
    SetLane { defaults: Patch::Set(Box::new(ask.into())), ..set_lane(false, false) }
}

/// The key of the worker's registration.
pub(crate) fn worker_key() -> ResourceKey {
    ResourceKey::worker(&namespace("acme"), &worker().instance, 1)
}

pub(crate) fn register() -> Register {
    Register {
        key: worker_key(),
        worker: worker(),
        session: RequestId::new(1),
        lanes: vec![Lane::default()],
        capabilities: gpu(),
        ttl: ms(5_000),
    }
}

pub(crate) fn use_grant(n: u32, r: u128) -> ClaimGranted {
    ClaimGranted { target: target(n), request: RequestId::new(r), worker: worker() }
}

pub(crate) fn target(n: u32) -> Target {
    Target { namespace: namespace("acme"), execution: id(n) }
}

/// The hold of the n-th execution by the r-th claim, which has taken it first, as its `epoch`-th
/// lease and in its `attempt`.
pub(crate) fn hold(n: u32, r: u128, epoch: u64, attempt: u32) -> LeaseRef {
    let lease = LeaseId::new(RequestId::new(r), 0, epoch - 1);
    LeaseRef { target: target(n), fence: Fence { lease, epoch, attempt } }
}

pub(crate) fn complete(hold: LeaseRef, result: Payload) -> Complete {
    Complete { hold, result }
}

pub(crate) fn fail(hold: LeaseRef, retryable: bool) -> Fail {
    let failure = Failure { category: Category::error(), retryable, message: "no".into() };
    Fail { hold, failure }
}

pub(crate) fn renew(hold: LeaseRef) -> Renew {
    Renew { hold }
}

pub(crate) fn delay(hold: LeaseRef, span: u64) -> Delay {
    Delay { hold, until: When::After(ms(span)), step: None }
}

/// A delay whose end is written to the journal.
pub(crate) fn sleep(hold: LeaseRef, span: u64) -> Delay {
    Delay { step: Some("nap".parse().unwrap()), ..delay(hold, span) }
}

pub(crate) fn record_step(hold: LeaseRef, name: &str) -> RecordStep {
    RecordStep { hold, name: name.parse().unwrap(), result: Payload::bytes("paid") }
}

/// The waitpoint of every suspension here.
fn gate() -> NewWaitpoint {
    NewWaitpoint { id: WaitpointId::new(5), key: gate_key(), until: None }
}

fn gate_key() -> WaitpointKey {
    WaitpointKey::new("gate").unwrap()
}

pub(crate) fn open_waitpoint(hold: LeaseRef) -> OpenWaitpoint {
    OpenWaitpoint { hold, waitpoint: gate() }
}

pub(crate) fn close_waitpoint(hold: LeaseRef) -> CloseWaitpoint {
    CloseWaitpoint { hold, key: gate_key() }
}

/// A suspension until `n` signals have come, of which the journal keeps the end.
pub(crate) fn suspend(hold: LeaseRef, n: u32) -> Suspend {
    let of = CountOf::Signals;
    Suspend {
        hold,
        waitpoints: vec![gate()],
        condition: Condition::Count { n, of, waitpoints: Vec::new(), name: None },
        timeout: None,
        on_timeout: OnTimeout::Resume,
        reason: SuspendReason::Approval,
        message: Some("may it?".into()),
        step: Some("ask".parse().unwrap()),
        keep_if_satisfied: false,
    }
}

/// The same, for 700 ms.
pub(crate) fn suspend_for(hold: LeaseRef, on_timeout: OnTimeout) -> Suspend {
    Suspend { timeout: Some(When::After(ms(700))), on_timeout, ..suspend(hold, 1) }
}

/// A signal of this source for the n-th execution.
pub(crate) fn signal(n: u32, source: &str) -> Signal {
    Signal {
        target: target(n),
        waitpoint: WaitpointRef::ByKey(gate_key()),
        key: None,
        name: None,
        category: None,
        source: Source::new(source).unwrap(),
        payload: long("yes"),
    }
}

pub(crate) fn resume(n: u32) -> Resume {
    Resume { target: target(n) }
}

/// Frames from a number on, each of this many bytes.
pub(crate) fn append(hold: LeaseRef, first: u64, bytes: &[usize]) -> AppendFrames {
    let of = |bytes: &usize| Frame::new(FrameType::token(), vec![b'x'; *bytes]);
    AppendFrames { hold, first: Some(first), frames: bytes.iter().map(of).collect() }
}

pub(crate) fn patch_summary(hold: LeaseRef, number: u64, patch: &'static str) -> PatchSummary {
    PatchSummary { hold, number: Some(number), patch: patch.into() }
}

pub(crate) fn hand_back(hold: LeaseRef) -> HandBack {
    HandBack { hold }
}

pub(crate) fn progress(hold: LeaseRef) -> ReportProgress {
    let progress = Progress { percent: Some(50), message: Some("half".into()) };
    ReportProgress { hold, progress }
}

pub(crate) fn cancel(n: u32, grace: Option<u64>) -> Cancel {
    Cancel { target: target(n), grace: grace.map(ms), reason: None }
}

pub(crate) fn revoke(n: u32, r: u128) -> Revoke {
    Revoke { target: target(n), lease: LeaseId { request: RequestId::new(r), index: 0 } }
}

pub(crate) fn set_priority(n: u32, priority: i16) -> SetPriority {
    SetPriority { target: target(n), priority }
}

pub(crate) fn set_tags(n: u32) -> SetTags {
    let team = ("team".parse().unwrap(), "blue".parse().unwrap());
    SetTags { target: target(n), set: Tags::from([team]), remove: Vec::new() }
}

pub(crate) fn replay(n: u32, run: u32) -> Replay {
    Replay { target: target(n), run, journal: ReplayJournal::Keep }
}

pub(crate) fn tick(n: u32) -> Tick {
    Tick { execution: id(n) }
}

/// An element with a name.
pub(crate) fn step(n: u32, name: &'static str) -> Toy {
    let name = Some(ElementName::new("name", name).unwrap());
    let parts = vec![ToyPart::Bytes("result".into())];
    Toy { target: target(n), into: Collection::Steps, name, parts, follower: None }
}

/// An element by which an unfinished execution needs attention.
pub(crate) fn ask_for_attention(n: u32) -> Toy {
    Toy { target: target(n), into: TOY_ATTENTION, name: None, parts: Vec::new(), follower: None }
}

/// A submit with elements beside its record.
pub(crate) fn with_elements(submit: Submit) -> ToySubmit {
    let name = |name: &'static str| Some(ElementName::new("name", name).unwrap());
    let elements = vec![
        (Collection::Steps, name("a"), "first".into()),
        (Collection::Steps, name("a"), "second".into()),
        (Collection::Signals, None, "signal".into()),
    ];
    ToySubmit { submit: Box::new(submit), elements }
}

/// An element that is appended, unless it is the first.
pub(crate) fn frame(n: u32) -> Toy {
    let parts = vec![ToyPart::Bytes("token".into())];
    Toy { target: target(n), into: Collection::Frames, name: None, parts, follower: None }
}

/// A change of an execution that also adds a continuation.
pub(crate) fn later(n: u32) -> ToyLater {
    let add = vec![(ContinuationKind::TOY, 2)];
    ToyLater { target: target(n), changes: true, add, count: [].into(), at_zero: None }
}

/// The same, and its latch is counted down to zero, when it adds another.
pub(crate) fn counted_down(n: u32) -> ToyLater {
    ToyLater { count: [(0, -1), (1, 3), (2, -2)].into(), at_zero: Some(1), ..later(n) }
}

/// Counts so that it is.
pub(crate) fn counted_up(n: u32) -> ToyLater {
    let count = [(0, 1), (1, 1), (2, 2)].into();
    ToyLater { count, changes: false, add: Vec::new(), ..later(n) }
}

/// The continuation that a change has added at this place of its list; after the last comes that of
/// the latch.
pub(crate) fn added(n: u32, place: u32, slices: u32) -> Continuation {
    let (kind, salt) = (ContinuationKind::TOY, ENTROPY as u32 + place);
    Continuation { kind, owner: id(n), salt, member: slices, from: 0 }
}

pub(crate) fn continue_(continuation: Continuation) -> Continue {
    Continue { continuation }
}

/// A quota of two at once, and a budget, both at home in the only partition.
pub(crate) fn limits() -> [Command; 2] {
    let quota = QuotaLimits {
        max_requests: Some(5),
        window: ms(1_000),
        max_active: Some(2),
        jitter: Millis::ZERO,
    };
    let tokens = Dimension::new("tokens").unwrap();
    let hard = DimensionLimits { soft: None, hard: Some(100) };
    let dimensions = [(tokens, hard)].into();
    let budget = BudgetLimits { dimensions, period: None, on_breach: OnBreach::Block };
    let key = |kind, name| {
        let name = ResourceName::new(name).unwrap();
        ResourceKey::at_home(kind, &Namespace::default(), &name, 1)
    };
    [
        command(PutQuota { key: key(ResourceKind::Quota, "api"), limits: quota }),
        command(PutBudget { key: key(ResourceKind::Budget, "money"), limits: budget }),
    ]
}

/// What executions under both of these limits name.
fn both_limits() -> ExecutionLimits {
    ExecutionLimits {
        quotas: [ResourceName::new("api").unwrap()].into(),
        budgets: [ResourceName::new("money").unwrap()].into(),
        estimate: [(Dimension::new("tokens").unwrap(), 10)].into(),
    }
}

fn admission_of(n: u32) -> AdmissionId {
    AdmissionId { batch: RequestId::new(77), index: n as u16 }
}

fn home() -> Home {
    Home { namespace: Namespace::default(), partitions: 1 }
}

/// Admits executions under both limits.
pub(crate) fn admit(executions: &[u32]) -> Admit {
    let request = |n: &u32| AdmissionRequest {
        id: admission_of(*n),
        needs: NeedsAdmission {
            execution: id(*n),
            version: Version::first(ENTROPY as u32),
            limits: both_limits(),
            used: Amounts::new(),
        },
    };
    let requests: Vec<_> = executions.iter().map(request).collect();
    let max = requests.len();
    let batch = AdmissionBatch { requests, max, reserved_for: Millis::ZERO };
    Admit { home: home(), settlements: Vec::new(), batches: vec![batch] }
}

/// Settles one of them as stopped, after it has used something.
pub(crate) fn settle_admission(n: u32) -> Admit {
    let settlement = Settlement {
        namespace: Namespace::default(),
        execution: id(n),
        admission: admission_of(n),
        limits: both_limits(),
        used: [(Dimension::new("tokens").unwrap(), 4)].into(),
        revision: 3,
        phase: Phase::Stopped { started: None },
    };
    Admit { home: home(), settlements: vec![settlement], batches: Vec::new() }
}
