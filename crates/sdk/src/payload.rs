//! Values as payloads: JSON by default, or bytes as they are.

use ff_core::Payload;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// JSON in or out. Every serde type is JSON by default; this makes it explicit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json<T>(pub T);

/// The bytes as they are, in or out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bytes(pub Payload);

/// What a payload can be decoded into: whatever serde can read from JSON, and [`Bytes`].
pub trait FromPayload: Sized {
    /// Decodes a payload.
    fn from_payload(payload: &Payload) -> Result<Self, serde_json::Error>;
}

impl<T: DeserializeOwned> FromPayload for T {
    fn from_payload(payload: &Payload) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&payload.bytes)
    }
}

impl FromPayload for Bytes {
    fn from_payload(payload: &Payload) -> Result<Bytes, serde_json::Error> {
        Ok(Bytes(payload.clone()))
    }
}

/// What can be encoded as a payload: whatever serde can write as JSON, and [`Bytes`].
pub trait ToPayload {
    /// Encodes it.
    fn to_payload(&self) -> Result<Payload, serde_json::Error>;
}

impl<T: Serialize + ?Sized> ToPayload for T {
    fn to_payload(&self) -> Result<Payload, serde_json::Error> {
        Ok(Payload::json(serde_json::to_vec(self)?))
    }
}

impl ToPayload for Bytes {
    fn to_payload(&self) -> Result<Payload, serde_json::Error> {
        Ok(self.0.clone())
    }
}
