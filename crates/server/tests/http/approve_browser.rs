//! The approval page in a real browser, without scripts.

use ff_core::PublicState;
use ff_store::SignalBackend;
use serde_json::{Value, json};

use super::approve::{asking, link};
use super::browse::{Window, browse};
use crate::fixture::{Fixture, target};

/// Opens `path` in a browser without scripts, takes `steps`, and gives what is shown then.
async fn open(server: &Fixture, path: &str, width: u32, dark: bool, steps: Value) -> Value {
    let name = format!("approve-{width}-{}.png", if dark { "dark" } else { "light" });
    let window = Window { width, dark, script: false };
    browse(server, path, window, steps, Some(&name), &[410]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_approves_with_a_comment_in_a_browser_without_scripts() {
    let server = Fixture::start().await;
    let question = "Deploy release 2026.11 to production?\n\nThe migration takes four minutes.";
    let id = asking(&server, question, 1).await;
    let path = link(&server, id, "ann@example.com").await;
    for (width, dark) in [(390, true), (1280, false)] {
        let seen = open(&server, &path, width, dark, json!([])).await;
        assert_eq!(seen["status"], 200);
        assert!(seen["html"].as_str().unwrap().contains(question), "{seen}");
    }
    assert_eq!(server.described(id).await.public_state(), PublicState::Suspended);
    let steps = json!([{ "fill": ["#comment", "looks <good> & fine"] }, { "click": "button.yes" }]);
    let seen = open(&server, &path, 390, false, steps).await;
    assert_eq!(seen["status"], 200, "{seen}");
    let html = seen["html"].as_str().unwrap();
    assert!(html.contains("data-effect=\"resumed\"") && html.contains("Approved"), "{html}");
    let signals = server.store.signals(&target(id), 0, 10).await.unwrap();
    assert_eq!(&*signals[0].payload.bytes, br#"{"approved":true,"comment":"looks <good> & fine"}"#);
    assert_eq!(signals[0].source.as_str(), "ann@example.com");
    // The link has done its work.
    let seen = open(&server, &path, 1280, true, json!([])).await;
    assert_eq!(seen["status"], 410);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_rejects_in_a_browser() {
    let server = Fixture::start().await;
    let id = asking(&server, "<script>document.title='owned'</script>", 2).await;
    let path = link(&server, id, "bob").await;
    let seen = open(&server, &path, 390, false, json!([{ "click": "button.no" }])).await;
    let html = seen["html"].as_str().unwrap();
    assert!(html.contains("data-effect=\"recorded\"") && html.contains("Rejected"), "{html}");
    assert!(html.contains("&lt;script&gt;"), "{html}");
}
