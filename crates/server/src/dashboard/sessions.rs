//! Who is logged in: a token that was shown once, found again by a random cookie.
//!
//! Nothing of a session leaves the process but its random id. The token is looked up with every request,
//! as if it were shown again, so one that is revoked ends its sessions.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio::time::Instant;

/// How many sessions there are at once; one more ends the one that was used least recently.
const SESSIONS: usize = 1_024;
/// How long a session lasts.
pub(super) const LASTS: Duration = Duration::from_secs(12 * 3_600);
/// How long a session may go unused.
const IDLE: Duration = Duration::from_secs(2 * 3_600);
/// The name of the cookie.
const COOKIE: &str = "ff_session";

/// The sessions of this process.
pub(super) struct Sessions {
    /// Makes the proof of a session that its forms carry.
    secret: String,
    open: Mutex<HashMap<[u8; 32], Session>>,
}

struct Session {
    token: String,
    began: Instant,
    used: Instant,
}

impl Session {
    fn is_over(&self, now: Instant) -> bool {
        now.duration_since(self.began) >= LASTS || now.duration_since(self.used) >= IDLE
    }
}

/// A session of a visitor.
#[derive(Clone)]
pub(super) struct SessionId(String);

impl Sessions {
    pub(super) fn new() -> Sessions {
        Sessions { secret: random(), open: Mutex::default() }
    }

    /// Starts a session for who has shown `token`.
    pub(super) fn begin(&self, token: &str) -> SessionId {
        let (id, now) = (SessionId(random()), Instant::now());
        let mut open = self.lock();
        open.retain(|_, session| !session.is_over(now));
        if open.len() >= SESSIONS {
            let oldest = open.iter().min_by_key(|(_, session)| session.used);
            if let Some(oldest) = oldest.map(|(key, _)| *key) {
                open.remove(&oldest);
            }
        }
        open.insert(id.key(), Session { token: token.to_owned(), began: now, used: now });
        id
    }

    /// The token that was shown in this session; `None` if it is over.
    pub(super) fn token(&self, id: &SessionId) -> Option<String> {
        let now = Instant::now();
        let mut open = self.lock();
        let session = open.get_mut(&id.key()).filter(|session| !session.is_over(now))?;
        session.used = now;
        Some(session.token.clone())
    }

    /// Ends a session.
    pub(super) fn end(&self, id: &SessionId) {
        self.lock().remove(&id.key());
    }

    /// What the forms of a session carry, which no page of another origin can read. On a server that
    /// requires no token, all visitors share one.
    pub(super) fn proof(&self, id: Option<&SessionId>) -> String {
        let of = id.map_or("local", |id| &id.0);
        hex(&Sha256::digest(format!("{}.{of}", self.secret)))
    }

    /// Whether `shown` is the proof of the session, in constant time.
    pub(super) fn proves(&self, id: Option<&SessionId>, shown: &str) -> bool {
        self.proof(id).as_bytes().ct_eq(shown.as_bytes()).into()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionId {
    /// The session that a request names.
    pub(super) fn of(headers: &HeaderMap) -> Option<SessionId> {
        let cookies =
            headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|cookies| cookies.split(';'));
        let found = pairs.find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))?;
        Some(SessionId(found.to_owned()))
    }

    /// The cookie that names it; `secure` if it is to be sent by TLS alone.
    pub(super) fn cookie(&self, secure: bool) -> String {
        cookie(&self.0, LASTS.as_secs(), secure)
    }

    /// The cookie that removes it.
    pub(super) fn no_cookie(secure: bool) -> String {
        cookie("", 0, secure)
    }

    /// Sessions are kept by digest: how long a search takes says nothing about the ids.
    fn key(&self) -> [u8; 32] {
        Sha256::digest(&self.0).into()
    }
}

fn cookie(value: &str, seconds: u64, secure: bool) -> String {
    let secure = if secure { "; Secure" } else { "" };
    format!("{COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

/// 244 random bits.
pub(super) fn random() -> String {
    let (one, two) = (uuid::Uuid::new_v4(), uuid::Uuid::new_v4());
    format!("{}{}", one.simple(), two.simple())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_session_ends_when_it_is_old_or_unused() {
        let sessions = Sessions::new();
        let (used, unused) = (sessions.begin("a"), sessions.begin("b"));
        for _ in 0..11 {
            tokio::time::advance(IDLE / 2 + Duration::from_secs(1)).await;
            assert_eq!(sessions.token(&used).as_deref(), Some("a"));
        }
        assert_eq!(sessions.token(&unused), None);
        tokio::time::advance(IDLE / 2).await;
        assert_eq!(sessions.token(&used), None, "twelve hours are over");
    }

    #[tokio::test(start_paused = true)]
    async fn the_least_recently_used_session_makes_room() {
        let sessions = Sessions::new();
        let first = sessions.begin("first");
        let second = sessions.begin("second");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(sessions.token(&first).is_some());
        for _ in 0..SESSIONS - 1 {
            tokio::time::advance(Duration::from_secs(1)).await;
            sessions.begin("more");
        }
        assert_eq!(sessions.lock().len(), SESSIONS);
        assert!(sessions.token(&first).is_some() && sessions.token(&second).is_none());
    }

    #[test]
    fn a_proof_is_of_one_session() {
        let sessions = Sessions::new();
        let (one, two) = (SessionId("one".into()), SessionId("two".into()));
        let proof = sessions.proof(Some(&one));
        assert!(sessions.proves(Some(&one), &proof));
        assert!(!sessions.proves(Some(&two), &proof) && !sessions.proves(None, &proof));
        assert!(!Sessions::new().proves(Some(&one), &proof));
        assert!(!sessions.proves(Some(&one), "") && !sessions.proves(Some(&one), &proof[1..]));
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        assert!(SessionId::of(&headers).is_none());
        headers.insert(header::COOKIE, "a=b; xff_session=no; ff_session=yes; c=d".parse().unwrap());
        assert_eq!(SessionId::of(&headers).unwrap().0, "yes");
        let cookie = SessionId("yes".into()).cookie(true);
        for part in ["ff_session=yes;", "HttpOnly", "SameSite=Strict", "Secure", "Path=/"] {
            assert!(cookie.contains(part), "{cookie}");
        }
    }
}
