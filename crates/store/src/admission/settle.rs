//! Settlement: budgets and quotas are charged what was used, and get back what was held.
//!
//! The process that stops an execution settles it right after. If that process dies first, the
//! ticket's timer has the engine check it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ff_core::limits::{Amounts, ExecutionLimits};
use ff_core::machine::{
    Cancel, Home, Phase, ReportUsage, Settlement, SettlementEffects, TICKET_TTL, Target,
};
use ff_core::resource::Ticket;
use ff_core::state::State;
use ff_core::{
    Actor, Execution, ExecutionId, Millis, Namespace, Refusal, ResourceKind, ResourceName, Time,
};
use tokio::task::JoinHandle;

use super::release;
use crate::continuations;
use crate::error::StoreError;
use crate::metrics;
use crate::mint;
use crate::process::Process;
use crate::roles::{give, only, run};
use crate::store::ResourceScan;

/// How often one call settles what its settlements have stopped.
const ROUNDS: usize = 16;

/// How many are settled at a time.
const SETTLED: usize = 64;

/// How many tickets are read at a time.
const PAGE: usize = 200;

/// Settles what commits of this process have stopped, and what stops by that. What fails is left to
/// the check of its ticket. Continuations that they have added are run.
pub(crate) async fn settle_stopped(process: &Arc<Process>) {
    continuations::run_soon(process);
    for _ in 0..ROUNDS {
        let settlements = process.store.settlements().take();
        if settlements.is_empty() {
            return;
        }
        settle_some(process, settlements).await;
    }
}

/// The same by a task that has no caller. Calls that have queued some of it wait until it is settled.
pub(crate) async fn settle_unnoticed(process: &Arc<Process>) {
    continuations::run_soon(process);
    for _ in 0..ROUNDS {
        let (settlements, _making) = process.store.settlements().take_unnoticed();
        if settlements.is_empty() {
            return;
        }
        settle_some(process, settlements).await;
    }
}

/// Settles these alone, and what stops by that. What calls have queued is left to them.
pub(crate) async fn settle_own(process: &Arc<Process>, own: Vec<Settlement>) {
    if settle_some(process, own).await {
        settle_unnoticed(process).await;
    }
}

/// Settles. Answers whether that stopped something.
async fn settle_some(process: &Arc<Process>, settlements: Vec<Settlement>) -> bool {
    let breached = settle_all(process, settlements).await;
    for (namespace, budget) in &breached {
        if let Err(error) = cancel_running(process, namespace, budget).await {
            tracing::warn!(%namespace, %budget, %error, "not all that runs is cancelled");
        }
    }
    !breached.is_empty()
}

/// Settles in a task of the process, if there is anything to settle: other calls wait for it. What a task
/// without a caller settles of `own` is waited for.
pub(crate) async fn settle_in_task(
    process: &Arc<Process>,
    own: impl Iterator<Item = ExecutionId> + Clone,
) {
    let queue = process.store.settlements();
    if !queue.is_empty() {
        // Only a process that ends does not settle; tickets are checked after it.
        drop(start(process).await);
    }
    queue.made(own).await;
}

/// Apart, so that the calls of those who settle nothing stay small.
fn start(process: &Arc<Process>) -> JoinHandle<()> {
    let owner = process.clone();
    process.spawn(async move { settle_stopped(&owner).await })
}

/// Settles. Answers the budgets that cancel what runs on them.
async fn settle_all(
    process: &Arc<Process>,
    settlements: Vec<Settlement>,
) -> Vec<(Namespace, ResourceName)> {
    let mut breached = Vec::new();
    let mut namespaces: BTreeMap<Namespace, Vec<Settlement>> = BTreeMap::new();
    for settlement in settlements {
        if settlement.phase.is_end() {
            process.starts.forget(settlement.admission);
        }
        namespaces.entry(settlement.namespace.clone()).or_default().push(settlement);
    }
    for (namespace, settlements) in namespaces {
        for settlements in settlements.chunks(SETTLED) {
            let settled =
                process.batcher.settle(&*process.store, &namespace, settlements.to_vec()).await;
            match settled {
                Ok(mut effects) => {
                    // The counter is there before the first failure.
                    metrics::settlement_failed(0);
                    let budgets = std::mem::take(&mut effects.breached);
                    breached.extend(budgets.into_iter().map(|name| (namespace.clone(), name)));
                    follow(process, &namespace, effects).await;
                }
                Err(error) => {
                    let count = settlements.len();
                    tracing::warn!(%namespace, count, %error, "settlements wait for their tickets");
                    metrics::settlement_failed(count as u64);
                }
            }
        }
    }
    breached
}

/// Does what follows from settlements.
async fn follow(process: &Arc<Process>, namespace: &Namespace, effects: SettlementEffects) {
    for (budget, dimension) in effects.warned {
        tracing::warn!(%namespace, %budget, %dimension, "a budget has reached its soft limit");
        metrics::warned(&dimension);
    }
    for (on, after) in effects.rearmed {
        release::later(process, namespace, &on, after);
    }
    for on in effects.freed {
        release::release_or_warn(process, namespace, &on).await;
    }
}

