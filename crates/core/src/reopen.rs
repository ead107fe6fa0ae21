//! Which members of a flow run again when it is replayed, and what they wait for then.
//!
//! What has completed keeps its result. Of the rest, what nothing needs stays as it is: a loser of a race
//! that has been won.

use std::collections::{HashMap, HashSet};

use crate::bounds::FLOW_SLICE;
use crate::flow::Member;
use crate::machine::{FlowMember, ReopenedMember};
use crate::state::Outcome;

/// A graph that is replayed.
struct Replayed<'a> {
    members: HashMap<u32, &'a FlowMember>,
    /// The dependants of each node, in order.
    next: HashMap<u32, Vec<u32>>,
}

/// The members of a flow that run again, in the order of their numbers.
pub fn reopened(members: &[FlowMember]) -> Vec<ReopenedMember> {
    let mut next: HashMap<u32, Vec<u32>> = HashMap::new();
    for member in members {
        for upstream in &member.after {
            next.entry(*upstream).or_default().push(member.node);
        }
    }
    next.values_mut().for_each(|nodes| nodes.sort_unstable());
    let graph = Replayed { members: members.iter().map(|it| (it.node, it)).collect(), next };
    let again = graph.again();
    let mut all: Vec<_> = again.iter().filter_map(|node| graph.reopened(*node, &again)).collect();
    all.sort_unstable_by_key(|member| member.node);
    all
}

impl Replayed<'_> {
    fn place(&self, node: u32) -> Option<&Member> {
        self.members.get(&node)?.execution.as_ref()?.member.as_deref()
    }

    fn outcome(&self, node: u32) -> Option<&Outcome> {
        self.members.get(&node)?.execution.as_ref()?.outcome().map(|(outcome, _)| outcome)
    }

    fn has_completed(&self, node: u32) -> bool {
        self.outcome(node).is_some_and(Outcome::is_success)
    }

    fn after(&self, node: u32) -> &[u32] {
        self.members.get(&node).map_or(&[], |member| &member.after)
    }

    /// What has not completed, if it is a sink or something that runs again needs it.
    fn again(&self) -> HashSet<u32> {
        let sinks = self.members.keys().filter(|node| !self.next.contains_key(node));
        let mut todo: Vec<_> = sinks.copied().filter(|node| !self.has_completed(*node)).collect();
        let mut again: HashSet<u32> = todo.iter().copied().collect();
        while let Some(node) = todo.pop() {
            let completed = self.after(node).iter().filter(|up| self.has_completed(**up)).count();
            let required = self.place(node).map_or(0, |place| place.required as usize);
            if completed >= required {
                continue;
            }
            for upstream in self.after(node) {
                if !self.has_completed(*upstream) && again.insert(*upstream) {
                    todo.push(*upstream);
                }
            }
        }
        again
    }

    /// What a member waits for once it runs again: all that counted for it and does not run again has been
    /// counted, and the rest will be.
    fn reopened(&self, node: u32, again: &HashSet<u32>) -> Option<ReopenedMember> {
        let execution = self.members.get(&node)?.execution.as_ref()?;
        let mut place = execution.member.as_deref()?.clone();
        let after = self.after(node);
        place.needs = place.required as i32;
        place.spare = after.len() as i32 - place.needs;
        for upstream in after.iter().filter(|upstream| !again.contains(upstream)) {
            if let Some(outcome) = self.outcome(*upstream)
                && self.is_counted(*upstream, node)
            {
                place.count(outcome.is_success());
            }
        }
        let Member { needs, spare, .. } = place;
        let run = execution.run.number;
        let is_reopened = execution.outcome().is_none();
        Some(ReopenedMember { node, run: run.saturating_sub(is_reopened.into()), needs, spare })
    }

    /// Whether the end of `upstream` has been counted for `node`.
    fn is_counted(&self, upstream: u32, node: u32) -> bool {
        let place = self.next.get(&upstream).and_then(|next| next.binary_search(&node).ok());
        let counted = self.place(upstream).map_or(0, |place| place.counted as usize);
        place.is_some_and(|place| place / FLOW_SLICE < counted)
    }
}
