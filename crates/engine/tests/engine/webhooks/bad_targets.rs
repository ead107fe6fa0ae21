//! Targets that fail, hang, redirect, or may not be reached: each costs itself alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ff_core::Code;
use ff_core::{Millis, Namespace};
use ff_engine::webhooks::{DeliveryOptions, Trust};
use ff_store::webhooks::{Reach, WebhookUpdate};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::receiver::{Answer, Receiver};
use super::{Fixture, named, quick, secret_of, target};

#[tokio::test]
async fn a_target_that_fails_is_tried_again_and_then_the_event_is_given_up() {
    let fixture = Fixture::new();
    let poison = fixture.submitted().await;
    let _ = poison;
    let bad = Arc::new(std::sync::Mutex::new(String::new()));
    let known = bad.clone();
    let mut receiver = Receiver::start(move |got| {
        let is_bad = got.json()["execution"] == *known.lock().unwrap();
        Answer::Status(if is_bad { 500 } else { 200 }, "")
    })
    .await;
    fixture.set("a", receiver.url(), 1).await;
    let id = fixture.submitted().await;
    *bad.lock().unwrap() = id.to_string();
    let running = fixture.start(quick());
    let webhook = fixture.until("a", |webhook| webhook.tally.dead == 1).await;
    let letter = &webhook.letters[0];
    assert_eq!((letter.event.execution, letter.tries), (id, 3));
    assert_eq!(&*letter.why, "it answered 500");
    for _ in 0..3 {
        assert_eq!(receiver.next().await.id(), letter.event.to_string(), "each time the same id");
    }
    let next = fixture.submitted().await;
    assert_eq!(receiver.next().await.json()["execution"], next.to_string());
    fixture.until("a", |webhook| webhook.tally.delivered == 1 && webhook.failing.is_none()).await;
    running.stop().await;
}

#[tokio::test]
async fn a_target_that_recovers_gets_the_event_and_says_why_it_waited() {
    let (fixture, tries) = (Fixture::new(), Arc::new(AtomicUsize::new(0)));
    let mut receiver = Receiver::start(move |_| match tries.fetch_add(1, Ordering::SeqCst) {
        0 => Answer::Status(503, ""),
        _ => Answer::Status(200, ""),
    })
    .await;
    fixture.set("a", receiver.url(), 1).await;
    fixture.submitted().await;
    let running = fixture.start(quick());
    let (first, second) = (receiver.next().await, receiver.next().await);
    assert_eq!((first.id(), &first.body), (second.id(), &second.body));
    let webhook = fixture.until("a", |webhook| webhook.tally.delivered == 1).await;
    assert_eq!((webhook.tally.dead, webhook.failing), (0, None));
    running.stop().await;
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let fixture = Fixture::new();
    let mut private = Receiver::start(|_| Answer::Status(200, "")).await;
    let place = private.url();
    let receiver = Receiver::start(move |_| Answer::To(place.clone())).await;
    fixture.set("a", receiver.url(), 1).await;
    fixture.submitted().await;
    let running = fixture.start(quick());
    let webhook = fixture.until("a", |webhook| webhook.tally.dead == 1).await;
    assert_eq!(&*webhook.letters[0].why, "it answered 302; redirects are not followed");
    running.stop().await;
    assert!(private.come().is_empty());
}

#[tokio::test]
async fn a_target_that_hangs_delays_no_other_and_is_left_in_time() {
    let fixture = Fixture::new();
    let mut hangs = Receiver::start(|_| Answer::Never).await;
    let mut works = Receiver::start(|_| Answer::Status(200, "")).await;
    fixture.set("hangs", hangs.url(), 1).await;
    fixture.set("works", works.url(), 1).await;
    let running = fixture.start(quick());
    for _ in 0..20 {
        let id = fixture.submitted().await;
        assert_eq!(works.next().await.json()["execution"], id.to_string());
    }
    hangs.next().await;
    running.stop().await;
    // One that waits no longer than this gives the event up.
    let options = DeliveryOptions { timeout: Duration::from_millis(50), ..quick() };
    let running = fixture.start(options);
    let webhook = fixture.until("hangs", |webhook| webhook.tally.dead >= 20).await;
    assert_eq!(&*webhook.letters[0].why, "no answer within 0.05 s");
    running.stop().await;
}

#[tokio::test]
async fn an_answer_without_an_end_is_read_to_its_bound() {
    let fixture = Fixture::new();
    let receiver = Receiver::start(|_| Answer::Endless).await;
    fixture.set("a", receiver.url(), 1).await;
    fixture.submitted().await;
    let running = fixture.start(quick());
    fixture.until("a", |webhook| webhook.tally.delivered == 1).await;
    running.stop().await;
}

#[tokio::test]
async fn a_private_target_is_refused_when_it_is_set_and_when_it_is_sent_to() {
    let fixture = Fixture::new();
    let mut receiver = Receiver::start(|_| Answer::Status(200, "")).await;
    fixture.set("a", receiver.url(), 1).await;
    fixture.submitted().await;
    fixture.backend.set_reach(Reach::Public);
    for url in [
        receiver.url(),
        "https://127.0.0.1/".to_owned(),
        "https://localhost/".to_owned(),
        "https://10.1.2.3/".to_owned(),
        "https://169.254.169.254/latest/meta-data".to_owned(),
        "https://[::1]/".to_owned(),
        "https://[::ffff:10.0.0.1]/".to_owned(),
        "http://1.1.1.1/".to_owned(),
    ] {
        let update = WebhookUpdate {
            namespace: Namespace::default(),
            name: named("b"),
            target: target(url.clone()),
            secret: Some(secret_of(1)),
            grace: Millis::ZERO,
        };
        let refused = fixture.backend.set_webhook(update).await.unwrap_err();
        assert_eq!(refused.refused(), Some(Code::TargetRefused), "{url}");
    }
    // What was allowed then is checked again with every try.
    let running = fixture.start(quick());
    let webhook = fixture.until("a", |webhook| webhook.tally.dead == 1).await;
    assert!(webhook.letters[0].why.contains("https"), "{}", webhook.letters[0].why);
    running.stop().await;
    assert!(receiver.come().is_empty());
}

#[tokio::test]
async fn certificates_are_checked() {
    let fixture = Fixture::new();
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let tls = TlsAcceptor::from(Arc::new(config));
    let mut receiver = Receiver::with(Some(tls), |_| Answer::Status(200, "")).await;
    fixture.set("a", format!("https://{}/", receiver.address), 1).await;
    fixture.submitted().await;
    let other = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let trust = Trust::Only(vec![other.cert.der().clone()]);
    let running = fixture.start(DeliveryOptions { trust, ..quick() });
    fixture.until("a", |webhook| webhook.tally.dead == 1).await;
    running.stop().await;
    assert!(receiver.come().is_empty());
    let trust = Trust::Only(vec![made.cert.der().clone()]);
    let running = fixture.start(DeliveryOptions { trust, ..quick() });
    let id = fixture.submitted().await;
    assert_eq!(receiver.next().await.json()["execution"], id.to_string());
    running.stop().await;
}
