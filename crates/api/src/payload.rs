//! Inputs and results.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ff_core::payload::{ContentType, PayloadShape};
use ff_core::{Payload, Refusal};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a payload is, without its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PayloadShapeView {
    /// The media type.
    pub content_type: String,
    /// How many bytes.
    pub length: u64,
}

impl From<&PayloadShape> for PayloadShapeView {
    fn from(shape: &PayloadShape) -> Self {
        PayloadShapeView {
            content_type: shape.content_type.as_str().to_owned(),
            length: shape.len.into(),
        }
    }
}

/// A payload inside JSON. Exactly one of `text` and `base64` is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PayloadView {
    /// The media type.
    pub content_type: String,
    /// How many bytes.
    pub length: u64,
    /// The bytes, when they are UTF-8.
    pub text: Option<String>,
    /// The bytes, when they are not.
    pub base64: Option<String>,
}

impl From<&Payload> for PayloadView {
    fn from(payload: &Payload) -> Self {
        let text = std::str::from_utf8(&payload.bytes).ok().map(str::to_owned);
        PayloadView {
            content_type: payload.content_type.as_str().to_owned(),
            length: payload.bytes.len() as u64,
            base64: text.is_none().then(|| STANDARD.encode(&payload.bytes)),
            text,
        }
    }
}

impl PayloadView {
    /// The payload, with the bytes it was made of.
    pub fn payload(self) -> Result<Payload, Refusal> {
        let bytes = match (self.text, self.base64) {
            (Some(text), _) => text.into_bytes(),
            (None, base64) => STANDARD
                .decode(base64.unwrap_or_default())
                .map_err(|error| Refusal::invalid("base64", format!("is not base64: {error}")))?,
        };
        Ok(Payload { content_type: ContentType::new(&self.content_type)?, bytes: bytes.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf_8_is_shown_as_text_and_the_rest_as_base64() {
        let json = PayloadView::from(&Payload::json("{\"größe\":1}"));
        assert_eq!(json.content_type, "application/json");
        assert_eq!(json.text.as_deref(), Some("{\"größe\":1}"));
        assert_eq!((json.length, json.base64.as_ref()), (13, None));
        let bytes = PayloadView::from(&Payload::bytes(&b"\xff\x00"[..]));
        assert_eq!(bytes.content_type, "application/octet-stream");
        assert_eq!((bytes.text.as_ref(), bytes.base64.as_deref()), (None, Some("/wA=")));
        for (view, payload) in [
            (json, Payload::json("{\"größe\":1}")),
            (bytes, Payload::bytes(&b"\xff\x00"[..])),
            (PayloadView::from(&Payload::bytes("")), Payload::bytes("")),
        ] {
            assert_eq!(view.payload(), Ok(payload));
        }
    }
}
