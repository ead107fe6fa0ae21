//! `ff mcp`: tools for coding assistants, by the Model Context Protocol on stdin and stdout.
//!
//! One message a line, in JSON-RPC. Calls are answered one after the other, each within a bounded time;
//! what a call was refused for is the result of its tool, with the code of the refusal. Nothing that is
//! printed has the token in it.

mod call;
mod message;
mod tools;

use std::io::{BufRead, Read, stdin};

use clap::Args;
use ff_core::credential::Role;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Verdict;
use crate::error::Error;
use crate::session::Session;
use message::{Message, Problem};

/// The revisions of the protocol that this speaks, newest first.
const REVISIONS: &[&str] = &["2025-06-18", "2025-03-26", "2024-11-05"];
/// Most bytes of one message: those of an input, in JSON.
const LINE: u64 = 4 << 20;
/// How many messages wait to be answered.
const WAITING: usize = 16;
/// A token that is shorter is left alone: it would be found in other words.
const SHORTEST_TOKEN: usize = 8;

const INSTRUCTIONS: &str = "FlowFabric runs durable executions. `list` finds them, `explain` says why one does \
    not run and what it waits for, `show` has everything about it, and `tail` what it streams. `submit`, \
    `cancel`, `replay` and `approve` change something: ask the person you work for first. An id may be cut to \
    its first 8 characters or more.";

/// `ff mcp`.
#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// Offer only the tools of this role: reader, producer, approver, or operator for all.
    #[arg(long, value_name = "ROLE", default_value = "operator", value_parser = role)]
    role: Role,
}

fn role(text: &str) -> Result<Role, String> {
    let known = Role::parse(text).filter(|role| *role != Role::Worker);
    known.ok_or_else(|| format!("'{text}' is none of reader, producer, approver, operator"))
}

impl Mcp {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let mut lines = lines();
        while let Some(line) = lines.recv().await {
            let Some(mut answer) = self.answer(line.as_deref(), session).await else { continue };
            if let Some(token) = session.token.as_deref().filter(|it| it.len() >= SHORTEST_TOKEN) {
                hide(&mut answer, token);
            }
            session.output.bytes(format!("{answer}\n").as_bytes())?;
        }
        Ok(Verdict::Good)
    }

    /// The answer to a line, if it wants one. A line that is too long is none.
    async fn answer(&self, line: Option<&[u8]>, session: &Session<'_>) -> Option<Value> {
        let message = match line.ok_or(Problem::too_long(LINE)).and_then(message::read) {
            Ok(Message::Request(request)) => request,
            Ok(Message::Other) => return None,
            Err(problem) => return Some(problem.answer(&Value::Null)),
        };
        let params = &message.params;
        let answer = match message.method.as_str() {
            "initialize" => Ok(initialized(params)),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({"tools": tools::offered(self.role)})),
            "tools/call" => self.call(params, session).await,
            method => Err(Problem::no_method(method)),
        };
        Some(match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": message.id, "result": result}),
            Err(problem) => problem.answer(&message.id),
        })
    }

    async fn call(&self, params: &Value, session: &Session<'_>) -> Result<Value, Problem> {
        let name = params["name"].as_str().unwrap_or_default();
        let Some(tool) = tools::find(name, self.role) else {
            return Err(Problem::invalid(format!(
                "there is no tool {name:?} here; see tools/list"
            )));
        };
        let arguments = match &params["arguments"] {
            Value::Null => json!({}),
            given => given.clone(),
        };
        Ok(match call::carry_out(tool, arguments, session).await {
            Ok(view) => result(&view, view.to_string(), false),
            Err(error) => {
                let view = error.view();
                let text = format!("{} ({})", view.message, view.code);
                result(&serde_json::to_value(&view).unwrap_or_default(), text, true)
            }
        })
    }
}

/// The result of a tool: for programs, and as text for models that read nothing else.
fn result(view: &Value, text: String, is_error: bool) -> Value {
    let content = json!([{"type": "text", "text": text}]);
    json!({"content": content, "structuredContent": view, "isError": is_error})
}

/// The answer to a client's first message: in its revision of the protocol if that is known here.
fn initialized(params: &Value) -> Value {
    let asked = params["protocolVersion"].as_str();
    let revision = REVISIONS.iter().find(|known| Some(**known) == asked).unwrap_or(&REVISIONS[0]);
    json!({
        "protocolVersion": revision,
        "capabilities": {"tools": {"listChanged": false}},
        "serverInfo": {"name": "flowfabric", "title": "FlowFabric", "version": env!("CARGO_PKG_VERSION")},
        "instructions": INSTRUCTIONS,
    })
}

/// Takes the token out of every text.
fn hide(value: &mut Value, token: &str) {
    match value {
        Value::String(text) if text.contains(token) => *text = text.replace(token, "***"),
        Value::Array(items) => items.iter_mut().for_each(|item| hide(item, token)),
        Value::Object(fields) => fields.values_mut().for_each(|field| hide(field, token)),
        _ => {}
    }
}

/// The lines of stdin, read on a thread of its own; nothing in place of one that is too long.
fn lines() -> mpsc::Receiver<Option<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel(WAITING);
    std::thread::spawn(move || {
        let mut stdin = stdin().lock();
        loop {
            let mut line = Vec::new();
            let read = stdin.by_ref().take(LINE).read_until(b'\n', &mut line);
            if !read.is_ok_and(|bytes| bytes > 0) {
                return;
            }
            let is_whole = line.len() < LINE as usize || line.ends_with(b"\n");
            if !is_whole && !skip_line(&mut stdin) {
                return;
            }
            let is_blank = line.iter().all(u8::is_ascii_whitespace);
            if !is_blank && sender.blocking_send(is_whole.then_some(line)).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Reads to the end of a line, keeping nothing of it; whether there may be more.
fn skip_line(input: &mut impl BufRead) -> bool {
    loop {
        let (used, ended) = match input.fill_buf() {
            Ok([]) | Err(_) => return false,
            Ok(part) => match part.iter().position(|byte| *byte == b'\n') {
                Some(place) => (place + 1, true),
                None => (part.len(), false),
            },
        };
        input.consume(used);
        if ended {
            return true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_taken_out_of_every_text() {
        let mut value =
            json!({"a": ["x secret-token y"], "secret-token": 1, "b": {"c": "secret-token"}});
        hide(&mut value, "secret-token");
        assert_eq!(value["a"][0], "x *** y");
        assert_eq!(value["b"]["c"], "***");
    }

    #[test]
    fn a_client_gets_its_revision_if_that_is_known() {
        let asked = |revision: &str| {
            initialized(&json!({"protocolVersion": revision}))["protocolVersion"].clone()
        };
        assert_eq!(asked("2024-11-05"), "2024-11-05");
        assert_eq!(asked("2099-01-01"), REVISIONS[0]);
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_to_its_end() {
        let mut input = &b"the rest\nnext\n"[..];
        assert!(skip_line(&mut input));
        assert_eq!(input, b"next\n");
        assert!(!skip_line(&mut &b"no end"[..]));
    }
}
