//! Settlement: budgets and quotas are told what was used, and get back what was held.
//!
//! Whoever stops an execution settles it right after; one that dies before leaves the ticket, which
//! is looked at when its time is over.

use std::collections::{BTreeMap, BTreeSet};

use ff_core::control::{Amounts, Control};
use ff_core::machine::{Cancel, House, RESERVED, ReportUsage, Settled, Settling, Target, Unadmit};
use ff_core::resource::Ticket;
use ff_core::state::State;
use ff_core::{Millis, Namespace, Refusal, ResourceKind, ResourceName};

use crate::easing::ease;
use crate::error::StoreError;
use crate::meter;
use crate::roles::{bare as one, only};
use crate::store::{ResourceScan, Store};

/// How often one call settles what stops by its settlements.
const ROUNDS: usize = 16;

/// How many are settled at a time.
const SETTLED: usize = 64;

/// How many tickets are read at a time.
const PAGE: usize = 200;

/// Settles what has stopped in this process since the last call, and what stops by that. What fails
/// is left to its ticket.
pub(crate) async fn settle_stopped<S: Store + ?Sized>(store: &S) {
    for _ in 0..ROUNDS {
        let stopped = store.wakeups().take_stopped();
        if stopped.is_empty() {
            return;
        }
        if let Err(error) = settle_all(store, stopped).await {
            tracing::warn!(%error, "a settlement waits for the time of its ticket");
        }
    }
}

/// Settles, and lets go who waited for what is eased.
pub(crate) async fn settle_all<S: Store + ?Sized>(
    store: &S,
    settlings: Vec<Settling>,
) -> Result<(), StoreError> {
    let mut houses: BTreeMap<Namespace, Vec<Settling>> = BTreeMap::new();
    for settling in settlings {
        houses.entry(settling.namespace.clone()).or_default().push(settling);
    }
    for (namespace, settlings) in houses {
        for settlings in settlings.chunks(SETTLED) {
            let settled = store.desks().settle(store, &namespace, settlings.to_vec()).await?;
            follow(store, &namespace, settled).await?;
        }
    }
    Ok(())
}

/// Does what follows from a settlement.
async fn follow<S: Store + ?Sized>(
    store: &S,
    namespace: &Namespace,
    settled: Settled,
) -> Result<(), StoreError> {
    for (budget, dimension) in settled.warned {
        tracing::warn!(%namespace, %budget, %dimension, "a budget has reached its soft limit");
        meter::warned(&dimension);
    }
    for budget in settled.breached {
        cancel_running(store, namespace, &budget).await?;
    }
    for on in settled.eased {
        ease(store, namespace, &on).await?;
    }
    Ok(())
}

/// Cancels all that runs on a budget.
async fn cancel_running<S: Store + ?Sized>(
    store: &S,
    namespace: &Namespace,
    budget: &ResourceName,
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let kind = ResourceKind::Ticket;
        let scan = ResourceScan { namespace: namespace.clone(), kind, after, limit: PAGE };
        let page = store.resources(scan).await?;
        let whole = page.len() == PAGE;
        after = page.last().map(|last| last.key.name.clone());
        for ticket in page.iter().filter_map(|found| found.as_ticket()) {
            if ticket.held.as_ref().is_none_or(|held| !held.budgets.contains(budget)) {
                continue;
            }
            let target = Target { namespace: namespace.clone(), execution: ticket.execution };
            let reason = Some(format!("budget {budget} has reached its hard limit").into());
            let cancelled = one(store, Cancel { target, grace: None, reason }).await;
            if let Err(error) = cancelled.map(drop)
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

/// Looks whether the execution of a ticket still has it, and settles it if not.
pub(crate) async fn look<S: Store + ?Sized>(
    store: &S,
    namespace: &Namespace,
    ticket: &Ticket,
) -> Result<(), StoreError> {
    let Some(held) = &ticket.held else { return Ok(()) };
    let record = store.record(ticket.execution).await?;
    let mine = record.as_ref().filter(|record| record.admission == Some(held.admission));
    let goes_on = match mine.map(|record| &record.state) {
        Some(State::Active { lease, .. }) => {
            // It was looked at so long before.
            let left = lease.until.since(ticket.until - RESERVED);
            Some(Millis::new(left.get() + RESERVED.get()))
        }
        Some(State::Granted { .. }) => Some(RESERVED),
        Some(_) => {
            let (execution, admission) = (ticket.execution, held.admission);
            one(store, Unadmit { execution, admission }).await?;
            return settle_all(store, store.wakeups().take_stopped()).await;
        }
        None => None,
    };
    let settling = Settling {
        namespace: namespace.clone(),
        execution: ticket.execution,
        admission: held.admission,
        control: Control {
            budgets: held.budgets.clone(),
            quotas: held.quotas.clone(),
            estimate: held.reserved.clone(),
        },
        seen: record.as_ref().map_or(held.seen, |record| record.version.counter()),
        used: record.map_or_else(|| held.charged.clone(), |record| record.used.clone()),
        goes_on,
    };
    settle_all(store, vec![settling]).await
}

/// Takes note of usage in the execution, then charges it to its budgets. A dimension that none of
/// them counts is refused, unless one of them is still to be made.
pub(crate) async fn report<S: Store + ?Sized>(
    store: &S,
    report: ReportUsage,
) -> Result<Amounts, StoreError> {
    let Target { namespace, execution } = report.hold.target.clone();
    let record = store.record(execution).await?;
    let mine = record.filter(|record| record.spec.namespace == namespace);
    let Some(record) = mine else { return Err(Refusal::NotFound.into()) };
    let house = House { namespace: namespace.clone(), partitions: store.partitions() };
    let mut counted = BTreeSet::new();
    let mut known = true;
    for name in &record.spec.control.budgets {
        let found = store.resource(&house.key(ResourceKind::Budget, name)).await?;
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
    let used = one(store, report).await.and_then(only!(Used))?;
    if let Some(admission) = record.admission {
        let settling = Settling {
            namespace,
            execution,
            admission,
            control: record.spec.control.clone(),
            used: used.amounts.clone(),
            seen: used.seen,
            goes_on: Some(RESERVED),
        };
        settle_all(store, vec![settling]).await?;
    }
    Ok(used.amounts)
}
