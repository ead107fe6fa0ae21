//! A change to an optional value.

use serde::{Deserialize, Serialize};

/// What becomes of something that may be there or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Patch<T> {
    /// It stays as it is.
    #[default]
    Unset,
    /// It is removed.
    Clear,
    /// It is this from now on.
    Set(T),
}

impl<T> Patch<T> {
    /// Whether it changes nothing.
    pub fn is_unset(&self) -> bool {
        matches!(self, Patch::Unset)
    }

    /// The same patch of another value.
    pub fn map<U>(self, other: impl FnOnce(T) -> U) -> Patch<U> {
        match self {
            Patch::Unset => Patch::Unset,
            Patch::Clear => Patch::Clear,
            Patch::Set(new) => Patch::Set(other(new)),
        }
    }

    /// The same, without a copy of what it speaks of.
    pub fn as_ref(&self) -> Patch<&T> {
        match self {
            Patch::Unset => Patch::Unset,
            Patch::Clear => Patch::Clear,
            Patch::Set(new) => Patch::Set(new),
        }
    }

    /// What becomes of `earlier`.
    pub fn of(self, earlier: Option<T>) -> Option<T> {
        match self {
            Patch::Unset => earlier,
            Patch::Clear => None,
            Patch::Set(new) => Some(new),
        }
    }
}

/// What is said by one who leaves nothing open.
impl<T> From<Option<T>> for Patch<T> {
    fn from(whole: Option<T>) -> Patch<T> {
        whole.map_or(Patch::Clear, Patch::Set)
    }
}
