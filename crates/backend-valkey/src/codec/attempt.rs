//! How an attempt is written, in its record and next to it.
//!
//! What ends it comes first, so that a function can end an attempt without reading the rest. Its
//! failure follows the fields as MessagePack.

use ff_core::Time;
use ff_core::record::{Attempt, AttemptEnd, EndReason};
use ff_core::state::Worker;

use super::bytes::{Packer, Unpacker};
use super::format;
use super::{Unreadable, lease, lease_bytes, number_of, pack_value, time, value, variant, word};

/// The reasons of an end without a failure, by their stored number.
const REASONS: [EndReason; 5] = [
    EndReason::Completed,
    EndReason::TimedOut,
    EndReason::LeaseLost,
    EndReason::Cancelled,
    EndReason::Expired,
];

/// The stored number of a failure, which is stored next to it.
const FAILED: u64 = REASONS.len() as u64;

/// The stored number of how a completed attempt ended.
pub(crate) fn completed() -> u64 {
    number_of(&REASONS, &EndReason::Completed).unwrap_or_default()
}

/// When the attempt in `bytes` was first claimed.
pub(super) fn started(bytes: &[u8]) -> Result<Time, Unreadable> {
    Ok(time(format::Attempt::unpack(&mut Unpacker(bytes))?.started))
}

/// An attempt as bytes.
pub(crate) fn encode(attempt: &Attempt) -> Result<Vec<u8>, Unreadable> {
    let (at, reason, failure) = match &attempt.end {
        None => (0, 0, None),
        Some(AttemptEnd { at, reason: EndReason::Failed(failure) }) => {
            (at.as_ms(), FAILED, Some(failure))
        }
        Some(AttemptEnd { at, reason }) => (at.as_ms(), number_of(&REASONS, reason)?, None),
    };
    let fields = format::Attempt {
        ended: at,
        reason,
        number: attempt.number.into(),
        run: attempt.run.into(),
        started: attempt.started.as_ms(),
        lease: lease_bytes(attempt.lease),
        worker: attempt.worker.id.as_str().as_bytes(),
        instance: attempt.worker.instance.as_str().as_bytes(),
        progress: &pack_value(attempt.progress.as_ref())?,
    };
    let mut packer = Packer::default();
    fields.pack(&mut packer);
    packer.raw(&pack_value(failure)?);
    Ok(packer.0)
}

/// The attempt in `bytes`.
pub(crate) fn decode(bytes: &[u8]) -> Result<Attempt, Unreadable> {
    let mut from = Unpacker(bytes);
    let fields = format::Attempt::unpack(&mut from)?;
    let worker = Worker { id: word(fields.worker)?, instance: word(fields.instance)? };
    let reason = match fields.reason {
        FAILED => EndReason::Failed(value(from.0)?.ok_or(Unreadable::new("a failure is missing"))?),
        reason => variant(&REASONS, reason)?,
    };
    Ok(Attempt {
        number: fields.number as u32,
        run: fields.run as u32,
        started: time(fields.started),
        lease: lease(&fields.lease)?,
        worker,
        progress: value(fields.progress)?,
        end: (fields.ended != 0).then(|| AttemptEnd { at: time(fields.ended), reason }),
    })
}
