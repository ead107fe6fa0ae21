//! Signing keys: one is current, replaced ones verify for their grace, and a server has them all.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use ff_core::bounds::KEY_GRACE_MAX;
use ff_core::machine::{Command, RegisterKey, Reply};
use ff_core::signing::KeyState;
use ff_core::{
    Code, Execution, ExecutionId, Kid, Millis, Resource, ResourceKey, Subject, Time, WaitpointId,
};
use ff_store::ring::{Claims, Key, KeyFile, Purpose, SignedToken};
use ff_store::roles::Engine;
use ff_store::{KeysBackend, Store, StoreError};
use ff_testkit::{Forward, Forwarding};
use tempfile::TempDir;

use crate::fixture::{Fixture, Refused, ms};

const DAY: Millis = Millis::from_days(1);

/// A process on the store of a fact, with a file of keys, that counts its calls of the store.
struct Server {
    engine: Engine<Forwarding<Counting>>,
    file: KeyFile,
    _folder: TempDir,
}

struct Counting {
    store: Arc<dyn Store>,
    calls: AtomicUsize,
}

impl Counting {
    fn beneath_counted(&self) -> &dyn Store {
        self.calls.fetch_add(1, Ordering::SeqCst);
        &*self.store
    }
}

#[async_trait]
impl Forward for Counting {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    async fn execute(&self, batch: Vec<Command>) -> Vec<Result<Reply, StoreError>> {
        self.beneath_counted().execute(batch).await
    }

    async fn record(&self, id: ExecutionId) -> Result<Option<Execution>, StoreError> {
        self.beneath_counted().record(id).await
    }

    async fn resource(&self, key: &ResourceKey) -> Result<Option<Resource>, StoreError> {
        self.beneath_counted().resource(key).await
    }

    async fn now(&self) -> Result<Time, StoreError> {
        self.beneath_counted().now().await
    }
}

impl Server {
    /// A process with these keys, not yet serving.
    fn with(g: &Fixture, keys: &[&Key]) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::at(folder.path().join("keys"));
        for key in keys {
            file.add(key).unwrap();
        }
        let counting = Counting { store: g.store().clone(), calls: AtomicUsize::new(0) };
        Server { engine: Engine::new(Forwarding(counting)), file, _folder: folder }
    }

    async fn serve(&self) -> Result<(), StoreError> {
        self.engine.serve_keys(Some(self.file.clone())).await
    }

    async fn serving(g: &Fixture, keys: &[&Key]) -> Server {
        let server = Server::with(g, keys);
        server.serve().await.unwrap();
        server
    }

    fn calls(&self) -> usize {
        self.engine.store().calls.load(Ordering::SeqCst)
    }

    async fn rotate(&self, key: &Key, grace: Millis) -> Result<Vec<KeyState>, StoreError> {
        self.engine.rotate_key(key.kid(), key.fingerprint(), grace).await?;
        self.engine.refresh_keys().await?;
        self.states().await
    }

    async fn states(&self) -> Result<Vec<KeyState>, StoreError> {
        let (keys, now) = self.engine.signing_keys().await?;
        Ok(keys.all().iter().map(|key| key.state(now)).collect())
    }

    fn sign(&self, claims: &Claims) -> SignedToken {
        self.engine.sign(Purpose::Signal, claims).unwrap()
    }

    async fn verify(&self, token: &SignedToken) -> Result<Claims, StoreError> {
        self.engine.verify(Purpose::Signal, token).await
    }
}

fn key() -> Key {
    Key::random().unwrap()
}

/// The same name with another secret.
fn namesake(key: &Key) -> Key {
    Key::parse(
        key.kid().as_str(),
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    )
    .unwrap()
}

fn claims(g: &Fixture, expires: Option<Time>) -> Claims {
    Claims {
        namespace: g.namespace.clone(),
        execution: g.new_id(),
        waitpoint: WaitpointId::new(fastrand::u128(..)),
        subject: Some(Subject::new("ann").unwrap()),
        expires,
    }
}

pub(crate) async fn a_store_without_a_key_gets_the_newest_of_its_first_server(g: Fixture) {
    let (old, new) = (key(), key());
    let server = Server::serving(&g, &[&old, &new]).await;
    let (known, _) = server.engine.signing_keys().await.unwrap();
    let current = known.current().unwrap();
    assert_eq!((&current.kid, current.fingerprint), (new.kid(), new.fingerprint()));
    assert_eq!((known.all().len(), current.until), (1, None));
    assert_eq!(current.since, g.now().await);
}

