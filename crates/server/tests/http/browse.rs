//! Pages in a real browser: opened, used as a person would, and looked at.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use ff_testkit::chromium::chromium;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::fixture::Fixture;

/// A browser starts and loads its pages within this time.
const LIMIT: Duration = Duration::from_secs(240);

const DRIVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/drive.py");

/// How a page is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) width: u32,
    pub(crate) dark: bool,
    /// Whether scripts run.
    pub(crate) script: bool,
}

/// Where a picture of this name is kept.
pub(crate) fn picture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Opens `path` in a browser, takes `steps`, and gives what is shown then. The pages load nothing from
/// elsewhere, fit the window, and the browser has nothing to complain about but statuses that are
/// `expected`.
pub(crate) async fn browse(
    server: &Fixture,
    path: &str,
    window: Window,
    steps: Value,
    screenshot: Option<&str>,
    expected: &[u16],
) -> Value {
    let asked = json!({
        "browser": chromium(),
        "url": format!("http://{}{path}", server.address),
        "width": window.width,
        "height": 820,
        "dark": window.dark,
        "script": window.script,
        "steps": steps,
        "screenshot": screenshot.map(picture),
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
    let own = format!("http://{}/", server.address);
    for request in seen["requests"].as_array().unwrap() {
        let request = request.as_str().unwrap();
        // A page that a test has written itself is no request.
        assert!(request.starts_with(&own) || request.starts_with("data:text/html"), "{request}");
    }
    let problems = seen["problems"].as_array().unwrap().iter().map(|one| one.as_str().unwrap());
    let of_status = |problem: &&str| {
        expected.iter().any(|status| problem.contains(&format!("with a status of {status} ")))
    };
    let problems: Vec<_> = problems.filter(|problem| !of_status(problem)).collect();
    assert!(problems.is_empty(), "{problems:?}");
    assert!(seen["width"].as_f64().unwrap() <= f64::from(window.width), "{}", seen["width"]);
    seen
}
