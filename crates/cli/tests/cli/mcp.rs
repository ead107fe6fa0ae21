//! `ff mcp` as an assistant uses it: a real exchange of messages with the running program.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::fixture::{Ff, Lines, Process};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A running `ff mcp`, after the first messages.
struct Assistant {
    process: Process,
    lines: Lines,
    sent: u64,
}

impl Assistant {
    fn start(ff: &Ff, args: &[&str]) -> Assistant {
        let mut command = ff.command(&[&["mcp"], args].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = Process::start(&mut command);
        let mut assistant = Assistant { lines: process.stdout(), process, sent: 0 };
        let client = json!({"name": "test", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        let answer = assistant.ask("initialize", params);
        assert_eq!(answer["result"]["protocolVersion"], "2025-06-18", "{answer}");
        assert_eq!(answer["result"]["serverInfo"]["name"], "flowfabric");
        assert!(answer["result"]["capabilities"]["tools"].is_object());
        assistant.send(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#);
        assistant
    }

    fn send(&mut self, line: &str) {
        writeln!(self.process.stdin(), "{line}").unwrap();
    }

    /// Sends a line and gives its answer, which shows no token.
    fn exchange(&mut self, line: &str) -> Value {
        self.send(line);
        let answer = self.lines.next().unwrap();
        assert!(!answer.contains(TOKEN), "{answer}");
        serde_json::from_str(&answer).unwrap()
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let id = self.sent;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answer = self.exchange(&message.to_string());
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(id)), "{answer}");
        answer
    }

    fn result(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = answer["result"].clone();
        assert_eq!(result["content"][0]["type"], "text", "{answer}");
        result
    }

    /// Calls a tool, which must do what it is asked.
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.result(tool, arguments);
        assert_eq!(result["isError"], false, "{result}");
        let text: Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"]);
        text
    }

    /// Calls a tool, which must refuse, and gives the code.
    fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.result(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        let code = result["structuredContent"]["code"].as_str().unwrap().to_owned();
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.ends_with(&format!(" ({code})")), "{text}");
        code
    }

