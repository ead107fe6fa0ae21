//! How many requests a server takes: of everybody together, and of each named token.
//!
//! A bucket is one moment: the time by which everything that it let through is paid for. A caller may be ahead
//! of that by a second's worth, so that requests can come in bursts. A bucket whose moment has passed is as
//! good as none, so those are dropped when there are many. Every server counts for itself.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use ff_core::Actor;
use ff_store::Failure;
use tokio::time::Instant;

use crate::error::ApiError;

/// How many tokens have a bucket of their own; those that find no room share one.
const BUCKETS: usize = 4_096;

/// What a caller may be ahead: as many requests as it has in this time.
const BURST: Duration = Duration::from_secs(1);

/// The rates of a server.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    all: Option<(NonZeroU32, Mutex<Option<Instant>>)>,
    tokens: Option<(NonZeroU32, Mutex<Buckets>)>,
}

#[derive(Debug, Default)]
struct Buckets {
    own: HashMap<Actor, Instant>,
    shared: Option<Instant>,
}

impl Rates {
    /// So many requests a second of everybody together, and of each named token.
    pub(crate) fn new(all: Option<NonZeroU32>, tokens: Option<NonZeroU32>) -> Rates {
        Rates {
            all: all.map(|rate| (rate, Mutex::default())),
            tokens: tokens.map(|rate| (rate, Mutex::default())),
        }
    }

    /// Counts a request of anybody.
    pub(crate) fn take(&self) -> Result<(), ApiError> {
        let Some((rate, paid)) = &self.all else { return Ok(()) };
        let mut paid = paid.lock().unwrap_or_else(PoisonError::into_inner);
        *paid = Some(spend(*rate, *paid, Instant::now()).ok_or_else(|| {
            refused(format!("the server takes {rate} requests a second; try again after a pause"))
        })?);
        Ok(())
    }

    /// Counts a request of a named token.
    pub(crate) fn take_of(&self, token: &Actor) -> Result<(), ApiError> {
        let Some((rate, buckets)) = &self.tokens else { return Ok(()) };
        let mut buckets = buckets.lock().unwrap_or_else(PoisonError::into_inner);
        match buckets.take(*rate, token, Instant::now()) {
            true => Ok(()),
            false => Err(refused(format!(
                "the token {token} may make {rate} requests a second; try again after a pause"
            ))),
        }
    }
}

impl Buckets {
    fn take(&mut self, rate: NonZeroU32, token: &Actor, now: Instant) -> bool {
        let known = self.own.contains_key(token);
        if !known && self.own.len() >= BUCKETS {
            self.own.retain(|_, paid| *paid > now);
        }
        let shares = !known && self.own.len() >= BUCKETS;
        let paid = if shares { self.shared } else { self.own.get(token).copied() };
        match (spend(rate, paid, now), shares) {
            (None, _) => return false,
            (after, true) => self.shared = after,
            (Some(after), false) => drop(self.own.insert(token.clone(), after)),
        }
        true
    }
}

/// By when a caller has paid that makes one more request, unless it is too far ahead.
fn spend(rate: NonZeroU32, paid: Option<Instant>, now: Instant) -> Option<Instant> {
    let one = Duration::from_secs(1) / rate.get();
    let after = paid.filter(|paid| *paid > now).unwrap_or(now) + one;
    (after <= now + BURST).then_some(after)
}

fn refused(detail: String) -> ApiError {
    ApiError::http(StatusCode::TOO_MANY_REQUESTS, Failure::RateLimited.code(), detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(of: u32) -> NonZeroU32 {
        NonZeroU32::new(of).unwrap()
    }

    fn token(number: usize) -> Actor {
        Actor::from(&ff_core::TokenName::new(format!("t{number}")).unwrap())
    }

    /// How many of `tries` requests are let through.
    fn passed(rate: NonZeroU32, paid: &mut Option<Instant>, now: Instant, tries: u32) -> u32 {
        let one = |_: &u32| match spend(rate, *paid, now) {
            Some(after) => {
                *paid = Some(after);
                true
            }
            None => false,
        };
        (0..tries).filter(one).count() as u32
    }

    #[test]
    fn a_second_has_a_burst_and_then_the_rate() {
        for of in [1, 3, 10, 1_000] {
            let (mut now, mut paid) = (Instant::now(), None);
            assert_eq!(passed(rate(of), &mut paid, now, of + 5), of, "a burst");
            assert_eq!(passed(rate(of), &mut paid, now + Duration::from_millis(1) / of, 1), 0);
            let mut count = 0;
            for _ in 0..100 {
                now += Duration::from_millis(100);
                count += passed(rate(of), &mut paid, now, of);
            }
            assert!(count.abs_diff(of * 10) <= 1, "{count} in ten seconds at {of}");
            now += Duration::from_secs(3_600);
            assert_eq!(passed(rate(of), &mut paid, now, of + 5), of, "silence saves up one burst");
        }
    }

    #[test]
    fn one_token_takes_nothing_from_another() {
        let (mut buckets, now) = (Buckets::default(), Instant::now());
        assert!(buckets.take(rate(1), &token(1), now));
        assert!(!buckets.take(rate(1), &token(1), now));
        assert!(buckets.take(rate(1), &token(2), now));
    }

    #[test]
    fn the_buckets_are_bounded_and_those_without_one_share() {
        let (mut buckets, now) = (Buckets::default(), Instant::now());
        for number in 0..BUCKETS {
            assert!(buckets.take(rate(1), &token(number), now));
        }
        assert!(buckets.take(rate(1), &token(BUCKETS), now), "the first of those without");
        assert!(!buckets.take(rate(1), &token(BUCKETS + 1), now), "the second");
        assert_eq!(buckets.own.len(), BUCKETS);
        let later = now + Duration::from_secs(1);
        assert!(buckets.take(rate(1), &token(BUCKETS + 1), later));
        assert_eq!(buckets.own.len(), 1, "what is paid for is dropped");
    }
}
