//! Webhooks as a store keeps them: a cursor that moves with what was delivered, and one turn at a time.

use std::collections::BTreeSet;

use ff_core::bounds::{WEBHOOK_LETTERS, WEBHOOK_SECRETS, WEBHOOK_TURN, WEBHOOKS};
use ff_core::event::{EventId, EventName};
use ff_core::machine::{Reply, ReportDelivery, ResourceTicked, SetWebhook, TickResource};
use ff_core::record::Version;
use ff_core::webhook::{DeadLetter, DeliveryReport, SigningSecret, Webhook, WebhookTarget};
use ff_core::{Code, Millis, ResourceKey, ResourceKind, ResourceName, Time};
use ff_store::webhooks::WebhookUpdate;

use crate::fixture::{Fixture, Refused};

fn key(g: &Fixture, name: &str) -> ResourceKey {
    let name = ResourceName::new(name).unwrap();
    ResourceKey::at_home(ResourceKind::Webhook, &g.namespace, &name, g.backend().partitions())
}

fn target(url: &str) -> WebhookTarget {
    let names = BTreeSet::from([EventName::Completed]);
    WebhookTarget { url: url.parse().unwrap(), names, lane: None, kind: None }
}

fn secret(byte: u8) -> SigningSecret {
    SigningSecret::new([byte; 32]).unwrap()
}

fn setting(g: &Fixture, byte: u8) -> SetWebhook {
    SetWebhook {
        key: key(g, "a"),
        target: target("https://192.0.2.1/"),
        secret: Some(secret(byte)),
        grace: Millis::from_secs(60),
        cursor: "start".into(),
    }
}

async fn set(g: &Fixture, set: SetWebhook) -> Webhook {
    match g.run(set).await.unwrap() {
        Reply::Webhook(webhook) => *webhook,
        other => panic!("{other:?}"),
    }
}

async fn tick(g: &Fixture) -> Option<Webhook> {
    match g.run(TickResource { key: key(g, "a") }).await.unwrap() {
        Reply::ResourceTicked(ResourceTicked::Deliver(webhook)) => Some(*webhook),
        Reply::ResourceTicked(ResourceTicked::Nothing) => None,
        other => panic!("{other:?}"),
    }
}

async fn report(g: &Fixture, turn: u64, report: DeliveryReport) -> Webhook {
    match g.run(ReportDelivery { key: key(g, "a"), turn, report }).await.unwrap() {
        Reply::Webhook(webhook) => *webhook,
        other => panic!("{other:?}"),
    }
}

fn moved(cursor: &str, delivered: u64) -> DeliveryReport {
    DeliveryReport { cursor: Some(cursor.into()), delivered, ..DeliveryReport::default() }
}

pub(crate) async fn one_turn_of_a_webhook_delivers_at_a_time(g: Fixture) {
    set(&g, setting(&g, 1)).await;
    let first = tick(&g).await.unwrap();
    assert_eq!(tick(&g).await, None, "its turn lasts");
    g.advance(Millis::new(WEBHOOK_TURN.get() - 1)).await;
    assert_eq!(report(&g, first.turn, DeliveryReport::default()).await.turn, first.turn);
    g.advance(Millis::new(WEBHOOK_TURN.get() - 1)).await;
    assert_eq!(tick(&g).await, None, "one that says that it is alive keeps its turn");
    g.advance(Millis::new(1)).await;
    let second = tick(&g).await.unwrap();
    assert!(second.turn > first.turn);
    let before = g.snapshot().await;
    let said = report(&g, first.turn, moved("late", 7)).await;
    assert_eq!((said.turn, &*said.cursor), (second.turn, "start"));
    g.snapshot().await.assert_same(&before);
    report(&g, second.turn, DeliveryReport { leaves: true, ..DeliveryReport::default() }).await;
    assert!(tick(&g).await.is_some(), "one that leaves is followed at once");
}

