//! The holders in a record: the fence that a holder must send, the admission under which it was
//! dispatched, and how the last lease was ended.

use ff_core::digest::Digest;
use ff_core::record::{Exit, Exited};
use ff_core::{AdmissionId, Fence, LeaseId};

use super::bytes::{Packer, Unpacker};
use super::format::{self, exit};
use super::{Unreadable, lease, lease_bytes, maybe_time, ms, time};

/// The fence of a caller, in the layout of the record: epoch, number of attempts, lease.
pub(crate) fn held_by(caller: &Fence) -> [u8; format::FENCE] {
    let mut packer = Packer::default();
    let attempts = caller.attempt.saturating_add(1).into();
    let holder = lease_bytes(caller.lease);
    format::Fence { epoch: caller.epoch, attempts, holder: &holder }.pack(&mut packer);
    packer.fixed()
}

/// A completion, as a record stores it.
pub(crate) fn completed(lease: LeaseId, digest: Digest) -> [u8; format::EXIT] {
    exit_bytes(&Exit { lease, digest, answer: Exited::Completed })
}

/// The id of an admission, in the layout of the record.
pub(crate) fn admission_name(admission: AdmissionId) -> [u8; format::LEASE] {
    lease_bytes(LeaseId { request: admission.batch, index: admission.index })
}

/// The admission that `name` names.
pub(super) fn admission(name: &[u8]) -> Result<AdmissionId, Unreadable> {
    let LeaseId { request: batch, index } = lease(name)?;
    Ok(AdmissionId { batch, index })
}

/// How the last lease was ended; no bytes if none was.
pub(super) fn encode_exit(last: Option<&Exit>) -> Vec<u8> {
    last.map(|last| exit_bytes(last).to_vec()).unwrap_or_default()
}

fn exit_bytes(last: &Exit) -> [u8; format::EXIT] {
    let (answer, at) = match last.answer {
        Exited::Completed => (exit::COMPLETED, None),
        Exited::Retrying { from } => (exit::RETRYING, Some(from)),
        Exited::Failed => (exit::FAILED, None),
        Exited::Delayed { until } => (exit::DELAYED, Some(until)),
        Exited::Suspended { until } => (exit::SUSPENDED, until),
        Exited::Cancelled => (exit::CANCELLED, None),
        Exited::HandedBack => (exit::HANDED_BACK, None),
        Exited::Revoked => (exit::REVOKED, None),
    };
    let (lease, digest) = (lease_bytes(last.lease), last.digest.get().to_be_bytes());
    let mut packer = Packer::default();
    format::Exit { lease, digest, answer, at: ms(at) }.pack(&mut packer);
    packer.fixed()
}

/// The end of the last lease in `bytes`.
pub(super) fn decode_exit(bytes: &[u8]) -> Result<Option<Exit>, Unreadable> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let fields = format::Exit::unpack(&mut Unpacker(bytes))?;
    let at = time(fields.at);
    let answer = match fields.answer {
        exit::COMPLETED => Exited::Completed,
        exit::RETRYING => Exited::Retrying { from: at },
        exit::FAILED => Exited::Failed,
        exit::DELAYED => Exited::Delayed { until: at },
        exit::SUSPENDED => Exited::Suspended { until: maybe_time(fields.at) },
        exit::CANCELLED => Exited::Cancelled,
        exit::HANDED_BACK => Exited::HandedBack,
        exit::REVOKED => Exited::Revoked,
        other => return Err(Unreadable::new(format!("an exit has the number {other}"))),
    };
    let digest = Digest::from_stored(u64::from_be_bytes(fields.digest));
    Ok(Some(Exit { lease: lease(&fields.lease)?, digest, answer }))
}
