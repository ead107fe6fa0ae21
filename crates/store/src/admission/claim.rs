//! Claims and grants: what must be admitted is, as far as budgets and quotas have room.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ff_core::limits::Blocker;
use ff_core::machine::{
    AdmissionBatch, AdmissionRequest, Admissions, Admitted, Assignment, Block, Claim, ClaimRequest,
    Claimed, Decision, GrantNext, Granted, NeedsAdmission, Phase, Settlement, TICKET_TTL, Target,
};
use ff_core::{AdmissionId, Capabilities, ExecutionId, Millis, Namespace, bounds};

use super::release;
use super::settle;
use super::single_flight::{LeaderGuard, Role, Waiter};
use super::starts;
use crate::error::StoreError;
use crate::process::Process;
use crate::roles::{only, run};
use crate::store::Store;
use crate::wakeups::Announcement;
use crate::{metrics, mint};

/// How often one call asks for admission; what is left then is asked for by the next call.
pub(crate) const ROUNDS: usize = 16;

/// Claims, and settles what it was given and has not used.
pub(crate) async fn claim(
    process: &Arc<Process>,
    request: ClaimRequest,
) -> Result<Claimed, StoreError> {
    let mut asking = Asking::new(process, &request.namespace, Millis::ZERO);
    let claimed = claim_all(&mut asking, request).await;
    asking.settle().await;
    claimed
}

async fn claim_all<'a>(
    asking: &mut Asking<'a>,
    request: ClaimRequest,
) -> Result<Claimed, StoreError> {
    let mut claim = Claim::from(request);
    let process: &'a Arc<Process> = asking.process;
    asking.waiter = Some(process.claims.waiter(&claim.call));
    let mut all = Claimed::default();
    for rounds_left in (0..ROUNDS).rev() {
        asking.join(claim.max.into()).await;
        match claim_some(asking, &mut claim, &mut all, rounds_left).await {
            Ok(true) => {}
            Ok(false) => return Ok(all),
            // What the last round took is unknown. The same call, repeated, is answered with all.
            Err(error) if error.outcome_is_unknown() => return Err(error),
            Err(error) if all.assignments.is_empty() => return Err(error),
            Err(error) => {
                tracing::warn!(%error, "a claim was cut short");
                all.again = true;
                return Ok(all);
            }
        }
    }
    Ok(all)
}

/// One round of a claim: takes what needs no admission, then requests admission for what does, unless
/// no round is left to take that. Answers whether there may be more.
async fn claim_some(
    asking: &mut Asking<'_>,
    claim: &mut Claim,
    all: &mut Claimed,
    rounds_left: usize,
) -> Result<bool, StoreError> {
    claim.admissions = asking.admissions();
    let (part, more) = tokio::join!(run(asking.store(), claim.clone()), asking.more(claim));
    let Claimed { assignments, again, withheld, mut needs_admission } =
        part.and_then(only!(Claimed))?;
    needs_admission.extend(more);
    claim.max = claim.max.saturating_sub(assignments.len() as u16);
    let indexes = assignments.iter().map(|taken| taken.fence.lease.place().saturating_add(1));
    claim.first = indexes.max().unwrap_or(claim.first);
    claim.retry = false;
    (all.again, all.withheld) = (again, withheld);
    let used_admissions = asking.has_claimed(&assignments);
    all.assignments.extend(assignments);
    if used_admissions {
        let (namespace, lane) = (claim.namespace.clone(), claim.lane.clone());
        // Others may have found nothing but what this call was about to take.
        let work = Announcement::Work { namespace, lane, class: Capabilities::NONE };
        asking.store().wakeups().announce([work]);
    }
    asking.has_scanned(needs_admission.is_empty());
    if claim.max == 0 || withheld.is_some() {
        return Ok(false);
    }
    if rounds_left == 0 {
        all.again |= !needs_admission.is_empty();
        return Ok(false);
    }
    let goes_on =
        asking.ask(needs_admission, claim.max.into(), !all.assignments.is_empty()).await?;
    all.again |= !goes_on && asking.left_some;
    Ok(goes_on)
}

