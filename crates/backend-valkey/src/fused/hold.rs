//! How a function is told what its caller holds.

use std::borrow::Cow;

use ff_core::machine::Hold;

use crate::codec;
use crate::keys;
use crate::link::Arg;

/// Id, namespace and fence.
pub(super) fn push<'a>(hold: &'a Hold, args: &mut Vec<Arg<'a>>) {
    args.extend([
        Cow::Owned(keys::id(hold.target.execution).into_bytes()),
        Cow::Borrowed(hold.target.namespace.as_str().as_bytes()),
        Cow::Owned(codec::held_by(&hold.fence)),
    ]);
}

/// The random bits of the version that the function writes.
pub(crate) fn salt(entropy: u64) -> Arg<'static> {
    Cow::Owned((entropy as u32).to_be_bytes().to_vec())
}