/// Cancels all that runs on a budget; what it stops is settled by the caller.
async fn cancel_running(
    process: &Arc<Process>,
    namespace: &Namespace,
    budget: &ResourceName,
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let kind = ResourceKind::Ticket;
        let scan = ResourceScan { namespace: namespace.clone(), kind, after, limit: PAGE };
        let page = process.store.resources(scan).await?;
        let whole = page.len() == PAGE;
        after = page.last().map(|last| last.key.name.clone());
        for ticket in page.iter().filter_map(|found| found.as_ticket()) {
            if !ticket.budgets.contains(budget) {
                continue;
            }
            let target = Target { namespace: namespace.clone(), execution: ticket.execution };
            let reason = Some(format!("budget {budget} has reached its hard limit").into());
            let cancel = mint::command_by(Actor::engine(), Cancel { target, grace: None, reason });
            let cancelled = give(&*process.store, cancel).await;
            if let Err(error) = cancelled
                && error.refused().is_none()
            {
                return Err(error);
            }
        }
        if !whole {
            return Ok(());
        }
    }
}

/// Checks the tickets of executions, in a task of the process: where another call has it and cannot
/// use it any more, or where the last command has an unknown outcome.
pub(crate) fn check_soon(process: &Arc<Process>, target: Target) {
    let owner = process.clone();
    process.own(async move {
        let Target { namespace, execution } = target;
        let home = Home { namespace: namespace.clone(), partitions: owner.store.partitions() };
        let found = owner.store.resource(&home.ticket(execution)).await;
        let (Ok(Some(found)), Ok(now)) = (found, owner.store.now().await) else { return };
        let Some(ticket) = found.as_ticket().filter(|ticket| ticket.is_spent(now)) else { return };
        if let Err(error) = check_ticket(&owner, &namespace, ticket).await {
            tracing::warn!(%namespace, %execution, %error, "a ticket is left to its timer");
        }
    });
}

/// Checks whether the execution of a ticket is still reserved or held under it, and settles it if not.
/// Nothing can be claimed under the ticket any more: an execution that was last admitted under another
/// name has not used it.
pub(crate) async fn check_ticket(
    process: &Arc<Process>,
    namespace: &Namespace,
    ticket: &Ticket,
) -> Result<(), StoreError> {
    let record = process.store.record(ticket.execution).await?;
    let was_used = |record: &Execution| record.admission == Some(ticket.admission);
    let settlement = match record {
        Some(record) if was_used(&record) => {
            let left = |until: Time| running(until.since(ticket.until - TICKET_TTL));
            let phase = match &record.state {
                State::Active { lease, .. } => left(lease.until),
                State::Granted { grant, .. } => left(grant.until),
                _ => Phase::Stopped { started: None },
            };
            Settlement::of(&record, ticket.admission, phase)
        }
        Some(_) => of_ticket(namespace, ticket, Phase::Unused),
        None => of_ticket(namespace, ticket, Phase::Stopped { started: None }),
    };
    settle_own(process, vec![settlement]).await;
    Ok(())
}

/// The settlement of a ticket by what it knows itself.
fn of_ticket(namespace: &Namespace, ticket: &Ticket, phase: Phase) -> Settlement {
    Settlement {
        namespace: namespace.clone(),
        execution: ticket.execution,
        admission: ticket.admission,
        limits: ExecutionLimits {
            budgets: ticket.budgets.clone(),
            quotas: ticket.quotas.clone(),
            estimate: ticket.estimate.clone(),
        },
        revision: ticket.revision,
        used: ticket.used.clone(),
        phase,
    }
}

fn running(left: Millis) -> Phase {
    Phase::Running { started: None, at_least: Millis::new(left.get() + TICKET_TTL.get()) }
}

/// Counts usage in the execution, then charges it to its budgets. A dimension that none of them
/// counts is refused, unless one of them is still to be created.
pub(crate) async fn report(
    process: &Arc<Process>,
    report: ReportUsage,
) -> Result<Amounts, StoreError> {
    let store = &process.store;
    let Target { namespace, execution } = report.hold.target.clone();
    let record = store.record(execution).await?;
    let mine = record.filter(|record| record.spec.namespace == namespace);
    let Some(record) = mine else { return Err(Refusal::NotFound.into()) };
    let home = Home { namespace: namespace.clone(), partitions: store.partitions() };
    let mut counted = BTreeSet::new();
    let mut known = true;
    for name in &record.spec.limits.budgets {
        let found = store.resource(&home.key(ResourceKind::Budget, name)).await?;
        match found.as_ref().and_then(|found| found.as_budget()) {
            Some(budget) => counted.extend(budget.limits.dimensions.keys().cloned()),
            None => known = false,
        }
    }
    if let Some(unknown) = report.amounts.keys().find(|dimension| !counted.contains(*dimension))
        && known
    {
        let why = format!("has {unknown}, which no budget of the execution counts");
        return Err(Refusal::invalid("amounts", why).into());
    }
    let used = run(&**store, report).await.and_then(only!(Used))?;
    // The report is counted: what fails from here on is the process's business, not the caller's.
    if let Some(admission) = record.admitted_under() {
        let at_least = Millis::new(record.spec.policy.lease_ttl.get() + TICKET_TTL.get());
        let phase = Phase::Running { started: None, at_least };
        let settlement = Settlement {
            used: used.amounts.clone(),
            revision: used.revision,
            ..Settlement::of(&record, admission, phase)
        };
        store.settlements().push([settlement]);
    }
    Ok(used.amounts)
}
