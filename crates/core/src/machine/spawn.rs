//! Spawn: a holder adds children to its execution.

use std::collections::BTreeSet;

use super::submit::new_record;
use super::{
    Context, Decide, Facts, LeaseRef, ReadSet, Spawned, SpawnedChild, Step, Submit, WriteSet,
};
use crate::bounds::{FLOW_NODES, FLOW_SLICE};
use crate::collection::{Collection, Content, Element, ElementKey, ElementName};
use crate::continuation::{LATCH, TallyChange};
use crate::event::EventKind;
use crate::flow::{self, Flow, Member, OnFailure, Phase, Rest, member_id};
use crate::id::{ExecutionId, LeaseId, Partition};
use crate::name::{Lane, NodeName};
use crate::record::Execution;
use crate::refusal::Refusal;
use crate::resource::ResourceKey;
use crate::table::Verb;

/// Adds children to an execution, for its holder. A child is found by its name: the same name again is the
/// same child. Children run at once, beside the execution that spawned them, and those that have not ended
/// when that ends are cancelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spawn {
    /// What is held.
    pub hold: LeaseRef,
    /// Where it lies in its store.
    pub partition: Partition,
    /// The children, at most [`FLOW_SLICE`].
    pub children: Vec<NewChild>,
}

/// A child to be spawned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChild {
    /// Its name, unique among the children of one execution.
    pub name: NodeName,
    /// The work. Its id and namespace are its parent's to say, and it has no idempotency key.
    pub work: Submit,
}

impl Spawn {
    fn parent(&self) -> ExecutionId {
        self.hold.target.execution
    }

    fn key(&self, name: &NodeName) -> ElementKey {
        child_key(self.parent(), name)
    }

    fn lanes(&self) -> BTreeSet<&Lane> {
        self.children.iter().map(|child| &child.work.lane).collect()
    }

    fn lane_key(&self, lane: &Lane) -> ResourceKey {
        ResourceKey::lane_in(self.partition, &self.hold.target.namespace, lane)
    }

    /// The number of each child, and whether it is new.
    fn numbered(&self, context: &Context<'_>, members: u32) -> Vec<(u32, bool)> {
        let mut next = members;
        let number = |child: &NewChild| {
            let known = context.loaded.elements.get(&self.key(&child.name));
            match known.and_then(Option::as_ref) {
                Some(element) => (element.number as u32, false),
                None => {
                    next += 1;
                    (next - 1, true)
                }
            }
        };
        self.children.iter().map(number).collect()
    }

    /// The work of a child with what it inherits.
    fn work(&self, parent: &Execution, child: &NewChild, number: u32) -> Submit {
        let mut work = child.work.clone();
        work.id = member_id(parent.id, number);
        work.namespace = parent.spec.namespace.clone();
        for (key, value) in &parent.tags {
            work.tags.entry(key.clone()).or_insert_with(|| value.clone());
        }
        work.limits.budgets.extend(parent.spec.limits.budgets.iter().cloned());
        work.limits.quotas.extend(parent.spec.limits.quotas.iter().cloned());
        work
    }

    /// The record of a child, new.
    fn child(&self, context: &Context<'_>, parent: &Execution, at: usize, number: u32) -> WriteSet {
        let child = &self.children[at];
        let work = self.work(parent, child, number);
        let lane = context.loaded.resource(&self.lane_key(&work.lane));
        let lane = lane.and_then(|lane| lane.as_lane()).and_then(|lane| lane.defaults.as_deref());
        let mut record = new_record(context, &work, lane, child.work.digest());
        record.member = Some(Box::new(Member {
            flow: parent.id,
            node: number,
            name: child.name.clone(),
            needs: 0,
            spare: 0,
            required: 0,
            on_failure: OnFailure::Skip,
            rest: Rest::Finish,
            is_sink: false,
            start: work.start,
            counted: 0,
        }));
        let what = EventKind::Submitted { from: work.start.resolve(context.now) };
        let mut write = context.create(record, work.input.bytes.clone(), what);
        if let Some(leftover) = context.loaded.record(work.id) {
            let new = write.changes.remove(0);
            write.changes.push(context.replace(leftover, new));
        }
        write
    }

