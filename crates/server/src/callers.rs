//! Whose a token is: remembered for a few seconds, so that most requests ask no store.
//!
//! What was read is trusted for [`TOKEN_TRUST`] from before it was read, and never past the token's
//! end. A revocation therefore holds after so long on every server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ff_core::Actor;
use ff_core::bounds::TOKEN_TRUST;
use ff_store::roles::Verified;
use ff_store::{EngineBackend, StoreError, named_token};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::access::{Caller, Rights};

/// How many tokens are remembered; more are looked up with every request.
const REMEMBERED: usize = 4_096;

/// How many tokens are looked up at once; more wait.
const LOOKUPS: usize = 64;

/// How many uses of tokens are being noted at once; the next look-up notes what had no room.
const NOTES: usize = 8;

/// How long a token is trusted without being looked up.
pub(crate) const TRUST: Duration = Duration::from_millis(TOKEN_TRUST.get());

/// The callers that are known.
#[derive(Debug)]
pub(crate) struct Callers {
    known: Mutex<HashMap<[u8; 32], Known>>,
    lookups: Semaphore,
    notes: Arc<Semaphore>,
}

#[derive(Debug, Clone)]
struct Known {
    caller: Arc<Caller>,
    until: Instant,
}

impl Default for Callers {
    fn default() -> Callers {
        let (lookups, notes) = (Semaphore::new(LOOKUPS), Arc::new(Semaphore::new(NOTES)));
        Callers { known: Mutex::default(), lookups, notes }
    }
}

impl Callers {
    /// Whose token `text` is; `None` if it is not accepted.
    pub(crate) async fn of(
        &self,
        text: &str,
        backend: &Arc<dyn EngineBackend>,
        tasks: &TaskTracker,
    ) -> Result<Option<Arc<Caller>>, StoreError> {
        // What no token is written like costs no store anything.
        if named_token::name_of(text).is_none() {
            return Ok(None);
        }
        let shown = *named_token::digest(text).as_bytes();
        if let Some(known) = self.remembered(&shown) {
            return Ok(Some(known));
        }
        let _permit = self.lookups.acquire().await;
        let asked = Instant::now();
        let Some(verified) = backend.verify_token(text).await? else {
            self.lock().remove(&shown);
            return Ok(None);
        };
        if verified.is_news {
            self.note(&verified, backend, tasks);
        }
        let left = verified.left.map_or(TRUST, |left| Duration::from_millis(left.get()));
        let caller = Arc::new(Caller {
            actor: Actor::from(&verified.name),
            rights: Rights::Token(verified.role, verified.scope),
        });
        self.remember(shown, Known { caller: caller.clone(), until: asked + left.min(TRUST) });
        Ok(Some(caller))
    }

    fn remembered(&self, shown: &[u8; 32]) -> Option<Arc<Caller>> {
        let known = self.lock();
        let known = known.get(shown).filter(|known| Instant::now() < known.until)?;
        Some(known.caller.clone())
    }

    fn remember(&self, shown: [u8; 32], caller: Known) {
        let mut known = self.lock();
        if known.len() >= REMEMBERED {
            let now = Instant::now();
            known.retain(|_, known| now < known.until);
        }
        if known.len() < REMEMBERED {
            known.insert(shown, caller);
        }
    }

    /// Notes that a token was used; the request does not wait for it.
    fn note(&self, verified: &Verified, backend: &Arc<dyn EngineBackend>, tasks: &TaskTracker) {
        let Ok(permit) = self.notes.clone().try_acquire_owned() else { return };
        let (backend, name) = (backend.clone(), verified.name.clone());
        tasks.spawn(async move {
            if let Err(error) = backend.note_token_use(&name).await {
                tracing::debug!(%error, %name, "the use of a token was not noted");
            }
            drop(permit);
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 32], Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
