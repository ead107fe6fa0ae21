//! Submit: the record is made here as it would be at time 0; the function sets its times.

use bytes::Bytes;
use ff_core::machine::{self, Command, Loaded, Reply, Step, Submit, Submitted};
use ff_core::state::{Intent, State};
use ff_core::{Execution, Time, When};
use ff_store::StoreError;
use ff_store::metrics::{self, Counted};
use redis::Value;

use crate::codec::{self, Inline, Packer, format};
use crate::keys;
use crate::reply;
use crate::slow_path::unwritable;
use crate::store::Shared;

pub(super) fn push(
    submit: &Submit,
    command: &Command,
    args: &mut Vec<Bytes>,
) -> Result<(), StoreError> {
    let input = Inline::of(&submit.input.bytes);
    let record = template(command)?;
    let bytes = codec::encode(&record, &input, &Inline::None);
    let mut packer = Packer(Vec::with_capacity(512));
    let fixed = matches!(submit.start, When::At(_)).into();
    format::Submission { id: keys::id_bytes(submit.id), fixed }.pack(&mut packer);
    packer.raw(&bytes.map_err(|error| unwritable(submit.id, &error))?);
    args.push(packer.0.into());
    args.push(match input {
        Inline::OwnKey => submit.input.bytes.clone(),
        _ => Bytes::new(),
    });
    Ok(())
}

/// The record that the machine makes at time 0 of a submit that meets nothing.
fn template(command: &Command) -> Result<Execution, StoreError> {
    let nothing = Loaded::at(Time::EPOCH);
    let record = match machine::apply(command, &nothing)? {
        Step::Done(transition) => transition.items.into_iter().next(),
        Step::NeedMore(_) => None,
    };
    let changes = record.and_then(|item| item.write).map(|write| write.changes);
    let record = changes.and_then(|changes| changes.into_iter().next()?.after);
    record.ok_or_else(|| StoreError::Corrupt("a submit made no record".into()))
}

pub(super) fn read(
    store: &Shared,
    partition: u16,
    submit: &Submit,
    answer: Value,
) -> Result<Option<Reply>, StoreError> {
    let (queued, head) = match &answer {
        Value::Int(state) => (*state == format::state::QUEUED as i64, None),
        head => match reply::maybe_number(head)? {
            Some(score) => (true, Some(score)),
            None => return Ok(None),
        },
    };
    if queued {
        let queue = (submit.namespace.clone(), submit.lane.clone());
        store.has_joined(partition, &queue, &submit.requires, head);
    }
    let state = match queued {
        true => State::Queued { why: Intent::Fresh },
        false => {
            State::Delayed { until: Time::MAX, why: ff_core::state::DelayReason::Start, step: None }
        }
    };
    metrics::count(&[Counted::submitted(&submit.lane, &submit.kind)]);
    let (execution, state) = (submit.id, state.public());
    Ok(Some(Submitted { execution, created: true, state, warnings: Vec::new() }.into()))
}
