//! Random children: held executions spawn some and wait for them, with and without open waitpoints.

use fastrand::Rng;
use ff_core::machine::{
    Action, LeaseRef, NewChild, NewWaitpoint, OpenWaitpoint, Signal, Spawn, Submit, WaitChildren,
    WaitpointRef,
};
use ff_core::{Execution, NodeName, Payload, Source, WaitpointId, timer};

use super::flow::CROWD;
use crate::history::generate::Generator;
use crate::history::make::{self, one};
use crate::history::pair::View;

fn name(number: u32) -> NodeName {
    format!("c{number}").parse().unwrap()
}

/// The child of a number: always the same.
fn child(number: u32) -> NewChild {
    let mut rng = Rng::with_seed(u64::from(number) * 6_007 + 3);
    let work = Submit {
        lane: make::lane(&mut rng),
        input: make::payload(&mut rng),
        policy: make::policy(&mut rng, false).into(),
        ..Submit::new(make::id(&mut rng, 1))
    };
    NewChild { name: name(number), work }
}

fn has_children(record: &Execution) -> bool {
    record.flow.is_some() && !record.is_flow()
}

impl Generator {
    /// A held execution: now and then one that is asked to stop, mostly one with children if it is to have
    /// some.
    fn holder(&mut self, view: View<'_>, with_children: bool) -> Option<LeaseRef> {
        let held =
            |record: &Execution| record.lease().is_some() && timer::due(record, view.now).is_none();
        let suits = |record: &Execution| held(record) && (has_children(record) || !with_children);
        let stops = |record: &Execution| {
            use ff_core::state::State::Active;
            held(record) && matches!(&record.state, Active { cancel: Some(_), .. })
        };
        let stopping = (self.rng.u8(..3) == 0).then(|| self.some(view, stops)).flatten();
        let record = stopping.or_else(|| self.some(view, suits))?;
        Some(LeaseRef { target: self.target_of(record), fence: record.fence()? })
    }

    pub(super) fn spawn(&mut self, view: View<'_>) -> Option<Action> {
        let left = |record: &&Execution| record.member.is_some() && record.outcome().is_none();
        if view.held.records.values().filter(left).count() >= CROWD {
            return None;
        }
        let hold = self.holder(view, false)?;
        let partition = hold.target.execution.partition().among(self.partitions);
        let first = self.rng.u32(..3);
        let children = (first..=first + self.rng.u32(..2)).map(child).collect();
        Some(Spawn { hold, partition, children }.into())
    }

    /// A wait for children; at times a waitpoint is opened before it.
    pub(super) fn wait_children(&mut self, view: View<'_>) -> Option<Action> {
        let hold = self.holder(view, true)?;
        if self.rng.u8(..4) == 0 {
            let id = WaitpointId::new(self.rng.u128(..));
            let waitpoint = NewWaitpoint { id, key: "p".parse().unwrap(), until: None };
            return Some(OpenWaitpoint { hold, waitpoint }.into());
        }
        let children = match self.rng.u8(..4) {
            0 => Vec::new(),
            1 => vec![name(self.rng.u32(..4))],
            _ => vec![name(0), name(1)],
        };
        let completed = (!children.is_empty() && self.rng.bool()).then_some(1);
        Some(WaitChildren { hold, children, completed }.into())
    }

    /// A signal to one that waits for children.
    pub(super) fn signal_parent(&mut self, view: View<'_>) -> Option<Action> {
        let waits = |r: &Execution| r.awaits_children() && !r.waits.waitpoints.is_empty();
        let record = self.some(view, waits)?;
        let open = &record.waits.waitpoints;
        let waitpoint = WaitpointRef::ByKey(one(&mut self.rng, open).key.clone());
        Some(
            Signal {
                target: self.target_of(record),
                waitpoint,
                key: None,
                name: None,
                category: None,
                source: Source::new("someone").unwrap(),
                payload: Payload::bytes("hello"),
            }
            .into(),
        )
    }
}