    /// The write that adds those of the children that are new, if there are any.
    fn write(
        &self,
        context: &Context<'_>,
        parent: &Execution,
        numbers: &[(u32, bool)],
    ) -> Option<WriteSet> {
        let new: Vec<_> = (0..).zip(numbers).filter(|(_, (_, is_new))| *is_new).collect();
        if new.is_empty() {
            return None;
        }
        let mut after = parent.clone();
        let elements = new.iter().map(|(at, _)| {
            let number = after.counts.add(Collection::Members);
            let name: &NodeName = &self.children[*at].name;
            let name = Some(ElementName::from_stored(name.as_str().to_owned().into()));
            let content = Content::Bytes(flow::pack(&[]));
            (Collection::Members, Element { number, name, content })
        });
        let elements = elements.collect();
        let count = new.len() as u32;
        let children = after.description.flow.get_or_insert_with(|| {
            Box::new(Flow {
                phase: Phase::Running,
                graph: false,
                members: 0,
                size: 0,
                sealed: true,
                starting: false,
                wait: None,
            })
        });
        children.members += count;
        children.size = children.members;
        // The parent comes last: a fault before it leaves children that no parent has, and that do not run.
        let mut write = WriteSet::default();
        for (at, (number, _)) in &new {
            write = write.join(self.child(context, parent, *at, *number));
        }
        let mut own = context.update(parent, after, None);
        own.changes[0].elements = elements;
        write = context.guarded_by_flow(parent, write.join(own));
        let add = [(LATCH, i64::from(count))].into();
        write.tallies.push(TallyChange { owner: parent.id, add, at_zero: None });
        for lane in self.lanes() {
            let key = self.lane_key(lane);
            let version = context.loaded.resource(&key).map(|resource| resource.version);
            write.guards.push((key, version));
        }
        Some(write)
    }
}

/// The child of `parent` with this name.
pub(super) fn child_key(parent: ExecutionId, name: &NodeName) -> ElementKey {
    let name = ElementName::from_stored(name.as_str().to_owned().into());
    ElementKey { owner: parent, collection: Collection::Members, name }
}

impl Decide for Spawn {
    fn facts(&self) -> Facts<'_> {
        let payload_bytes = self.children.iter().map(|child| child.work.input.bytes.len()).sum();
        Facts { adds: true, payload_bytes, ..Facts::execution(self.parent(), Verb::Spawn) }
    }

    fn lease_mut(&mut self) -> Option<&mut LeaseId> {
        Some(&mut self.hold.fence.lease)
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.children.is_empty() {
            return Err(Refusal::invalid("children", "is empty; give at least one"));
        }
        Refusal::cap("children", self.children.len(), FLOW_SLICE, "children")?;
        let names: BTreeSet<_> = self.children.iter().map(|child| child.name.as_str()).collect();
        if names.len() != self.children.len() {
            return Err(Refusal::invalid("children", "has a name twice; give each its own"));
        }
        for child in &self.children {
            let named = |why: &dyn std::fmt::Display| {
                Refusal::invalid("children", format!("has child {}, whose {why}", child.name))
            };
            if child.work.key.is_some() {
                return Err(named(&"idempotency_key is not for a child; its name is one"));
            }
            child.work.check_input().map_err(|refusal| named(&refusal))?;
        }
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet {
            elements: self.children.iter().map(|child| self.key(&child.name)).collect(),
            resources: self.lanes().into_iter().map(|lane| self.lane_key(lane)).collect(),
            ..ReadSet::record(self.parent())
        }
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let held = context.held(&self.hold)?;
        let parent = held.record;
        if parent.is_flow() {
            return Err(Refusal::invalid("id", "is of a flow, which is not held"));
        }
        let members = parent.flow.as_deref().map_or(0, |flow| flow.members);
        let numbers = self.numbered(context, members);
        let ids = numbers.iter().map(|(number, _)| member_id(parent.id, *number));
        let flow = parent.member.as_ref().map(|member| member.flow);
        let records: Vec<_> =
            ids.chain(flow).filter(|id| !context.loaded.records.contains_key(id)).collect();
        if !records.is_empty() {
            return Ok(Step::NeedMore(ReadSet { records, ..ReadSet::default() }));
        }
        if context.is_barred(parent) {
            let state = flow.and_then(|flow| context.loaded.record(flow));
            return Err(Refusal::WrongState {
                command: "spawn",
                state: state.unwrap_or(parent).public_state(),
                needs: "a flow that is not ending",
            });
        }
        for (child, (number, is_new)) in self.children.iter().zip(&numbers) {
            let known = context.loaded.record(member_id(parent.id, *number));
            if !is_new && known.is_none_or(|known| known.digest != child.work.digest()) {
                return Err(Refusal::IdempotencyConflict);
            }
        }
        let total = members as usize + numbers.iter().filter(|(_, is_new)| *is_new).count();
        Refusal::cap("children", total, FLOW_NODES, "children")?;
        for lane in self.lanes() {
            let lane = context.loaded.resource(&self.lane_key(lane)).and_then(|it| it.as_lane());
            if lane.is_some_and(|lane| lane.draining) {
                return Err(Refusal::LaneDraining);
            }
        }
        let children = self.children.iter().zip(&numbers).map(|(child, (number, created))| {
            let execution = member_id(parent.id, *number);
            SpawnedChild { name: child.name.clone(), execution, created: *created }
        });
        let spawned = Spawned { children: children.collect() };
        Ok(match self.write(context, parent, &numbers) {
            Some(write) => Step::write(write, spawned),
            None => Step::answer(spawned),
        })
    }
}
