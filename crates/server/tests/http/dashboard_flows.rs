//! Flows on the dashboard: the list, the drawn graph, what its forms do, and how large a page gets.

use std::str::FromStr;

use ff_core::credential::Role;
use ff_core::machine::{Assignment, Complete, Fail};
use ff_core::state::Failure;
use ff_core::{Category, ExecutionId, Millis, Payload, PublicState};
use ff_store::{Clock, SystemClock, WorkerBackend};
use serde_json::{Value, json};

use super::browse::{Window, browse, picture};
use super::dashboard::{HOSTILE, page, proof, submit_form};
use super::dashboard_access::{logged_in, page_as, post_as};
use crate::fixture::raw::{ask, post};
use crate::fixture::{Fixture, claim};
use crate::tokens::guarded;

/// Submits a graph; gives its id.
async fn submitted(server: &Fixture, graph: &Value) -> ExecutionId {
    let answer = ask(server.address, post("/v1/flows", graph.to_string())).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let made: Value = serde_json::from_str(answer.text()).unwrap();
    ExecutionId::from_str(made["id"].as_str().unwrap()).unwrap()
}

async fn claimed(server: &Fixture) -> Assignment {
    server.store.claim(claim(), Millis::ZERO).await.unwrap().assignments.remove(0)
}

async fn complete(server: &Fixture, held: &Assignment) {
    let complete = Complete { hold: held.hold(), result: Payload::json("1") };
    server.store.complete(vec![complete]).await.unwrap().remove(0).unwrap();
}

async fn fail(server: &Fixture, held: &Assignment) {
    let message = "there is no such chapter".into();
    let failure = Failure { category: Category::error(), retryable: false, message };
    server.store.fail(Fail { hold: held.hold(), failure }).await.unwrap();
}

fn diamond() -> Value {
    json!({"tags": {"report": "daily"}, "nodes": [
        {"name": "fetch"},
        {"name": "words", "after": ["fetch"]},
        {"name": "images", "after": ["fetch"]},
        {"name": "publish", "after": ["words", "images"]},
    ]})
}

