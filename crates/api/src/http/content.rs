//! A payload inside a JSON body: JSON as it is, or any bytes in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ff_core::payload::ContentType;
use ff_core::{Payload, Refusal};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{schema, strict};

/// A payload: `json` is any JSON value, kept as the bytes it came in; `base64` is any bytes, of
/// type `content_type`. At most one of the two is given; neither means no bytes.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// The media type; with `json` it is `application/json` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::MediaType>)]
    pub content_type: Option<String>,
    /// Any JSON value, nested at most 128 deep.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "strict::json")]
    #[schema(value_type = serde_json::Value)]
    pub json: Option<Box<RawValue>>,
    /// Any bytes, in base64 with padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Base64>)]
    pub base64: Option<String>,
}

impl Content {
    /// The payload meant; `field` is named in a refusal.
    pub fn payload(&self, field: &'static str) -> Result<Payload, Refusal> {
        let stated = self.content_type.as_deref().map(ContentType::new).transpose()?;
        match (&self.json, &self.base64) {
            (Some(_), Some(_)) => {
                Err(Refusal::invalid(field, "has both json and base64; give one of them"))
            }
            (Some(json), None) => Ok(Payload {
                content_type: stated.unwrap_or_else(ContentType::json),
                bytes: json.get().to_owned().into(),
            }),
            (None, base64) => {
                let text = base64.as_deref().unwrap_or("");
                let bytes = STANDARD
                    .decode(text)
                    .map_err(|error| Refusal::invalid(field, format!("is not base64: {error}")))?;
                Ok(Payload { content_type: stated.unwrap_or_default(), bytes: bytes.into() })
            }
        }
    }
}

impl From<&Payload> for Content {
    fn from(payload: &Payload) -> Content {
        let content_type = Some(payload.content_type.as_str().to_owned());
        match as_json(payload) {
            Some(json) => Content { content_type, json: Some(json), base64: None },
            None => {
                let base64 = Some(STANDARD.encode(&payload.bytes));
                Content { content_type, json: None, base64 }
            }
        }
    }
}

/// The payload as a JSON value, if that gives the very same bytes back and any reader can take it.
fn as_json(payload: &Payload) -> Option<Box<RawValue>> {
    if !payload.content_type.as_str().starts_with("application/json") {
        return None;
    }
    let text = std::str::from_utf8(&payload.bytes).ok()?;
    let raw = RawValue::from_string(text.to_owned()).ok()?;
    (raw.get() == text && strict::is_shallow(text)).then_some(raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(payload: &Payload) -> Payload {
        let text = serde_json::to_string(&Content::from(payload)).unwrap();
        serde_json::from_str::<Content>(&text).unwrap().payload("input").unwrap()
    }

    #[test]
    fn the_bytes_that_go_in_come_out() {
        for payload in [
            Payload::json("{\"a\" :  [1, 2.50,9007199254740993]}"),
            Payload::json(" 1 "),
            Payload::json("null"),
            Payload::json("not json"),
            Payload::json(format!("{}{}", "[".repeat(500), "]".repeat(500))),
            Payload::json("\"\\u0041\""),
            Payload::bytes(&b"\x00\xff\n"[..]),
            Payload::bytes(""),
            Payload::bytes("{}"),
        ] {
            assert_eq!(round_trip(&payload), payload);
        }
    }

    #[test]
    fn both_forms_at_once_and_bad_base64_are_refused() {
        for text in [r#"{"json":1,"base64":""}"#, r#"{"base64":"%"}"#, r#"{"base64":"YQ"}"#] {
            let content: Content = serde_json::from_str(text).unwrap();
            assert_eq!(content.payload("result").unwrap_err().field(), Some("result"), "{text}");
        }
    }
}
