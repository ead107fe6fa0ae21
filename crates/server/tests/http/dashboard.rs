//! The pages of the dashboard: what they show, that nothing shown is trusted, and what their forms do.

use ff_core::machine::{Complete, Fail, LeaseRef, RecordStep, Submit};
use ff_core::state::Failure;
use ff_core::{Category, ExecutionId, Millis, Payload, PublicState, TagKey, TagValue};
use ff_store::roles::LaneUpdate;
use ff_store::{ClientBackend, SignalBackend, WorkerBackend};

use super::approve::asking;
use crate::fixture::raw::{Answer, Wire, ask, get, post, post_with};
use crate::fixture::{Fixture, claim, target, within};

/// What forms are sent with by a browser that shows a page of the server.
pub(super) const OWN: &str = "content-type: application/x-www-form-urlencoded\r\n\
                              origin: http://localhost\r\nsec-fetch-site: same-origin\r\n";

pub(super) const PAGES: [&str; 8] =
    ["/", "/executions", "/flows", "/approvals", "/workers", "/lanes", "/limits", "/events"];

/// What a browser would act on if it were not escaped.
pub(super) const HOSTILE: &str =
    "</td></pre><script>alert(1)</script><img src=x onerror='alert(2)'>\"&\u{202e}";

pub(super) async fn page(server: &Fixture, path: &str) -> Answer {
    ask(server.address, get(path)).await
}

/// What the forms of a page carry.
#[track_caller]
pub(super) fn proof(page: &Answer) -> String {
    let found = page.text().split_once("name=\"proof\" value=\"");
    let (_, rest) = found.expect("the page has no form");
    rest.split('"').next().unwrap().to_owned()
}

/// Posts a form as the page at `path` would.
pub(super) async fn submit_form(server: &Fixture, path: &str, to: &str, form: &str) -> Answer {
    let proof = proof(&page(server, path).await);
    ask(server.address, post_with(to, OWN, format!("proof={proof}&{form}"))).await
}

async fn state(server: &Fixture, id: ExecutionId) -> PublicState {
    server.described(id).await.public_state()
}

/// An execution with hostile text wherever text is free, which has failed.
async fn hostile(server: &Fixture) -> ExecutionId {
    let id = server.store.new_id(&Default::default(), None);
    let mut submit = Submit::new(id);
    let ansi = "\u{1b}[31mred\u{1b}]0;owned\u{7}";
    submit.input = Payload::json(serde_json::to_vec(&format!("{HOSTILE}{ansi}")).unwrap());
    let value: String = HOSTILE.chars().filter(|one| !one.is_control()).collect();
    submit.tags.insert(TagKey::new("note").unwrap(), TagValue::new(value.as_str()).unwrap());
    server.store.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    let claimed = server.store.claim(claim(), Millis::ZERO).await.unwrap();
    let held = claimed.assignments.into_iter().find(|held| held.execution == id).unwrap();
    let hold = LeaseRef { target: target(id), fence: held.fence };
    let step = RecordStep {
        hold: hold.clone(),
        name: value.parse().unwrap(),
        result: Payload::bytes(format!("{HOSTILE}\u{1b}[2J")),
    };
    server.store.record_step(step).await.unwrap();
    let failure = Failure {
        category: Category::error(),
        retryable: false,
        message: format!("{HOSTILE}{ansi}").into(),
    };
    server.store.fail(Fail { hold, failure }).await.unwrap();
    id
}

#[tokio::test]
async fn every_page_is_safe_to_open_and_loads_nothing_from_elsewhere() {
    are_safe(&Fixture::start().await).await;
}

