//! Recount a flow: correct what it counts of its members, and what members have counted of each other.
//!
//! On a store that cannot roll back, a fault in the middle of a write leaves a part of it. Writes are
//! ordered so that a flow then counts too many that have not ended, or a member has counted too few that
//! have: it waits, and nothing runs or ends early. A slice of a graph whose flow was not written leaves
//! members that no flow has.

use std::collections::{BTreeMap, HashMap};

use super::cascade::later;
use super::{Context, Decide, Facts, ReadSet, Reply, Step, WriteSet};
use crate::bounds::{FLOW_NODES, FLOW_SLICE};
use crate::collection::{Collection, Content, ElementRange};
use crate::continuation::{ContinuationKind, LATCH, Tally, TallyChange};
use crate::flow::{self, BAD, Flow, Member, Phase, counter, member_id};
use crate::id::ExecutionId;
use crate::name::NodeName;
use crate::record::Execution;
use crate::refusal::Refusal;
use crate::table::Verb;

/// How many members are read at once.
const ROUND: u32 = 2_500;

/// Recounts a flow. It belongs to no tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecountFlow {
    /// Which flow; it may not be there.
    pub flow: ExecutionId,
    /// The number after that of the last member which was seen of it.
    pub upto: u32,
}

impl RecountFlow {
    fn range(&self, from: u32) -> ElementRange {
        let (owner, collection) = (self.flow, Collection::Members);
        ElementRange { owner, collection, from: from.into(), limit: ROUND as usize }
    }

    /// What is to be read next: some members with their edges, and with the last of them the counters, so
    /// that what members have come to cannot have been counted since.
    fn missing(&self, loaded: &super::Loaded, end: u32) -> Option<ReadSet> {
        let from = (0..end).find(|n| !loaded.records.contains_key(&member_id(self.flow, *n)));
        let is_counted = loaded.tallies.contains_key(&self.flow);
        let from = match from {
            None if is_counted => return None,
            None => end,
            Some(from) => from,
        };
        let until = from.saturating_add(ROUND).min(end);
        Some(ReadSet {
            records: (from..until).map(|node| member_id(self.flow, node)).collect(),
            ranges: if until > from { vec![self.range(from)] } else { Vec::new() },
            tallies: if until == end { vec![self.flow] } else { Vec::new() },
            ..ReadSet::default()
        })
    }

    /// What each member depends on, as far as it was read.
    fn edges(&self, loaded: &super::Loaded, end: u32) -> HashMap<u32, Vec<u32>> {
        let starts = (0..end).step_by(ROUND as usize);
        let found = starts.filter_map(|from| loaded.ranges.get(&self.range(from))).flatten();
        let edges = found.filter_map(|element| match &element.content {
            Content::Bytes(bytes) => Some((element.number as u32, flow::unpack(bytes))),
            Content::Attempt(_) => None,
        });
        edges.collect()
    }
}

/// What the counters of a flow should be.
fn tally_of(flow: &Flow, members: &[&Execution]) -> Tally {
    let mut tally = Tally::default();
    let mut add = |number: u8| tally.set(number, tally.of(number) + 1);
    if flow.starting {
        add(LATCH);
    }
    for record in members {
        let Some((outcome, _)) = record.outcome() else {
            add(LATCH);
            continue;
        };
        add(counter(outcome));
        if record.member.as_ref().is_some_and(|it| it.is_sink) && !outcome.is_success() {
            add(BAD);
        }
    }
    tally
}

/// What a member has counted, by what its upstreams have come to; and an upstream that did not succeed.
struct Recounted {
    needs: i32,
    spare: i32,
    because: Option<NodeName>,
}

/// The members of a graph that runs, with their edges.
struct Edges<'a> {
    members: HashMap<u32, &'a Execution>,
    after: HashMap<u32, Vec<u32>>,
    next: HashMap<u32, Vec<u32>>,
}

