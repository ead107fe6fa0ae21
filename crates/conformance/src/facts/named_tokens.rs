//! Named tokens: issued, shown, replaced, expired, revoked, used.

use ff_core::bounds::{TOKEN_SECRETS, TOKEN_USE_STEP};
use ff_core::credential::{Role, Scope, TokenView};
use ff_core::{Actor, Code, Millis, Namespace, ResourceKind, TokenName};
use ff_store::roles::{CreateToken, CreatedToken, Verified};
use ff_store::{ResourceScan, StoreError};

use crate::fixture::{Fixture, ms};

fn name(text: &str) -> TokenName {
    TokenName::new(text).unwrap()
}

/// The namespaces of these names.
fn only(names: &[&str]) -> Scope {
    Scope::Only(names.iter().map(|name| Namespace::new(*name).unwrap()).collect())
}

/// A token of a producer for namespace `acme`.
fn producer(token: &str) -> CreateToken {
    let (name, role, scope) = (name(token), Role::Producer, only(&["acme"]));
    CreateToken { name, role, scope, ttl: None, by: Actor::local() }
}

impl Fixture {
    async fn try_issue(&self, create: CreateToken) -> Result<CreatedToken, StoreError> {
        self.backend().create_token(create).await
    }

    /// The text of a new secret.
    async fn issue(&self, create: CreateToken) -> String {
        self.try_issue(create).await.unwrap().text.reveal().to_owned()
    }

    async fn verify(&self, text: &str) -> Option<Verified> {
        self.backend().verify_token(text).await.unwrap()
    }

    async fn revoke_token(&self, token: &str, secret: Option<u32>) -> TokenView {
        self.backend().revoke_token(&name(token), secret, Actor::local()).await.unwrap()
    }

    /// The tokens of the store.
    async fn named_tokens(&self) -> Vec<TokenView> {
        self.backend().tokens(None, 100).await.unwrap()
    }
}

pub(crate) async fn a_token_is_accepted_for_what_it_was_made(g: Fixture) {
    let text = g.issue(CreateToken { scope: only(&["acme", "b"]), ..producer("ci") }).await;
    let found = g.verify(&text).await.unwrap();
    assert_eq!((found.name, found.role, found.left), (name("ci"), Role::Producer, None));
    assert_eq!(found.scope, only(&["acme", "b"]));
    let every = CreateToken { scope: Scope::Every, role: Role::Reader, ..producer("probe") };
    let found = g.verify(&g.issue(every).await).await.unwrap();
    assert_eq!((found.scope, found.role), (Scope::Every, Role::Reader));
}

pub(crate) async fn no_other_text_is_accepted(g: Fixture) {
    let text = g.issue(producer("ci")).await;
    let before = g.snapshot().await;
    let flipped = |place: usize| {
        let mut bytes = text.clone().into_bytes();
        bytes[place] = if bytes[place] == b'0' { b'1' } else { b'0' };
        String::from_utf8(bytes).unwrap()
    };
    for place in 0..text.len() {
        assert_eq!(g.verify(&flipped(place)).await, None, "character {place}");
    }
    for place in 0..text.len() {
        assert_eq!(g.verify(&text[..place]).await, None, "the first {place} characters");
        assert_eq!(g.verify(&text[place + 1..]).await, None, "from {place} on");
    }
    let secret = text.rsplit('_').next().unwrap();
    for other in [
        format!("{text}0"),
        format!(" {text}"),
        text.to_uppercase(),
        secret.to_owned(),
        format!("fft_unknown_{secret}"),
        format!("fft_CI_{secret}"),
        format!("fft_@system_{secret}"),
        String::new(),
    ] {
        assert_eq!(g.verify(&other).await, None, "{other}");
    }
    assert!(g.verify(&text).await.is_some());
    assert_eq!(g.snapshot().await, before, "a look changes nothing");
}

