//! The place of an execution in a flow, and whether its own members run.
//!
//! Functions read and count what is at fixed places; the rest follows with the fields that no function
//! reads.

use ff_core::flow::{Member, OnFailure, Rest};
use ff_core::{Execution, NodeName, When};
use serde::{Deserialize, Serialize};

use super::Unreadable;
use super::bytes::{Packer, Short, Unpacker};
use super::format::{self, member, members};
use crate::keys;

/// What no function reads of a place in a flow.
#[derive(Serialize, Deserialize)]
pub(super) struct Place {
    name: NodeName,
    required: u32,
    on_failure: OnFailure,
    rest: Rest,
    start: When,
}

impl Place {
    pub(super) fn of(member: &Member) -> Place {
        let Member { name, required, on_failure, rest, start, .. } = member.clone();
        Place { name, required, on_failure, rest, start }
    }
}

/// What functions read, nothing if it is neither in a flow nor has members.
pub(super) fn encode(record: &Execution) -> Vec<u8> {
    if record.member.is_none() && record.flow.is_none() {
        return Vec::new();
    }
    let running = match record.flow {
        None => members::NONE,
        Some(_) if record.runs_members() => members::RUN,
        Some(_) => members::STOP,
    };
    let place = record.member.as_deref();
    let flag = |is_set: bool, bit| if is_set { bit } else { 0 };
    let flags = place.map_or(0, |place| {
        flag(place.is_sink, member::SINK)
            | flag(place.rest == Rest::Cancel, member::CANCELS)
            | flag(place.start != When::Now, member::LATER)
    });
    let fields = format::Member {
        members: running,
        flow: place.map_or([0; keys::ID], |place| keys::id_bytes(place.flow)),
        node: place.map_or(0, |place| place.node.into()),
        needs: place.map_or(0, |place| place.needs.into()),
        spare: place.map_or(0, |place| place.spare.into()),
        counted: place.map_or(0, |place| place.counted.into()),
        flags,
    };
    let mut packer = Packer::default();
    fields.pack(&mut packer);
    packer.0
}

/// The place that was stored so.
pub(super) fn decode(bytes: &[u8], rest: Option<Place>) -> Result<Option<Box<Member>>, Unreadable> {
    let Some(Place { name, required, on_failure, rest, start }) = rest else { return Ok(None) };
    let fields = format::Member::unpack(&mut Unpacker(bytes))?;
    let number = |number: i64| i32::try_from(number).map_err(|_| Short);
    Ok(Some(Box::new(Member {
        flow: keys::parse_id(&fields.flow).ok_or(Short)?,
        node: u32::try_from(fields.node).map_err(|_| Short)?,
        name,
        needs: number(fields.needs)?,
        spare: number(fields.spare)?,
        required,
        on_failure,
        rest,
        is_sink: fields.flags & member::SINK != 0,
        start,
        counted: u32::try_from(fields.counted).map_err(|_| Short)?,
    })))
}