/// Reserves, and settles what it was given and has not used.
pub(crate) async fn grant(process: &Arc<Process>, grant: GrantNext) -> Result<Granted, StoreError> {
    let mut asking = Asking::new(process, &grant.namespace, grant.ttl);
    let granted = grant_one(&mut asking, grant).await;
    asking.settle().await;
    granted
}

async fn grant_one(asking: &mut Asking<'_>, mut grant: GrantNext) -> Result<Granted, StoreError> {
    for rounds_left in (0..ROUNDS).rev() {
        grant.admissions = asking.admissions();
        let mut granted = run(asking.store(), grant.clone()).await.and_then(only!(Granted))?;
        let taken: BTreeSet<_> = granted.offer.iter().map(|offer| offer.execution).collect();
        asking.give_back_unless(&taken);
        grant.retry = false;
        let needs: Vec<_> = granted.needs_admission.take().into_iter().collect();
        let done = granted.offer.is_some() || granted.withheld.is_some();
        granted.again |= rounds_left == 0 && !done && !needs.is_empty();
        if done || rounds_left == 0 || !asking.ask(needs, 1, false).await? {
            return Ok(granted);
        }
    }
    Ok(Granted::default())
}

/// What one call has asked budgets and quotas for.
///
/// An admission belongs to the call that requested it: another one learns that it is
/// [elsewhere](Decision::AdmittedElsewhere), and skips it. So this call alone may use what it
/// was given, and settles as unused what it has not used when its claim has returned. Where the
/// outcome of the claim is not known, the admission is left to the check of its ticket.
struct Asking<'a> {
    process: &'a Arc<Process>,
    namespace: Namespace,
    /// How long a reservation made under an admission lasts.
    reserved_for: Millis,
    /// This call among those that scan the same queue.
    waiter: Option<Waiter<'a>>,
    /// While any call holds it, no other one of the queue leads.
    guard: Option<LeaderGuard>,
    /// Whether it scans for others too.
    leads: bool,
    /// How the next claim continues.
    next: Next,
    /// Those that other calls are about to take.
    elsewhere: BTreeSet<ExecutionId>,
    /// Some were left that this call could ask for again.
    left_some: bool,
    /// What it was given and has not used.
    unused: Vec<ExecutionId>,
}

/// How a claim continues.
enum Next {
    /// It scans the queue.
    Scan,
    /// It takes what needs no admission.
    Skip,
    /// It takes these and nothing else.
    Take(Vec<Admitted>),
}

impl<'a> Asking<'a> {
    fn new(process: &'a Arc<Process>, namespace: &Namespace, reserved_for: Millis) -> Self {
        Asking {
            process,
            namespace: namespace.clone(),
            reserved_for,
            waiter: None,
            guard: None,
            leads: false,
            next: Next::Scan,
            elsewhere: BTreeSet::new(),
            left_some: false,
            unused: Vec::new(),
        }
    }

    fn store(&self) -> &dyn Store {
        &*self.process.store
    }

    /// Settles what it was given and has not used: the caller's next call would otherwise find that held.
    async fn settle(self) {
        // Other claims of the queue do not wait for this.
        let Asking { process, unused, waiter, guard, .. } = self;
        drop((waiter, guard));
        settle::settle_stopped(process).await;
        process.store.settlements().made(unused.iter().copied()).await;
    }

    /// Waits until it may scan, or until another scan has found something for it.
    async fn join(&mut self, most: usize) {
        let (Next::Scan, Some(waiter)) = (&self.next, &self.waiter) else { return };
        match waiter.join(most).await {
            Role::Solo => {}
            Role::Leader(guard) => (self.guard, self.leads) = (Some(guard), true),
            Role::Follower(admitted, guard) if !admitted.is_empty() => {
                (self.next, self.guard) = (Next::Take(admitted), guard);
            }
            Role::Follower(..) => {}
        }
    }

