//! Fields of which absence says nothing, null that there is none, and anything else what there is.
//!
//! Such a field is left out by its own attribute where it says nothing:
//! `#[serde(default, with = "amend", skip_serializing_if = "Amend::is_keep")]`.

use ff_core::Amend;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::strict;

pub(super) fn serialize<S, T>(said: &Amend<T>, to: S) -> Result<S::Ok, S::Error>
where
    S: Serializer,
    T: Serialize,
{
    said.as_ref().of(None).serialize(to)
}

pub(super) fn deserialize<'de, D, T>(from: D) -> Result<Amend<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(from).map(Amend::from)
}

/// The same for what must be written as an object.
pub(super) fn object<'de, D, T>(from: D) -> Result<Amend<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let said: Option<strict::Object<T>> = Option::deserialize(from)?;
    Ok(Amend::from(said).map(|strict::Object(value)| value))
}
