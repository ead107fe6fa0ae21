//! The report of an audit.

use ff_store::Repaired;
use ff_store::audit::{Report, Violation};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What an audit found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditView {
    /// How many records were read.
    pub records: u64,
    /// How many index entries were read.
    pub entries: u64,
    /// The violations.
    pub violations: Vec<ViolationView>,
    /// How many more violations there are than are listed.
    pub further: u64,
    /// What was repaired first, if a repair was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repaired: Option<RepairedView>,
    /// How far the store's time is ahead of the system clock, if that was set back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_offset_ms: Option<u64>,
}

/// What a repair found and repaired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RepairedView {
    /// Index entries that were examined.
    pub examined: u64,
    /// Entries of no record, which were removed.
    pub unwritten: u64,
    /// Entries that a record has and that were missing, which were restored.
    pub unplaced: u64,
    /// Entries, payloads and attempts that no longer belong to their record, which were removed.
    pub leftover: u64,
    /// Budgets and quotas that counted more than is held, which were recounted.
    pub uncounted: u64,
}

/// A violation of an invariant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ViolationView {
    /// Which rule is broken.
    pub rule: String,
    /// Where, and how.
    pub detail: String,
}

impl From<&Report> for AuditView {
    fn from(report: &Report) -> Self {
        AuditView {
            records: report.records,
            entries: report.entries,
            violations: report.violations.iter().map(ViolationView::from).collect(),
            further: report.further,
            repaired: None,
            clock_offset_ms: None,
        }
    }
}

impl From<&Repaired> for RepairedView {
    fn from(repaired: &Repaired) -> Self {
        let Repaired { examined, unwritten, unplaced, leftover, uncounted } = *repaired;
        RepairedView { examined, unwritten, unplaced, leftover, uncounted }
    }
}

impl From<&Violation> for ViolationView {
    fn from(violation: &Violation) -> Self {
        ViolationView { rule: violation.rule.as_str().to_owned(), detail: violation.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ff_store::audit::{Found, Rule, Subject};

    #[test]
    fn a_violation_names_its_rule() {
        let violation = Violation {
            rule: Rule::EntryThere,
            subject: Subject::Place("here".to_owned()),
            found: Found::Missing,
            detail: "x".to_owned(),
        };
        let report = Report { records: 3, entries: 2, violations: vec![violation], further: 1 };
        assert_eq!(
            serde_json::to_value(AuditView::from(&report)).unwrap(),
            serde_json::json!({
                "records": 3,
                "entries": 2,
                "violations": [{"rule": "entry_there", "detail": "here: x"}],
                "further": 1,
            })
        );
    }
}