impl<'a> Edges<'a> {
    fn of(members: &[&'a Execution], after: HashMap<u32, Vec<u32>>) -> Edges<'a> {
        let numbered = members.iter().filter_map(|it| Some((it.member.as_deref()?.node, *it)));
        let mut next: HashMap<u32, Vec<u32>> = HashMap::new();
        for (node, upstreams) in &after {
            upstreams.iter().for_each(|upstream| next.entry(*upstream).or_default().push(*node));
        }
        next.values_mut().for_each(|nodes| nodes.sort_unstable());
        Edges { members: numbered.collect(), after, next }
    }

    fn recounted(&self, flow: &Flow, member: &Member) -> Option<Recounted> {
        let after = self.after.get(&member.node)?;
        let mut place = member.clone();
        place.needs = member.required as i32;
        place.spare = after.len() as i32 - place.needs;
        let mut because = None;
        if after.is_empty() && flow.starting {
            (place.needs, place.spare) = (member.needs, member.spare);
        }
        for upstream in after {
            let record = self.members.get(upstream)?;
            let Some((outcome, _)) = record.outcome() else { continue };
            let ended = record.member.as_deref()?;
            let chunk = self.next.get(upstream)?.binary_search(&member.node).ok()? / FLOW_SLICE;
            if (chunk as u32) < ended.counted {
                place.count(outcome.is_success());
                if !outcome.is_success() {
                    because = Some(ended.name.clone());
                }
            }
        }
        Some(Recounted { needs: place.needs, spare: place.spare, because })
    }
}

impl Context<'_> {
    /// The writes that correct what members of a graph have counted.
    fn recount_members(&self, record: &Execution, flow: &Flow, edges: &Edges<'_>) -> WriteSet {
        let (mut write, mut fails) = (WriteSet::default(), None);
        for member in edges.members.values().filter(|member| member.is_awaiting()) {
            let Some(place) = member.member.as_deref() else { continue };
            let Some(right) = edges.recounted(flow, place) else { continue };
            if (right.needs, right.spare) == (place.needs, place.spare) {
                continue;
            }
            let mut after = (*member).clone();
            if let Some(place) = after.description.member.as_deref_mut() {
                (place.needs, place.spare) = (right.needs, right.spare);
            }
            let because = right.because.unwrap_or_else(NodeName::start);
            let (decided, failed) = self.decide(record, member, after, &because);
            fails = failed.map(|name| (name, because)).or(fails);
            write = write.join(decided);
        }
        match fails {
            Some((name, because)) => write.join(self.fail_flow(record, &name, &because)),
            None => write,
        }
    }

    /// The change that makes the counters of a flow what they should be, if they are not.
    fn recount_tally(&self, owner: ExecutionId, is: &Tally, should: &Tally) -> Option<TallyChange> {
        let counters = is.iter().chain(should.iter()).map(|(number, _)| number);
        let differences = counters.map(|number| (number, should.of(number) - is.of(number)));
        let add: BTreeMap<_, _> = differences.filter(|(_, by)| *by != 0).collect();
        let at_zero = Some(later(self, ContinuationKind::SETTLE, owner, 0));
        (!add.is_empty()).then_some(TallyChange { owner, add, at_zero })
    }
}

impl Decide for RecountFlow {
    fn facts(&self) -> Facts<'_> {
        Facts::execution(self.flow, Verb::Cascade)
    }

    fn check(&self) -> Result<(), Refusal> {
        Refusal::cap("upto", self.upto as usize, FLOW_NODES, "members")
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.flow)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let loaded = context.loaded;
        let record = loaded.record(self.flow);
        let flow = record.and_then(|record| record.flow.as_deref());
        let has = flow.map_or(0, |flow| flow.members);
        let nothing = Step::answer(Reply::Applied(false));
        if flow.is_some_and(|flow| flow.phase == Phase::Retiring) {
            return Ok(nothing);
        }
        let end = has.max(self.upto).min(FLOW_NODES as u32);
        if let Some(more) = self.missing(loaded, end) {
            return Ok(Step::NeedMore(more));
        }
        let member = |node| loaded.record(member_id(self.flow, node));
        let mut write = WriteSet::default();
        // Those that no flow has. A submit that is made again meanwhile has replaced them.
        for leftover in (has..end).filter_map(member) {
            write = write.join(context.remove(leftover));
        }
        let Some((record, flow)) = record.zip(flow) else {
            return Ok(match write.changes.is_empty() {
                true => nothing,
                false => Step::write(write, Reply::Applied(true)),
            });
        };
        let members: Vec<_> = (0..has).filter_map(member).collect();
        if flow.graph && flow.phase == Phase::Running && record.outcome().is_none() {
            let edges = Edges::of(&members, self.edges(loaded, end));
            write = write.join(context.recount_members(record, flow, &edges));
        }
        let is = loaded.tallies.get(&self.flow).cloned().unwrap_or_default();
        let change = context.recount_tally(record.id, &is, &tally_of(flow, &members));
        if write.changes.is_empty() && change.is_none() {
            return Ok(nothing);
        }
        let corrected = WriteSet { tallies: change.into_iter().collect(), ..WriteSet::default() };
        write = write.join(corrected);
        let changed: Vec<_> = write.changes.iter().map(|change| change.id).collect();
        let all = members.into_iter().chain([record]);
        let others = all.filter(|record| !changed.contains(&record.id));
        write.seen.extend(others.map(|record| (record.id, record.version)));
        Ok(Step::write(write, Reply::Applied(true)))
    }
}