pub(crate) async fn a_webhook_moves_with_what_was_delivered_and_counts_it_once(g: Fixture) {
    set(&g, setting(&g, 1)).await;
    let turn = tick(&g).await.unwrap().turn;
    for _ in 0..2 {
        let now = report(&g, turn, moved("one", 3)).await;
        assert_eq!((&*now.cursor, now.tally.delivered), ("one", 3), "repeated, it counts once");
    }
    let failing = DeliveryReport { failing: Some((2, "no".into())), ..DeliveryReport::default() };
    let now = report(&g, turn, failing).await;
    assert_eq!((now.failing.unwrap().tries, &*now.cursor), (2, "one"));
    let letter = |number: u64| DeadLetter {
        event: EventId { execution: g.new_id(), version: Version::from_stored(number) },
        name: EventName::Failed,
        at: Time::EPOCH,
        tries: 9,
        why: "gone".into(),
    };
    for number in 0..WEBHOOK_LETTERS as u64 + 3 {
        let cursor = format!("letter {number}");
        let dead = DeliveryReport { letters: vec![letter(number)], ..moved(&cursor, 0) };
        report(&g, turn, dead).await;
    }
    let found = g.backend().webhook(&g.namespace, &ResourceName::new("a").unwrap()).await.unwrap();
    let webhook = found.webhook;
    assert_eq!(webhook.tally.dead, WEBHOOK_LETTERS as u64 + 3, "all are counted");
    assert_eq!(webhook.letters.len(), WEBHOOK_LETTERS, "and the newest are kept");
    assert_eq!(webhook.letters[0].event.version, Version::from_stored(3));
    assert_eq!((webhook.failing, webhook.secrets), (None, Vec::new()), "secrets are not shown");
}

pub(crate) async fn a_webhook_that_is_changed_continues_where_it_was(g: Fixture) {
    let missing = SetWebhook { secret: None, ..setting(&g, 1) };
    assert_eq!(g.run(missing).await.refused(), Code::InvalidArgument, "a new one needs a secret");
    set(&g, setting(&g, 1)).await;
    let turn = tick(&g).await.unwrap().turn;
    report(&g, turn, moved("one", 1)).await;
    let before = g.snapshot().await;
    set(&g, SetWebhook { cursor: "elsewhere".into(), ..setting(&g, 1) }).await;
    g.snapshot().await.assert_same(&before);
    let target = target("https://192.0.2.2/");
    let changed = SetWebhook { target, secret: None, cursor: "elsewhere".into(), ..setting(&g, 1) };
    let now = set(&g, changed).await;
    assert_eq!((&*now.cursor, now.tally.delivered), ("one", 1));
    assert!(report(&g, turn, moved("two", 1)).await.turn > turn, "who delivers must begin again");
    let next = tick(&g).await.unwrap();
    assert_eq!((&*next.cursor, next.target.url.as_str()), ("one", "https://192.0.2.2/"));
}

pub(crate) async fn a_replaced_secret_of_a_webhook_signs_for_its_grace(g: Fixture) {
    set(&g, setting(&g, 1)).await;
    let now = set(&g, setting(&g, 2)).await;
    let signs = |webhook: &Webhook, now: Time| -> Vec<u8> {
        webhook.signing(now).map(|secret| secret.reveal()[0]).collect()
    };
    assert_eq!(signs(&now, g.now().await), [1, 2]);
    set(&g, setting(&g, 3)).await;
    assert_eq!(signs(&set(&g, setting(&g, 4)).await, g.now().await), [1, 2, 3, 4]);
    assert_eq!(WEBHOOK_SECRETS, 4);
    assert_eq!(g.run(setting(&g, 5)).await.refused(), Code::LimitReached);
    g.advance(Millis::from_secs(60)).await;
    let now = set(&g, setting(&g, 5)).await;
    assert_eq!(signs(&now, g.now().await), [4, 5], "the current one has no end");
}

pub(crate) async fn webhooks_are_few_and_each_of_its_namespace(g: Fixture) {
    let update = |name: String| WebhookUpdate {
        namespace: g.namespace.clone(),
        name: ResourceName::new(name).unwrap(),
        target: target("https://1.1.1.1/"),
        secret: Some(secret(1)),
        grace: Millis::ZERO,
    };
    for number in 0..WEBHOOKS {
        g.backend().set_webhook(update(format!("w{number:02}"))).await.unwrap();
    }
    let more = g.backend().set_webhook(update("x".to_owned())).await;
    assert_eq!(more.refused(), Code::LimitReached);
    g.backend().set_webhook(update("w00".to_owned())).await.unwrap();
    let elsewhere = g.elsewhere();
    assert_eq!(g.backend().webhooks(&elsewhere.namespace).await.unwrap(), []);
    let name = ResourceName::new("w00").unwrap();
    let other = g.backend().delete_webhook(&elsewhere.namespace, &name).await;
    assert_eq!(other.refused(), Code::NotFound);
    g.backend().delete_webhook(&g.namespace, &name).await.unwrap();
    assert_eq!(g.backend().webhook(&g.namespace, &name).await.refused(), Code::NotFound);
    let found = g.backend().webhooks(&g.namespace).await.unwrap();
    assert_eq!(found.len(), WEBHOOKS - 1);
    let private = WebhookUpdate { target: target("https://127.0.0.1/"), ..update("y".to_owned()) };
    assert_eq!(g.backend().set_webhook(private).await.refused(), Code::TargetRefused);
}
