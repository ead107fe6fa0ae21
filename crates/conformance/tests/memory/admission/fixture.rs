//! The fixture of a plan: one namespace of a store, the leases of its workers, and a trace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ff_backend_memory::{Faults, MemoryStore};
use ff_conformance::Subject;
use ff_core::limits::{Amounts, ExecutionLimits};
use ff_core::machine::{
    Action, AdmissionBatch, AdmissionRequest, Admissions, Admit, Assignment, Cancel, ClaimGranted,
    ClaimRequest, Complete, Decision, Delay, Fail, GrantNext, GrantOffer, Home, NeedsAdmission,
    Reply, ReportUsage, Settlement, Submit, Target,
};
use ff_core::policy::{Backoff, Policy, Retry};
use ff_core::resource::Ticket;
use ff_core::state::{Failure, State, Worker};
use ff_core::{
    AdmissionId, Capabilities, Category, Code, Dimension, Execution, ExecutionId, IdempotencyKey,
    Lane, Millis, Namespace, Partition, Payload, ResourceKind, ResourceName, Time, When,
};
use ff_store::roles::Answer;
use ff_store::{PartitionSet, ResourceScan, StoreError, audit, mint};
use ff_testkit::ManualClock;

use super::plan::{BUDGET, Plan, QUOTAS, Step};

/// A lease, and how much its holder may still use of its estimate.
#[derive(Debug)]
struct Lease {
    assignment: Assignment,
    left: u64,
}

pub(crate) struct Fixture {
    pub(crate) subject: Arc<Subject>,
    pub(crate) namespace: Namespace,
    pub(crate) ids: Vec<ExecutionId>,
    leases: Vec<Lease>,
    offers: Vec<GrantOffer>,
    /// What was settled, or should have been.
    settled: Vec<Settlement>,
    reports: u32,
    /// The quotas that each execution names.
    quotas: BTreeMap<ExecutionId, BTreeSet<ResourceName>>,
    /// Every start that a worker has seen: the quotas it counts against, and its time.
    pub(crate) starts: Vec<(BTreeSet<ResourceName>, Time)>,
    /// The answers to every step.
    pub(crate) trace: Vec<String>,
}

/// A store that runs one command after the other.
pub(crate) fn serial() -> Subject {
    let clock = ManualClock::default();
    Subject::new(MemoryStore::serial(Arc::new(clock.clone())), clock)
}

/// A store in which commands conflict.
pub(crate) fn optimistic(seed: u64) -> Subject {
    let clock = ManualClock::default();
    let faults = Faults { seed, conflict_percent: 10, pause_percent: 40 };
    Subject::new(MemoryStore::optimistic(Arc::new(clock.clone()), faults), clock)
}

pub(crate) fn named(name: &str) -> ResourceName {
    ResourceName::new(name).unwrap()
}

pub(crate) fn tokens(amount: u64) -> Amounts {
    [(Dimension::new("tokens").unwrap(), amount)].into()
}

pub(crate) fn sum(amounts: &Amounts) -> u64 {
    amounts.values().sum()
}

/// A refusal is an answer; anything else is a failure.
fn settled_answer<T>(answer: Answer<T>) -> Result<T, Code> {
    answer.map_err(|error: StoreError| error.refused().unwrap_or_else(|| panic!("{error}")))
}

impl Fixture {
    /// A namespace with the budget and the quotas of a plan.
    pub(crate) async fn new(subject: &Arc<Subject>, namespace: &str, plan: &Plan) -> Fixture {
        let namespace = Namespace::new(namespace).unwrap();
        for (name, limits) in plan.quotas() {
            subject.backend.put_quota(&namespace, &named(name), limits).await.unwrap();
        }
        subject.backend.put_budget(&namespace, &named(BUDGET), plan.budget()).await.unwrap();
        Fixture {
            subject: subject.clone(),
            namespace,
            ids: Vec::new(),
            leases: Vec::new(),
            offers: Vec::new(),
            settled: Vec::new(),
            reports: 0,
            quotas: BTreeMap::new(),
            starts: Vec::new(),
            trace: Vec::new(),
        }
    }