    /// What other waiting claims could take besides what this one finds. The claim continues
    /// without it if it cannot be read.
    async fn more(&self, claim: &Claim) -> Vec<NeedsAdmission> {
        let scans = self.leads && matches!(self.next, Next::Scan);
        let others = self.waiter.as_ref().filter(|_| scans).map_or(0, Waiter::wanted);
        if others == 0 {
            return Vec::new();
        }
        let most = usize::from(claim.max) + others;
        let found = self.store().admission_candidates(&claim.call, most).await;
        found.unwrap_or_else(|error| {
            tracing::warn!(%error, "a claim scans one partition only");
            Vec::new()
        })
    }

    /// Shares the result of a scan with others. A call that has taken what it was given lets the next
    /// one scan.
    fn has_scanned(&mut self, found_none: bool) {
        let Some(waiter) = &self.waiter else { return };
        match &self.next {
            Next::Scan if !found_none => waiter.expect_limited(),
            Next::Scan if self.leads => waiter.dismiss(),
            _ => {}
        }
        if found_none || matches!(self.next, Next::Take(_)) {
            (self.guard, self.leads) = (None, false);
        }
    }

    /// Gives others what is more than `most`, and releases what none of them takes.
    fn hand_out(&mut self, admitted: &mut Vec<Admitted>, most: usize) {
        let (Some(waiter), Some(guard)) = (&self.waiter, &self.guard) else { return };
        let more = admitted.split_off(most.min(admitted.len()));
        let left = waiter.hand_out(more, guard);
        self.leads = false;
        let left = left.iter().map(|one| self.unused(one)).collect();
        self.give_back(left);
    }

    fn admissions(&self) -> Admissions {
        match &self.next {
            Next::Scan => Admissions::Any,
            Next::Skip => Admissions::SkipLimited,
            Next::Take(admitted) => Admissions::Only(admitted.clone()),
        }
    }

    /// Reports what the claim has started under an admission, and settles what it has not. Tells
    /// whether it had any admission.
    fn has_claimed(&mut self, assignments: &[Assignment]) -> bool {
        let Next::Take(admitted) = &self.next else { return false };
        let had_some = !admitted.is_empty();
        let counted = admitted.iter().filter(|one| one.counts_start);
        let started = counted.filter_map(|one| {
            let execution = one.request.needs.execution;
            let taken = assignments.iter().find(|taken| taken.execution == execution)?;
            let at_least = Millis::new(taken.lease_ttl.get() + TICKET_TTL.get());
            let phase = Phase::Running { started: Some(taken.claimed_at), at_least };
            Some(self.settlement(&one.request, phase))
        });
        starts::report_soon(self.process, started);
        self.give_back_unless(&assignments.iter().map(|taken| taken.execution).collect());
        had_some
    }

    /// Settles as unused what it was given and has not taken.
    fn give_back_unless(&mut self, taken: &BTreeSet<ExecutionId>) {
        let Next::Take(admitted) = &self.next else { return };
        let unused = admitted.iter().filter(|one| !taken.contains(&one.request.needs.execution));
        let unused = unused.map(|one| self.unused(one)).collect();
        self.give_back(unused);
    }

    fn give_back(&mut self, unused: Vec<Settlement>) {
        self.unused.extend(unused.iter().map(|settlement| settlement.execution));
        self.store().settlements().push(unused);
    }

    fn unused(&self, admitted: &Admitted) -> Settlement {
        self.settlement(&admitted.request, Phase::Unused)
    }

    fn settlement(&self, request: &AdmissionRequest, phase: Phase) -> Settlement {
        Settlement {
            namespace: self.namespace.clone(),
            execution: request.needs.execution,
            admission: request.id,
            limits: request.needs.limits.clone(),
            used: request.needs.used.clone(),
            revision: 0,
            phase,
        }
    }

