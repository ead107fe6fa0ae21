//! What must be equal, and how the subject's leases map to the model's.

use std::collections::{HashMap, HashSet};

use ff_core::collection::Content;
use ff_core::machine::{Action, Assignment, ClaimRequest, Command, FlowMember, FlowPage, Reply};
use ff_core::state::State;
use ff_core::{Execution, ExecutionId, LeaseId, Time, timer};
use ff_store::{Listed, StoreError};

use super::Agreement;
use super::op::Op;
use super::pair::View;
use super::read::Seen;
use crate::snapshot::{Snapshot, drop_lease_numbers};

/// The answer to a command.
pub(crate) type Answer = Result<Reply, StoreError>;

/// The subject's ids of the model's leases, where they may differ.
#[derive(Debug, Default)]
pub(crate) struct Leases(HashMap<(ExecutionId, LeaseId), LeaseId>);

impl Leases {
    /// Records the leases that both gave for one command.
    pub(crate) fn note(&mut self, model: &Answer, subject: &Answer) {
        let (Ok(Reply::Claimed(ours)), Ok(Reply::Claimed(theirs))) = (model, subject) else {
            return;
        };
        for our in &ours.assignments {
            let mut found = theirs.assignments.iter();
            if let Some(their) = found.find(|their| their.execution == our.execution) {
                self.0.insert((our.execution, our.fence.lease), their.fence.lease);
            }
        }
    }

    /// `command`, as the subject's worker would send it.
    pub(crate) fn translate(&self, command: &Command) -> Command {
        let mut command = command.clone();
        let execution = command.action.facts().subject.execution();
        if let (Some(execution), Some(lease)) = (execution, command.action.lease_mut()) {
            *lease = self.theirs(execution, *lease);
        }
        command
    }

    fn theirs(&self, execution: ExecutionId, ours: LeaseId) -> LeaseId {
        self.0.get(&(execution, ours)).copied().unwrap_or(ours)
    }
}

impl Agreement {
    /// Whether `op` comes out the same on both. Where conflicts happen, two kinds of claim do not:
    /// one of several that also removes what has expired may take more after a conflict, and one
    /// that uses a request again can name two leases alike here and differently there.
    pub(crate) fn can_compare(self, op: &Op, view: View<'_>) -> bool {
        let claims: Vec<_> = op.commands().iter().filter_map(claim_of).collect();
        let requests: HashSet<_> = claims.iter().map(|claim| claim.request).collect();
        let alone = op.commands().len() == 1;
        let any = |fits: fn(&Execution, &ClaimRequest, Time) -> bool, claim: &ClaimRequest| {
            view.held.records.values().any(|record| fits(record, claim, view.now))
        };
        let withdrawn = |record: &Execution, claim: &ClaimRequest| {
            let flow = record.member.as_ref().and_then(|member| view.held.record(member.flow));
            let is_here =
                (&record.spec.namespace, &record.spec.lane) == (&claim.namespace, &claim.lane);
            is_here && record.member.is_some() && flow.is_none_or(|flow| !flow.runs_members())
        };
        let withdraws = |claim: &ClaimRequest| {
            view.held.records.values().any(|record| withdrawn(record, claim))
        };
        let several = |claim: &ClaimRequest| {
            claim.max > 1 && (!alone || any(expired_in, claim) || withdraws(claim))
        };
        let again = |claim: &ClaimRequest| {
            let finds = claim.retry && alone && any(held_by, claim);
            view.leased.contains(&claim.request) && !finds
        };
        self == Agreement::Exact
            || (requests.len() == claims.len()
                && concern_different_flows(op, view)
                && !claims.into_iter().any(|claim| several(claim) || again(claim)))
    }

