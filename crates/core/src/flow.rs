//! Flows: graphs of executions.
//!
//! A flow is an execution that is never queued: it ends by what its members come to. It and its
//! members share a partition, and their ids derive from its own. An edge is known to both of its ends: the
//! flow lists for each member what that depends on ([`Collection::Members`]), a member lists what depends
//! on it ([`Collection::Next`]).
//!
//! A member has two numbers. It may run when it needs no more successes, and is skipped when it cannot
//! get as many as it needs. Every upstream that ends counts once, also after the member has ended, so
//! both are a function of how the upstreams have ended.
//!
//! [`Collection::Members`]: crate::collection::Collection::Members
//! [`Collection::Next`]: crate::collection::Collection::Next

use std::collections::BTreeMap;

use bytes::{BufMut, Bytes, BytesMut};
use serde::{Deserialize, Serialize};

use crate::continuation::{LATCH, Tally};
use crate::digest::Digest;
use crate::id::ExecutionId;
use crate::name::NodeName;
use crate::record::Description;
use crate::state::{Outcome, State};
use crate::time::{Millis, When};
use crate::words;

/// The number that stands for the flow itself among its nodes: its own end as a start of the graph.
pub const START: u32 = u32::MAX;

/// What a flow knows of its members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Where it is in its life.
    pub phase: Phase,
    /// Whether it is a graph and no work of its own; else its members are children of a task.
    pub graph: bool,
    /// How many members it has.
    pub members: u32,
    /// How many it has once its graph is whole.
    pub size: u32,
    /// Whether its graph is whole.
    pub sealed: bool,
    /// Whether its start is to be gone through, and counts as one that has not ended: its graph came in
    /// slices, or is replayed.
    #[serde(default)]
    pub starting: bool,
    /// What the task waits for whose children its members are.
    #[serde(default)]
    pub wait: Option<Box<ChildWait>>,
}

/// Which of its children a task waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChildWait {
    /// All of them.
    Every,
    /// Some.
    Some {
        /// The numbers of those that have not ended, in order.
        left: Vec<u32>,
        /// How many more must complete, if that is enough.
        completed: Option<u32>,
    },
}

/// Where a flow is in its life. It has ended when its execution has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Its graph is being built, and nothing of it runs.
    Open,
    /// Its members run.
    Running,
    /// Its members are being ended, and nothing more of it starts.
    Ending(Ending),
    /// All its members have ended.
    Settled,
    /// It is being removed.
    Retiring,
}

/// How a flow is ended before its members have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// What becomes of the flow.
    pub outcome: Outcome,
    /// What becomes of members that a worker holds.
    pub held: HeldMembers,
}

/// What becomes of the members that workers hold when their flow is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HeldMembers {
    /// Their leases end at once.
    Cancel,
    /// They are asked to stop and may work for so long.
    Grace(Millis),
    /// They finish what they do; they are not tried again.
    Finish,
}

words!(
    /// What a member does when too much of what it depends on has not succeeded.
    OnFailure {
        /// It is skipped.
        Skip = "skip",
        /// It runs: for it, every end counts as a success.
        Continue = "continue",
        /// It is skipped, and its flow fails at once.
        FailFlow = "fail_flow",
    }
);

words!(
    /// What becomes of the upstreams that a member does not need any more.
    Rest {
        /// They run to their end.
        Finish = "finish",
        /// They are cancelled, and what only they need too; what another member needs is not.
        Cancel = "cancel",
    }
);

/// The place of an execution in a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The flow.
    pub flow: ExecutionId,
    /// Its number among the nodes.
    pub node: u32,
    /// Its name among the nodes.
    pub name: NodeName,
    /// How many successes of upstreams it needs before it may run.
    pub needs: i32,
    /// How many upstreams may still end without success.
    pub spare: i32,
    /// How many successes it needs in all, if none had ended.
    pub required: u32,
    /// What it does when too many do.
    pub on_failure: OnFailure,
    /// What becomes of upstreams that it does not need any more.
    pub rest: Rest,
    /// Nothing depends on it: the flow completes only if it does.
    pub is_sink: bool,
    /// When it may start, from when it needs no more.
    pub start: When,
    /// In how many chunks of what depends on it its end is counted.
    pub counted: u32,
}

/// What the ends of its upstreams make of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It waits for more.
    Wait,
    /// It may run.
    Run,
    /// It never runs.
    Skip,
}

impl Member {
    /// Counts the start of its graph, which it has waited for if it depends on nothing else. This can be
    /// done again.
    pub const fn begin(&mut self) {
        if self.needs > 0 {
            self.needs = 0;
        }
    }

