//! Outages: that a store does not answer is logged when it begins and when it is over, however many
//! calls fail in between.
//!
//! The services of a process ask their store every second, and so do its callers; each would log
//! every failure. Here the first one is logged, the others are counted, and the end says how many
//! there were and for how long. A store that answers now and then is still out: it must have
//! answered for [`SETTLED`] without a failure.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::StoreError;

/// How long a store has to answer for an outage to be over.
const SETTLED: Duration = Duration::from_secs(2);

/// The outage of this process's store, if there is one.
static STORE: Outage = Outage::none();

/// Logs that something failed: `what` could not be done. While the store is out, only once.
pub fn failed(error: &StoreError, what: &str) {
    if !is_silence(error) {
        tracing::warn!(%error, "{what}");
        return;
    }
    match STORE.begins(Instant::now()) {
        true => tracing::warn!(%error, during = what, "the store does not answer"),
        false => tracing::debug!(%error, "{what}"),
    }
}

/// Records that the store has answered. Periodic callers of the store call this after each success.
pub fn answered() {
    if let Some(Ended { lasted, failures }) = STORE.ends(Instant::now()) {
        let lasted_ms = lasted.as_millis() as u64;
        tracing::warn!(lasted_ms, failures, "the store answers again");
    }
}

/// Whether the error is that no server answered, as opposed to an unusable answer.
fn is_silence(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(_))
}

/// The current outage, if there is one.
struct Outage(Mutex<Option<Present>>);

/// An outage that has not ended.
struct Present {
    began: Instant,
    last: Instant,
    failures: u64,
}

/// An outage that is over.
#[derive(Debug, PartialEq, Eq)]
struct Ended {
    lasted: Duration,
    failures: u64,
}

impl Outage {
    const fn none() -> Outage {
        Outage(Mutex::new(None))
    }

    /// Counts a failure; whether an outage begins with it.
    fn begins(&self, now: Instant) -> bool {
        let mut present = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *present {
            Some(present) => {
                present.last = now;
                present.failures += 1;
                false
            }
            None => {
                *present = Some(Present { began: now, last: now, failures: 1 });
                true
            }
        }
    }

    /// Takes note of an answer; the outage that is over with it.
    fn ends(&self, now: Instant) -> Option<Ended> {
        let mut present = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let over = |present: &mut Present| now.duration_since(present.last) >= SETTLED;
        let Present { began, last, failures } = present.take_if(over)?;
        Some(Ended { lasted: last - began, failures })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_begins_once_and_ends_once_with_its_length_and_failures() {
        let (outage, start) = (Outage::none(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(outage.ends(at(0)), None, "nothing has failed");
        assert!(outage.begins(at(0)));
        for second in 1..60 {
            assert!(!outage.begins(at(second * 1_000)));
        }
        let ended = Ended { lasted: Duration::from_secs(59), failures: 60 };
        assert_eq!(outage.ends(at(61_000)), Some(ended));
        assert_eq!(outage.ends(at(62_000)), None);
        assert!(outage.begins(at(70_000)), "the next one is another");
    }

    #[test]
    fn a_store_that_answers_now_and_then_is_out_until_it_answers_all_the_time() {
        let (outage, start) = (Outage::none(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert!(outage.begins(at(0)));
        for second in 1..60 {
            assert_eq!(outage.ends(at(second * 1_000 - 500)), None);
            assert!(!outage.begins(at(second * 1_000)));
        }
        assert_eq!(outage.ends(at(60_999)), None);
        assert_eq!(outage.ends(at(61_000)).map(|ended| ended.failures), Some(60));
    }
}
