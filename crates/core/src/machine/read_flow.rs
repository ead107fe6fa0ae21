//! Reads of a flow: its members with their edges, and what an upstream of a member came to.

use super::{Context, Decide, Facts, Moves, ReadSet, Reply, Step, Target};
use crate::bounds::FLOW_SLICE;
use crate::collection::{Collection, Content, Element, ElementKey, ElementName, ElementRange};
use crate::flow::{self, FlowCounts, member_id};
use crate::id::ExecutionId;
use crate::name::NodeName;
use crate::payload::{BlobKey, BlobPart, Payload};
use crate::record::{Description, Execution};
use crate::refusal::Refusal;
use crate::state::Outcome;
use crate::table::Verb;

/// Reads a flow and some of its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFlow {
    /// Which flow.
    pub target: Target,
    /// The number of the first member.
    pub from: u32,
    /// How many members at most.
    pub limit: usize,
}

/// A flow and some of its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowPage {
    /// The flow itself.
    pub flow: Description,
    /// What its members have come to.
    pub counts: FlowCounts,
    /// Members in the order of their numbers; fewer than asked for need not be the last.
    pub members: Vec<FlowMember>,
    /// After which more come.
    pub next: Option<u32>,
}

/// A member of a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowMember {
    /// Its number.
    pub node: u32,
    /// Its name.
    pub name: NodeName,
    /// The numbers of the nodes that it depends on.
    pub after: Vec<u32>,
    /// What it is; `None` if it cannot be read.
    pub execution: Option<Description>,
}

impl ReadFlow {
    fn range(&self) -> ElementRange {
        ElementRange {
            owner: self.target.execution,
            collection: Collection::Members,
            from: self.from.into(),
            limit: self.limit,
        }
    }
}

/// The facts of a command that changes nothing.
fn reads_only<'a>(id: ExecutionId) -> Facts<'a> {
    Facts { moves: Moves::Nothing, ..Facts::execution(id, Verb::Cascade) }
}

impl Decide for ReadFlow {
    fn facts(&self) -> Facts<'_> {
        reads_only(self.target.execution)
    }

    fn check(&self) -> Result<(), Refusal> {
        match self.limit {
            1..=FLOW_SLICE => Ok(()),
            other => {
                let why = format!("is {other}; give 1 to {FLOW_SLICE}");
                Err(Refusal::invalid("limit", why))
            }
        }
    }

    fn reads(&self) -> ReadSet {
        ReadSet {
            ranges: vec![self.range()],
            tallies: vec![self.target.execution],
            ..ReadSet::record(self.target.execution)
        }
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.found(&self.target)?;
        let flow = record.flow.as_deref().ok_or(Refusal::NoSuch { what: "flow" })?;
        let elements = context.loaded.ranges.get(&self.range()).map_or(&[][..], |found| found);
        let numbers: Vec<_> = elements.iter().map(|element| element.number as u32).collect();
        if let Some(more) = context.missing_members(record.id, &numbers) {
            return Ok(Step::NeedMore(ReadSet { tolerant: true, ..more }));
        }
        let members: Vec<_> =
            elements.iter().filter_map(|element| member(context, record, element)).collect();
        let end = numbers.last().map_or(self.from, |last| last + 1);
        let tally = context.loaded.tallies.get(&record.id).cloned().unwrap_or_default();
        Ok(Step::answer(Reply::FlowPage(Box::new(FlowPage {
            flow: record.description.clone(),
            counts: FlowCounts::of(&tally),
            members,
            next: (end < flow.members && !numbers.is_empty()).then_some(end),
        }))))
    }
}

fn member(context: &Context<'_>, flow: &Execution, element: &Element) -> Option<FlowMember> {
    let node = element.number as u32;
    let name = element.name.as_ref()?.as_bytes();
    let record = context.loaded.record(member_id(flow.id, node));
    Some(FlowMember {
        node,
        name: NodeName::new(std::str::from_utf8(name).ok()?).ok()?,
        after: upstreams(element),
        execution: record.map(|record| record.description.clone()),
    })
}

/// The nodes that a member depends on, as its flow lists them.
fn upstreams(element: &Element) -> Vec<u32> {
    match &element.content {
        Content::Bytes(bytes) => flow::unpack(bytes),
        Content::Attempt(_) => Vec::new(),
    }
}

/// Reads the result of an upstream of a member, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadUpstream {
    /// The member.
    pub target: Target,
    /// The upstream.
    pub upstream: NodeName,
}

impl ReadUpstream {
    fn key(&self, flow: ExecutionId) -> Result<ElementKey, Refusal> {
        let name = ElementName::new("upstream", self.upstream.as_str().to_owned())?;
        Ok(ElementKey { owner: flow, collection: Collection::Members, name })
    }
}

impl Decide for ReadUpstream {
    fn facts(&self) -> Facts<'_> {
        reads_only(self.target.execution)
    }

    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.target.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let none = || Refusal::NoSuch { what: "upstream node" };
        let record = context.found(&self.target)?;
        let own = self.key(record.id)?;
        if record.flow.is_some() && !record.is_flow() {
            match context.loaded.elements.get(&own) {
                None => {
                    let elements = vec![own];
                    return Ok(Step::NeedMore(ReadSet { elements, ..ReadSet::default() }));
                }
                Some(Some(child)) => return result(context, record.id, child.number as u32),
                Some(None) => {}
            }
        }
        let member = record.member.as_deref().ok_or_else(none)?;
        let key = self.key(member.flow)?;
        let (owner, collection) = (member.flow, Collection::Members);
        let own = ElementRange { owner, collection, from: member.node.into(), limit: 1 };
        let (named, listed) = (context.loaded.elements.get(&key), context.loaded.ranges.get(&own));
        let (Some(named), Some(listed)) = (named, listed) else {
            let (elements, ranges) = (vec![key], vec![own]);
            return Ok(Step::NeedMore(ReadSet { elements, ranges, ..ReadSet::default() }));
        };
        let node = named.as_ref().map(|element| element.number as u32).ok_or_else(none)?;
        if !listed.first().is_some_and(|own| upstreams(own).contains(&node)) {
            return Err(none());
        }
        result(context, member.flow, node)
    }
}

/// The result of a member.
fn result(context: &Context<'_>, flow: ExecutionId, node: u32) -> Result<Step, Refusal> {
    let none = || Refusal::NoSuch { what: "upstream node" };
    let id = member_id(flow, node);
    if let Some(more) = context.missing_members(flow, &[node]) {
        return Ok(Step::NeedMore(more));
    }
    let upstream = context.loaded.record(id).ok_or_else(none)?;
    let Some((Outcome::Success { result }, _)) = upstream.outcome() else {
        return Err(Refusal::WrongState {
            command: "reading the result",
            state: upstream.public_state(),
            needs: "completed",
        });
    };
    let key = BlobKey { execution: id, part: BlobPart::Result(upstream.run.number) };
    match context.loaded.blobs.get(&key) {
        None => Ok(Step::NeedMore(ReadSet { blobs: vec![key], ..ReadSet::default() })),
        Some(None) => Err(none()),
        Some(Some(bytes)) => {
            let content_type = result.content_type.clone();
            let payload = Payload { content_type, bytes: bytes.clone() };
            Ok(Step::answer(Reply::Payload(payload)))
        }
    }
}