    pub(crate) async fn step(&mut self, step: Step) {
        let outcome = match step {
            Step::Submit { quotas, estimate } => self.submit(quotas, estimate).await,
            Step::Claim(max) => self.claim(max).await,
            Step::Crowd(count) => self.crowd(count).await,
            Step::Grant => self.grant().await,
            Step::UseGrant(which) => self.use_grant(which).await,
            Step::Complete(which) => match self.leave(which) {
                Some(lease) => self.complete(&lease).await,
                None => String::new(),
            },
            Step::Fail(which) => self.fail(which).await,
            Step::HandBack(which) => self.hand_back(which).await,
            Step::Delay(which) => self.delay(which).await,
            Step::Renew(which) => self.renew(which).await,
            Step::Report(which, amount) => self.report(which, amount, 1).await,
            Step::ReportTwice(which, amount) => self.report(which, amount, 2).await,
            Step::ReportAndDie(which, amount) => self.report_and_die(which, amount).await,
            Step::Cancel(which) => self.cancel(which).await,
            Step::RequestAndDie(which) => self.request_and_die(which).await,
            Step::Die(which) => format!("{}", self.leave(which).is_some()),
            Step::CompleteAndDie(which) => self.complete_and_die(which, 0).await,
            Step::CompleteAndSettleTwice(which) => self.complete_and_die(which, 2).await,
            Step::SettleAgain(which) => self.settle_again(which).await,
            Step::Pass(span) => self.pass(Millis::new(span)).await,
        };
        self.subject.backend.drain().await;
        self.trace.push(format!("{step:?}: {outcome}"));
    }

    async fn submit(&mut self, quotas: [bool; 3], estimate: Option<u64>) -> String {
        let number = self.ids.len() as u32;
        let start = Time::from_ms(1_700_000_000_000);
        // Ids of two namespaces differ, and those of one are the same in every fixture.
        let salt = self.namespace.as_str().len() as u64;
        let id = ExecutionId::mint(start, Partition::ONLY, number, salt);
        let names = QUOTAS.into_iter().zip(quotas).filter(|(_, named)| *named);
        let limits = ExecutionLimits {
            budgets: estimate.iter().map(|_| named(BUDGET)).collect(),
            quotas: names.map(|(name, _)| named(name)).collect(),
            estimate: estimate.map(tokens).unwrap_or_default(),
        };
        let policy = Policy {
            retry: Retry {
                max_attempts: 3,
                backoff: Backoff::fixed(Millis::new(500)),
                categories: None,
            },
            lease_ttl: Millis::from_secs(20),
            max_reclaims: 3,
            ..Policy::default()
        };
        self.quotas.insert(id, limits.quotas.clone());
        let namespace = self.namespace.clone();
        let submit = Submit { namespace, limits, policy: policy.into(), ..Submit::new(id) };
        self.subject.backend.submit(vec![submit]).await.unwrap().remove(0).unwrap();
        self.ids.push(id);
        String::new()
    }

    fn claiming(&self, max: u16) -> ClaimRequest {
        ClaimRequest {
            namespace: self.namespace.clone(),
            lane: Lane::default(),
            worker: worker(),
            capabilities: Capabilities::NONE,
            request: mint::request_id(),
            max,
            retry: false,
        }
    }

    pub(crate) async fn claim(&mut self, max: u16) -> String {
        let claimed = self.subject.backend.claim(self.claiming(max), Millis::ZERO).await.unwrap();
        self.took(claimed.assignments)
    }

    async fn crowd(&mut self, count: usize) -> String {
        let calls = (0..count).map(|_| {
            let (subject, claim) = (self.subject.clone(), self.claiming(1));
            tokio::spawn(async move { subject.backend.claim(claim, Millis::ZERO).await })
        });
        let mut taken = Vec::new();
        for call in calls.collect::<Vec<_>>() {
            taken.extend(call.await.unwrap().unwrap().assignments);
        }
        taken.sort_by_key(|one| one.execution);
        self.took(taken)
    }

    fn took(&mut self, assignments: Vec<Assignment>) -> String {
        let taken: Vec<_> = assignments.iter().map(|one| self.number(one.execution)).collect();
        for assignment in assignments {
            let quotas = self.quotas[&assignment.execution].clone();
            self.starts.push((quotas, assignment.claimed_at));
            self.leases.push(Lease { left: u64::MAX, assignment });
        }
        format!("{taken:?}")
    }

    fn number(&self, id: ExecutionId) -> Option<usize> {
        self.ids.iter().position(|known| *known == id)
    }

    async fn grant(&mut self) -> String {
        let ClaimRequest { namespace, lane, worker, capabilities, request, .. } = self.claiming(1);
        let ttl = Millis::new(3_000);
        let (retry, at, admissions) = (false, None, Admissions::Any);
        let grant = GrantNext {
            namespace,
            lane,
            worker,
            capabilities,
            request,
            ttl,
            retry,
            at,
            admissions,
        };
        let offer = self.subject.backend.grant(grant).await.unwrap().offer;
        let outcome = format!("{:?}", offer.as_ref().map(|offer| self.number(offer.execution)));
        self.offers.extend(offer);
        outcome
    }