pub(super) async fn are_safe(server: &Fixture) {
    let id = server.submitted().await;
    let paths = PAGES.map(str::to_owned).into_iter();
    for path in
        paths.chain([format!("/executions/{id}"), "/executions/x".into(), "/?namespace=%20".into()])
    {
        let page = page(server, &path).await;
        let header = |name| page.header(name).unwrap_or("");
        let policy = header("content-security-policy");
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
        assert_eq!(header("referrer-policy"), "same-origin");
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("x-frame-options"), "DENY");
        assert_eq!(header("content-type"), "text/html; charset=utf-8");
        let html = page.text();
        assert!(!html.contains("://"), "{path} names another place: {html}");
        assert!(!html.contains(" style=") && !html.contains(" onclick"), "{path}");
        for landmark in ["<main", "lang=\"en\"", "<h1"] {
            assert!(html.contains(landmark), "{path} lacks {landmark}");
        }
    }
}

#[tokio::test]
async fn an_empty_server_says_what_to_do_next() {
    say_what_to_do(&Fixture::start().await).await;
}

pub(super) async fn say_what_to_do(server: &Fixture) {
    for (path, command) in [
        ("/", "ff submit --lane"),
        ("/executions", "ff submit --lane"),
        ("/flows", "ff flow submit"),
        ("/approvals", "ff ls --reason approval"),
        ("/workers", "ff worker --lane"),
        ("/lanes", "ff submit --lane"),
        ("/limits", "ff budget set"),
        ("/events", "ff events --follow"),
        ("/events", "ff webhook set URL --on"),
    ] {
        let page = page(server, path).await;
        assert_eq!(page.status, 200);
        assert!(page.text().contains(command), "{path}: {}", page.text());
    }
}

#[tokio::test]
async fn whatever_is_shown_is_escaped() {
    are_escaped(&Fixture::start().await).await;
}

pub(super) async fn are_escaped(server: &Fixture) {
    let id = hostile(server).await;
    asking(server, HOSTILE, 1).await;
    let update =
        LaneUpdate { paused: Some(true), reason: Some(HOSTILE.into()), ..LaneUpdate::default() };
    server.store.update_lane(update).await.unwrap();
    let mut shown = 0;
    let tags = "/executions?tags=note%3D%3Cscript%3E&kind=x".to_owned();
    for path in PAGES.map(str::to_owned).into_iter().chain([format!("/executions/{id}"), tags]) {
        let page = page(server, &path).await;
        let html = page.text();
        for markup in ["<script>", "<img src=x", "onerror='", "\u{202e}", "\u{1b}", "\u{7}"] {
            assert!(!html.contains(markup), "{path} has {markup:?}");
        }
        shown += html.matches("&lt;script&gt;").count();
    }
    // On the overview twice, in the list, the inbox, the lanes, the filter, and all over the execution.
    assert!(shown >= 8, "hostile text was shown only {shown} times");
}

#[tokio::test]
async fn huge_and_binary_payloads_are_cut_and_downloaded_as_bytes() {
    let server = Fixture::start().await;
    for (bytes, shown) in
        [(vec![b'x'; 1 << 20], "xxxx".to_owned()), (vec![0xff; 1 << 20], "ff ff ff ff".to_owned())]
    {
        let id = server.store.new_id(&Default::default(), None);
        let mut submit = Submit::new(id);
        submit.input = Payload::bytes(bytes.clone());
        server.store.submit(vec![submit]).await.unwrap().remove(0).unwrap();
        let page = page(&server, &format!("/executions/{id}")).await;
        assert!(page.text().contains(&shown) && page.body.len() < 64 << 10, "{}", page.body.len());
        assert!(page.text().contains("1.0 MiB"));
        let file = ask(server.address, get(&format!("/executions/{id}/input"))).await;
        assert_eq!((file.status, &file.body), (200, &bytes));
        assert_eq!(file.header("content-type"), Some("application/octet-stream"));
        assert_eq!(file.header("content-disposition"), Some("attachment"));
        assert!(file.header("content-security-policy").unwrap().contains("sandbox"));
    }
}