#[tokio::test]
async fn a_flow_is_listed_and_drawn_with_states_times_and_the_critical_path() {
    let server = Fixture::start().await;
    server.clock.set(SystemClock.now() - Millis::from_secs(30));
    let id = submitted(&server, &diamond()).await;
    let path = format!("/flows/{id}");
    let listed = page(&server, "/flows").await;
    assert!(listed.text().contains(&format!("href=\"{path}\"")), "{}", listed.text());
    assert!(listed.text().contains("running") && listed.text().contains("report=daily"));
    assert!(!page(&server, "/flows?state=completed").await.text().contains(&path));
    let held = claimed(&server).await;
    server.clock.advance(Millis::from_secs(2));
    complete(&server, &held).await;
    let words = claimed(&server).await;
    let shown = page(&server, &path).await;
    let html = shown.text();
    for part in [
        "<svg class=\"graph\"",
        "graph of 4 nodes",
        "completed · 2s",
        "class=\"node live critical\"",
        "class=\"node calm\"",
        "class=\"node idle\"",
        "1 of 4 nodes have ended",
        "Critical path",
        "words, images",
        "Cancel this flow",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert!(html.contains(&format!("<a href=\"/executions/{}\">", words.execution)), "{html}");
    assert!(!html.contains("Replay it") && !html.contains("://"), "{html}");
    let node = page(&server, &format!("/executions/{}", words.execution)).await;
    assert!(node.text().contains(&format!("<a href=\"{path}\">node words of")), "{}", node.text());
    let active = page(&server, &format!("{path}?state=active")).await;
    assert_eq!(active.text().matches("<tr data-id=").count(), 1);
    for (query, status) in [("state=nonsense", 400), ("nodes=x", 400), ("namespace=other", 404)] {
        assert_eq!(page(&server, &format!("{path}?{query}")).await.status, status, "{query}");
    }
    // An execution that is no flow has no graph.
    assert_eq!(page(&server, &format!("/flows/{}", words.execution)).await.status, 404);
}

#[tokio::test]
async fn a_form_cancels_and_replays_a_flow() {
    let server = Fixture::start().await;
    let id = submitted(&server, &diamond()).await;
    let (path, to) = (format!("/flows/{id}"), format!("/flows/{id}/act"));
    fail(&server, &claimed(&server).await).await;
    let failed = page(&server, &path).await;
    assert!(failed.text().contains("3 skipped") && failed.text().contains("class=\"node off\""));
    let answer = submit_form(&server, &path, &to, "action=replay&run=0").await;
    assert_eq!(answer.header("location"), Some(&*format!("{path}?note=flow_replayed")));
    assert_eq!(server.described(id).await.public_state(), PublicState::WaitingChildren);
    // What was read before is not shown any more.
    let again = page(&server, &path).await;
    assert!(again.text().contains("0 of 4 nodes have ended"), "{}", again.text());
    let reason = HOSTILE.replace(['&', '"'], "").replace(' ', "+");
    let form = format!("action=cancel&held=finish&reason={reason}");
    let answer = submit_form(&server, &path, &to, &form).await;
    assert_eq!(answer.header("location"), Some(&*format!("{path}?note=flow_cancelled")));
    let cancelled = page(&server, &format!("{path}?note=flow_cancelled")).await;
    assert_eq!(server.described(id).await.public_state(), PublicState::Cancelled);
    assert!(cancelled.text().contains("nothing more of it starts"), "{}", cancelled.text());
    assert!(cancelled.text().contains("&lt;script&gt;") && !cancelled.text().contains("<script>"));
    let listed = page(&server, "/flows").await;
    assert!(listed.text().contains("&lt;script&gt;") && !listed.text().contains("<script>"));
    assert_eq!(submit_form(&server, &path, &to, "action=explode").await.status, 400);
}

#[tokio::test]
async fn who_only_reads_sees_the_graph_and_changes_nothing() {
    let server = guarded().await;
    let headers = format!(
        "content-type: application/json\r\nauthorization: Bearer {}\r\n",
        crate::fixture::TOKEN
    );
    let body = diamond().to_string();
    let made =
        ask(server.address, crate::fixture::raw::post_with("/v1/flows", &headers, body)).await;
    let made: Value = serde_json::from_str(made.text()).unwrap();
    let path = format!("/flows/{}", made["id"].as_str().unwrap());
    assert_eq!(page(&server, &path).await.status, 303);
    for (role, may) in [(Role::Reader, false), (Role::Producer, true)] {
        let token = server.issued(role.as_str(), role, &["default"]).await;
        let cookie = logged_in(&server, &token).await;
        let shown = page_as(&server, &cookie, &path).await;
        assert!(shown.text().contains("<svg class=\"graph\""), "{role}");
        assert_eq!(shown.text().contains("Cancel this flow"), may, "{role}");
        let form = format!("proof={}&action=cancel", proof(&shown));
        let answer = post_as(&server, &cookie, &format!("{path}/act"), &form).await;
        assert_eq!(answer.status, if may { 303 } else { 403 }, "{role}");
        let elsewhere = page_as(&server, &cookie, &format!("{path}?namespace=other")).await;
        assert_eq!(elsewhere.status, 404, "{role}");
    }
}

/// As many nodes as a flow may have: one, many after it, and one after those.
fn greatest() -> Value {
    let middle = (0..9_998).map(|n| json!({"name": format!("map-{n}"), "after": ["split"]}));
    let names: Vec<_> = (0..9_998).map(|n| format!("map-{n}")).collect();
    let ends = [json!({"name": "split"}), json!({"name": "reduce", "after": names})];
    json!({"nodes": middle.chain(ends).collect::<Vec<_>>()})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flow_of_ten_thousand_nodes_is_a_small_page() {
    let server = Fixture::start().await;
    let id = submitted(&server, &greatest()).await;
    complete(&server, &claimed(&server).await).await;
    let path = format!("/flows/{id}");
    let shown = page(&server, &path).await;
    assert_eq!(shown.status, 200);
    assert!(shown.body.len() < 128 << 10, "{} bytes", shown.body.len());
    let html = shown.text();
    assert!(html.contains("10,000 nodes, 19,996 edges") && html.contains("more nodes"), "{html}");
    assert_eq!(html.matches("<tr data-id=").count(), 100);
    let last = page(&server, &format!("{path}?nodes=9900")).await;
    assert!(last.text().contains("9901 to 10000 of 10,000"), "{}", last.text());
    // A browser draws it, follows it, and stays quick.
    let steps = json!([
        {"see": [".pulse", "live"]},
        {"is": "document.querySelectorAll('.graph .node').length < 40"},
        {"is": "document.querySelectorAll('*').length < 3000"},
        {"see": ["#nodes-title", "1 to 100"]},
    ]);
    let window = Window { width: 1280, dark: false, script: true };
    browse(&server, &path, window, steps, Some("dash-flow-10000.png"), &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_graph_is_drawn_live_in_both_themes_on_a_screen_and_a_phone() {
    let server = Fixture::start().await;
    server.clock.set(SystemClock.now() - Millis::from_secs(20));
    let graph = json!({"nodes": [
        {"name": "fetch"},
        {"name": "parse", "after": ["fetch"]},
        {"name": "images", "after": ["fetch"]},
        {"name": "a-rather-long-name-of-a-node-17", "after": ["fetch"]},
        {"name": "index", "after": ["parse"]},
        {"name": "thumbnails", "after": ["images"]},
        {"name": "check", "after": ["index", "thumbnails"], "join": "any"},
        {"name": "publish", "after": ["check", "a-rather-long-name-of-a-node-17", "fetch"]},
    ]});
    let id = submitted(&server, &graph).await;
    let path = format!("/flows/{id}");
    complete(&server, &claimed(&server).await).await;
    server.clock.advance(Millis::from_secs(4));
    let held = [claimed(&server).await, claimed(&server).await];
    server.clock.advance(Millis::from_secs(3));
    complete(&server, &held[0]).await;
    fail(&server, &held[1]).await;
    claimed(&server).await;
    let own = format!("http://{}", server.address);
    for (width, dark) in [(1280, false), (1280, true), (390, false), (390, true)] {
        let look = |name: &str| {
            picture(&format!("dash-{name}-{width}-{}.png", if dark { "dark" } else { "light" }))
        };
        let steps = json!([
            {"see": [".pulse", "live"]},
            {"see": [".graph .what", "completed"]},
            {"is": "document.querySelectorAll('.graph a[href]').length === 8"},
            {"is": "[...document.querySelectorAll('a, button, summary')].every(one => \
                one.textContent.trim() || one.ariaLabel || one.title)"},
            {"is": "[...document.querySelectorAll('.graph .plate')].every(one => one.getBoundingClientRect().width < 200)"},
            {"shot": look("flow")},
            {"goto": format!("{own}/flows")},
            {"see": [".pulse", "live"]},
            {"shot": look("flows")},
        ]);
        browse(&server, &path, Window { width, dark, script: true }, steps, None, &[]).await;
    }
    // What happens is drawn without a reload, and the form of the page cancels.
    let steps = json!([
        {"see": [".pulse", "live"]},
        {"send": [format!("{own}/v1/flows/{id}/cancel"), "POST", r#"{"held": "cancel"}"#]},
        {"see": [".head .badge", "cancelled"]},
        {"see": [".graph .what", "cancelled"]},
        {"tap": "details.act summary"},
        {"click": "button.primary"},
        {"see": [".note", "A new run has started"]},
        {"see": [".head .badge", "running"]},
    ]);
    let seen =
        browse(&server, &path, Window { width: 1280, dark: false, script: true }, steps, None, &[])
            .await;
    assert_eq!(seen["sent"], json!([200]));
    assert_eq!(server.described(id).await.run.number, 1);
}
