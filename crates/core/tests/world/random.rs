//! Random histories: a seed gives a sequence of commands and of time passing.
//!
//! Most moves fit the state of the execution they name, so that most are accepted; some are stale,
//! forged, repeated, foreign or invalid.

use ff_core::limits::{Blocker, ExecutionLimits};
use ff_core::machine::{
    Action, AdmissionRequest, Admissions, Admitted, Block, Cancel, CancelHeld, Claim, ClaimGranted,
    ClaimRequest, Command, Complete, Delay, Delete, Fail, GrantNext, HandBack, LeaseRef,
    NeedsAdmission, Renew, Replay, ReportProgress, ReportUsage, Revoke, SetPriority, SetTags,
    Submit, Target, Tick, Unblock,
};
use ff_core::policy::{Backoff, Growth, Policy, Retry};
use ff_core::record::{Progress, Tags};
use ff_core::state::{Failure, State, Worker};
use ff_core::{
    AdmissionId, Capabilities, Category, Dimension, Execution, ExecutionId, Fence, IdempotencyKey,
    Kind, Lane, LeaseId, Millis, Namespace, Partition, Payload, RequestId, ResourceKind,
    ResourceName, TagKey, TagValue, Time, When, bounds, timer,
};

use super::{START, World, make};

const EXECUTIONS: u32 = 5;
const REMEMBERED: usize = 12;
const CAPABILITIES: [&str; 4] = ["", "gpu", "gpu,python", "python"];
const PAYLOADS: [&[u8]; 8] =
    [b"", b"\0", b"\xff\xfe\0\x80", b"[]", b"{}", b"9007199254740993", b"\"\\u0000\"", b" \r\n"];

/// What happens next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Move {
    /// A command arrives.
    Run(Box<Command>),
    /// Time passes.
    Wait(Millis),
    /// The store's clock steps back.
    StepBack(Millis),
}

/// A source of moves.
pub(crate) struct Script {
    rng: fastrand::Rng,
    ids: Vec<ExecutionId>,
    /// Commands sent before, to be sent again.
    sent: Vec<Command>,
}

impl Script {
    /// The moves of `seed`.
    pub(crate) fn new(seed: u64) -> Script {
        Script::with_clock(seed, START)
    }

    /// The moves of `seed`, by a caller whose own clock shows `clock`.
    pub(crate) fn with_clock(seed: u64, clock: Time) -> Script {
        let mint = |n| ExecutionId::mint(clock, Partition::ONLY, n, n.into());
        let ids = (0..EXECUTIONS).map(mint).collect();
        Script { rng: fastrand::Rng::with_seed(seed), ids, sent: Vec::new() }
    }

    /// The next move in `world`.
    pub(crate) fn next(&mut self, world: &World) -> Move {
        match self.rng.u32(0..100) {
            0..12 => self.wait(world),
            12 => Move::StepBack(make::ms(self.rng.u64(1..60))),
            13..22 => {
                let due = |id: &&ExecutionId| {
                    world.get(**id).is_some_and(|r| timer::due(r, world.now).is_some())
                };
                let execution = self.ids.iter().find(due).copied();
                let execution = execution.unwrap_or_else(|| self.id());
                self.run(Tick { execution })
            }
            22..30 if !self.sent.is_empty() => self.repeat(),
            30 => self.invalid(),
            _ => {
                let id = self.id();
                let action = match world.get(id) {
                    None => self.submit(id).into(),
                    Some(record) => self.suits(record, world),
                };
                self.run(action)
            }
        }
    }

