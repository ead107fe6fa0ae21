//! A payload inside a JSON body: `input` or `result` is any JSON value, kept as the bytes it came in;
//! `input_base64` or `result_base64` is any bytes instead; `content_type` is their media type.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ff_core::payload::ContentType;
use ff_core::{Payload, Refusal};
use serde_json::value::RawValue;

use super::strict;

/// The fields of a body that carry its payload. Of `json` and `base64` at most one is there; neither
/// means no bytes.
#[derive(Debug, Clone)]
pub(crate) struct Content {
    pub(crate) json: Option<Box<RawValue>>,
    pub(crate) base64: Option<String>,
    pub(crate) content_type: Option<String>,
}

/// The names of the fields of a payload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names {
    json: &'static str,
    base64: &'static str,
}

pub(super) const INPUT: Names = Names { json: "input", base64: "input_base64" };
pub(super) const PAYLOAD: Names = Names { json: "payload", base64: "payload_base64" };
pub(crate) const RESULT: Names = Names { json: "result", base64: "result_base64" };

impl Content {
    /// The payload; without a content type, JSON is `application/json`.
    pub(crate) fn payload(self, names: Names) -> Result<Payload, Refusal> {
        let stated = self.content_type.as_deref().map(ContentType::new).transpose()?;
        match (self.json, self.base64) {
            (Some(_), Some(_)) => {
                let why = format!("is given with {}; give one of them", names.base64);
                Err(Refusal::invalid(names.json, why))
            }
            (Some(json), None) => Ok(Payload {
                content_type: stated.unwrap_or_else(ContentType::json),
                bytes: Box::<str>::from(json).into_string().into(),
            }),
            (None, base64) => {
                let bytes = STANDARD.decode(base64.unwrap_or_default()).map_err(|error| {
                    Refusal::invalid(names.base64, format!("is not base64: {error}"))
                })?;
                Ok(Payload { content_type: stated.unwrap_or_default(), bytes: bytes.into() })
            }
        }
    }
}

impl From<&Payload> for Content {
    fn from(payload: &Payload) -> Content {
        let json = as_json(payload);
        let base64 = json.is_none().then(|| STANDARD.encode(&payload.bytes));
        Content { json, base64, content_type: Some(payload.content_type.as_str().to_owned()) }
    }
}

/// The payload as a JSON value, if that preserves the bytes exactly and any reader can decode it.
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
            assert_eq!(Content::from(&payload).payload(INPUT), Ok(payload));
        }
    }

    #[test]
    fn both_forms_at_once_and_bad_base64_are_refused() {
        let one = || RawValue::from_string("1".to_owned()).ok();
        for (json, base64, field) in
            [(one(), "", "result"), (None, "%", "result_base64"), (None, "YQ", "result_base64")]
        {
            let base64 = Some(base64.to_owned());
            let refused = Content { json, base64, content_type: None }.payload(RESULT);
            assert_eq!(refused.unwrap_err().field(), Some(field));
        }
    }
}
