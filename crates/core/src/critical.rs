//! The critical path of a flow: the chain of nodes that decided when it ended, or what it waits for now.

use std::collections::HashMap;

use crate::machine::FlowMember;
use crate::record::Description;
use crate::time::Time;

/// The numbers of the nodes on the critical path of a flow, first to last. It ends with the node that ended
/// last, or one that still runs; before each node is the upstream of it that ended last.
pub fn critical_path(members: &[FlowMember], now: Time) -> Vec<u32> {
    let nodes: HashMap<_, _> = members.iter().map(|member| (member.node, member)).collect();
    let end_of = |member: &FlowMember| member.execution.as_ref().and_then(|it| end(it, now));
    let ends = members.iter().filter_map(|member| Some((end_of(member)?, member.node)));
    let mut path: Vec<u32> = Vec::new();
    // Of those that end together, the first.
    let mut at = ends.max_by_key(|(end, node)| (*end, u32::MAX - node)).map(|(_, node)| node);
    // A graph has no circles; one that is damaged may.
    while let Some(node) = at.filter(|_| path.len() < members.len()) {
        path.push(node);
        let upstreams = nodes.get(&node).map_or(&[][..], |member| &member.after);
        let ends = upstreams.iter().filter_map(|number| {
            let execution = nodes.get(number)?.execution.as_ref()?;
            Some((execution.outcome()?.1, *number))
        });
        at = ends.max_by_key(|(end, node)| (*end, u32::MAX - node)).map(|(_, node)| node);
    }
    path.reverse();
    path
}

/// When a node ended; now if it has begun and not ended.
fn end(execution: &Description, now: Time) -> Option<Time> {
    match execution.outcome() {
        Some((_, at)) => Some(at),
        None => execution.attempt.as_ref().map(|_| now),
    }
}