    fn id(&mut self) -> ExecutionId {
        self.ids[self.rng.usize(0..self.ids.len())]
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.rng.usize(0..from.len())]
    }

    fn maybe(&mut self, percent: u32) -> bool {
        self.rng.u32(0..100) < percent
    }

    fn run(&mut self, action: impl Into<Action>) -> Move {
        let command = Command { entropy: self.rng.u64(..), action: action.into() };
        if self.sent.len() == REMEMBERED {
            self.sent.remove(0);
        }
        self.sent.push(command.clone());
        Move::Run(command.into())
    }

    /// Sends an earlier command again, as after a lost reply.
    fn repeat(&mut self) -> Move {
        let mut command = self.sent[self.rng.usize(0..self.sent.len())].clone();
        match &mut command.action {
            Action::Claim(claim) => claim.retry = true,
            Action::GrantNext(grant) => grant.retry = true,
            _ => {}
        }
        Move::Run(command.into())
    }

    /// A wait that often ends exactly at, just before or just after a timer.
    fn wait(&mut self, world: &World) -> Move {
        let id = self.id();
        let timer = world.get(id).and_then(|record| record.placed.timer);
        let span = timer.map_or(0, |at| at.since(world.now).get());
        let near = span < 5_000 || self.maybe(20);
        Move::Wait(make::ms(match self.rng.u32(0..6) {
            0 if near => span.saturating_sub(1),
            1 | 2 if near => span,
            3 if near => span + 1,
            4 => self.rng.u64(0..400),
            _ => self.rng.u64(0..60),
        }))
    }

    fn invalid(&mut self) -> Move {
        let id = self.id();
        let mut submit = self.submit(id);
        match self.rng.u32(0..4) {
            0 => submit.priority = bounds::PRIORITY + 1,
            1 => submit.policy.max_attempts = Some(0),
            2 => submit.policy.lease_ttl = Some(make::ms(1)),
            _ => submit.input = Payload::bytes(vec![0; bounds::PAYLOAD_BYTES + 1]),
        }
        Move::Run(Command { entropy: 0, action: submit.into() }.into())
    }

    fn submit(&mut self, id: ExecutionId) -> Submit {
        let key = self.maybe(15).then(|| self.pick(&["order-1", "order-2"]));
        let key = key.map(|key| IdempotencyKey::new(key).unwrap());
        let requires = self.pick(&CAPABILITIES[..3]);
        let start = match self.rng.u32(0..6) {
            0 => When::After(make::ms(self.rng.u64(0..150))),
            1 => When::At(START + make::ms(self.rng.u64(0..2_000))),
            _ => When::Now,
        };
        Submit {
            id,
            namespace: self.namespace(),
            lane: Lane::new(self.pick(&["fast", "slow"])).unwrap(),
            kind: Kind::default(),
            input: self.payload(),
            tags: Tags::new(),
            priority: self.rng.i16(-1..3),
            start,
            policy: self.policy(key.is_some()).into(),
            key,
            requires: Capabilities::parse(requires).unwrap(),
            limits: ExecutionLimits::default(),
        }
    }

    fn namespace(&mut self) -> Namespace {
        Namespace::new(self.pick(&["blue", "green"])).unwrap()
    }

    fn payload(&mut self) -> Payload {
        let bytes = self.pick(&PAYLOADS);
        if self.maybe(50) { Payload::bytes(bytes) } else { Payload::json(bytes) }
    }

    fn policy(&mut self, keyed: bool) -> Policy {
        let backoff = match self.rng.u32(0..3) {
            0 => Backoff::none(),
            1 => Backoff::fixed(make::ms(50)),
            _ => Backoff {
                growth: Growth::Exponential,
                base: make::ms(20),
                cap: make::ms(200),
                jitter_percent: self.rng.u8(0..=100),
            },
        };
        let categories = self.maybe(20).then(|| [Category::error()].into());
        let retention = if keyed { bounds::DEDUP_WINDOW } else { make::ms(self.rng.u64(1..600)) };
        Policy {
            retry: Retry { max_attempts: self.rng.u32(1..4), backoff, categories },
            attempt_timeout: self.maybe(40).then(|| make::ms(self.rng.u64(1..300))),
            deadline: self.maybe(40).then(|| make::ms(self.rng.u64(1..900))),
            lease_ttl: make::ms(self.rng.u64(100..300)),
            max_reclaims: self.rng.u32(0..3),
            retention,
        }
    }

    /// An action that suits the state of `record`, most of the time.
    fn suits(&mut self, record: &Execution, world: &World) -> Action {
        let target = self.target(record);
        match self.rng.u32(0..100) {
            0..6 => return self.priority(target).into(),
            6..12 => return self.tags(target).into(),
            12..15 => return self.submit(record.id).into(),
            15..24 => return self.held_call(record, world),
            _ => {}
        }
        match &record.state {
            State::Queued { .. } if self.maybe(20) => self.admission(record),
            State::Blocked { .. } if self.maybe(70) => self.admission(record),
            State::Queued { .. } | State::Delayed { .. } | State::Blocked { .. } => {
                match self.rng.u32(0..20) {
                    0..9 => self.claim(record).into(),
                    9..12 => {
                        let call = self.claim(record);
                        self.admitted(record, call).into()
                    }
                    12..18 => self.grant(record).into(),
                    _ => self.cancel(target).into(),
                }
            }
            State::Granted { grant, .. } => match self.rng.u32(0..10) {
                0..8 => {
                    let worker = if self.maybe(95) { grant.to.clone() } else { self.worker() };
                    ClaimGranted { target, request: grant.request, worker }.into()
                }
                8 => self.grant(record).into(),
                _ => self.cancel(target).into(),
            },
            State::Active { .. } => self.held_call(record, world),
            State::Finished { .. } => match self.rng.u32(0..11) {
                0..7 => {
                    let run = record.run.number.saturating_sub(u32::from(self.maybe(10)));
                    Replay { target, run: run + u32::from(self.maybe(5)) }.into()
                }
                7 => self.held_call(record, world),
                8 => Tick { execution: record.id }.into(),
                9 => Delete { target }.into(),
                _ => self.cancel(target).into(),
            },
        }
    }

    /// A limit has no room for it, or has again.
    fn admission(&mut self, record: &Execution) -> Action {
        let execution = record.id;
        let name = ResourceName::new("api").unwrap();
        let on = Blocker { kind: ResourceKind::Quota, name };
        match &record.state {
            State::Blocked { .. } => Unblock { execution, on }.into(),
            _ => Block { execution, on, detail: "no room".into() }.into(),
        }
    }

    /// The claim of a call that limits have admitted `record` for.
    fn admitted(&mut self, record: &Execution, call: ClaimRequest) -> Claim {
        let needs = NeedsAdmission {
            execution: record.id,
            version: record.version,
            limits: record.spec.limits.clone(),
            used: record.used.clone(),
        };
        let id = AdmissionId { batch: self.request(), index: 0 };
        let request = AdmissionRequest { id, needs };
        let admitted = Admitted { request, usable_until: Time::MAX, counts_start: false };
        Claim { call, first: 0, admissions: Admissions::Only(vec![admitted]) }
    }

    fn held_call(&mut self, record: &Execution, world: &World) -> Action {
        let target = self.target(record);
        let fence = self.fence(record, world);
        let hold = LeaseRef { target: target.clone(), fence };
        match self.rng.u32(0..26) {
            24.. => {
                let dimension = Dimension::new("tokens").unwrap();
                let key = IdempotencyKey::new(self.pick(&["a", "b", "c"])).unwrap();
                let amounts = [(dimension, self.rng.u64(0..9))].into();
                ReportUsage { hold, key, amounts, release: self.maybe(20) }.into()
            }
            0..4 => Renew { hold }.into(),
            4..6 => {
                let progress = Progress { percent: Some(self.rng.u8(0..101)), message: None };
                ReportProgress { hold, progress }.into()
            }
            6..9 => Complete { hold, result: self.payload() }.into(),
            9..12 => self.fail(hold).into(),
            12..15 => {
                let until = match self.rng.u32(0..3) {
                    0 => When::Now,
                    1 => When::At(START),
                    _ => When::After(make::ms(self.rng.u64(0..150))),
                };
                Delay { hold, until }.into()
            }
            15..17 => {
                let reason = self.maybe(50).then(|| "enough".into());
                CancelHeld { hold, reason }.into()
            }
            17..19 => HandBack { hold }.into(),
            19..22 => self.cancel(target).into(),
            _ => Revoke { target, lease: fence.lease }.into(),
        }
    }

    /// Mostly the present fence; sometimes an old or a forged one.
    fn fence(&mut self, record: &Execution, world: &World) -> Fence {
        let lease = LeaseId { request: self.request(), index: 0 };
        let forged = Fence { lease, epoch: record.epoch, attempt: 0 };
        let issued = world.fences.get(&record.id).map_or(&[][..], Vec::as_slice);
        match record.fence() {
            Some(present) if self.maybe(88) => present,
            _ if issued.is_empty() || self.maybe(10) => forged,
            _ => issued[self.rng.usize(0..issued.len())],
        }
    }

    fn fail(&mut self, hold: LeaseRef) -> Fail {
        let category = Category::new(self.pick(&["error", "error", "bad_input"])).unwrap();
        let retryable = self.maybe(75);
        Fail { hold, failure: Failure { category, retryable, message: "broke".into() } }
    }

    fn cancel(&mut self, target: Target) -> Cancel {
        let grace = self.maybe(70).then(|| make::ms(self.rng.u64(1..150)));
        let reason = self.maybe(40).then(|| "asked to".into());
        Cancel { target, grace, reason }
    }

    fn priority(&mut self, target: Target) -> SetPriority {
        SetPriority { target, priority: self.rng.i16(-1..3) }
    }

    fn tags(&mut self, target: Target) -> SetTags {
        let mut key = || TagKey::new(self.pick(&["owner", "team", "cost"])).unwrap();
        let (set, remove) = (key(), key());
        let value = TagValue::new(self.pick(&["x", "y", ""])).unwrap();
        SetTags { target, set: [(set, value)].into(), remove: vec![remove] }
    }

    fn claim(&mut self, record: &Execution) -> ClaimRequest {
        ClaimRequest {
            namespace: record.spec.namespace.clone(),
            lane: record.spec.lane.clone(),
            worker: self.worker(),
            capabilities: self.offered(record),
            request: self.request(),
            max: self.rng.u16(1..4),
            retry: false,
        }
    }

    fn grant(&mut self, record: &Execution) -> GrantNext {
        GrantNext {
            namespace: record.spec.namespace.clone(),
            lane: record.spec.lane.clone(),
            worker: self.worker(),
            capabilities: self.offered(record),
            request: self.request(),
            ttl: make::ms(self.rng.u64(1..120)),
            retry: false,
            at: None,
            admissions: Admissions::Any,
        }
    }

    fn offered(&mut self, record: &Execution) -> Capabilities {
        let any = self.pick(&CAPABILITIES);
        if self.maybe(80) {
            record.spec.requires.clone()
        } else {
            Capabilities::parse(any).unwrap()
        }
    }

    /// The execution as its namespace names it; sometimes as the other one would.
    fn target(&mut self, record: &Execution) -> Target {
        let other = self.namespace();
        let namespace = if self.maybe(97) { record.spec.namespace.clone() } else { other };
        Target { namespace, execution: record.id }
    }

    fn worker(&mut self) -> Worker {
        make::worker(self.pick(&["a", "b"]))
    }

    fn request(&mut self) -> RequestId {
        RequestId::new(self.rng.u128(..))
    }
}
