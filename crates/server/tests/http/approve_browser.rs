//! The approval page in a real browser, without scripts.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use ff_core::PublicState;
use ff_store::SignalBackend;
use ff_testkit::chromium::chromium;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::approve::{asking, link};
use crate::fixture::{Fixture, target};

/// A browser starts and loads a page within this time.
const LIMIT: Duration = Duration::from_secs(120);

const DRIVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/drive.py");

/// Opens `path` in a browser, takes `steps`, and gives what is shown then.
async fn browse(server: &Fixture, path: &str, width: u32, dark: bool, steps: Value) -> Value {
    let name = format!("approve-{width}-{}.png", if dark { "dark" } else { "light" });
    let asked = json!({
        "browser": chromium(),
        "url": format!("http://{}{path}", server.address),
        "width": width,
        "height": 820,
        "dark": dark,
        "script": false,
        "steps": steps,
        "screenshot": PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name),
    });
    let mut command = Command::new("python3");
    command.arg(DRIVER).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.kill_on_drop(true).spawn().unwrap();
    child.stdin.take().unwrap().write_all(asked.to_string().as_bytes()).await.unwrap();
    let output = tokio::time::timeout(LIMIT, child.wait_with_output()).await;
    let output = output.expect("the browser takes too long").unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    // It loads nothing else, breaks none of its own rules, and fits the window.
    let own = format!("http://{}/", server.address);
    for request in seen["requests"].as_array().unwrap() {
        assert!(request.as_str().unwrap().starts_with(&own), "{request}");
    }
    let problems = seen["problems"].as_array().unwrap().iter().map(|one| one.as_str().unwrap());
    let of_status = "Failed to load resource: the server responded with a status of 410 (Gone)";
    let problems: Vec<_> = problems.filter(|problem| *problem != of_status).collect();
    assert!(problems.is_empty(), "{problems:?}");
    assert!(seen["width"].as_f64().unwrap() <= f64::from(width), "{}", seen["width"]);
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_approves_with_a_comment_in_a_browser_without_scripts() {
    let server = Fixture::start().await;
    let question = "Deploy release 2026.11 to production?\n\nThe migration takes four minutes.";
    let id = asking(&server, question, 1).await;
    let path = link(&server, id, "ann@example.com").await;
    for (width, dark) in [(390, true), (1280, false)] {
        let seen = browse(&server, &path, width, dark, json!([])).await;
        assert_eq!(seen["status"], 200);
        assert!(seen["html"].as_str().unwrap().contains(question), "{seen}");
    }
    assert_eq!(server.described(id).await.public_state(), PublicState::Suspended);
    let steps = json!([{ "fill": ["#comment", "looks <good> & fine"] }, { "click": "button.yes" }]);
    let seen = browse(&server, &path, 390, false, steps).await;
    assert_eq!(seen["status"], 200, "{seen}");
    let html = seen["html"].as_str().unwrap();
    assert!(html.contains("data-effect=\"resumed\"") && html.contains("Approved"), "{html}");
    let signals = server.store.signals(&target(id), 0, 10).await.unwrap();
    assert_eq!(&*signals[0].payload.bytes, br#"{"approved":true,"comment":"looks <good> & fine"}"#);
    assert_eq!(signals[0].source.as_str(), "ann@example.com");
    // The link has done its work.
    let seen = browse(&server, &path, 1280, true, json!([])).await;
    assert_eq!(seen["status"], 410);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_rejects_in_a_browser() {
    let server = Fixture::start().await;
    let id = asking(&server, "<script>document.title='owned'</script>", 2).await;
    let path = link(&server, id, "bob").await;
    let seen = browse(&server, &path, 390, false, json!([{ "click": "button.no" }])).await;
    let html = seen["html"].as_str().unwrap();
    assert!(html.contains("data-effect=\"recorded\"") && html.contains("Rejected"), "{html}");
    assert!(html.contains("&lt;script&gt;"), "{html}");
}