pub(crate) async fn a_start_adds_no_key_to_a_store_that_has_one(g: Fixture) {
    let (first, second) = (key(), key());
    Server::serving(&g, &[&first]).await;
    let before = g.snapshot().await;
    let server = Server::serving(&g, &[&first, &second]).await;
    g.snapshot().await.assert_same(&before);
    let place = ResourceKey::signing_keys(g.backend().partitions());
    let (kid, fingerprint) = (second.kid().clone(), second.fingerprint());
    g.run(RegisterKey { key: place, kid, fingerprint }).await.unwrap();
    g.snapshot().await.assert_same(&before);
    let token = server.sign(&claims(&g, None));
    assert!(token.reveal().contains(first.kid().as_str()), "it signs with the current key");
}

pub(crate) async fn servers_that_start_at_once_agree_on_one_key(g: Fixture) {
    let keys: Vec<_> = (0..4).map(|_| key()).collect();
    let servers: Vec<_> = keys.iter().map(|key| Server::with(&g, &[key])).collect();
    let starts = servers.into_iter().map(|server| {
        tokio::spawn(async move { (server.serve().await.is_ok(), server.states().await.unwrap()) })
    });
    let mut started = 0;
    for start in starts.collect::<Vec<_>>() {
        let (served, states) = start.await.unwrap();
        started += usize::from(served);
        assert_eq!(states, [KeyState::Current]);
    }
    assert_eq!(started, 1, "the others have another key");
}

pub(crate) async fn a_server_that_lacks_a_key_that_verifies_is_refused(g: Fixture) {
    let (first, second) = (key(), key());
    let server = Server::serving(&g, &[&first, &second]).await;
    server.engine.rotate_key(first.kid(), first.fingerprint(), DAY).await.unwrap();
    let before = g.snapshot().await;
    let without = async |keys: &[&Key], lacks: &Key| {
        let error = Server::with(&g, keys).serve().await.unwrap_err();
        assert_eq!(error.code(), "store_incompatible", "{error}");
        assert!(error.to_string().contains(&format!("key {} ", lacks.kid())), "{error}");
        assert!(error.to_string().contains(&lacks.fingerprint().to_string()), "{error}");
    };
    without(&[&second], &first).await;
    without(&[&first], &second).await;
    without(&[&namesake(&first), &second], &first).await;
    without(&[&first, &namesake(&second)], &second).await;
    without(&[&key()], &second).await;
    without(&[], &second).await;
    let none = Server::with(&g, &[]).engine.serve_keys(None).await.unwrap_err();
    assert!(none.to_string().contains("--signing-keys"), "{none}");
    g.snapshot().await.assert_same(&before);
    g.advance(DAY).await;
    Server::serving(&g, &[&first]).await;
}

pub(crate) async fn every_replaced_key_verifies_until_its_own_grace_is_over(g: Fixture) {
    let (a, b, c) = (key(), key(), key());
    let server = Server::serving(&g, &[&b, &c, &a]).await;
    let said = claims(&g, None);
    let of_a = server.sign(&said);
    use KeyState::{Current, Retired, Verifies};
    assert_eq!(server.rotate(&b, DAY).await.unwrap(), [Verifies, Current]);
    let of_b = server.sign(&said);
    g.advance(ms(10)).await;
    assert_eq!(server.rotate(&c, DAY).await.unwrap(), [Verifies, Verifies, Current]);
    let of_c = server.sign(&said);
    assert!(of_a != of_b && of_b != of_c && of_a != of_c);
    for token in [&of_a, &of_b, &of_c] {
        assert_eq!(server.verify(token).await.unwrap(), said);
    }
    g.advance(ms(DAY.get() - 10)).await;
    assert_eq!(server.states().await.unwrap(), [Retired, Verifies, Current]);
    assert_eq!(server.verify(&of_a).await.refused(), Code::InvalidToken);
    assert_eq!(server.verify(&of_b).await.unwrap(), said);
    g.advance(ms(10)).await;
    assert_eq!(server.verify(&of_b).await.refused(), Code::InvalidToken);
    g.advance(KEY_GRACE_MAX).await;
    assert_eq!(server.verify(&of_c).await.unwrap(), said, "the current key never expires");
}

