//! How an attempt is written, in its record and beside it.
//!
//! What ends it comes first, so that a function can end an attempt without reading the rest.
//!
//! | bytes | what |
//! |---|---|
//! | 6 | when it ended, 0 while it has not |
//! | 1 | how it ended |
//! | 4 | its number |
//! | 4 | its run |
//! | 6 | when it was first claimed |
//! | 18 | the newest lease: request and index |
//! | 1 + n | the worker |
//! | 1 + n | the worker's instance |
//! | 2 + n | the holder's last progress report, MessagePack |
//! | rest | its failure, MessagePack |

use ff_core::Time;
use ff_core::record::{Attempt, AttemptEnd, EndReason};
use ff_core::state::Worker;

use super::bytes::{Packer, Unpacker};
use super::{Unreadable, lease, number_of, pack_lease, pack_value, time, value, variant, word};

/// The ways to end without a failure, by their stored number.
const REASONS: [EndReason; 5] = [
    EndReason::Completed,
    EndReason::TimedOut,
    EndReason::LeaseLost,
    EndReason::Cancelled,
    EndReason::Expired,
];

/// The stored number of a failure, which is stored beside it.
const FAILED: u64 = REASONS.len() as u64;

/// The stored number of how a completed attempt ended.
pub(crate) const COMPLETED: u64 = 0;

/// When the attempt in `bytes` was first claimed.
pub(crate) fn started(bytes: &[u8]) -> Result<Time, Unreadable> {
    let mut from = Unpacker(bytes);
    from.raw(6 + 1 + 4 + 4)?;
    Ok(time(from.number::<6>()?))
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
    let mut packer = Packer::default();
    packer.number::<6>(at);
    packer.number::<1>(reason);
    packer.number::<4>(attempt.number.into());
    packer.number::<4>(attempt.run.into());
    packer.number::<6>(attempt.started.as_ms());
    pack_lease(&mut packer, attempt.lease);
    packer.bytes::<1>(attempt.worker.id.as_str().as_bytes());
    packer.bytes::<1>(attempt.worker.instance.as_str().as_bytes());
    packer.bytes::<2>(&pack_value(attempt.progress.as_ref())?);
    packer.raw(&pack_value(failure)?);
    Ok(packer.0)
}

/// The attempt in `bytes`.
pub(crate) fn decode(bytes: &[u8]) -> Result<Attempt, Unreadable> {
    let mut from = Unpacker(bytes);
    let ended = from.number::<6>()?;
    let reason = from.number::<1>()?;
    let number = from.number::<4>()? as u32;
    let run = from.number::<4>()? as u32;
    let started = time(from.number::<6>()?);
    let lease = lease(from.raw(18)?)?;
    let worker = Worker { id: word(from.bytes::<1>()?)?, instance: word(from.bytes::<1>()?)? };
    let progress = value(from.bytes::<2>()?)?;
    let reason = match reason {
        FAILED => EndReason::Failed(value(from.0)?.ok_or(Unreadable::new("a failure is missing"))?),
        reason => variant(&REASONS, reason)?,
    };
    let end = (ended != 0).then(|| AttemptEnd { at: time(ended), reason });
    Ok(Attempt { number, run, started, lease, worker, progress, end })
}