    async fn use_grant(&mut self, which: usize) -> String {
        if self.offers.is_empty() {
            return String::new();
        }
        let offer = self.offers.remove(which % self.offers.len());
        let target = self.target(offer.execution);
        let claim = ClaimGranted { target, request: offer.request, worker: worker() };
        match settled_answer(self.subject.backend.claim_granted(claim).await) {
            Ok(claimed) => self.took(claimed.assignments),
            Err(code) => format!("{code:?}"),
        }
    }

    fn target(&self, execution: ExecutionId) -> Target {
        Target { namespace: self.namespace.clone(), execution }
    }

    /// A worker abandons one of its leases.
    fn leave(&mut self, which: usize) -> Option<Assignment> {
        let count = self.leases.len();
        (count > 0).then(|| self.leases.remove(which % count).assignment)
    }

    async fn complete(&mut self, lease: &Assignment) -> String {
        let complete = Complete { hold: lease.hold(), result: Payload::bytes("done") };
        let answer = self.subject.backend.complete(vec![complete]).await.unwrap().remove(0);
        format!("{:?}", settled_answer(answer).map(drop))
    }

    async fn fail(&mut self, which: usize) -> String {
        let Some(lease) = self.leave(which) else { return String::new() };
        let failure =
            Failure { category: Category::error(), retryable: true, message: "again".into() };
        let answer = self.subject.backend.fail(Fail { hold: lease.hold(), failure }).await;
        format!("{:?}", settled_answer(answer).map(drop))
    }

    async fn hand_back(&mut self, which: usize) -> String {
        let Some(lease) = self.leave(which) else { return String::new() };
        let answer = self.subject.backend.hand_back(vec![lease.hold()]).await.unwrap().remove(0);
        format!("{:?}", settled_answer(answer).map(drop))
    }

    async fn delay(&mut self, which: usize) -> String {
        let Some(lease) = self.leave(which) else { return String::new() };
        let until = When::After(Millis::new(700));
        let answer =
            self.subject.backend.delay(Delay { hold: lease.hold(), until, step: None }).await;
        format!("{:?}", settled_answer(answer).map(drop))
    }

    async fn renew(&mut self, which: usize) -> String {
        let count = self.leases.len();
        if count == 0 {
            return String::new();
        }
        let hold = self.leases[which % count].assignment.hold();
        let answer = self.subject.backend.renew(vec![hold]).await.unwrap().remove(0);
        format!("{:?}", settled_answer(answer).map(drop))
    }

    /// Reports of a holder, each of this much, and in total no more than its estimate.
    async fn reporting(&mut self, which: usize, amount: u64, times: u64) -> Vec<ReportUsage> {
        let count = self.leases.len();
        if count == 0 {
            return Vec::new();
        }
        let execution = self.leases[which % count].assignment.execution;
        let limits = self.record(execution).await.spec.limits.clone();
        let lease = &mut self.leases[which % count];
        lease.left = lease.left.min(sum(&limits.estimate));
        let mut reports = Vec::new();
        while limits.budgets.len() == 1 && (reports.len() as u64) < times {
            let amount = amount.min(lease.left);
            if amount == 0 {
                break;
            }
            lease.left -= amount;
            self.reports += 1;
            let key = IdempotencyKey::new(format!("r{}", self.reports)).unwrap();
            let hold = lease.assignment.hold();
            reports.push(ReportUsage { hold, key, amounts: tokens(amount), release: false });
        }
        reports
    }

    async fn report(&mut self, which: usize, amount: u64, times: u64) -> String {
        let reports = self.reporting(which, amount, times).await;
        let calls = reports.into_iter().map(|report| {
            let subject = self.subject.clone();
            tokio::spawn(async move { subject.backend.report_usage(report).await })
        });
        let mut outcomes = Vec::new();
        for call in calls.collect::<Vec<_>>() {
            outcomes.push(settled_answer(call.await.unwrap()).map(drop));
        }
        format!("{outcomes:?}")
    }

    async fn report_and_die(&mut self, which: usize, amount: u64) -> String {
        let Some(report) = self.reporting(which, amount, 1).await.pop() else {
            return String::new();
        };
        format!("{:?}", settled_answer(self.run(report).await).map(drop))
    }

    async fn cancel(&mut self, which: usize) -> String {
        let count = self.ids.len();
        if count == 0 {
            return String::new();
        }
        let target = self.target(self.ids[which % count]);
        let cancel = Cancel { target, grace: None, reason: None };
        format!("{:?}", settled_answer(self.subject.backend.cancel(cancel).await).map(drop))
    }