pub(crate) async fn a_secret_is_replaced_before_it_is_revoked(g: Fixture) {
    let first = g.issue(producer("ci")).await;
    let second = g.issue(producer("ci")).await;
    assert_ne!(first, second);
    for text in [&first, &second] {
        assert!(g.verify(text).await.is_some(), "both are accepted");
    }
    let view = g.revoke_token("ci", Some(1)).await;
    let live: Vec<_> = view.secrets.iter().map(|secret| (secret.number, secret.live)).collect();
    assert_eq!(live, [(1, false), (2, true)]);
    assert_eq!(g.verify(&first).await, None);
    assert!(g.verify(&second).await.is_some());
}

pub(crate) async fn a_token_in_use_keeps_its_role_and_namespaces(g: Fixture) {
    let text = g.issue(producer("ci")).await;
    let before = g.snapshot().await;
    let operator = CreateToken { role: Role::Operator, ..producer("ci") };
    let wider = CreateToken { scope: only(&["acme", "rival"]), ..producer("ci") };
    let every = CreateToken { scope: Scope::Every, ..producer("ci") };
    for (other, field) in [(operator.clone(), "role"), (wider, "namespaces"), (every, "namespaces")]
    {
        let refused = g.try_issue(other).await.unwrap_err();
        assert_eq!(refused.refused(), Some(Code::InvalidArgument));
        assert_eq!(refused.field(), Some(field));
    }
    assert_eq!(g.snapshot().await, before);
    g.revoke_token("ci", None).await;
    let replaced = g.issue(operator).await;
    assert_eq!(g.verify(&replaced).await.unwrap().role, Role::Operator);
    assert_eq!(g.verify(&text).await, None, "what was revoked comes back with nothing");
}

pub(crate) async fn a_token_expires_by_the_clock_of_the_store(g: Fixture) {
    let text = g.issue(CreateToken { ttl: Some(ms(10_000)), ..producer("ci") }).await;
    let after = g.issue(CreateToken { ttl: Some(ms(20_000)), ..producer("ci") }).await;
    g.advance(ms(9_000)).await;
    let left = g.verify(&text).await.unwrap().left.unwrap();
    assert!(left > Millis::ZERO && left <= ms(1_000), "{left}");
    g.advance(left).await;
    assert_eq!(g.verify(&text).await, None);
    assert!(g.verify(&after).await.is_some());
    let [token] = g.named_tokens().await.try_into().unwrap();
    let live: Vec<_> = token.secrets.iter().map(|secret| secret.live).collect();
    assert_eq!(live, [false, true]);
    assert!(token.secrets[0].revoked.is_none());
}

pub(crate) async fn a_revoked_token_stays_revoked(g: Fixture) {
    let text = g.issue(producer("ci")).await;
    let view = g.revoke_token("ci", None).await;
    let revoked = view.secrets[0].revoked.clone().unwrap();
    g.advance(ms(5_000)).await;
    let again = g.revoke_token("ci", None).await;
    assert_eq!(
        again.secrets[0].revoked,
        Some(revoked),
        "the first revocation is the one that is told"
    );
    assert_eq!(g.verify(&text).await, None);
    let missing = |token: &str, secret| {
        let (token, g) = (name(token), g.clone());
        async move { g.backend().revoke_token(&token, secret, Actor::local()).await.unwrap_err() }
    };
    assert_eq!(missing("nobody", None).await.refused(), Some(Code::NotFound));
    assert_eq!(missing("ci", Some(9)).await.refused(), Some(Code::NotFound));
}

