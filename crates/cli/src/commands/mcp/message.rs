//! Messages of JSON-RPC 2.0, as the Model Context Protocol uses them.

use serde_json::{Value, json};

/// What a client sent.
pub(super) enum Message {
    /// It waits for an answer.
    Request(Request),
    /// A notification, or an answer to nothing: neither is answered.
    Other,
}

/// A request.
pub(super) struct Request {
    /// What the answer is known by.
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Value,
}

/// Why a message is not carried out: a fault of its form, not of what it asks a tool.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    code: i32,
    message: String,
}

impl Problem {
    fn new(code: i32, message: impl Into<String>) -> Problem {
        Problem { code, message: message.into() }
    }

    pub(super) fn too_long(most: u64) -> Problem {
        Problem::new(-32600, format!("a message has more than {most} bytes"))
    }

    pub(super) fn no_method(method: &str) -> Problem {
        Problem::new(-32601, format!("there is no method {method:?} here"))
    }

    pub(super) fn invalid(why: impl Into<String>) -> Problem {
        Problem::new(-32602, why)
    }

    /// The answer that reports it.
    pub(super) fn answer(&self, id: &Value) -> Value {
        let error = json!({"code": self.code, "message": self.message});
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }
}

/// Reads a line.
pub(super) fn read(line: &[u8]) -> Result<Message, Problem> {
    let value: Value = serde_json::from_slice(line)
        .map_err(|why| Problem::new(-32700, format!("a message is not JSON: {why}")))?;
    let malformed = |why: &str| Problem::new(-32600, format!("a message {why}"));
    if value["jsonrpc"] != "2.0" {
        return Err(malformed("is no request of JSON-RPC 2.0"));
    }
    let Some(method) = value["method"].as_str() else {
        let is_answer = value.get("result").is_some() || value.get("error").is_some();
        return if is_answer { Ok(Message::Other) } else { Err(malformed("has no method")) };
    };
    match value.get("id") {
        None => Ok(Message::Other),
        Some(id) if id.is_string() || id.is_number() => Ok(Message::Request(Request {
            id: id.clone(),
            method: method.to_owned(),
            params: value["params"].clone(),
        })),
        Some(_) => Err(malformed("has an id that is neither text nor a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &str) -> i32 {
        read(line.as_bytes()).map_or_else(|problem| problem.code, |_| 0)
    }

    #[test]
    fn what_is_no_request_is_refused_by_its_code() {
        assert_eq!(code("{half"), -32700);
        assert_eq!(code("[]"), -32600);
        assert_eq!(code(r#"{"jsonrpc": "1.0", "id": 1, "method": "ping"}"#), -32600);
        assert_eq!(code(r#"{"jsonrpc": "2.0", "id": 1}"#), -32600);
        assert_eq!(code(r#"{"jsonrpc": "2.0", "id": null, "method": "ping"}"#), -32600);
        assert_eq!(code(r#"{"jsonrpc": "2.0", "id": "a", "method": "ping"}"#), 0);
    }

    #[test]
    fn notifications_and_answers_are_not_answered() {
        for line in [
            r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#,
            r#"{"jsonrpc": "2.0", "id": 7, "result": {}}"#,
        ] {
            assert!(matches!(read(line.as_bytes()), Ok(Message::Other)), "{line}");
        }
    }
}
