//! Approvals: how the decision of a person is a signal, wherever it is taken.

use crate::digest::Digest;
use crate::name::{Category, IdempotencyKey, SignalName, Source};
use crate::refusal::Refusal;
use crate::words;

words!(
    /// What a person decides. The word is the name of the signal, by which a condition chooses.
    Decision {
        /// Yes.
        Approve = "approve",
        /// No.
        Reject = "reject",
    }
);

impl Decision {
    /// Yes or no.
    pub const fn of(approved: bool) -> Decision {
        match approved {
            true => Decision::Approve,
            false => Decision::Reject,
        }
    }

    /// The name of the signal.
    pub fn name(self) -> Result<SignalName, Refusal> {
        SignalName::new(self.as_str())
    }

    /// The kind of the signal.
    pub fn category() -> Result<Category, Refusal> {
        Category::new("approval")
    }

    /// The sender's name for the signal: at one waitpoint the first decision of a source stands.
    pub fn key(source: &Source) -> Result<IdempotencyKey, Refusal> {
        let digest = Digest::of(|fields| fields.text(source.as_str()));
        IdempotencyKey::new(format!("decision-{:016x}", digest.get()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_decision_is_a_signal_and_a_source_has_one() {
        let source = |text: &str| Source::new(text).unwrap();
        for decision in Decision::ALL {
            assert_eq!(decision.name().unwrap().as_str(), decision.as_str());
        }
        assert_eq!(Decision::category().unwrap().as_str(), "approval");
        let key = |text| Decision::key(&source(text)).unwrap();
        assert_eq!(key("ann"), key("ann"));
        assert_ne!(key("ann"), key("Jörg <joerg@example.com>"));
    }
}
