//! Webhooks, delivered to a target on loopback by whole processes of services.

mod bad_targets;
mod processes;
mod receiver;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ff_backend_memory::MemoryStore;
use ff_core::event::EventName;
use ff_core::machine::Submit;
use ff_core::webhook::{SigningSecret, Webhook, WebhookTarget};
use ff_core::{ExecutionId, Lane, Millis, Namespace, ResourceName};
use ff_engine::services::Services;
use ff_engine::supervisor::Supervisor;
use ff_engine::webhooks::{DeliveryOptions, Trust};
use ff_store::roles::Engine;
use ff_store::webhooks::{Reach, WebhookUpdate};
use ff_store::{EngineBackend, Store};
use ff_testkit::{Forward, Forwarding, ManualClock, wait};
use receiver::{Answer, Receiver};

/// A store, and the roles of one process on it.
struct Fixture {
    store: Arc<MemoryStore>,
    clock: ManualClock,
    backend: Arc<dyn EngineBackend>,
}

/// The way of one process to the store.
struct Way(Arc<MemoryStore>);

impl Forward for Way {
    fn beneath(&self) -> &dyn Store {
        &*self.0
    }
}

/// Quick enough for a test; nothing waits for a pause that is not asked for.
fn quick() -> DeliveryOptions {
    DeliveryOptions {
        tries: 3,
        first_pause: Duration::from_millis(1),
        longest_pause: Duration::from_millis(5),
        timeout: Duration::from_secs(30),
        keep: Duration::from_millis(200),
        trust: Trust::default(),
    }
}

impl Fixture {
    fn new() -> Fixture {
        let clock = ManualClock::default();
        Fixture::on(Arc::new(MemoryStore::serial(Arc::new(clock.clone()))), clock)
    }

    fn on(store: Arc<MemoryStore>, clock: ManualClock) -> Fixture {
        let backend = Engine::new(Forwarding(Way(store.clone()))).erased();
        backend.set_reach(Reach::Private);
        Fixture { store, clock, backend }
    }

    /// Another process on the same store.
    fn another(&self) -> Fixture {
        Fixture::on(self.store.clone(), self.clock.clone())
    }

    fn start(&self, options: DeliveryOptions) -> Supervisor {
        let mut services = Services::new(self.backend.clone());
        services.deliveries = options;
        services.start()
    }

    async fn set(&self, name: &str, url: String, secret: u8) {
        self.set_target(name, target(url), Some(secret)).await;
    }

    async fn set_target(&self, name: &str, target: WebhookTarget, secret: Option<u8>) {
        let update = WebhookUpdate {
            namespace: Namespace::default(),
            name: named(name),
            target,
            secret: secret.map(secret_of),
            grace: Millis::from_hours(1),
        };
        self.backend.set_webhook(update).await.unwrap();
    }

    async fn submitted(&self) -> ExecutionId {
        let id = self.backend.new_id(&Namespace::default(), None);
        self.backend.submit(vec![Submit::new(id)]).await.unwrap().remove(0).unwrap();
        id
    }

    async fn webhook(&self, name: &str) -> Webhook {
        self.backend.webhook(&Namespace::default(), &named(name)).await.unwrap().webhook
    }

    /// Waits until the webhook is as it should be.
    async fn until(&self, name: &str, right: impl Fn(&Webhook) -> bool) -> Webhook {
        let now = async || Some(self.webhook(name).await).filter(&right);
        wait::until_async(receiver::LIMIT, now).await.unwrap()
    }
}

fn named(name: &str) -> ResourceName {
    ResourceName::new(name).unwrap()
}

fn secret_of(byte: u8) -> SigningSecret {
    SigningSecret::new([byte; 32]).unwrap()
}

/// Every submit.
fn target(url: String) -> WebhookTarget {
    WebhookTarget {
        url: url.parse().unwrap(),
        names: BTreeSet::from([EventName::Submitted]),
        lane: None,
        kind: None,
    }
}

#[tokio::test]
async fn an_event_is_sent_signed_with_all_that_it_says() {
    let (fixture, mut receiver) =
        (Fixture::new(), Receiver::start(|_| Answer::Status(204, "")).await);
    fixture.submitted().await;
    fixture.set("a", receiver.url(), 1).await;
    let running = fixture.start(quick());
    let id = fixture.submitted().await;
    let got = receiver.next().await;
    assert_eq!(got.line, "POST /hook?a=b HTTP/1.1");
    assert_eq!(got.headers["content-type"], "application/json");
    assert_eq!(got.headers["host"], receiver.address.to_string());
    assert_eq!(got.signatures(&secret_of(1)), (1, true));
    assert_eq!(got.signatures(&secret_of(2)), (1, false));
    let event = got.json();
    assert_eq!(
        (&event["event"], &event["execution"]),
        (&"submitted".into(), &id.to_string().into())
    );
    assert_eq!(event["id"], got.id());
    let webhook = fixture.until("a", |webhook| webhook.tally.delivered == 1).await;
    assert!(webhook.failing.is_none() && webhook.tally.dead == 0 && webhook.tally.gaps == 0);
    assert!(webhook.secrets.is_empty(), "secrets are not shown");
    running.stop().await;
    assert!(receiver.come().is_empty(), "what happened before is not sent");
}

#[tokio::test]
async fn only_what_is_wanted_is_sent_and_nothing_once_it_is_removed() {
    let (fixture, mut receiver) =
        (Fixture::new(), Receiver::start(|_| Answer::Status(200, "")).await);
    let other = WebhookTarget { lane: Some(Lane::new("other").unwrap()), ..target(receiver.url()) };
    fixture.set_target("a", other, Some(1)).await;
    let running = fixture.start(quick());
    fixture.submitted().await;
    fixture.set("a", receiver.url(), 1).await;
    let id = fixture.submitted().await;
    let got = receiver.next().await;
    // The first one was not of its lane when it was passed; or it is sent now, before the second.
    let first = got.json()["execution"] != id.to_string();
    if first {
        assert_eq!(receiver.next().await.json()["execution"], id.to_string());
    }
    fixture.backend.delete_webhook(&Namespace::default(), &named("a")).await.unwrap();
    fixture.submitted().await;
    // One that is made later gets what is later, and the removed one nothing in between.
    fixture.set("b", receiver.url(), 1).await;
    let last = fixture.submitted().await;
    assert_eq!(receiver.next().await.json()["execution"], last.to_string());
    running.stop().await;
}

#[tokio::test]
async fn a_secret_that_is_replaced_signs_too_for_a_while() {
    let (fixture, mut receiver) =
        (Fixture::new(), Receiver::start(|_| Answer::Status(200, "")).await);
    fixture.set("a", receiver.url(), 1).await;
    fixture.set("a", receiver.url(), 2).await;
    // The same again changes nothing.
    fixture.set("a", receiver.url(), 2).await;
    let running = fixture.start(quick());
    fixture.submitted().await;
    let got = receiver.next().await;
    assert_eq!(got.signatures(&secret_of(1)), (2, true));
    assert_eq!(got.signatures(&secret_of(2)), (2, true));
    running.stop().await;
}
