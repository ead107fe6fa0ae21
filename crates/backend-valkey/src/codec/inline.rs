//! Where the payloads of a record are.

use bytes::Bytes;

use super::Unreadable;

/// A payload of at most so many bytes is kept in the record; a longer one has a key of its own.
pub(crate) const INLINE: usize = 256;

/// Where a payload is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Inline {
    /// There is none.
    #[default]
    None,
    /// In the record.
    Here(Bytes),
    /// Under a key of its own.
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
            Inline::None => 0,
            Inline::Here(_) => 1,
            Inline::OwnKey => 2,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Inline::Here(bytes) => bytes,
            Inline::None | Inline::OwnKey => &[],
        }
    }

    pub(super) fn at(place: u64, bytes: &[u8]) -> Result<Inline, Unreadable> {
        match place {
            0 => Ok(Inline::None),
            1 => Ok(Inline::Here(Bytes::copy_from_slice(bytes))),
            2 => Ok(Inline::OwnKey),
            _ => Err(Unreadable::new("a payload is nowhere")),
        }
    }
}
