//! How many requests of each named token a server serves at once: those that it works on, and those that
//! wait, which are long-polls and streams, counted separately.
//!
//! A request counts from before its body is read until it is answered. One that begins to wait is counted
//! among those that wait instead, until it waits no more; a stream, until its client or its token is gone. A
//! token is remembered only while it has requests, so there are never more than the server has connections
//! for. Every server counts for itself.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use ff_core::Actor;
use ff_store::Failure;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::ApiError;
use crate::state::AppState;

/// The requests of named tokens that a server serves now.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    /// How many of each token it works on; any number without.
    requests: Option<NonZeroU32>,
    /// How many of each token wait.
    waits: Option<NonZeroU32>,
    tokens: Mutex<HashMap<Actor, Counts>>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Counts {
    requests: u32,
    waits: u32,
}

impl Flights {
    pub(crate) fn new(requests: Option<NonZeroU32>, waits: Option<NonZeroU32>) -> Flights {
        Flights { requests, waits, tokens: Mutex::default() }
    }

    /// Counts a request of a named token.
    pub(crate) fn begin(self: &Arc<Self>, token: &Actor) -> Result<Flight, ApiError> {
        let mut tokens = self.tokens();
        let counts = tokens.entry(token.clone()).or_default();
        if let Some(most) = self.requests.filter(|most| counts.requests >= most.get()) {
            return Err(refused(format!(
                "the token {token} has {most} requests at once; try again after a pause"
            )));
        }
        counts.requests += 1;
        drop(tokens);
        Ok(Flight { all: self.clone(), token: token.clone(), waits: AtomicBool::new(false) })
    }

    fn change(&self, token: &Actor, change: impl FnOnce(&mut Counts)) {
        let mut tokens = self.tokens();
        if let Some(counts) = tokens.get_mut(token) {
            change(counts);
            if *counts == Counts::default() {
                tokens.remove(token);
            }
        }
    }

    fn tokens(&self) -> MutexGuard<'_, HashMap<Actor, Counts>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request of a named token, until it is answered.
#[derive(Debug)]
pub(crate) struct Flight {
    all: Arc<Flights>,
    token: Actor,
    /// It is counted among those that wait.
    waits: AtomicBool,
}

impl Flight {
    /// Counts it among those that wait.
    fn wait(&self) -> Result<Wait, ApiError> {
        let mut tokens = self.all.tokens();
        let counts = tokens.entry(self.token.clone()).or_default();
        if let Some(most) = self.all.waits.filter(|most| counts.waits >= most.get()) {
            let token = &self.token;
            return Err(refused(format!(
                "{most} requests of the token {token} wait at once; try again after a pause"
            )));
        }
        counts.waits += 1;
        if !self.waits.swap(true, Ordering::SeqCst) {
            counts.requests -= 1;
        }
        drop(tokens);
        Ok(Wait { all: self.all.clone(), token: self.token.clone() })
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if !self.waits.load(Ordering::SeqCst) {
            self.all.change(&self.token, |counts| counts.requests -= 1);
        }
    }
}

/// Counted while a request of a named token waits.
#[derive(Debug)]
struct Wait {
    all: Arc<Flights>,
    token: Actor,
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.all.change(&self.token, |counts| counts.waits -= 1);
    }
}

/// The request, for a handler that waits.
pub(crate) struct Waiting(Option<Arc<Flight>>);

impl Waiting {
    /// Permission to wait, of the server, which has so many permits, and of the caller's token. `who` says
    /// of whom there may be too many.
    pub(crate) fn begin(&self, permits: &Arc<Semaphore>, who: &str) -> Result<Permit, ApiError> {
        let wait = self.0.as_ref().map(|flight| flight.wait()).transpose()?;
        let permit = permits.clone().try_acquire_owned().map_err(|_| {
            let detail = format!("too many {who} are waiting; try again after a pause");
            ApiError::http(StatusCode::TOO_MANY_REQUESTS, Failure::Overloaded.code(), detail)
        })?;
        Ok(Permit { _wait: wait, _permit: permit })
    }
}

/// Held while something waits.
#[derive(Debug)]
pub(crate) struct Permit {
    _wait: Option<Wait>,
    _permit: OwnedSemaphorePermit,
}

impl FromRequestParts<AppState> for Waiting {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ApiError> {
        Ok(Waiting(parts.extensions.get::<Arc<Flight>>().cloned()))
    }
}

fn refused(detail: String) -> ApiError {
    ApiError::http(StatusCode::TOO_MANY_REQUESTS, Failure::RateLimited.code(), detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(name: &str) -> Actor {
        Actor::from(&ff_core::TokenName::new(name).unwrap())
    }

    fn flights(requests: u32, waits: u32) -> Arc<Flights> {
        Arc::new(Flights::new(NonZeroU32::new(requests), NonZeroU32::new(waits)))
    }

    #[test]
    fn a_token_has_so_many_requests_at_once_and_others_have_theirs() {
        let flights = flights(2, 1);
        let (first, second) = (flights.begin(&token("a")), flights.begin(&token("a")));
        assert!(first.is_ok() && second.is_ok());
        let third = flights.begin(&token("a")).unwrap_err();
        assert_eq!((third.status.as_u16(), third.code), (429, "rate_limited"));
        assert!(flights.begin(&token("b")).is_ok());
        drop(second);
        assert!(flights.begin(&token("a")).is_ok());
    }

    #[test]
    fn what_waits_is_counted_separately_and_once() {
        let flights = flights(1, 1);
        let waiting = flights.begin(&token("a")).unwrap();
        let wait = waiting.wait().unwrap();
        let next = flights.begin(&token("a")).unwrap();
        assert!(next.wait().unwrap_err().detail.contains("1 requests of the token a wait"));
        assert!(flights.begin(&token("a")).is_err(), "the refused one is still worked on");
        drop((waiting, next));
        let next = flights.begin(&token("a")).unwrap();
        assert!(next.wait().is_err(), "a stream outlives its request");
        drop(wait);
        assert!(next.wait().is_ok());
    }

    #[test]
    fn a_token_without_requests_is_forgotten() {
        let flights = flights(1, 1);
        let flight = flights.begin(&token("a")).unwrap();
        let wait = flight.wait().unwrap();
        drop(flight);
        assert_eq!(flights.tokens().len(), 1);
        drop(wait);
        assert!(flights.tokens().is_empty());
    }

    #[test]
    fn without_a_limit_there_is_any_number() {
        let flights = Arc::new(Flights::default());
        let many: Vec<_> = (0..5_000).map(|_| flights.begin(&token("a")).unwrap()).collect();
        let waits: Vec<_> = many.iter().map(|flight| flight.wait().unwrap()).collect();
        drop((many, waits));
        assert!(flights.tokens().is_empty());
    }
}
