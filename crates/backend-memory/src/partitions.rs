//! Where a command runs in a store of several partitions.
//!
//! A command on one execution or resource runs where that lies. A claim or a grant asks one partition
//! after the other, the one with the best head first, and each decides by its own settings of the lane.
//! Which partition is asked first is a choice: other stores may choose differently.

use std::collections::BTreeSet;

use ff_core::bounds::BATCH_BYTES;
use ff_core::machine::{Action, Admissions, Admitted, Claimed, Command, Granted, Reply};
use ff_core::{Capabilities, ExecutionId, Lane, Namespace, Partition, RequestId};

use crate::tables::Tables;

impl Tables {
    /// The partition of an execution.
    pub(crate) fn partition(&self, id: ExecutionId) -> Partition {
        id.partition().among(self.partitions)
    }

    /// The partitions that `action` asks, in order.
    pub(crate) fn places(&self, action: &Action) -> Vec<Partition> {
        let own = action.facts().subject.partition(self.partitions);
        let mut places = match action {
            // What an earlier send took, wherever that is, is found in any of them.
            Action::Claim(claim) if claim.retry && self.is_held(claim.request) => Vec::new(),
            Action::Claim(claim) => match claim.admissions.only() {
                Some(only) => self.places_of(only).into_iter().collect(),
                None => self.best_places(&claim.namespace, &claim.lane, &claim.capabilities),
            },
            Action::GrantNext(grant) => match (grant.at, &grant.admissions) {
                (Some(at), _) => vec![at.among(self.partitions)],
                (None, Admissions::Only(only)) => {
                    only.iter().map(|one| self.place_of(one)).take(1).collect()
                }
                _ => self.best_places(&grant.namespace, &grant.lane, &grant.capabilities),
            },
            _ => Vec::new(),
        };
        if places.is_empty() {
            places.push(own);
        }
        places
    }

    /// Whether a claim holds something.
    fn is_held(&self, request: RequestId) -> bool {
        let ids = self.requests.get(&request).into_iter().flatten();
        ids.filter_map(|id| self.records.get(id)).any(|record| record.lease().is_some())
    }

    fn place_of(&self, admitted: &Admitted) -> Partition {
        self.partition(admitted.request.needs.execution)
    }

    fn places_of(&self, admitted: &[Admitted]) -> BTreeSet<Partition> {
        admitted.iter().map(|one| self.place_of(one)).collect()
    }

    /// The partitions that have something for a worker with these capabilities, best head first.
    fn best_places(
        &self,
        namespace: &Namespace,
        lane: &Lane,
        offers: &Capabilities,
    ) -> Vec<Partition> {
        let here =
            self.queues.iter().filter(|((_, of, queue), _)| (of, queue) == (namespace, lane));
        let mut heads: Vec<_> = here
            .filter_map(|((at, ..), classes)| {
                let covered = classes.iter().filter(|(class, _)| offers.covers(class));
                let head = covered.filter_map(|(_, members)| members.first()).min()?;
                Some((head.0, *at))
            })
            .collect();
        heads.sort_unstable();
        heads.into_iter().map(|(_, at)| at).collect()
    }
}

/// A command on its way through partitions.
pub(crate) struct Asking {
    /// What is still wanted.
    pub(crate) command: Command,
    so_far: Option<Reply>,
    /// How many bytes of input that has.
    bytes: usize,
}

impl Asking {
    pub(crate) fn new(command: &Command) -> Asking {
        Asking { command: command.clone(), so_far: None, bytes: 0 }
    }

    /// Takes the answer of one partition. Tells whether the next one is asked.
    pub(crate) fn goes_on(&mut self, reply: Reply) -> bool {
        let goes_on = match (&mut self.command.action, &reply) {
            (Action::Claim(claim), Reply::Claimed(claimed)) => {
                let Claimed { assignments, again, withheld, needs_admission } = claimed;
                let taken = u16::try_from(assignments.len()).unwrap_or(u16::MAX);
                claim.max = claim.max.saturating_sub(taken);
                claim.first = claim.first.saturating_add(taken);
                claim.retry = false;
                self.bytes += assignments.iter().map(|one| one.input.bytes.len()).sum::<usize>();
                // The answer of another partition may be as large as an answer can be.
                let has_room = self.bytes <= BATCH_BYTES / 2;
                claim.max > 0
                    && has_room
                    && !again
                    && withheld.is_none()
                    && needs_admission.is_empty()
            }
            (_, Reply::Granted(granted)) => *granted == Granted::default(),
            _ => false,
        };
        self.so_far = Some(match self.so_far.take() {
            Some(earlier) => earlier.join(reply),
            None => reply,
        });
        goes_on
    }

    /// All that was answered.
    pub(crate) fn into_reply(self) -> Option<Reply> {
        self.so_far
    }
}
