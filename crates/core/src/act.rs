//! Who did what: an execution keeps the newest acts of people on it, a lane, a budget and a quota their last
//! change.
//!
//! A [`Command`](crate::machine::Command) says who gives it; one that says nothing leaves no trace here.

use serde::{Deserialize, Serialize};

use crate::bounds::ACTS;
use crate::name::Actor;
use crate::time::Time;
use crate::words;

words!(
    /// What somebody did to an execution.
    Deed {
        /// Asked for its end.
        Cancel = "cancel",
        /// Started a new run.
        Replay = "replay",
        /// Ended a suspension without its condition.
        Resume = "resume",
        /// Took a lease away.
        Revoke = "revoke",
        /// Changed its priority.
        Priority = "priority",
        /// Changed its tags.
        Tag = "tag",
    }
);

/// Something that somebody did to an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Act {
    /// What.
    pub what: Deed,
    /// Who.
    pub by: Actor,
    /// When.
    pub at: Time,
}

impl Act {
    /// Adds it to `acts`, of which the newest [`ACTS`] stay.
    pub(crate) fn push(self, acts: &mut Vec<Act>) {
        let over = (acts.len() + 1).saturating_sub(ACTS);
        acts.drain(..over);
        acts.push(self);
    }
}

/// The last change of a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// When.
    pub at: Time,
    /// Who made it.
    pub by: Actor,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_acts_stay() {
        let mut acts = Vec::new();
        for at in 0..ACTS as u64 + 3 {
            Act { what: Deed::Replay, by: Actor::local(), at: Time::from_ms(at) }.push(&mut acts);
        }
        let times: Vec<_> = acts.iter().map(|act| act.at.as_ms()).collect();
        assert_eq!(times, (3..ACTS as u64 + 3).collect::<Vec<_>>());
    }
}
