//! Opaque bytes with a content type: inputs and results.
//!
//! The engine never decodes them: the bytes that go in come out.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::bounds::{CONTENT_TYPE_BYTES, PAYLOAD_BYTES};
use crate::digest::Fields;
use crate::id::ExecutionId;
use crate::refusal::Refusal;

/// The media type of a payload; absent means `application/octet-stream`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContentType(Option<Arc<str>>);

impl ContentType {
    /// JSON text.
    pub fn json() -> ContentType {
        ContentType(Some("application/json".into()))
    }

    /// Checks `text`: 1 to 128 visible ASCII characters or spaces.
    pub fn new(text: &str) -> Result<ContentType, Refusal> {
        Refusal::cap("content_type", text.len(), CONTENT_TYPE_BYTES, "bytes")?;
        if text.is_empty() || !text.bytes().all(|b| b == b' ' || b.is_ascii_graphic()) {
            return Err(Refusal::invalid(
                "content_type",
                "must be 1 to 128 visible ASCII characters",
            ));
        }
        if text == "application/octet-stream" {
            return Ok(ContentType(None));
        }
        Ok(ContentType(Some(text.into())))
    }

    /// The media type.
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or("application/octet-stream")
    }
}

/// Bytes and what they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Payload {
    /// What the bytes are.
    pub content_type: ContentType,
    /// The bytes.
    pub bytes: Bytes,
}

impl Payload {
    /// Bytes of no stated type.
    pub fn bytes(bytes: impl Into<Bytes>) -> Payload {
        Payload { content_type: ContentType::default(), bytes: bytes.into() }
    }

    /// JSON text, kept as it is.
    pub fn json(text: impl Into<Bytes>) -> Payload {
        Payload { content_type: ContentType::json(), bytes: text.into() }
    }

    /// What the record keeps of it.
    pub fn shape(&self) -> PayloadShape {
        PayloadShape { content_type: self.content_type.clone(), len: self.bytes.len() as u32 }
    }

    /// Refuses more bytes than an execution carries; the refusal names `field`.
    pub fn check(&self, field: &'static str) -> Result<(), Refusal> {
        Refusal::cap(field, self.bytes.len(), PAYLOAD_BYTES, "bytes")
    }

    pub(crate) fn fingerprint(&self, fields: &mut Fields) {
        fields.text(self.content_type.as_str());
        fields.bytes(&self.bytes);
    }
}

/// What a record knows of a payload that is stored next to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PayloadShape {
    /// What the bytes are.
    pub content_type: ContentType,
    /// How many there are.
    pub len: u32,
}

/// The name of bytes stored next to a record. They are written once and never changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobKey {
    /// The execution they belong to.
    pub execution: ExecutionId,
    /// Which of its blobs.
    pub part: BlobPart,
}

/// Which bytes of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlobPart {
    /// What it was submitted with.
    Input,
    /// What the given run completed with.
    Result(u32),
}