    /// What differs between two answers to one command.
    pub(crate) fn of_answers(self, model: &Answer, subject: &Answer) -> Option<String> {
        let same = match (model, subject) {
            (Ok(Reply::Claimed(ours)), Ok(Reply::Claimed(theirs))) => {
                (ours.again, ours.withheld) == (theirs.again, theirs.withheld)
                    && self.assignments(&ours.assignments) == self.assignments(&theirs.assignments)
            }
            (Ok(Reply::FlowPage(ours)), Ok(Reply::FlowPage(theirs))) => {
                // What its members are is compared with the rest of what both hold.
                let shown = |page: &FlowPage| {
                    let members = page.members.iter();
                    let members = members.map(|m| FlowMember { execution: None, ..m.clone() });
                    FlowPage { members: members.collect(), ..page.clone() }
                };
                shown(ours) == shown(theirs)
            }
            (Ok(ours), Ok(theirs)) => ours == theirs,
            (Err(StoreError::Refused(ours)), Err(StoreError::Refused(theirs))) => ours == theirs,
            _ => false,
        };
        (!same).then(|| format!("the model answers\n  {model:?}\nand the subject\n  {subject:?}"))
    }

    fn assignments(self, assignments: &[Assignment]) -> Vec<Assignment> {
        let mut all = assignments.to_vec();
        if self == Agreement::UpToLeaseNumbers {
            all.sort_by_key(|assignment| assignment.execution);
            for assignment in &mut all {
                assignment.fence.lease.index = 0;
            }
        }
        all
    }

    /// What differs between what two stores hold.
    pub(crate) fn of_states(self, model: &Snapshot, subject: &Snapshot) -> Option<String> {
        let differences = match self {
            Agreement::Exact => model.differences(subject),
            Agreement::UpToLeaseNumbers => model
                .clone()
                .without_lease_numbers()
                .differences(&subject.clone().without_lease_numbers()),
        };
        let listed = differences.join("\n");
        (!listed.is_empty()).then(|| format!("the model (-) and the subject (+) hold\n{listed}"))
    }

    /// What differs between what was read from two stores.
    pub(crate) fn of_reads(
        self,
        model: &Result<Seen, StoreError>,
        subject: &Result<Seen, StoreError>,
    ) -> Option<String> {
        let same = match (model, subject) {
            (Ok(ours), Ok(theirs)) => self.seen(ours) == self.seen(theirs),
            _ => false,
        };
        (!same).then(|| format!("the model shows\n  {model:?}\nand the subject\n  {subject:?}"))
    }

    /// What was read, as a snapshot would show it.
    fn seen(self, seen: &Seen) -> Seen {
        if self == Agreement::Exact {
            return seen.clone();
        }
        match seen.clone() {
            Seen::Record(mut record) => {
                if let Some(record) = &mut record {
                    drop_lease_numbers(record);
                }
                Seen::Record(record)
            }
            Seen::List(mut listed) => {
                for one in &mut listed {
                    if let Listed::Record(record) = one {
                        drop_lease_numbers(record);
                    }
                }
                Seen::List(listed)
            }
            Seen::Elements(mut elements) => {
                for element in &mut elements {
                    if let Content::Attempt(attempt) = &mut element.content {
                        attempt.lease.index = 0;
                    }
                }
                Seen::Elements(elements)
            }
            other => other,
        }
    }
}

fn claim_of(command: &Command) -> Option<&ClaimRequest> {
    match &command.action {
        Action::Claim(claim) => Some(claim),
        _ => None,
    }
}

/// Whether `record` is in the claim's queue although its deadline has passed.
fn expired_in(record: &Execution, claim: &ClaimRequest, now: Time) -> bool {
    matches!(record.state, State::Queued { .. })
        && (&record.spec.namespace, &record.spec.lane) == (&claim.namespace, &claim.lane)
        && timer::due(record, now).is_some()
}

/// Whether no two commands concern one flow: a conflict lets a later one of two overtake the other.
fn concern_different_flows(op: &Op, view: View<'_>) -> bool {
    let flow_of = |command: &Command| {
        let record = view.held.record(command.action.facts().subject.execution()?)?;
        let member = record.member.as_ref().map(|member| member.flow);
        member.or_else(|| record.flow.is_some().then_some(record.id))
    };
    let flows: Vec<_> = op.commands().iter().filter_map(flow_of).collect();
    flows.iter().collect::<HashSet<_>>().len() == flows.len()
}

/// Whether the claim holds `record`, and would find it again.
pub(crate) fn held_by(record: &Execution, claim: &ClaimRequest, now: Time) -> bool {
    record.spec.namespace == claim.namespace
        && record.lease().is_some_and(|lease| lease.id.request == claim.request)
        && timer::due(record, now).is_none()
}
