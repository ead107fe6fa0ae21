//! What flows count of their members, compared with their members.

use std::collections::BTreeMap;

use ff_core::continuation::{Continuation, ContinuationKind, Tally};
use ff_core::flow::{self, Flow, FlowCounts, Phase, START};
use ff_core::state::Outcome;
use ff_core::{Execution, ExecutionId};

use crate::audit::TallyRow;

/// Counts members, and what their flows count.
#[derive(Debug, Default)]
pub(crate) struct FlowsAudit(BTreeMap<ExecutionId, Seen>);

/// What was found of one flow.
#[derive(Debug, Default)]
struct Seen {
    flow: Option<Flow>,
    members: u64,
    counts: FlowCounts,
    bad: u64,
    tally: Tally,
    /// The end of its start is still to be gone through.
    is_starting: bool,
}

impl FlowsAudit {
    pub(crate) fn record(&mut self, record: &Execution) {
        if let Some(flow) = record.flow.as_deref() {
            self.0.entry(record.id).or_default().flow = Some(flow.clone());
        }
        let Some(member) = record.member.as_deref() else { return };
        let seen = self.0.entry(member.flow).or_default();
        seen.members += 1;
        let outcome = record.outcome().map(|(outcome, _)| outcome);
        let counts = &mut seen.counts;
        let counter = match outcome {
            None => &mut counts.left,
            Some(Outcome::Success { .. }) => &mut counts.completed,
            Some(Outcome::Failed { .. }) => &mut counts.failed,
            Some(Outcome::Cancelled { .. }) => &mut counts.cancelled,
            Some(Outcome::Expired) => &mut counts.expired,
            Some(Outcome::Skipped { .. }) => &mut counts.skipped,
        };
        *counter += 1;
        if member.is_sink && outcome.is_some_and(|outcome| !outcome.is_success()) {
            seen.bad += 1;
        }
    }

    pub(crate) fn continuation(&mut self, continuation: &Continuation) {
        let Continuation { kind, owner, member, .. } = *continuation;
        let starts = kind == ContinuationKind::ENDED && member == START;
        if starts || kind == ContinuationKind::REOPENED {
            self.0.entry(owner).or_default().is_starting = true;
        }
    }

    pub(crate) fn tally(&mut self, row: &TallyRow) {
        let seen = self.0.entry(row.owner).or_default();
        seen.tally.set(row.counter, row.value);
    }

    /// What is counted otherwise than it is.
    pub(crate) fn miscounted(self) -> impl Iterator<Item = (ExecutionId, String)> {
        self.0.into_iter().filter_map(|(id, seen)| Some((id, seen.wrong()?)))
    }
}

impl Seen {
    fn wrong(&self) -> Option<String> {
        // Members of one that is being removed go before it.
        let flow = self.flow.as_ref().filter(|flow| flow.phase != Phase::Retiring)?;
        if self.members != u64::from(flow.members) {
            return Some(format!("{} of its {} members are there", self.members, flow.members));
        }
        let starts = flow.graph && (!flow.sealed || self.is_starting);
        let should = FlowCounts { left: self.counts.left + u64::from(starts), ..self.counts };
        let (is, bad) = (FlowCounts::of(&self.tally), flow::bad(&self.tally));
        let is_right = is == should && bad == self.bad;
        (!is_right)
            .then(|| format!("counts {is:?} and {bad} bad, should {should:?} and {}", self.bad))
    }
}
