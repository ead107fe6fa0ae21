//! How a function is told what its caller holds.

use ff_core::machine::LeaseRef;

use crate::codec::{self, Packer};
use crate::keys;

/// Id, namespace, fence and the random bits of the version that the function writes.
pub(super) fn pack(hold: &LeaseRef, entropy: u64) -> Packer {
    let mut packer = Packer(Vec::with_capacity(128));
    packer.raw(keys::id(hold.target.execution).as_bytes());
    packer.bytes::<1>(hold.target.namespace.as_str().as_bytes());
    packer.raw(&codec::held_by(&hold.fence));
    packer.number::<4>((entropy as u32).into());
    packer
}