pub(crate) async fn a_token_has_a_few_secrets_and_dead_ones_make_room(g: Fixture) {
    let mut texts = Vec::new();
    for _ in 0..TOKEN_SECRETS {
        texts.push(g.issue(producer("ci")).await);
    }
    let refused = g.try_issue(producer("ci")).await.unwrap_err();
    assert_eq!(refused.refused(), Some(Code::LimitReached));
    g.revoke_token("ci", Some(2)).await;
    let next = g.issue(producer("ci")).await;
    let [token] = g.named_tokens().await.try_into().unwrap();
    let numbers: Vec<_> = token.secrets.iter().map(|secret| secret.number).collect();
    let last = TOKEN_SECRETS as u32 + 1;
    assert_eq!(numbers, (1..=last).filter(|number| *number != 2).collect::<Vec<_>>());
    assert_eq!(g.verify(&texts[1]).await, None);
    for text in [&texts[0], &texts[2], &next] {
        assert!(g.verify(text).await.is_some());
    }
}

pub(crate) async fn the_use_of_a_token_is_noted_once_a_minute(g: Fixture) {
    let text = g.issue(producer("ci")).await;
    assert!(g.verify(&text).await.unwrap().is_news);
    let used = async || g.named_tokens().await.remove(0).last_used;
    assert_eq!(used().await, None);
    let note = async || g.backend().note_token_use(&name("ci")).await.unwrap();
    note().await;
    let first = used().await.unwrap();
    assert!(!g.verify(&text).await.unwrap().is_news);
    let before = g.snapshot().await;
    g.advance(ms(TOKEN_USE_STEP.get() / 2)).await;
    note().await;
    assert_eq!(g.snapshot().await, before, "nothing is written within the minute");
    g.advance(TOKEN_USE_STEP).await;
    assert!(g.verify(&text).await.unwrap().is_news);
    note().await;
    assert!(used().await.unwrap() >= first + TOKEN_USE_STEP);
    g.backend().note_token_use(&name("nobody")).await.unwrap();
    assert_eq!(g.named_tokens().await.len(), 1, "a use makes no token");
}

pub(crate) async fn tokens_are_listed_by_name_and_page(g: Fixture) {
    for token in ["b", "a", "c"] {
        g.issue(producer(token)).await;
    }
    let page = |after: Option<&'static str>| {
        let g = g.clone();
        async move {
            let after = after.map(name);
            let found = g.backend().tokens(after.as_ref(), 2).await.unwrap();
            found.into_iter().map(|token| token.name).collect::<Vec<_>>()
        }
    };
    assert_eq!(page(None).await, [name("a"), name("b")]);
    assert_eq!(page(Some("b")).await, [name("c")]);
    for limit in [0, 1_001] {
        let refused = g.backend().tokens(None, limit).await.unwrap_err();
        assert_eq!(refused.refused(), Some(Code::InvalidArgument));
    }
}

pub(crate) async fn tokens_are_of_no_namespace(g: Fixture) {
    g.issue(producer("ci")).await;
    for namespace in [g.namespace.clone(), g.elsewhere().namespace, Namespace::default()] {
        for kind in ResourceKind::ALL {
            let scan =
                ResourceScan { namespace: namespace.clone(), kind: *kind, after: None, limit: 100 };
            assert_eq!(g.store().resources(scan).await.unwrap(), [], "{kind} of {namespace}");
        }
    }
}

pub(crate) async fn a_token_that_could_not_be_used_is_not_made(g: Fixture) {
    let none = Scope::Only(Default::default());
    let many: Vec<_> = (0..65).map(|number| format!("n{number}")).collect();
    let many = only(&many.iter().map(String::as_str).collect::<Vec<_>>());
    for (bad, code) in [
        (CreateToken { scope: none, ..producer("ci") }, Code::InvalidArgument),
        (CreateToken { scope: many, ..producer("ci") }, Code::TooLarge),
        (CreateToken { ttl: Some(Millis::ZERO), ..producer("ci") }, Code::InvalidArgument),
        (
            CreateToken { ttl: Some(Millis::from_days(9_999)), ..producer("ci") },
            Code::InvalidArgument,
        ),
    ] {
        assert_eq!(g.try_issue(bad.clone()).await.unwrap_err().refused(), Some(code), "{bad:?}");
    }
    assert_eq!(g.named_tokens().await, []);
}
