//! What a benchmark says.

use serde::Serialize;

/// The figures of one run. A figure that does not apply is null.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// What was measured.
    pub scenario: &'static str,
    /// On which store.
    pub store: String,
    /// How many executions.
    pub executions: u64,
    /// How many workers at once.
    pub workers: usize,
    /// How many executions in one call.
    pub batch: u16,
    /// How many bytes in an input.
    pub payload_bytes: usize,
    /// Executions per second, submit to complete.
    pub per_second: Option<f64>,
    /// Half of the measured times were not longer.
    pub p50_ms: Option<f64>,
    /// 99 of 100 measured times were not longer.
    pub p99_ms: Option<f64>,
    /// The same of the claim calls alone.
    pub claim_p50_ms: Option<f64>,
    /// The same of the claim calls alone.
    pub claim_p99_ms: Option<f64>,
    /// Calls a client made, per execution.
    pub store_calls_per_execution: Option<f64>,
    /// Processor time of a store in its own process, per execution.
    pub store_cpu_us_per_execution: Option<f64>,
    /// What the store does at best: the same statements, without the engine.
    pub limit_per_second: Option<f64>,
    /// `per_second` as a part of that.
    pub fraction_of_limit: Option<f64>,
    /// What something plainer did in the same run; for `http`, the same in process.
    pub baseline_per_second: Option<f64>,
    /// `per_second` as a part of that.
    pub fraction_of_baseline: Option<f64>,
    /// Commits that waited for the disk, per execution.
    pub syncs_per_execution: Option<f64>,
    /// How many executions shared one commit that waited for the disk.
    pub commands_per_sync: Option<f64>,
}

impl Report {
    pub(crate) fn new(scenario: &'static str, store: &str, load: crate::Load) -> Report {
        Report {
            scenario,
            store: store.to_owned(),
            executions: load.executions,
            workers: load.workers,
            batch: load.batch,
            payload_bytes: load.payload,
            per_second: None,
            p50_ms: None,
            p99_ms: None,
            claim_p50_ms: None,
            claim_p99_ms: None,
            store_calls_per_execution: None,
            store_cpu_us_per_execution: None,
            limit_per_second: None,
            fraction_of_limit: None,
            baseline_per_second: None,
            fraction_of_baseline: None,
            syncs_per_execution: None,
            commands_per_sync: None,
        }
    }

    /// The figures as lines of name and value, for people.
    pub fn rows(&self) -> Vec<(String, String)> {
        let Ok(serde_json::Value::Object(figures)) = serde_json::to_value(self) else {
            return Vec::new();
        };
        let shown = figures.into_iter().filter(|(_, value)| !value.is_null());
        shown.map(|(name, value)| (name, text(&value))).collect()
    }
}

fn text(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
