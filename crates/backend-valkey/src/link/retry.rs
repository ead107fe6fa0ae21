//! Which faults are retryable, and how.
//!
//! Only a command that was certainly not run is repeated here. One whose answer was lost is for the
//! caller to repeat: every call of the store can be.

use std::time::Duration;

use ff_store::retry::Backoff;

use crate::error::{Fault, Kind, Redirect};

const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// The pauses between the tries of one call.
pub(crate) fn pauses() -> Backoff {
    Backoff::new(FIRST_PAUSE, LONGEST_PAUSE)
}

/// What to do about a fault.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// Load the library on that node and repeat.
    Load,
    /// Learn that the slot has moved and repeat there.
    Follow(Redirect),
    /// Repeat there, this once.
    Ask(Redirect),
    /// Wait and repeat.
    Wait,
    /// Refresh the slot map, wait and repeat.
    Relearn,
    /// Give up: the caller gets the fault.
    Stop,
}

impl Fault {
    pub(crate) fn advice(&self) -> Advice {
        match &self.kind {
            Kind::Missing => Advice::Load,
            Kind::Moved(to) => Advice::Follow(to.clone()),
            Kind::Ask(to) => Advice::Ask(to.clone()),
            Kind::TryAgain | Kind::Loading | Kind::Busy | Kind::Unwritable => Advice::Wait,
            Kind::ClusterDown | Kind::MasterDown | Kind::ReadOnly | Kind::Unreached => {
                Advice::Relearn
            }
            Kind::Full
            | Kind::Denied(_)
            | Kind::WrongType
            | Kind::AlreadyLoaded
            | Kind::NoCluster
            | Kind::Lost
            | Kind::Strayed
            | Kind::Unconfirmed
            | Kind::Other => Advice::Stop,
        }
    }
}
