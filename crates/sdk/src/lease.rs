//! A lease that a worker renews, and what its holder learns from the renewals.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ff_core::machine::{Assignment, LeaseRef, Renewed};
use ff_core::{Code, Millis, Time};
use ff_store::StoreError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::emit::Slot;
use crate::heartbeat::MIN_INTERVAL;
use crate::task::StopReason;

/// A lease that is kept alive.
#[derive(Debug)]
pub(crate) struct KeptLease {
    pub(crate) hold: LeaseRef,
    ttl: Duration,
    /// When the attempt is past its timeout, by the clock of this process.
    times_out: Option<Instant>,
    state: Mutex<KeptState>,
    /// Set once the holder should stop.
    pub(crate) stop: CancellationToken,
    /// Set once nothing the holder does counts any more.
    pub(crate) lost: CancellationToken,
    /// Set once a call of the handler has ended the hold.
    pub(crate) parked: CancellationToken,
    /// What sends the frames of the task, from the first one until the task has ended.
    pub(crate) emitter: Mutex<Slot>,
}

#[derive(Debug)]
struct KeptState {
    renew_at: Instant,
    /// When the lease has surely ended, by the clock of this process.
    ends: Instant,
    reason: Option<StopReason>,
    /// When the hold ends, if its execution is being cancelled.
    stop_by: Option<Instant>,
    /// What the store answered, if that is why the holder should stop.
    error: Option<StoreError>,
}

impl KeptLease {
    /// The lease of `assignment`, which was just claimed.
    pub(crate) fn new(assignment: &Assignment) -> KeptLease {
        let now = Instant::now();
        let from_now = |at: Time| span(at.since(assignment.claimed_at));
        let left = from_now(assignment.until);
        let state = KeptState {
            renew_at: now + left / 3,
            ends: now + left,
            reason: None,
            stop_by: None,
            error: None,
        };
        KeptLease {
            hold: assignment.hold(),
            ttl: span(assignment.lease_ttl),
            times_out: assignment.timeout_at.map(|at| now + from_now(at)),
            state: Mutex::new(state),
            stop: CancellationToken::new(),
            lost: CancellationToken::new(),
            parked: CancellationToken::new(),
            emitter: Mutex::default(),
        }
    }

    pub(crate) fn reason(&self) -> Option<StopReason> {
        self.state().reason
    }

    /// When the hold ends, if its execution is being cancelled.
    pub(crate) fn stop_by(&self) -> Option<Instant> {
        self.state().stop_by
    }

    /// What the store answered, if that is why the holder should stop.
    pub(crate) fn error(&self) -> Option<StoreError> {
        self.state().error.clone()
    }

    /// When the lease has surely ended unless it is renewed, by the clock of this process.
    pub(crate) fn ends(&self) -> Instant {
        self.state().ends
    }

    /// When it is to be renewed, if there is a lease left to renew.
    pub(crate) fn renew_at(&self) -> Option<Instant> {
        let state = self.state();
        state.is_kept().then_some(state.renew_at)
    }

    /// Has it renewed now.
    pub(crate) fn renew_now(&self) {
        self.state().renew_at = Instant::now();
    }

    /// Whether it is to be renewed at `now`, or soon enough after to share the call.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.renew_at().is_some_and(|at| at <= now + self.ttl / 10)
    }

    /// When the attempt is past its timeout, if it has one and the lease is still kept.
    pub(crate) fn times_out(&self) -> Option<Instant> {
        self.times_out.filter(|_| self.state().is_kept())
    }

    /// Tells the holder that the attempt is past its timeout: the engine ends it by then.
    pub(crate) fn time_out(&self) {
        self.end(&mut self.state(), StopReason::TimedOut, None);
    }

    /// Records an answer to a renewal sent at `sent`.
    pub(crate) fn record(&self, sent: Instant, answer: Result<Renewed, StoreError>) {
        let mut state = self.state();
        let error = match answer {
            Ok(renewed) => {
                state.renew_at = sent + self.ttl / 3;
                state.ends = sent + self.ttl;
                if let Some(by) = self.grace_left(&renewed).map(|left| sent + left) {
                    // The hold ends then, and the next renewal learns of it.
                    state.renew_at = state.renew_at.min(by);
                    state.stop_by = Some(by);
                    self.end(&mut state, StopReason::CancelRequested, None);
                }
                return;
            }
            Err(error) => error,
        };
        let reason = match error.refused() {
            Some(Code::Cancelled) => StopReason::Cancelled,
            // A hold that is being cancelled has ended with the cancel.
            Some(_) if state.reason.is_some() => StopReason::Cancelled,
            Some(_) => StopReason::LeaseLost,
            // The outcome is unknown: try again soon, until the lease has surely ended.
            None if Instant::now() < state.ends => {
                state.renew_at = Instant::now() + (self.ttl / 10).max(MIN_INTERVAL);
                return;
            }
            None => StopReason::LeaseLost,
        };
        self.end(&mut state, reason, Some(error));
    }

    /// Tells the holder to stop. A reason by which nothing it does counts is final.
    fn end(&self, state: &mut KeptState, reason: StopReason, error: Option<StoreError>) {
        if !state.is_kept() {
            return;
        }
        (state.reason, state.error) = (Some(reason), error);
        self.stop.cancel();
        if reason != StopReason::CancelRequested {
            self.lost.cancel();
        }
    }

    /// How long the holder has to stop, from the renewal on, if it is asked to.
    fn grace_left(&self, renewed: &Renewed) -> Option<Duration> {
        let ttl = Millis::new(self.ttl.as_millis().try_into().unwrap_or(u64::MAX));
        // The store counts from the time at which it renewed.
        let left = renewed.cancel_by?.since(renewed.until - ttl);
        Some(span(left))
    }

    fn state(&self) -> MutexGuard<'_, KeptState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptState {
    /// Whether there is a lease left to keep.
    fn is_kept(&self) -> bool {
        matches!(self.reason, None | Some(StopReason::CancelRequested))
    }
}

fn span(length: Millis) -> Duration {
    Duration::from_millis(length.get())
}
