//! The audit scanner: finds violations of the store's invariants, counts and logs them. It repairs
//! nothing.
//!
//! It reads at a bounded pace and holds a bounded number of rows. What it finds it reads a second
//! time, and counts what is still wrong: a write between two reads is not a violation. Of several
//! processes, the one that owns the first partition audits.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use ff_store::audit::{Auditor, Report, Rule};
use ff_store::{EngineBackend, PartitionSet, StoreError};

use crate::metrics;
use crate::scanner::{Scanned, Scanner};

/// How many violations are logged individually.
const MAX_LOGGED: usize = 20;

/// Finds violations of the store's invariants.
#[derive(Debug, Clone, Copy)]
pub struct AuditScanner {
    /// The time between two audits.
    pub interval: Duration,
    /// How many rows are read at a time.
    pub batch: u64,
    /// How long it pauses after each batch.
    pub rest: Duration,
    /// A store of more rows is left to `ff check`.
    pub most: u64,
}

impl Default for AuditScanner {
    fn default() -> Self {
        AuditScanner {
            interval: Duration::from_secs(600),
            batch: 1_000,
            rest: Duration::from_millis(10),
            most: 200_000,
        }
    }
}

#[async_trait]
impl Scanner for AuditScanner {
    fn name(&self) -> &'static str {
        "audit"
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    async fn scan(
        &self,
        backend: &dyn EngineBackend,
        share: &PartitionSet,
    ) -> Result<Scanned, StoreError> {
        if !share.has(0) {
            return Ok(Scanned::default());
        }
        let Some(mut report) = self.read(backend).await? else { return Ok(Scanned::default()) };
        if !report.violations.is_empty() {
            let Some(again) = self.read(backend).await? else { return Ok(Scanned::default()) };
            report.violations.retain(|found| again.violations.contains(found));
        }
        log(&report);
        let errors = report.violations.len() as u64;
        Ok(Scanned { processed: report.records, changed: 0, errors })
    }
}

impl AuditScanner {
    /// Reads all rows; `None` if there are too many.
    async fn read(&self, backend: &dyn EngineBackend) -> Result<Option<Report>, StoreError> {
        let mut rows = backend.rows().await?;
        let mut auditor = Auditor::default();
        let mut read = 0;
        while let Some(row) = rows.next().await {
            auditor.row(row?);
            read += 1;
            if read > self.most {
                tracing::info!(rows = self.most, "too many rows to audit; run `ff check`");
                return Ok(None);
            }
            if read % self.batch == 0 {
                tokio::time::sleep(self.rest).await;
            }
        }
        Ok(Some(auditor.finish()))
    }
}

fn log(report: &Report) {
    let mut counts: BTreeMap<Rule, u64> = Rule::ALL.iter().map(|rule| (*rule, 0)).collect();
    for violation in &report.violations {
        *counts.entry(violation.rule).or_default() += 1;
    }
    for violation in report.violations.iter().take(MAX_LOGGED) {
        tracing::error!(rule = violation.rule.as_str(), %violation, "violation");
    }
    for (rule, count) in counts {
        metrics::violations(rule.as_str(), count);
    }
}
