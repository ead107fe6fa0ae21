//! The page of events: what happens as it happens, who did it, and where it is sent.

use ff_core::credential::Role;
use ff_core::event::EventName;
use ff_core::machine::{Cancel, Submit};
use ff_core::webhook::{DeadLetter, DeliveryReport, WebhookTarget};
use ff_core::{ExecutionId, Millis, Namespace, ResourceKey, ResourceKind, ResourceName, Source};
use ff_store::events::{EventsRequest, FeedUpdate, StartAt};
use ff_store::webhooks::{WebhookUpdate, mint_secret};
use ff_store::{
    ClientBackend, Clock, DeliveryBackend, EventsBackend, Store, SystemClock, WebhooksBackend,
};
use serde_json::json;

use super::browse::{Window, browse, picture};
use super::dashboard::{HOSTILE, page, proof, submit_form};
use super::dashboard_access::{logged_in, page_as, post_as};
use crate::fixture::{Fixture, TOKEN, target};
use crate::tokens::guarded;

const WIDE: Window = Window { width: 1280, dark: false, script: true };

async fn feed_on(server: &Fixture) {
    let update = FeedUpdate { on: Some(true), ..FeedUpdate::default() };
    server.store.set_feed(update).await.unwrap();
}

async fn submitted_to(server: &Fixture, lane: &str, kind: &str) -> ExecutionId {
    let mut submit = Submit::new(server.store.new_id(&Namespace::default(), None));
    (submit.lane, submit.kind) = (lane.parse().unwrap(), kind.parse().unwrap());
    server.store.submit(vec![submit]).await.unwrap().remove(0).unwrap().execution
}

async fn cancelled(server: &Fixture, id: ExecutionId) {
    let cancel = Cancel { target: target(id), grace: None, reason: None };
    server.store.cancel(cancel).await.unwrap();
}

/// A webhook that fails with `why`, and has given up what happened last.
async fn failing_webhook(server: &Fixture, why: &str) {
    let (namespace, name) = (Namespace::default(), ResourceName::new("hook").unwrap());
    let update = WebhookUpdate {
        namespace: namespace.clone(),
        name: name.clone(),
        target: WebhookTarget {
            url: "https://1.1.1.1/secret-path".parse().unwrap(),
            names: [EventName::Completed, EventName::Failed].into(),
            lane: Some("letters".parse().unwrap()),
            kind: None,
        },
        secret: Some(mint_secret().unwrap()),
        grace: Millis::ZERO,
    };
    server.store.set_webhook(update).await.unwrap();
    let key = ResourceKey::at_home(ResourceKind::Webhook, &namespace, &name, 1);
    let made = server.store.store().resource(&key).await.unwrap().unwrap();
    let latest = EventsRequest {
        namespace,
        from: StartAt::Latest,
        filter: Default::default(),
        limit: 1,
        wait: Millis::ZERO,
    };
    let event = server.store.events(latest).await.unwrap().events.remove(0);
    let letter = DeadLetter {
        event: event.id,
        name: EventName::Failed,
        at: event.at,
        tries: 12,
        why: why.into(),
    };
    let report = DeliveryReport {
        cursor: Some("later".into()),
        delivered: 3,
        letters: vec![letter],
        failing: Some((4, why.into())),
        ..DeliveryReport::default()
    };
    let turn = made.as_webhook().unwrap().turn;
    server.store.report_delivery(&key, turn, report).await.unwrap();
}

#[tokio::test]
async fn a_look_at_the_page_switches_no_feed_on() {
    let server = Fixture::start().await;
    server.submitted().await;
    let shown = page(&server, "/events").await;
    assert!(shown.text().contains("are not logged") && shown.text().contains("Switch the feed on"));
    assert!(!server.store.feed(&Namespace::default()).await.unwrap().on);
    let on = submit_form(&server, "/events", "/events/feed", "action=on").await;
    assert_eq!((on.status, on.header("location")), (303, Some("/events?note=feed_on")));
    let feed = server.store.feed(&Namespace::default()).await.unwrap();
    assert!(feed.on && feed.pinned);
    assert!(page(&server, "/events").await.text().contains("Nothing has happened since"));
    let wrong = submit_form(&server, "/events", "/events/feed", "action=maybe").await;
    assert_eq!(wrong.status, 400);
    let off = submit_form(&server, "/events", "/events/feed", "action=off").await;
    assert_eq!(off.header("location"), Some("/events?note=feed_off"));
    assert!(!server.store.feed(&Namespace::default()).await.unwrap().on);
}

#[tokio::test]
async fn events_come_newest_first_with_who_did_them_and_by_every_filter() {
    let server = Fixture::start().await;
    feed_on(&server).await;
    let first = submitted_to(&server, "letters", "post").await;
    submitted_to(&server, "parcels", "carry").await;
    cancelled(&server, first).await;
    let rows = async |path: &str| -> Vec<String> {
        let shown = page(&server, path).await;
        assert_eq!(shown.status, 200, "{path}");
        let rows = shown.text().split("<tr data-id=").skip(1);
        rows.map(|row| row.split("</tr>").next().unwrap().to_owned()).collect()
    };
    let all = rows("/events").await;
    let words = ["cancelled", "submitted", "submitted"];
    for (row, word) in all.iter().zip(words) {
        assert!(row.contains(&format!(">{word}</span>")), "{row}");
    }
    assert_eq!(all.len(), 3);
    assert!(all[0].contains("<b>local</b>") && !all[1].contains("<b>"), "{all:?}");
    let only = format!("/events?execution={first}");
    for (path, count) in [
        ("/events?event=cancelled", 1),
        ("/events?lane=letters", 2),
        ("/events?kind=carry", 1),
        (only.as_str(), 2),
        ("/events?lane=parcels&event=cancelled", 0),
    ] {
        assert_eq!(rows(path).await.len(), count, "{path}");
    }
    let none = page(&server, "/events?event=failed").await;
    assert!(none.text().contains("matches the filter"), "{}", none.text());
    for wrong in ["/events?event=exploded", "/events?execution=1", "/events?lane=a%20b"] {
        let refused = page(&server, wrong).await;
        assert_eq!((refused.status, refused.text().contains("<main")), (400, true), "{wrong}");
    }
}