pub(crate) async fn a_repeated_rotation_changes_nothing_and_a_conflicting_one_is_refused(
    g: Fixture,
) {
    let (a, b) = (key(), key());
    let server = Server::serving(&g, &[&b, &a]).await;
    server.rotate(&b, DAY).await.unwrap();
    let before = g.snapshot().await;
    g.advance(ms(5)).await;
    server.rotate(&b, ms(2 * DAY.get())).await.unwrap();
    for wrong in [&namesake(&a), &namesake(&b), &a] {
        assert_eq!(server.rotate(wrong, DAY).await.refused(), Code::KeyConflict);
    }
    let too_long = server.rotate(&key(), ms(KEY_GRACE_MAX.get() + 1)).await;
    assert_eq!(too_long.refused(), Code::InvalidArgument);
    assert_eq!(server.engine.retire_key(b.kid()).await.refused(), Code::KeyConflict);
    let unknown = Kid::new("unknown").unwrap();
    assert_eq!(server.engine.retire_key(&unknown).await.refused(), Code::NotFound);
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_retired_key_verifies_nothing_more(g: Fixture) {
    let (a, b) = (key(), key());
    let server = Server::serving(&g, &[&b, &a]).await;
    let token = server.sign(&claims(&g, None));
    server.rotate(&b, DAY).await.unwrap();
    server.verify(&token).await.unwrap();
    server.engine.retire_key(a.kid()).await.unwrap();
    server.engine.refresh_keys().await.unwrap();
    assert_eq!(server.verify(&token).await.refused(), Code::InvalidToken);
    Server::serving(&g, &[&b]).await;
}

pub(crate) async fn a_running_server_learns_of_a_rotation(g: Fixture) {
    let (a, b) = (key(), key());
    let (one, other) = (Server::serving(&g, &[&a]).await, Server::serving(&g, &[&a]).await);
    // The operator adds the key to every file, then makes it current.
    one.file.add(&b).unwrap();
    other.file.add(&b).unwrap();
    one.rotate(&b, DAY).await.unwrap();
    let said = claims(&g, None);
    let token = one.sign(&said);
    assert!(token.reveal().contains(b.kid().as_str()));
    assert_eq!(other.engine.refresh_keys().await.unwrap(), []);
    assert_eq!(other.verify(&token).await.unwrap(), said);
    assert_eq!(other.sign(&said), token);
}

pub(crate) async fn a_server_that_holds_the_secret_verifies_before_it_is_told(g: Fixture) {
    let (a, b) = (key(), key());
    let (one, other) = (Server::serving(&g, &[&b, &a]).await, Server::serving(&g, &[&b, &a]).await);
    one.rotate(&b, DAY).await.unwrap();
    let said = claims(&g, None);
    assert_eq!(other.verify(&one.sign(&said)).await.unwrap(), said);
}

pub(crate) async fn a_server_without_the_new_key_says_so_and_signs_nothing(g: Fixture) {
    let (a, b) = (key(), key());
    let (one, other) = (Server::serving(&g, &[&b, &a]).await, Server::serving(&g, &[&a]).await);
    let said = claims(&g, None);
    let old = other.sign(&said);
    one.rotate(&b, DAY).await.unwrap();
    assert_eq!(other.engine.refresh_keys().await.unwrap(), [b.kid().clone()]);
    assert_eq!(other.engine.sign(Purpose::Signal, &said).refused(), Code::NoSigningKey);
    assert_eq!(other.verify(&one.sign(&said)).await.refused(), Code::InvalidToken);
    assert_eq!(other.verify(&old).await.unwrap(), said);
    assert_eq!(
        Server::with(&g, &[]).engine.sign(Purpose::Signal, &said).refused(),
        Code::NoSigningKey
    );
}

pub(crate) async fn a_token_expires_by_the_clock_of_the_store(g: Fixture) {
    let server = Server::serving(&g, &[&key()]).await;
    let said = claims(&g, Some(g.now().await + ms(1_000)));
    let token = server.sign(&said);
    g.advance(ms(999)).await;
    assert_eq!(server.verify(&token).await.unwrap(), said);
    g.advance(ms(1)).await;
    assert_eq!(server.verify(&token).await.refused(), Code::InvalidToken);
}

pub(crate) async fn ten_thousand_bad_tokens_are_answered_alike_without_the_store(g: Fixture) {
    let (a, stranger) = (key(), key());
    let server = Server::serving(&g, &[&a]).await;
    let (before, calls) = (g.snapshot().await, server.calls());
    let said = claims(&g, None);
    let forged = SignedToken::sign(&stranger, Purpose::Signal, &said);
    let forged = forged.reveal().replacen(stranger.kid().as_str(), a.kid().as_str(), 1);
    let link = SignedToken::sign(&a, Purpose::ApprovalLink, &said);
    let good = server.sign(&said);
    let mut answers = std::collections::BTreeSet::new();
    for n in 0..10_000 {
        let mut text = match n % 4 {
            0 => forged.clone(),
            1 => SignedToken::sign(&stranger, Purpose::Signal, &said).reveal().to_owned(),
            2 => link.reveal().to_owned(),
            _ => good.reveal().to_owned(),
        };
        if n % 4 == 3 {
            let at = 20 + n % (text.len() - 20);
            let other = if text.as_bytes()[at] == b'A' { "B" } else { "A" };
            text.replace_range(at..=at, other);
        }
        let error = server.verify(&SignedToken::received(text)).await.unwrap_err();
        answers.insert((error.code(), error.to_string()));
    }
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(server.calls(), calls, "no bad token reached the store");
    g.snapshot().await.assert_same(&before);
    assert_eq!(server.verify(&good).await.unwrap(), said);
    assert_eq!(server.calls(), calls, "nor does a good one without an expiry, of the current key");
}