    async fn request_and_die(&mut self, which: usize) -> String {
        let mut waiting = Vec::new();
        for id in &self.ids {
            let record = self.record(*id).await;
            let waits = matches!(record.state, State::Queued { .. } | State::Blocked { .. });
            if waits && !record.spec.limits.is_empty() {
                waiting.push(record);
            }
        }
        if waiting.is_empty() {
            return String::new();
        }
        let record = &waiting[which % waiting.len()];
        let needs = NeedsAdmission::of(record, false).unwrap();
        let id = AdmissionId { batch: mint::request_id(), index: 0 };
        let requests = vec![AdmissionRequest { id, needs }];
        let batch = AdmissionBatch { requests, max: 1, reserved_for: Millis::ZERO };
        let admit = Admit { home: self.home(), settlements: Vec::new(), batches: vec![batch] };
        match self.run(admit).await.unwrap() {
            Reply::AdmitReply(reply) => match &reply.decisions[0][0] {
                Decision::Admitted(_) => "admitted".to_owned(),
                other => format!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    /// Completes, and settles that this many times.
    async fn complete_and_die(&mut self, which: usize, times: usize) -> String {
        let Some(lease) = self.leave(which) else { return String::new() };
        let complete = Complete { hold: lease.hold(), result: Payload::default() };
        let outcome = settled_answer(self.run(complete).await).map(drop);
        for settlement in self.subject.store.settlements().take() {
            for _ in 0..times {
                self.settle(settlement.clone()).await;
            }
            self.settled.push(settlement);
        }
        format!("{outcome:?}")
    }

    async fn settle_again(&mut self, which: usize) -> String {
        let count = self.settled.len();
        if count > 0 {
            self.settle(self.settled[which % count].clone()).await;
        }
        format!("{}", count > 0)
    }

    async fn settle(&self, settlement: Settlement) {
        let home = Home { namespace: settlement.namespace.clone(), ..self.home() };
        let admit = Admit { home, settlements: vec![settlement], batches: Vec::new() };
        self.run(admit).await.unwrap();
    }

    /// Lets time pass and fires all due timers, as the engine would.
    pub(crate) async fn pass(&mut self, span: Millis) -> String {
        let backend = &self.subject.backend;
        self.subject.clock.advance(span).await;
        for _ in 0..100 {
            let timers = backend.due(&PartitionSet::All, None, 100).await.unwrap();
            if timers.due.is_empty() && timers.resources.is_empty() {
                for (namespace, on) in
                    backend.blockers(&PartitionSet::All, None, 100).await.unwrap()
                {
                    backend.release(&namespace, &on).await.unwrap();
                }
                return String::new();
            }
            for (_, id) in timers.due {
                backend.tick(vec![id]).await.unwrap().remove(0).unwrap();
            }
            for key in timers.resources {
                backend.tick_resource(key).await.unwrap();
            }
        }
        panic!("there is no end to what is due");
    }

    /// Completes all that is held.
    pub(crate) async fn complete_all(&mut self) {
        for lease in std::mem::take(&mut self.leases) {
            self.complete(&lease.assignment).await;
        }
    }

    /// Runs a command without its effects.
    async fn run(&self, action: impl Into<Action>) -> Answer<Reply> {
        self.subject.store.execute(vec![mint::command(action)]).await.remove(0)
    }

    fn home(&self) -> Home {
        let partitions = self.subject.store.partitions();
        Home { namespace: self.namespace.clone(), partitions }
    }

    pub(crate) async fn record(&self, id: ExecutionId) -> Execution {
        self.subject.store.record(id).await.unwrap().unwrap()
    }

    pub(crate) async fn records(&self) -> Vec<Execution> {
        let mut records = Vec::new();
        for id in &self.ids {
            records.push(self.record(*id).await);
        }
        records
    }

    pub(crate) async fn tickets(&self) -> Vec<Ticket> {
        let (namespace, kind) = (self.namespace.clone(), ResourceKind::Ticket);
        let scan = ResourceScan { namespace, kind, after: None, limit: 1_000 };
        let found = self.subject.store.resources(scan).await.unwrap();
        found.iter().filter_map(|found| found.as_ticket().cloned()).collect()
    }

    /// What an audit of the whole store finds.
    pub(crate) async fn audit(&self) -> audit::Report {
        audit::audit(self.subject.backend.rows().await.unwrap()).await.unwrap()
    }
}

fn worker() -> Worker {
    Worker { id: "ada".parse().unwrap(), instance: "ada-1".parse().unwrap() }
}