    /// Counts an upstream that has ended.
    pub fn count(&mut self, is_success: bool) {
        match is_success || self.on_failure == OnFailure::Continue {
            true => self.needs -= 1,
            false => self.spare -= 1,
        }
    }

    /// What its upstreams have made of it so far.
    pub const fn verdict(&self) -> Verdict {
        match (self.needs, self.spare) {
            (..=0, _) => Verdict::Run,
            (_, ..0) => Verdict::Skip,
            _ => Verdict::Wait,
        }
    }
}

/// The id of a member: its flow's time and partition, its number, and a fingerprint of the flow. This is a
/// stored format.
pub fn member_id(flow: ExecutionId, node: u32) -> ExecutionId {
    let mark = Digest::of(|fields| {
        fields.text("member");
        fields.bytes(flow.as_bytes());
    });
    flow.sibling(node, mark.get())
}

impl Description {
    /// Whether it is a flow: not work of its own, but a graph.
    pub fn is_flow(&self) -> bool {
        self.flow.as_deref().is_some_and(|flow| flow.graph)
    }

    /// Whether members of it may be claimed and released.
    pub fn runs_members(&self) -> bool {
        let is_running = |flow: &Flow| flow.phase == Phase::Running;
        self.outcome().is_none() && self.flow.as_deref().is_some_and(is_running)
    }

    /// Whether it waits for what it depends on, and has not begun.
    pub fn is_awaiting(&self) -> bool {
        matches!(self.state, State::Awaiting { why } if why.starts_attempt())
    }

    /// Whether it has begun and waits for its children.
    pub fn awaits_children(&self) -> bool {
        matches!(self.state, State::Awaiting { why } if !why.starts_attempt())
    }
}

/// The members of a flow by what they have come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Not ended.
    pub left: u64,
    /// Completed.
    pub completed: u64,
    /// Failed.
    pub failed: u64,
    /// Cancelled.
    pub cancelled: u64,
    /// Expired.
    pub expired: u64,
    /// Skipped.
    pub skipped: u64,
}

/// How many of the nodes on which nothing depends did not succeed.
pub(crate) const BAD: u8 = 1;

/// How many sinks did not succeed, as the counters of a flow say.
pub fn bad(tally: &Tally) -> u64 {
    tally.of(BAD).max(0) as u64
}

/// The counter of those that ended so.
pub(crate) const fn counter(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Success { .. } => 2,
        Outcome::Failed { .. } => 3,
        Outcome::Cancelled { .. } => 4,
        Outcome::Expired => 5,
        Outcome::Skipped { .. } => 6,
    }
}

/// What the end of a member changes in the counters of its flow.
pub(crate) fn ended(member: &Member, outcome: &Outcome) -> BTreeMap<u8, i64> {
    let is_bad = member.is_sink && !outcome.is_success();
    let bad = is_bad.then_some((BAD, 1));
    [(LATCH, -1), (counter(outcome), 1)].into_iter().chain(bad).collect()
}

impl FlowCounts {
    /// What the counters of a flow say.
    pub fn of(tally: &Tally) -> FlowCounts {
        let counter = |number| tally.of(number).max(0) as u64;
        FlowCounts {
            left: counter(LATCH),
            completed: counter(2),
            failed: counter(3),
            cancelled: counter(4),
            expired: counter(5),
            skipped: counter(6),
        }
    }
}

/// Numbers of nodes as the bytes of an element.
pub(crate) fn pack(nodes: &[u32]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(nodes.len() * 4);
    nodes.iter().for_each(|node| bytes.put_u32(*node));
    bytes.freeze()
}

/// The numbers of nodes in the bytes of an element.
pub(crate) fn unpack(bytes: &[u8]) -> Vec<u32> {
    let numbers = bytes.chunks_exact(4).map(|four| four.try_into().map_or(0, u32::from_be_bytes));
    numbers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Partition;
    use crate::time::Time;

    #[test]
    fn the_id_of_a_member_is_a_fixed_format_in_the_partition_of_its_flow() {
        let partition = Partition::new(7).unwrap();
        let flow = ExecutionId::mint(Time::from_ms(1_700_000_000_000), partition, 1, 2);
        let member = member_id(flow, 9_999);
        assert_eq!(member.partition(), partition);
        assert_eq!(member.to_string(), "018bcfe5-6800-7007-809c-3f09e02eb131");
        assert_ne!(member_id(flow, 0), flow);
    }

    #[test]
    fn numbers_of_nodes_read_back() {
        for nodes in [&[][..], &[0], &[1, 70_000, START]] {
            assert_eq!(unpack(&pack(nodes)), nodes);
        }
    }
}
