//! How a call passes to its function what the caller holds.

use ff_core::machine::LeaseRef;

use crate::codec::{self, Packer, format};
use crate::keys;

/// Id, namespace, fence and the random bits of the version that the function writes.
pub(super) fn pack(hold: &LeaseRef, entropy: u64) -> Packer {
    let mut packer = Packer(Vec::with_capacity(128));
    let hold = format::Hold {
        id: keys::id_bytes(hold.target.execution),
        namespace: hold.target.namespace.as_str().as_bytes(),
        fence: codec::held_by(&hold.fence),
        new_salt: codec::salt(entropy),
    };
    hold.pack(&mut packer);
    packer
}
