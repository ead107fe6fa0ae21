//! The dashboard in a real browser: looked at, live, by keyboard, and used.

use ff_core::budget::{BudgetLimits, DimensionLimits, OnBreach};
use ff_core::machine::{Complete, ReportProgress, Submit};
use ff_core::quota::QuotaLimits;
use ff_core::record::Progress;
use ff_core::state::Failure;
use ff_core::{
    Category, Dimension, ExecutionId, Millis, Namespace, Payload, PublicState, ResourceName,
};
use ff_store::events::FeedUpdate;
use ff_store::{ClientBackend, Clock, EventsBackend, LimitsBackend, SystemClock, WorkerBackend};
use serde_json::json;

use super::approve::asking;
use super::browse::{Window, browse, picture};
use crate::fixture::{Fixture, claim};

const WIDE: Window = Window { width: 1280, dark: false, script: true };

/// A server with one of everything to look at. Gives the execution with a past.
pub(super) async fn furnished() -> (Fixture, ExecutionId) {
    let server = Fixture::start().await;
    // A store whose time is that of the pages.
    server.clock.set(SystemClock.now() - Millis::from_secs(45));
    let namespace = Namespace::default();
    let update = FeedUpdate { on: Some(true), ..FeedUpdate::default() };
    server.store.set_feed(update).await.unwrap();
    let name = |name: &str| ResourceName::new(name).unwrap();
    let tokens = DimensionLimits { soft: Some(600), hard: Some(1_000) };
    let limits = BudgetLimits {
        dimensions: [(Dimension::new("tokens").unwrap(), tokens)].into(),
        period: Some(Millis::from_hours(1)),
        on_breach: OnBreach::Block,
    };
    server.store.put_budget(&namespace, &name("team"), limits).await.unwrap();
    let limits = QuotaLimits {
        max_requests: Some(60),
        window: Millis::from_secs(60),
        max_active: Some(4),
        jitter: Millis::ZERO,
    };
    server.store.put_quota(&namespace, &name("provider"), limits).await.unwrap();
    asking(
        &server,
        "Deploy release 2026.11 to production?\n\nThe migration takes four minutes.",
        1,
    )
    .await;
    let past = server.held().await;
    let message = Some("reading chapter 3 of 8".into());
    let progress = Progress { percent: Some(40), message };
    server.store.progress(ReportProgress { hold: past.hold(), progress }).await.unwrap();
    server.clock.advance(Millis::from_secs(3));
    let failure = Failure {
        category: Category::error(),
        retryable: true,
        message: "the network was down".into(),
    };
    let fail = ff_core::machine::Fail { hold: past.hold(), failure };
    server.store.fail(fail).await.unwrap();
    for number in 0..8 {
        let done = server.store.new_id(&namespace, None);
        let mut submit = Submit::new(done);
        submit.kind = "summarize".parse().unwrap();
        submit.input = Payload::json(r#"{"text": "a long story", "words": 12}"#);
        server.store.submit(vec![submit]).await.unwrap().remove(0).unwrap();
        server.clock.advance(Millis::from_secs(1));
        let claimed = server.store.claim(claim(), Millis::ZERO).await.unwrap();
        let held = &claimed.assignments[0];
        server.clock.advance(Millis::from_secs(2));
        match number % 3 {
            0 => {
                let failure = Failure {
                    category: Category::error(),
                    retryable: false,
                    message: "there is no such chapter".into(),
                };
                let fail = ff_core::machine::Fail { hold: held.hold(), failure };
                server.store.fail(fail).await.unwrap();
            }
            1 => {
                let result = Payload::json(r#"{"summary": "it ends well", "tokens": 812}"#);
                server
                    .store
                    .complete(vec![Complete { hold: held.hold(), result }])
                    .await
                    .unwrap()
                    .remove(0)
                    .unwrap();
            }
            _ => {}
        }
    }
    for _ in 0..6 {
        server.submitted().await;
    }
    (server, past.execution)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_is_looked_at_in_both_themes_on_a_screen_and_a_phone() {
    let (server, past) = furnished().await;
    for (width, dark) in [(1280, false), (1280, true), (390, false), (390, true)] {
        look(&server, past, Window { width, dark, script: true }).await;
    }
}

/// Looks at every page, and takes its picture.
pub(super) async fn look(server: &Fixture, past: ExecutionId, window: Window) {
    let Window { width, dark, .. } = window;
    let own = format!("http://{}", server.address);
    let scheme = if dark { "dark" } else { "light" };
    let look = |name: &str| picture(&format!("dash-{name}-{width}-{scheme}.png"));
    let mut steps = vec![json!({"shot": look("overview")})];
    for (name, path) in [
        ("executions", "/executions".to_owned()),
        ("execution", format!("/executions/{past}")),
        ("approvals", "/approvals".to_owned()),
        ("lanes", "/lanes".to_owned()),
        ("workers", "/workers".to_owned()),
        ("limits", "/limits".to_owned()),
        ("events", "/events".to_owned()),
    ] {
        steps.push(json!({"goto": format!("{own}{path}")}));
        steps.push(json!({"see": [".pulse", "live"]}));
        steps.push(json!({"shot": look(name)}));
        steps.push(json!({"is": format!("getComputedStyle(document.documentElement).colorScheme === '{scheme}'")}));
        // Everything that can be used has a name.
        let named = "[...document.querySelectorAll('a, button, input:not([type=hidden]), select, summary')].every(one => \
            one.textContent.trim() || one.ariaLabel || one.title || one.labels?.length)";
        steps.push(json!({"is": named}));
    }
    let seen = browse(server, "/", window, json!(steps), None, &[]).await;
    assert_eq!(seen["statuses"], json!(vec![200; 8]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_are_read_without_scripts() {
    let (server, past) = furnished().await;
    let own = format!("http://{}", server.address);
    let window = Window { script: false, ..WIDE };
    let steps = json!([{"goto": format!("{own}/executions/{past}")}, {"goto": format!("{own}/executions?state=failed")}]);
    let seen = browse(&server, "/", window, steps, Some("dash-plain.png"), &[]).await;
    let html = seen["html"].as_str().unwrap();
    assert!(html.contains("there is no such chapter") && html.contains("<tr data-id="), "{html}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_appears_on_an_open_page_without_a_reload() {
    let server = Fixture::start().await;
    let own = format!("http://{}", server.address);
    let submit = json!({"send": [format!("{own}/v1/executions"), "POST", r#"{"kind":"newcomer","lane":"mine"}"#]});
    let steps = json!([
        {"see": [".pulse", "live"]},
        {"is": "document.querySelectorAll('tr[data-id]').length === 0"},
        submit,
        {"see": ["tr[data-id]", "newcomer"]},
        {"see": ["tr[data-id] .badge", "waiting"]},
        {"is": "performance.getEntriesByType('navigation').length === 1 && history.length <= 2"},
    ]);
    let seen = browse(&server, "/executions", WIDE, steps, None, &[]).await;
    assert_eq!(seen["statuses"], json!([200]), "the page was loaded once");
    assert_eq!(seen["sent"], json!([201]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn output_appears_as_text_while_it_is_written() {
    let server = Fixture::start().await;
    let held = server.held().await;
    let path = format!("/executions/{}", held.execution);
    let own = format!("http://{}", server.address);
    let fence = json!({
        "lease": held.fence.lease.to_string(),
        "epoch": held.fence.epoch,
        "attempt": held.fence.attempt,
    });
    let frame = json!({"type": "stderr", "text": "<img src=x onerror=alert(1)>\u{1b}[31m done"});
    let body = json!({"fence": fence, "first": 0, "frames": [frame]}).to_string();
    let steps = json!([
        {"see": [".pulse", "live"]},
        {"send": [format!("{own}/v1{path}/frames"), "POST", body]},
        {"see": [".output pre", "<img src=x onerror=alert(1)>\u{241b}[31m done"]},
        {"is": "document.querySelector('.output img') === null"},
        {"shot": picture("dash-output.png")},
    ]);
    let seen = browse(&server, &path, WIDE, steps, None, &[]).await;
    assert_eq!(seen["statuses"], json!([200]), "the page was loaded once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filter_is_cancelled_in_a_browser_with_a_count_first() {
    let server = Fixture::start().await;
    let mut ids = Vec::new();
    for _ in 0..30 {
        ids.push(server.submitted().await);
    }
    let steps = json!([
        {"tap": "input[name=scope][value=filter]"},
        {"click": "#bulk button[value=cancel]"},
        {"see": ["h2", "Cancel 30 executions?"]},
        {"shot": picture("dash-bulk.png")},
        {"fill": ["input[name=reason]", "<b>not needed</b>"]},
        {"click": "button.danger"},
        {"see": ["h2", "Done"]},
        {"see": [".job", "30"]},
        {"shot": picture("dash-job.png")},
    ]);
    let seen = browse(&server, "/executions?state=waiting", WIDE, steps, None, &[]).await;
    assert!(seen["url"].as_str().unwrap().contains("/jobs/"));
    for id in ids {
        let record = server.described(id).await;
        assert_eq!(record.public_state(), PublicState::Cancelled);
        assert_eq!(ff_core::phrase::short_reason(&record).unwrap(), "<b>not needed</b>");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_is_given_in_the_inbox() {
    let server = Fixture::start().await;
    let id = asking(&server, "Deploy?", 1).await;
    let steps = json!([
        {"fill": ["input[name=comment]", "go ahead"]},
        {"click": "button.yes"},
        {"see": [".note", "Approved"]},
        {"see": ["#inbox", "Nothing waits for a decision"]},
    ]);
    browse(
        &server,
        "/approvals",
        Window { width: 390, ..WIDE },
        steps,
        Some("dash-approved.png"),
        &[],
    )
    .await;
    assert_eq!(server.described(id).await.public_state(), PublicState::Resumable);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_on_a_page_of_another_origin_is_refused() {
    let server = Fixture::start().await;
    let id = server.submitted().await;
    let own = format!("http://{}", server.address);
    // A page of another origin, whose form goes where it likes.
    let page = format!(
        "data:text/html,<form method=post action='{own}/executions/{id}/act'><input name=action value=cancel>\
         <button>x</button></form>"
    );
    let steps = json!([
        {"post": [format!("{own}/executions/{id}/act"), "action=cancel"]},
        {"goto": page},
        {"click": "button"},
    ]);
    let seen = browse(&server, "/", WIDE, steps, None, &[403]).await;
    assert_eq!((&seen["sent"], &seen["status"]), (&json!([403]), &json!(403)));
    assert_eq!(server.described(id).await.public_state(), PublicState::Waiting);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_keyboard_is_enough() {
    use_keys(&furnished().await.0).await;
}

pub(super) async fn use_keys(server: &Fixture) {
    let steps = json!([
        {"see": [".pulse", "live"]},
        {"press": "j"},
        {"is": "document.activeElement === document.querySelector('tr[data-id]')"},
        {"press": "j"},
        {"press": "k"},
        {"is": "document.activeElement === document.querySelector('tr[data-id]')"},
        {"press": "x"},
        {"is": "document.querySelector('[data-selected]').textContent === '1'"},
        {"press": "/"},
        {"is": "document.activeElement.name === 'lane'"},
        {"tap": "h1"},
        {"press": "?"},
        {"is": "document.querySelector('dialog').open"},
        {"shot": picture("dash-help.png")},
        {"press": "Escape"},
        {"is": "!document.querySelector('dialog').open"},
        {"tap": "[data-theme-toggle]"},
        {"is": "getComputedStyle(document.documentElement).colorScheme === 'dark'"},
        {"is": "document.querySelector('time').title.endsWith('UTC') && !!document.querySelector('time').dateTime"},
    ]);
    browse(server, "/executions", WIDE, steps, None, &[]).await;
}
