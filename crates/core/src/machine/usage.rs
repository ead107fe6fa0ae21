//! Usage: a holder reports what it has used.

use super::{Context, Decide, Facts, LeaseRef, ReadSet, Step, Used};
use crate::bounds::{USAGE_REPORTS, USED_DIMENSIONS};
use crate::digest::Digest;
use crate::id::LeaseId;
use crate::limits::{Amounts, add, check_amounts, subtract};
use crate::name::IdempotencyKey;
use crate::refusal::Refusal;
use crate::table::Verb;

/// Adds to what an execution has used, or takes back from it. What was used is a fact: it is never
/// refused because a limit is passed; only names of ever more dimensions are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportUsage {
    /// What is held.
    pub hold: LeaseRef,
    /// The holder's name for this report: the same one again changes nothing.
    pub key: IdempotencyKey,
    /// How much, by dimension.
    pub amounts: Amounts,
    /// Takes back instead of adding.
    pub release: bool,
}

impl Decide for ReportUsage {
    fn facts(&self) -> Facts<'_> {
        Facts::execution(self.hold.target.execution, Verb::Usage)
    }

    fn lease_mut(&mut self) -> Option<&mut LeaseId> {
        Some(&mut self.hold.fence.lease)
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.amounts.is_empty() {
            return Err(Refusal::invalid("amounts", "is empty; give at least one dimension"));
        }
        check_amounts("amounts", &self.amounts)
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.hold.target.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.found(&self.hold.target)?;
        let key = Digest::of(|fields| fields.text(self.key.as_str())).get();
        let body = Digest::of(|fields| {
            fields.number(u64::from(self.release));
            for (dimension, amount) in &self.amounts {
                fields.text(dimension.as_str());
                fields.number(*amount);
            }
        });
        let revision = record.version.counter();
        // A report that is counted is answered so, also to a holder whose lease has ended since: it
        // would take a refusal for a report that is not counted.
        let earlier = record.reports.iter().find(|(known, _)| *known == key);
        if earlier.is_some_and(|(_, earlier)| *earlier == body.get()) {
            return Ok(Step::answer(Used { amounts: record.used.clone(), revision }));
        }
        let record = context.held(&self.hold)?.record;
        if earlier.is_some() {
            return Err(Refusal::IdempotencyConflict);
        }
        let mut after = record.clone();
        let used = &mut after.used;
        if self.release {
            let covered = |(dimension, amount): (&_, &u64)| {
                used.get(dimension).copied().unwrap_or(0) >= *amount
            };
            if !self.amounts.iter().all(covered) {
                let why = "takes back more than was reported; give at most that";
                return Err(Refusal::invalid("amounts", why));
            }
            subtract(used, &self.amounts);
        } else {
            add(used, &self.amounts);
            Refusal::cap("amounts", used.len(), USED_DIMENSIONS, "dimensions in all")?;
        }
        let answer = Used { amounts: used.clone(), revision: revision + 1 };
        let reports = &mut after.reports;
        if reports.len() >= USAGE_REPORTS {
            reports.remove(0);
        }
        reports.push((key, body.get()));
        Ok(Step::write(context.update(record, after, None), answer))
    }
}