    fn tools(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap().iter();
        for tool in tools.clone() {
            assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
            let role = tool["_meta"]["role"].as_str().unwrap();
            assert!(tool["description"].as_str().unwrap().ends_with(&format!("the role {role}.")));
        }
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn an_assistant_learns_why_nothing_runs_and_controls_it() {
    let store = Ff::new().with_token(TOKEN);
    let server = store.serve();
    let ff = server.ff();
    let mut assistant = Assistant::start(&ff, &[]);
    let all = ["list", "explain", "show", "tail", "submit", "cancel", "replay", "approve"];
    assert_eq!(assistant.tools(), all);

    let work = json!({"kind": "count", "lane": "mcp", "input": {"a": 1}, "idempotency_key": "k"});
    let submitted = assistant.call("submit", work.clone());
    let id = submitted["id"].as_str().unwrap().to_owned();
    assert_eq!(assistant.call("submit", work)["new"], false, "the same key is the same execution");
    let listed = assistant.call("list", json!({"lane": "mcp", "state": ["waiting"]}));
    assert_eq!(listed["executions"][0]["id"], id.as_str());
    assert_eq!(listed["executions"].as_array().unwrap().len(), 1);
    let why = assistant.call("explain", json!({"id": &id[..13]}));
    assert_eq!(why["reasons"][0]["reason"], "no_worker_on_lane", "{why}");
    assert_eq!(assistant.call("show", json!({"id": id}))["state"], "waiting");

    ff.ok(&["worker", "--lane", "mcp", "--once", "--exec", "echo said; echo 3"]);
    let streamed = assistant.call("tail", json!({"id": id, "wait_ms": 5000}));
    assert_eq!(streamed["frames"][0]["text"], "said\n", "{streamed}");
    assert_eq!(assistant.call("replay", json!({"id": id}))["run"], 1);
    let cancelled = assistant.call("cancel", json!({"id": id, "reason": "not needed"}));
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(ff.show(&id)["reason"], "not needed");
    store.check();
}

#[test]
fn an_assistant_answers_what_an_execution_asks() {
    let store = Ff::new();
    let server = store.serve();
    let ff = server.ff();
    let id = ff.submit(&["--lane", "ask"]);
    let claim =
        json!({"instance": "i", "lane": "ask", "request": "7f1c0f6e-5f0e-4c39-9d6e-0d6a1f9f4a11"});
    let claimed = post(&server.url, "/v1/workers/w/claim", &claim);
    let condition = json!({"signal": {"waitpoint": "approval"}});
    let suspend = json!({
        "fence": claimed["assignments"][0]["fence"], "waitpoints": [{"key": "approval"}],
        "condition": condition, "reason": "approval", "message": "Ship it?",
    });
    post(&server.url, &format!("/v1/executions/{id}/suspend"), &suspend);
    let mut assistant = Assistant::start(&ff, &["--role", "approver"]);
    assert_eq!(assistant.tools(), ["list", "explain", "show", "tail", "approve"]);
    let asking = assistant.call("list", json!({"reason": "approval"}));
    assert_eq!(asking["executions"][0]["id"], id.as_str());
    let decision = json!({"id": id, "decision": "reject", "comment": "no"});
    assert_eq!(assistant.call("approve", decision.clone())["effect"], "resumed");
    assert_eq!(assistant.refused("approve", decision), "invalid_argument");
    // What its role may not use is no tool here.
    let answer = assistant.ask("tools/call", json!({"name": "cancel", "arguments": {"id": id}}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(ff.show(&id)["state"], "resumable");
}

#[test]
fn a_refusal_is_the_result_of_its_tool_and_a_fault_of_a_message_is_an_error() {
    let store = Ff::new().with_token(TOKEN);
    let server = store.serve();
    let ff = server.ff();
    let mut assistant = Assistant::start(&ff, &[]);
    let unknown = "01990000-0000-7000-8000-000000000000";
    assert_eq!(assistant.refused("show", json!({"id": unknown})), "not_found");
    assert_eq!(assistant.refused("show", json!({"id": "nonsense"})), "invalid_argument");
    assert_eq!(assistant.refused("show", json!({})), "invalid_argument");
    assert_eq!(assistant.refused("list", json!({"limit": 101})), "invalid_argument");
    assert_eq!(
        assistant.refused("submit", json!({"kind": "a", "colour": "red"})),
        "invalid_argument"
    );
    assert_eq!(assistant.refused("cancel", json!({"id": unknown, "reason": TOKEN})), "not_found");
    for (line, code) in [
        ("{half".to_owned(), -32700),
        ("[]".to_owned(), -32600),
        (json!({"jsonrpc": "2.0", "id": 1, "method": "resources/list"}).to_string(), -32601),
        (
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": TOKEN}})
                .to_string(),
            -32602,
        ),
        (format!("\"{}\"", "x".repeat(4 << 20)), -32600),
    ] {
        assert_eq!(
            assistant.exchange(&line)["error"]["code"],
            code,
            "{}",
            &line[..line.len().min(80)]
        );
    }
    assert_eq!(assistant.ask("ping", json!({}))["result"], json!({}), "it serves on");

    let stranger = ff.with_token("another-token-that-is-wrong");
    assert_eq!(Assistant::start(&stranger, &[]).refused("list", json!({})), "unauthenticated");
    drop(server);
    assert_eq!(assistant.refused("list", json!({})), "server_unreachable");
}

/// Posts JSON to a server without a token.
fn post(url: &str, path: &str, body: &Value) -> Value {
    let mut curl = std::process::Command::new("curl");
    curl.args(["-s", "-H", "content-type: application/json", "-d", &body.to_string()]);
    let done = crate::fixture::finish(curl.arg(format!("{url}{path}")), b"");
    serde_json::from_slice(&done.stdout).unwrap_or_default()
}
