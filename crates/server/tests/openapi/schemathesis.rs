//! The document against the server.

use std::time::Duration;

use ff_core::Millis;
use ff_server::{Config, Token};
use ff_testkit::report;
use serde_json::{Value, json};
use tokio::process::Command;

use super::tools;
use crate::fixture::{Fixture, TOKEN, config};

/// How many requests are generated for each operation and phase.
const EXAMPLES: &str = "25";
/// The generated requests are the same in every run, unless `FF_SEED` is set.
const SEED: &str = "20260401";
const CONFIG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/openapi/schemathesis.toml");
/// No run takes longer.
const LIMIT: Duration = Duration::from_secs(300);

/// A server that requires the token, with some work waiting and some claimed.
async fn server() -> Fixture {
    let token = Some(Token::new(TOKEN).unwrap());
    // A generated claim may request any wait, and finds nothing.
    let server = Fixture::with(Config { token, longest_wait: Millis::new(5), ..config() }).await;
    for _ in 0..5 {
        server.held().await;
    }
    server.submitted().await;
    server
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemathesis_finds_no_fault() {
    let executable = tokio::task::spawn_blocking(tools::schemathesis).await.unwrap();
    let server = server().await;
    let file = tools::scratch("schemathesis.json");
    let seed = std::env::var("FF_SEED").unwrap_or_else(|_| SEED.to_owned());
    let run = Command::new(executable)
        .args(["--config-file", CONFIG, "run", &format!("http://{}/openapi.json", server.address)])
        .args(["--header", &format!("Authorization: Bearer {TOKEN}")])
        .args(["--max-examples", EXAMPLES, "--workers", "1", "--seed", &seed, "--no-color"])
        .args(["--report", "json", "--report-json-path"])
        .arg(&file)
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(LIMIT, run).await.expect("it takes too long").unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    let results: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let operations = operations();
    assert_eq!(results["operations"]["tested"], operations, "{printed}");
    assert_eq!((&results["failures"], &results["errors"]), (&json!([]), &json!([])), "{printed}");
    report::count("schemathesis operations", operations as u64);
    report::count("schemathesis requests", results["test_cases"]["generated"].as_u64().unwrap());
    std::fs::remove_file(file).unwrap();
}

/// How many operations there are to test; the tool leaves out the one that gives it the document.
fn operations() -> usize {
    let paths = ff_server::openapi().paths.paths.into_iter();
    let paths = paths.filter(|(path, _)| path != "/openapi.json");
    let each = paths.map(|(_, item)| [item.get, item.put, item.post, item.patch, item.delete]);
    each.flatten().flatten().count()
}