#[tokio::test]
async fn an_execution_is_shown_with_why_it_is_where_it_is() {
    let server = Fixture::start().await;
    let held = server.held().await;
    let id = held.execution;
    let path = format!("/executions/{id}");
    let active = page(&server, &path).await;
    for words in ["active", "ada-1", "Revoke lease", "Timeline", "class=\"timeline\""] {
        assert!(active.text().contains(words), "{words}");
    }
    let result = Payload::json(r#"{"total": 3}"#);
    let complete = Complete { hold: LeaseRef { target: target(id), fence: held.fence }, result };
    server.store.complete(vec![complete]).await.unwrap().remove(0).unwrap();
    let done = page(&server, &path).await;
    for words in ["completed", "Replay", "Delete", "{\n  &quot;total&quot;: 3\n}"] {
        assert!(done.text().contains(words), "{words}");
    }
    assert!(!done.text().contains("Cancel this execution"));
    let other = page(&server, &format!("{path}?namespace=other")).await;
    assert_eq!(other.status, 404);
    assert!(other.text().contains("<h2>not found</h2>"), "{}", other.text());
}

#[tokio::test]
async fn a_form_cancels_replays_and_removes_an_execution() {
    act_on_an_execution(&Fixture::start().await).await;
}

pub(super) async fn act_on_an_execution(server: &Fixture) {
    let id = server.submitted().await;
    let (path, to) = (format!("/executions/{id}"), format!("/executions/{id}/act"));
    let answer = submit_form(server, &path, &to, "action=cancel&reason=not+needed").await;
    assert_eq!(
        (answer.status, answer.header("location")),
        (303, Some(&*format!("{path}?note=cancelled")))
    );
    assert_eq!(state(server, id).await, PublicState::Cancelled);
    let shown = page(server, &format!("{path}?note=cancelled")).await;
    assert!(shown.text().contains("not needed") && shown.text().contains("is cancelled;"));
    let answer = submit_form(server, &path, &to, "action=replay&run=0").await;
    assert_eq!(answer.status, 303);
    assert_eq!(state(server, id).await, PublicState::Waiting);
    // The same form again changes nothing; one about a run that is not the last is refused, and says why.
    assert_eq!(submit_form(server, &path, &to, "action=replay&run=0").await.status, 303);
    let answer = submit_form(server, &path, &to, "action=replay&run=7").await;
    assert_eq!(answer.status, 409, "{}", answer.text());
    assert_eq!(server.described(id).await.run.number, 1);
    submit_form(server, &path, &to, "action=cancel").await;
    let answer = submit_form(server, &path, &to, "action=delete").await;
    assert_eq!(answer.header("location"), Some("/executions?note=deleted"));
    assert_eq!(page(server, &path).await.status, 404);
}

#[tokio::test]
async fn a_lease_is_revoked_and_a_suspension_is_ended() {
    let server = Fixture::start().await;
    let held = server.held().await;
    let path = format!("/executions/{}", held.execution);
    let lease = encoded(&held.fence.lease.to_string());
    let form = format!("action=revoke&lease={lease}");
    assert_eq!(submit_form(&server, &path, &format!("{path}/act"), &form).await.status, 303);
    assert_eq!(state(&server, held.execution).await, PublicState::Resumable);
    let other = Fixture::start().await;
    let id = asking(&other, "ok?", 1).await;
    let path = format!("/executions/{id}");
    let answer = submit_form(&other, &path, &format!("{path}/act"), "action=resume").await;
    assert_eq!(answer.status, 303);
    assert_eq!(state(&other, id).await, PublicState::Resumable);
}

#[tokio::test]
async fn a_decision_in_the_inbox_counts_once() {
    let server = Fixture::start().await;
    let id = asking(&server, "Deploy 2.0?", 1).await;
    let inbox = page(&server, "/approvals").await;
    assert!(inbox.text().contains("Deploy 2.0?") && inbox.text().contains(&id.to_string()));
    let to = format!("/executions/{id}/decide");
    let answer =
        submit_form(&server, "/approvals", &to, "decision=approve&comment=go&from=inbox").await;
    assert_eq!(answer.header("location"), Some("/approvals?note=approved"));
    let signals = server.store.signals(&target(id), 0, 10).await.unwrap();
    assert_eq!(signals[0].source.as_str(), "local");
    assert_eq!(&*signals[0].payload.bytes, br#"{"approved":true,"comment":"go"}"#);
    let again = submit_form(&server, "/executions", &to, "decision=reject").await;
    assert_eq!(again.status, 400, "{}", again.text());
}

#[tokio::test]
async fn lanes_are_paused_drained_and_limited() {
    let server = Fixture::start().await;
    server.submitted().await;
    for (form, words) in [
        ("action=pause&reason=maintenance", ["paused", "maintenance"]),
        ("action=resume", ["Pause", "Drain"]),
        ("action=drain", ["draining", "Accept submits"]),
        ("action=open", ["Pause", "Drain"]),
        ("action=limit&limit=3", ["of 3", "Remove the limit"]),
    ] {
        let answer = submit_form(&server, "/lanes", "/lanes/default", form).await;
        assert_eq!(answer.header("location"), Some("/lanes?note=lane_changed"), "{form}");
        let page = page(&server, "/lanes").await;
        assert!(words.iter().all(|words| page.text().contains(words)), "{form}: {}", page.text());
    }
    let answer = submit_form(&server, "/lanes", "/lanes/default", "action=unlimit").await;
    assert_eq!(answer.status, 303);
    for (form, status) in
        [("action=limit&limit=x", 400), ("action=limit&limit=0", 400), ("action=nothing", 400)]
    {
        assert_eq!(submit_form(&server, "/lanes", "/lanes/default", form).await.status, status);
    }
}

#[tokio::test]
async fn a_filter_is_cancelled_after_a_count_and_says_how_far_it_is() {
    let server = Fixture::start().await;
    for _ in 0..120 {
        server.submitted().await;
    }
    let list = "/executions?lane=default&state=waiting";
    let first = page(&server, list).await;
    assert_eq!(first.text().matches("<tr data-id=").count(), 50);
    assert!(first.text().contains("rel=\"next\""));
    let form = "action=cancel&scope=filter&filter=state%3Dwaiting%26lane%3Ddefault";
    let asked = submit_form(&server, list, "/bulk", form).await;
    assert!(asked.text().contains("Cancel 120 executions?"), "{}", asked.text());
    let waiting = server.described(server.submitted().await).await.public_state();
    assert_eq!(waiting, PublicState::Waiting, "nothing was cancelled by the question");
    let started = submit_form(&server, list, "/bulk/start", form).await;
    let job = started.header("location").unwrap().to_owned();
    assert!(job.starts_with("/jobs/"), "{job}");
    let done = within(async {
        loop {
            let page = page(&server, &job).await;
            if page.text().contains("<h2>Done</h2>") {
                break page;
            }
        }
    })
    .await;
    assert!(done.text().contains("<strong>121</strong> cancelled"), "{}", done.text());
    assert_eq!(page(&server, "/jobs/x").await.status, 404);
    let all =
        submit_form(&server, "/executions", "/bulk", "action=delete&scope=filter&filter=").await;
    assert_eq!(all.status, 400, "a filter that matches everything is refused");
}

#[tokio::test]
async fn a_selection_is_removed_and_refusals_are_named() {
    let server = Fixture::start().await;
    let (one, two) = (server.submitted().await, server.submitted().await);
    let form = format!("action=delete&scope=selected&filter=&id={one}&id={two}");
    let asked = submit_form(&server, "/executions", "/bulk", &form).await;
    assert!(asked.text().contains("Delete 2 executions?"), "{}", asked.text());
    let to = format!("/executions/{one}/act");
    submit_form(&server, "/executions", &to, "action=cancel").await;
    let started = submit_form(&server, "/executions", "/bulk/start", &form).await;
    let job = started.header("location").unwrap().to_owned();
    let done = within(async {
        loop {
            let page = page(&server, &job).await;
            if page.text().contains("<h2>Done</h2>") {
                break page;
            }
        }
    })
    .await;
    assert!(done.text().contains("<strong>1</strong> deleted"), "{}", done.text());
    assert!(
        done.text().contains("<strong>1</strong> refused")
            && done.text().contains(&two.to_string())
    );
    for bad in ["action=delete&scope=selected", "action=forget&id=x", "action=cancel&id=x"] {
        assert_eq!(submit_form(&server, "/executions", "/bulk", bad).await.status, 400, "{bad}");
    }
}

#[tokio::test]
async fn a_page_of_many_attempts_shows_the_newest_and_pages_back() {
    let server = Fixture::start().await;
    let id = many_attempts(&server, 180).await;
    let newest = page(&server, &format!("/executions/{id}")).await;
    let html = newest.text();
    assert!(html.contains("attempts 130 to 179 of 180") && newest.body.len() < 128 << 10);
    assert_eq!(html.matches("<th scope=\"row\" class=\"n\">").count(), 50);
    let older = page(&server, &format!("/executions/{id}?attempts=80&entries=0")).await;
    assert!(older.text().contains("attempts 80 to 129 of 180") && older.text().contains(">Newer<"));
    for bad in ["attempts=x", "attempts=-1", "entries=x"] {
        assert_eq!(page(&server, &format!("/executions/{id}?{bad}")).await.status, 400);
    }
}

/// An execution that was tried so often and failed each time.
async fn many_attempts(server: &Fixture, count: u32) -> ExecutionId {
    let id = server.store.new_id(&Default::default(), None);
    let mut submit = Submit::new(id);
    submit.policy.max_attempts = Some(1_000);
    submit.policy.backoff = ff_core::policy::Backoff::none().into();
    server.store.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    for _ in 0..count {
        server.clock.advance(Millis::from_secs(1));
        let claimed = server.store.claim(claim(), Millis::ZERO).await.unwrap();
        let held = &claimed.assignments[0];
        let failure =
            Failure { category: Category::error(), retryable: true, message: "again".into() };
        let fail = Fail { hold: held.hold(), failure };
        server.store.fail(fail).await.unwrap();
    }
    id
}

#[tokio::test]
async fn changes_arrive_without_a_reload() {
    follow_changes(&Fixture::start().await).await;
}

pub(super) async fn follow_changes(server: &Fixture) {
    server.submitted().await;
    let mut wire = Wire::open(server.address).await;
    wire.send(get("/live?page=%2Fexecutions%3Fstate%3Dwaiting")).await;
    let head = wire.until("data: ").await;
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("text/event-stream"), "{head}");
    let id = server.submitted().await;
    let change = wire.until(&id.to_string()).await;
    assert!(change.contains("event: part") && change.contains("\"id\":\"rows\""), "{change}");
    // A page that nobody may see, or that is none, is not followed.
    for (page, status) in [("%2Fnowhere", 404), ("%2Fexecutions%3Fstate%3Dx", 400), ("", 400)] {
        let answer = ask(server.address, get(&format!("/live?page={page}"))).await;
        assert_eq!(answer.status, status, "{page}");
    }
    let wrong = ask(server.address, post("/live", "{}")).await;
    assert_eq!(wrong.status, 405);
}

#[tokio::test]
async fn a_viewer_does_not_keep_the_server_from_stopping() {
    let mut server = Fixture::start().await;
    let mut wire = Wire::open(server.address).await;
    wire.send(get("/live?page=%2F")).await;
    wire.until("data: ").await;
    server.shutdown.cancel();
    within(server.running.take().unwrap()).await.unwrap();
}

#[tokio::test]
async fn what_never_changes_is_kept_by_browsers() {
    let server = Fixture::start().await;
    let page = page(&server, "/").await;
    let names: Vec<_> = page
        .text()
        .split("\"/assets/")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert!(names.len() >= 3, "{names:?}");
    for name in names {
        let asset = ask(server.address, get(&format!("/assets/{name}"))).await;
        assert_eq!(asset.status, 200);
        assert!(asset.header("cache-control").unwrap().contains("immutable"), "{name}");
    }
    ask(server.address, get("/assets/0123.css")).await.problem(404, "no_such_route");
}

pub(super) fn encoded(text: &str) -> String {
    text.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D")
}
