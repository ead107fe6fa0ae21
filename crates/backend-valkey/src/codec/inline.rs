//! Where the payloads of a record are.

use bytes::Bytes;

use super::Unreadable;
use super::format::place;

/// A payload of at most this many bytes is kept in the record; a longer one has a separate key.
pub(crate) const INLINE: usize = 256;

/// Where a payload is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Inline {
    /// There is none.
    #[default]
    None,
    /// In the record.
    Here(Bytes),
    /// Under a separate key.
    OwnKey,
}

impl Inline {
    /// Where `bytes` belong.
    pub(crate) fn of(bytes: &Bytes) -> Inline {
        match bytes.len() <= INLINE {
            true => Inline::Here(bytes.clone()),
            false => Inline::OwnKey,
        }
    }

    /// The number of where it is.
    pub(crate) fn place(&self) -> u64 {
        match self {
            Inline::None => place::NONE,
            Inline::Here(_) => place::HERE,
            Inline::OwnKey => place::OWN_KEY,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Inline::Here(bytes) => bytes,
            Inline::None | Inline::OwnKey => &[],
        }
    }

    pub(super) fn at(number: u64, bytes: &[u8]) -> Result<Inline, Unreadable> {
        match number {
            place::NONE => Ok(Inline::None),
            place::HERE => Ok(Inline::Here(Bytes::copy_from_slice(bytes))),
            place::OWN_KEY => Ok(Inline::OwnKey),
            _ => Err(Unreadable::new("a payload has no valid place")),
        }
    }
}
