//! What flows count of their members, compared with their members.

use std::collections::BTreeMap;

use ff_core::continuation::Tally;
use ff_core::flow::{self, Flow, FlowCounts, Phase};
use ff_core::machine::{RecountFlow, Reply};
use ff_core::state::Outcome;
use ff_core::{Execution, ExecutionId};

use crate::audit::{Row, TallyRow};
use crate::error::StoreError;
use crate::mint;
use crate::store::Store;

/// Counts members, and what their flows count.
#[derive(Debug, Default)]
pub(crate) struct FlowsAudit(BTreeMap<ExecutionId, Seen>);

/// What was found of one flow.
#[derive(Debug, Default)]
struct Seen {
    flow: Option<Flow>,
    has_ended: bool,
    members: u64,
    /// The number after that of its last member.
    upto: u32,
    counts: FlowCounts,
    bad: u64,
    tally: Tally,
}

impl FlowsAudit {
    pub(crate) fn record(&mut self, record: &Execution) {
        if let Some(flow) = record.flow.as_deref() {
            let seen = self.0.entry(record.id).or_default();
            (seen.flow, seen.has_ended) = (Some(flow.clone()), record.outcome().is_some());
        }
        let is_retiring = record.flow.as_ref().is_some_and(|it| it.phase == Phase::Retiring);
        // What is being removed with its own members may outlive its flow.
        let Some(member) = record.member.as_deref().filter(|_| !is_retiring) else { return };
        let seen = self.0.entry(member.flow).or_default();
        seen.members += 1;
        seen.upto = seen.upto.max(member.node.saturating_add(1));
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

    pub(crate) fn tally(&mut self, row: &TallyRow) {
        let seen = self.0.entry(row.owner).or_default();
        seen.tally.set(row.counter, row.value);
    }

    /// The flows that may have to be recounted: those that have not ended, and those that count otherwise
    /// than it is.
    fn recounts(self) -> impl Iterator<Item = RecountFlow> {
        let some = self.0.into_iter().filter(|(_, seen)| {
            let runs = seen.flow.as_ref().is_some_and(|flow| flow.graph && !seen.has_ended);
            runs || seen.wrong().is_some()
        });
        some.map(|(flow, seen)| RecountFlow { flow, upto: seen.upto })
    }

    /// What is counted otherwise than it is.
    pub(crate) fn miscounted(self) -> impl Iterator<Item = (ExecutionId, String)> {
        self.0.into_iter().filter_map(|(id, seen)| Some((id, seen.wrong()?)))
    }
}

impl Seen {
    fn wrong(&self) -> Option<String> {
        let Some(flow) = &self.flow else {
            let members = self.members;
            return (members > 0).then(|| format!("is not there, and has {members} members"));
        };
        // Members of one that is being removed go before it.
        if flow.phase == Phase::Retiring {
            return None;
        }
        if self.members != u64::from(flow.members) {
            return Some(format!("{} of its {} members are there", self.members, flow.members));
        }
        let left = self.counts.left + u64::from(flow.starting);
        let should = FlowCounts { left, ..self.counts };
        let (is, bad) = (FlowCounts::of(&self.tally), flow::bad(&self.tally));
        let is_right = is == should && bad == self.bad;
        (!is_right)
            .then(|| format!("counts {is:?} and {bad} bad, should {should:?} and {}", self.bad))
    }
}

/// Corrects what flows count of their members and members of each other, and removes members that no flow
/// has; answers how many flows were corrected. One that others change all the time is left to the next
/// repair.
pub async fn recount_flows(store: &dyn Store) -> Result<u64, StoreError> {
    let (mut rows, mut flows) = (store.rows().await?, FlowsAudit::default());
    while let Some(row) = rows.next().await {
        match row? {
            Row::Record(record) => flows.record(&record),
            Row::Tally(tally) => flows.tally(&tally),
            _ => {}
        }
    }
    let mut corrected = 0;
    for recount in flows.recounts() {
        let flow = recount.flow;
        match store.execute(vec![mint::command(recount)]).await.pop() {
            Some(Ok(answer)) => corrected += u64::from(answer == Reply::Applied(true)),
            Some(Err(StoreError::Contention)) => {
                tracing::warn!(%flow, "a flow that changes all the time is not recounted");
            }
            Some(Err(error)) => return Err(error),
            None => {}
        }
    }
    Ok(corrected)
}
