//! What is said of something that may be there or not.

use serde::{Deserialize, Serialize};

/// What becomes of something that may be there or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Amend<T> {
    /// It stays as it is.
    #[default]
    Keep,
    /// It is removed.
    Clear,
    /// It is this from now on.
    Put(T),
}

impl<T> Amend<T> {
    /// Whether nothing is said.
    pub fn is_keep(&self) -> bool {
        matches!(self, Amend::Keep)
    }

    /// The same said of another thing.
    pub fn map<U>(self, other: impl FnOnce(T) -> U) -> Amend<U> {
        match self {
            Amend::Keep => Amend::Keep,
            Amend::Clear => Amend::Clear,
            Amend::Put(new) => Amend::Put(other(new)),
        }
    }

    /// The same, without a copy of what it speaks of.
    pub fn as_ref(&self) -> Amend<&T> {
        match self {
            Amend::Keep => Amend::Keep,
            Amend::Clear => Amend::Clear,
            Amend::Put(new) => Amend::Put(new),
        }
    }

    /// What becomes of `earlier`.
    pub fn of(self, earlier: Option<T>) -> Option<T> {
        match self {
            Amend::Keep => earlier,
            Amend::Clear => None,
            Amend::Put(new) => Some(new),
        }
    }
}

/// What is said by one who leaves nothing open.
impl<T> From<Option<T>> for Amend<T> {
    fn from(whole: Option<T>) -> Amend<T> {
        whole.map_or(Amend::Clear, Amend::Put)
    }
}
