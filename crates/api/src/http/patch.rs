//! Fields of which absence means no change, null removes, and anything else sets.
//!
//! Such a field is left out by its attribute where it is unset:
//! `#[serde(default, with = "patch", skip_serializing_if = "Patch::is_unset")]`.

use ff_core::Patch;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::strict;

pub(super) fn serialize<S, T>(patch: &Patch<T>, to: S) -> Result<S::Ok, S::Error>
where
    S: Serializer,
    T: Serialize,
{
    patch.as_ref().of(None).serialize(to)
}

pub(super) fn deserialize<'de, D, T>(from: D) -> Result<Patch<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(from).map(Patch::from)
}

/// The same for a value that must be an object.
pub(super) fn object<'de, D, T>(from: D) -> Result<Patch<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let patch: Option<strict::Object<T>> = Option::deserialize(from)?;
    Ok(Patch::from(patch).map(|strict::Object(value)| value))
}