#[tokio::test]
async fn who_sends_a_signal_is_shown_as_text() {
    let server = Fixture::start().await;
    feed_on(&server).await;
    let id = super::approve::asking(&server, "may it?", 1).await;
    let value: String = HOSTILE.chars().filter(|one| !one.is_control()).collect();
    let waitpoints = ff_store::SignalBackend::waitpoints(&server.store, &target(id)).await.unwrap();
    let signal = ff_core::machine::Signal {
        target: target(id),
        waitpoint: ff_core::machine::WaitpointRef::ByKey(waitpoints[0].key.clone()),
        key: None,
        name: None,
        category: None,
        source: Source::new(value.as_str()).unwrap(),
        payload: ff_core::Payload::bytes(""),
    };
    ff_store::SignalBackend::signal(&server.store, signal).await.unwrap();
    let shown = page(&server, "/events").await;
    assert!(!shown.text().contains("<script>alert"), "{}", shown.text());
    assert!(shown.text().contains("&lt;script&gt;"), "{}", shown.text());
}

#[tokio::test]
async fn webhooks_are_shown_to_operators_with_what_they_gave_up() {
    let server = guarded().await;
    feed_on(&server).await;
    server.submitted().await;
    failing_webhook(&server, &format!("it answered 500 {HOSTILE}")).await;
    for (role, sees) in [(Role::Reader, false), (Role::Producer, false), (Role::Operator, true)] {
        let token = server.issued(role.as_str(), role, &["default"]).await;
        let cookie = logged_in(&server, &token).await;
        let shown = page_as(&server, &cookie, "/events").await;
        let html = shown.text();
        assert_eq!(shown.status, 200, "{role}");
        for text in ["secret-path", "failed in lane letters", "it answered 500", "tried 4 times"] {
            assert_eq!(html.contains(text), sees, "{role} {text}: {html}");
        }
        assert!(!html.contains("<script>alert") && !html.contains("whsec_"), "{html}");
        assert!(html.contains("submitted"), "every role reads events");
        assert_eq!(html.contains("Switch off"), sees, "{role}");
        let form = format!("proof={}&action=off", proof(&shown));
        let answer = post_as(&server, &cookie, "/events/feed", &form).await;
        assert_eq!(answer.status, if sees { 303 } else { 403 }, "{role}");
    }
    let root = logged_in(&server, TOKEN).await;
    assert!(page_as(&server, &root, "/events").await.text().contains("Given up last"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_feed_is_switched_on_and_followed_in_a_browser() {
    let server = Fixture::start().await;
    let own = format!("http://{}", server.address);
    let submit = |lane: &str| {
        let body = json!({"kind": "newcomer", "lane": lane}).to_string();
        json!({"send": [format!("{own}/v1/executions"), "POST", body]})
    };
    let steps = json!([
        {"see": [".pulse", "live"]},
        {"see": ["#feed", "are not logged"]},
        {"shot": picture("dash-events-off.png")},
        {"tap": ".confirm-feed summary"},
        {"see": [".confirm-feed form", "every change is logged"]},
        {"click": ".confirm-feed button"},
        {"see": [".note", "The feed is on"]},
        {"see": ["#events", "Nothing has happened"]},
        {"see": [".pulse", "live"]},
        submit("mine"),
        {"see": ["#events tr[data-id] .badge", "submitted"]},
        {"see": ["#events tr[data-id]", "newcomer"]},
        {"shot": picture("dash-events-live.png")},
        {"goto": format!("{own}/events?lane=other")},
        {"see": [".pulse", "live"]},
        {"see": ["#events", "No event that is kept matches"]},
        submit("other"),
        {"see": ["#events tr[data-id]", "other"]},
        {"is": "document.querySelectorAll('#events tr[data-id]').length === 1"},
        {"tap": "h1"},
        {"press": "g"},
        {"press": "v"},
        {"see": ["h1", "Events"]},
    ]);
    let seen = browse(&server, "/events", WIDE, steps, None, &[]).await;
    assert_eq!(seen["sent"], json!([201, 201]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_read_without_scripts_and_on_a_phone() {
    let server = Fixture::start().await;
    server.clock.set(SystemClock.now() - Millis::from_secs(45));
    feed_on(&server).await;
    for _ in 0..4 {
        server.held().await;
        cancelled(&server, submitted_to(&server, "letters", "post").await).await;
        server.clock.advance(Millis::from_secs(9));
    }
    failing_webhook(&server, "it answered 500 Internal Server Error").await;
    let steps = json!([
        {"shot": picture("dash-events-plain.png")},
        {"fill": ["input[name=lane]", "letters"]},
        {"click": ".filter button"},
    ]);
    let window = Window { script: false, ..WIDE };
    let seen = browse(&server, "/events", window, steps, None, &[]).await;
    let html = seen["html"].as_str().unwrap();
    assert!(html.contains("cancelled") && !html.contains("badge live"), "{html}");
    for (dark, name) in [(false, "light"), (true, "dark")] {
        let window = Window { width: 390, dark, script: true };
        let shot = picture(&format!("dash-webhooks-390-{name}.png"));
        let steps = json!([{"see": ["#webhooks", "it answered 500"]}, {"shot": shot}]);
        browse(&server, "/events", window, steps, None, &[]).await;
    }
}
