//! Approvals: how the decision of a person is a signal, wherever it is taken.

use crate::digest::Digest;
use crate::name::{Category, SignalName, Source};
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
        Category::new(CATEGORY)
    }

    /// By what a decision without a key of its own is found again: at one waitpoint the first decision
    /// of a source stands. `None` for a signal of another category, which is no decision.
    pub(crate) fn digest(category: Option<&Category>, source: &Source) -> Option<Digest> {
        category.filter(|category| category.as_str() == CATEGORY)?;
        Some(Digest::of(|fields| {
            fields.text("decision");
            fields.text(source.as_str());
        }))
    }
}

/// The kind of signal that a decision is.
const CATEGORY: &str = "approval";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_decision_is_a_signal_and_a_source_has_one() {
        let source = |text: &str| Source::new(text).unwrap();
        for decision in Decision::ALL {
            assert_eq!(decision.name().unwrap().as_str(), decision.as_str());
        }
        let category = Decision::category().unwrap();
        let digest = |text| Decision::digest(Some(&category), &source(text)).unwrap();
        assert_eq!(digest("ann"), digest("ann"));
        assert_ne!(digest("ann"), digest("Jörg <joerg@example.com>"));
        assert_eq!(Decision::digest(None, &source("ann")), None);
    }
}
