//! Settlement: what became of an admission is charged and returned to budgets and quotas.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Context, WriteSet};
use crate::id::{AdmissionId, ExecutionId};
use crate::limits::{Amounts, Blocker, ExecutionLimits};
use crate::name::{Dimension, Namespace, ResourceName};
use crate::record::Execution;
use crate::time::{Millis, Time};

/// What one admitted execution has used, and whether it continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// The tenant.
    pub namespace: Namespace,
    /// Which execution.
    pub execution: ExecutionId,
    /// The admission; the ticket of another one is left alone.
    pub admission: AdmissionId,
    /// The limits that the execution names; what its ticket holds besides is found there.
    pub limits: ExecutionLimits,
    /// All that the execution has used.
    pub used: Amounts,
    /// How many writes the execution had had by then: of two settlements, the later one counts.
    pub revision: u64,
    /// What became of the admission.
    pub phase: Phase,
}

/// What became of an admission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nothing was claimed under it.
    Unused,
    /// The execution is reserved or held under it.
    Running {
        /// When it was claimed, if that is news.
        started: Option<Time>,
        /// How long it continues at least.
        at_least: Millis,
    },
    /// The execution has stopped. No settlement comes after this one.
    Stopped {
        /// When its attempt started, if that is known.
        started: Option<Time>,
    },
}

impl Phase {
    /// Whether the ticket ends with it.
    pub fn is_end(self) -> bool {
        !matches!(self, Phase::Running { .. })
    }
}

/// What settlements changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettlementEffects {
    /// Budgets and quotas that may have room now for executions blocked on them.
    pub freed: BTreeSet<Blocker>,
    /// Quotas whose next release of executions that wait for a rate has moved, and how soon it is.
    pub rearmed: BTreeMap<Blocker, Millis>,
    /// Budgets that have reached a soft limit, and in which dimension.
    pub warned: Vec<(ResourceName, Dimension)>,
    /// Budgets that have reached a hard limit and cancel what runs.
    pub breached: BTreeSet<ResourceName>,
}

impl Settlement {
    /// The settlement of an execution that was admitted and has stopped.
    pub fn stopped(record: &Execution, admission: AdmissionId) -> Settlement {
        let started = record.attempt.as_ref().map(|attempt| attempt.started);
        Settlement::of(record, admission, Phase::Stopped { started })
    }

    /// The settlement of `record`, admitted under this name.
    pub fn of(record: &Execution, admission: AdmissionId, phase: Phase) -> Settlement {
        let mut limits = record.spec.limits.clone();
        if limits.is_empty() {
            // Only its lane can have admitted it.
            limits.quotas.insert(ResourceName::of_lane(&record.spec.lane));
        }
        Settlement {
            namespace: record.spec.namespace.clone(),
            execution: record.id,
            admission,
            limits,
            used: record.used.clone(),
            revision: record.version.counter(),
            phase,
        }
    }
}

impl Context<'_> {
    /// Has the admission of an execution settled that is neither reserved nor held any more.
    pub(in crate::machine) fn end_admission(
        &self,
        before: &Execution,
        after: &Execution,
        write: &mut WriteSet,
    ) {
        let Some(admission) = before.admitted_under() else { return };
        if after.admitted_under().is_none() {
            write.settlements.push(Settlement::stopped(after, admission));
        }
    }
}
