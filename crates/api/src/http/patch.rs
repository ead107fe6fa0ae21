//! Fields of which absence says nothing, null that there is none, and anything else what there is.
//!
//! Such a field is left out by its own attribute where it says nothing:
//! `#[serde(default, with = "patch", skip_serializing_if = "Patch::is_unset")]`.

use ff_core::Patch;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::strict;

pub(super) fn serialize<S, T>(said: &Patch<T>, to: S) -> Result<S::Ok, S::Error>
where
    S: Serializer,
    T: Serialize,
{
    said.as_ref().of(None).serialize(to)
}

pub(super) fn deserialize<'de, D, T>(from: D) -> Result<Patch<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(from).map(Patch::from)
}

/// The same for what must be written as an object.
pub(super) fn object<'de, D, T>(from: D) -> Result<Patch<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let said: Option<strict::Object<T>> = Option::deserialize(from)?;
    Ok(Patch::from(said).map(|strict::Object(value)| value))
}