    /// Requests admission of up to `most`; those that are refused leave their queue. Answers
    /// whether the claim continues.
    async fn ask(
        &mut self,
        needs: Vec<NeedsAdmission>,
        most: usize,
        has_some: bool,
    ) -> Result<bool, StoreError> {
        let nothing = needs.is_empty();
        let mut known = self.elsewhere.clone();
        let fresh = needs.into_iter().filter(|one| known.insert(one.execution));
        let fresh: Vec<_> = fresh.take(bounds::CLAIM).collect();
        if fresh.is_empty() {
            let next = if nothing { Next::Scan } else { Next::Skip };
            let goes_on = match std::mem::replace(&mut self.next, next) {
                Next::Scan => !nothing,
                Next::Skip => false,
                Next::Take(admitted) => !admitted.is_empty(),
            };
            self.left_some = goes_on && has_some;
            return Ok(goes_on && !has_some);
        }
        let others = self.waiter.as_ref().filter(|_| self.leads).map_or(0, Waiter::wanted);
        let decided = self.decide(fresh, most + others).await?;
        let Decided { mut admitted, blocks, spent } = decided;
        self.hand_out(&mut admitted, most);
        if admitted.is_empty() {
            self.guard = None;
        }
        self.next = match admitted.is_empty() {
            true if self.elsewhere.is_empty() => Next::Scan,
            true => Next::Skip,
            false => Next::Take(admitted),
        };
        self.block(blocks).await;
        for execution in spent {
            let target = Target { namespace: self.namespace.clone(), execution };
            settle::check_soon(self.process, target);
        }
        Ok(true)
    }

    async fn decide(
        &mut self,
        needs: Vec<NeedsAdmission>,
        max: usize,
    ) -> Result<Decided, StoreError> {
        let id = mint::request_id();
        let requests = (0..).zip(needs).map(|(index, needs)| {
            let id = AdmissionId { batch: id, index };
            AdmissionRequest { id, needs }
        });
        let requests: Vec<_> = requests.collect();
        let ids: Vec<_> = requests.iter().map(|request| request.needs.execution).collect();
        let batch = AdmissionBatch { requests, max, reserved_for: self.reserved_for };
        let decisions = self.process.batcher.admit(self.store(), &self.namespace, batch).await?;
        let mut decided = Decided::default();
        for (execution, decision) in ids.into_iter().zip(decisions) {
            match decision {
                Decision::NotEvaluated => {}
                Decision::Admitted(admitted) => {
                    metrics::admitted();
                    decided.admitted.push(admitted);
                }
                Decision::AdmittedElsewhere { spent } => {
                    self.elsewhere.insert(execution);
                    decided.spent.extend(spent.then_some(execution));
                }
                Decision::Blocked { shortfall, on, detail, release_in } => {
                    metrics::blocked(&shortfall);
                    tracing::debug!(%execution, ?shortfall, limit = %on.name, "blocked");
                    if let Some(release_in) = release_in {
                        release::later(self.process, &self.namespace, &on, release_in);
                    }
                    decided.blocks.entry(on.clone()).or_default().push(Block {
                        execution,
                        on,
                        detail,
                    });
                }
            }
        }
        Ok(decided)
    }

    /// Takes refused executions out of their queue. A release before they were out of it did
    /// not find them, so each limit is examined once more.
    async fn block(&self, blocks: BTreeMap<Blocker, Vec<Block>>) {
        if blocks.is_empty() {
            return;
        }
        let (namespace, limits) = (&self.namespace, blocks.keys().cloned().collect::<Vec<_>>());
        for (on, blocks) in &blocks {
            let (kind, limit) = (on.kind.as_str(), &on.name);
            let (count, detail) = (blocks.len(), &blocks[0].detail);
            tracing::info!(%namespace, kind, %limit, count, %detail, "executions are blocked");
        }
        let commands = blocks.into_values().flatten().map(mint::command).collect();
        for error in self.store().execute(commands).await.into_iter().filter_map(Result::err) {
            tracing::warn!(%namespace, %error, "a refused execution stays in its queue");
        }
        for on in limits {
            release::recheck_soon(self.process, namespace, on);
        }
    }
}

/// What was decided on requests.
#[derive(Default)]
struct Decided {
    admitted: Vec<Admitted>,
    blocks: BTreeMap<Blocker, Vec<Block>>,
    /// Those whose tickets nothing can be claimed under any more.
    spent: Vec<ExecutionId>,
}
