//! Claims and grants on several partitions.
//!
//! Which partition one takes from first is the store's choice, by what it believes of the heads of queues.
//! So the model takes from the partition that the subject took from, and there both must take the same.
//! What depends on that choice in other ways is not compared: a claim of several from more than one
//! partition, and one that may meet work that has expired, must be admitted or is withheld in one
//! partition and not in another.

use std::collections::BTreeSet;

use ff_core::machine::{Action, Admissions, Claim, Command, GrantNext, NeedsAdmission, Reply};
use ff_core::resource::LaneState;
use ff_core::state::State;
use ff_core::{Execution, Lane, Namespace, Partition, timer};

use super::compare::{Answer, held_by};
use super::op::Op;
use super::pair::View;

/// The partition that a claim or a grant was answered from, if it took something.
pub(crate) fn chosen(command: &Command, answer: &Answer, partitions: u16) -> Option<Partition> {
    let taken = match (&command.action, answer.as_ref().ok()?) {
        (Action::Claim(_), Reply::Claimed(claimed)) => claimed.assignments.first()?.execution,
        (Action::GrantNext(_), Reply::Granted(granted)) => granted.offer.as_ref()?.execution,
        _ => return None,
    };
    Some(taken.partition().among(partitions))
}

/// Whether `op` comes out the same on both, whichever partition the subject takes from.
pub(crate) fn can_compare(op: &Op, view: View<'_>) -> bool {
    let alone = op.commands().len() == 1;
    view.partitions == 1
        || op.commands().iter().all(|command| match &command.action {
            Action::Claim(claim) => alone && is_decided(claim, view),
            Action::GrantNext(grant) => alone && is_granted_alike(grant, view),
            _ => true,
        })
}

fn is_decided(claim: &Claim, view: View<'_>) -> bool {
    if view.leased.contains(&claim.request) {
        return claim.retry && view.held.records.values().any(|r| held_by(r, claim, view.now));
    }
    let waiting = Waiting::of(&claim.namespace, &claim.lane, view);
    match &claim.admissions {
        Admissions::Only(only) => {
            let ids = only.iter().map(|one| one.request.needs.execution);
            ids.map(|id| view.partition(id)).collect::<BTreeSet<_>>().len() <= 1
        }
        Admissions::SkipLimited => waiting.is_in_one(),
        Admissions::Any if waiting.is_in_one() => claim.max <= 1 || !waiting.needs_admission(),
        Admissions::Any => claim.max <= 1 && waiting.is_plain(),
    }
}

fn is_granted_alike(grant: &GrantNext, view: View<'_>) -> bool {
    if view.leased.contains(&grant.request) {
        return false;
    }
    if grant.at.is_some() {
        return true;
    }
    let waiting = Waiting::of(&grant.namespace, &grant.lane, view);
    match &grant.admissions {
        Admissions::Only(only) => {
            let first = only.first().map(|one| view.partition(one.request.needs.execution));
            waiting.partitions.iter().all(|at| Some(*at) == first)
        }
        Admissions::SkipLimited => waiting.is_in_one(),
        Admissions::Any => waiting.is_in_one() || waiting.is_plain(),
    }
}

/// What waits in a queue.
struct Waiting<'a> {
    records: Vec<&'a Execution>,
    partitions: BTreeSet<Partition>,
    view: View<'a>,
}

impl<'a> Waiting<'a> {
    fn of(namespace: &Namespace, lane: &Lane, view: View<'a>) -> Waiting<'a> {
        let here = |record: &&Execution| {
            matches!(record.state, State::Queued { .. })
                && (&record.spec.namespace, &record.spec.lane) == (namespace, lane)
        };
        let records: Vec<_> = view.held.records.values().filter(here).collect();
        let partitions = records.iter().map(|record| view.partition(record.id)).collect();
        Waiting { records, partitions, view }
    }

    fn is_in_one(&self) -> bool {
        self.partitions.len() <= 1
    }

    /// Its lane, as the partition of an execution has it.
    fn lane(&self, record: &Execution) -> Option<&'a LaneState> {
        let at = self.view.partition(record.id);
        self.view.lane(at, &record.spec.namespace, &record.spec.lane)
    }

    fn needs_admission(&self) -> bool {
        self.records.iter().any(|record| {
            let is_limited = self.lane(record).is_some_and(LaneState::is_limited);
            NeedsAdmission::of(record, is_limited).is_some()
        })
    }

    /// Whether all of it can be taken now.
    fn is_plain(&self) -> bool {
        let ready = |record: &&Execution| {
            let is_paused = self.lane(record).is_some_and(|lane| lane.paused);
            let flow = record.member.as_ref().map(|member| self.view.held.record(member.flow));
            let may_run = flow.is_none_or(|flow| flow.is_some_and(|flow| flow.runs_members()));
            timer::due(record, self.view.now).is_none() && !is_paused && may_run
        };
        self.records.iter().all(ready) && !self.needs_admission()
    }
}
