//! How a function is told what its caller holds.

use std::borrow::Cow;

use ff_core::machine::Hold;

use crate::keys;
use crate::link::Arg;

/// Id, namespace, lease, epoch and attempt.
pub(super) fn push<'a>(hold: &'a Hold, args: &mut Vec<Arg<'a>>) {
    let number = |number: u64| Cow::Owned(number.to_string().into_bytes());
    let mut lease = hold.fence.lease.request.as_bytes().to_vec();
    lease.extend_from_slice(&hold.fence.lease.index.to_be_bytes());
    args.extend([
        Cow::Owned(keys::id(hold.target.execution).into_bytes()),
        Cow::Borrowed(hold.target.namespace.as_str().as_bytes()),
        Cow::Owned(lease),
        number(hold.fence.epoch),
        number(hold.fence.attempt.into()),
    ]);
}

/// The random bits of the version that the function writes.
pub(super) fn salt(entropy: u64) -> Arg<'static> {
    Cow::Owned((entropy as u32).to_string().into_bytes())
}
