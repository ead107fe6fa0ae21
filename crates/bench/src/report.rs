//! The report of a benchmark.

use ff_backends::StoreUrl;
use serde::Serialize;

/// The figures of one run. A figure that does not apply is null.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// What was measured.
    pub scenario: &'static str,
    /// On which store.
    pub store: String,
    /// How many executions; for `chain`, flows.
    pub executions: u64,
    /// How many workers at once, in each process.
    pub workers: usize,
    /// In how many processes, when not in this one.
    pub processes: Option<u16>,
    /// How many executions in one call.
    pub batch: u16,
    /// How many bytes in an input.
    pub payload_bytes: usize,
    /// How many different capabilities were required.
    pub classes: Option<u16>,
    /// How many nodes a flow had.
    pub nodes: Option<u64>,
    /// How many lanes there were.
    pub lanes: Option<u32>,
    /// How many budgets there were.
    pub budgets: Option<u32>,
    /// How many executions were queued meanwhile.
    pub queued: Option<u64>,
    /// How long finished executions stayed, when they were removed during the run.
    pub retention_ms: Option<u64>,
    /// How long it took until all that waited could be claimed; for `overload`, how long that was;
    /// for `fanout`, from the submit of a flow to its last node.
    pub span_ms: Option<f64>,
    /// Executions per second, submit to complete; for `raise`, until they could be claimed; for `step`,
    /// steps; for `stream`, frames; for `pages`, pages; for `chain`, flows; for `fanout`, nodes.
    pub per_second: Option<f64>,
    /// Half of the measured times were not longer. For `chain` and `fanout`, from the completion of a node to the
    /// claim of the first that depends on it.
    pub p50_ms: Option<f64>,
    /// 99 of 100 measured times were not longer.
    pub p99_ms: Option<f64>,
    /// The same of nodes that depend on many, from the completion of the last of those.
    pub joined_ms: Option<f64>,
    /// The same of the claim calls alone.
    pub claim_p50_ms: Option<f64>,
    /// The same of the claim calls alone.
    pub claim_p99_ms: Option<f64>,
    /// `p50_ms` with few executions queued; for `scarce`, without the scarce ones; for `many`, with
    /// one lane.
    pub few_p50_ms: Option<f64>,
    /// `p99_ms` with few executions queued; for `scarce`, without the scarce ones; for `many`, with
    /// one lane.
    pub few_p99_ms: Option<f64>,
    /// `p50_ms` as a multiple of that.
    pub p50_ratio: Option<f64>,
    /// `p99_ms` as a multiple of that.
    pub p99_ratio: Option<f64>,
    /// 99 of 100 submits did not take longer.
    pub submit_p99_ms: Option<f64>,
    /// The same as a multiple of what it is with one lane.
    pub submit_p99_ratio: Option<f64>,
    /// The longest time that one call occupied the store.
    pub longest_call_ms: Option<f64>,
    /// How many claims it took at most until an urgent execution was claimed, itself included.
    pub claims_until_urgent: Option<u64>,
    /// Calls a client made, per execution; for `stream`, per frame; for `pages`, per page.
    pub store_calls_per_execution: Option<f64>,
    /// Calls of a client that waits for the end of an execution and reads its result.
    pub store_calls_per_wait: Option<f64>,
    /// Calls of a client that records the result of a step.
    pub store_calls_per_step: Option<f64>,
    /// Calls of clients for one flow: its submit, and the claims and completions of its nodes.
    pub store_calls_per_flow: Option<f64>,
    /// Calls clients made, per second; for `pages`, while one page is open.
    pub store_commands_per_second: Option<f64>,
    /// Processor time of a store in a separate process, per execution; for `step`, per step.
    pub store_cpu_us_per_execution: Option<f64>,
    /// How often the store rewrote its append-only file meanwhile.
    pub store_rewrites: Option<u64>,
    /// What the store does at best: the same statements, without the engine.
    pub limit_per_second: Option<f64>,
    /// `per_second` as a part of that.
    pub fraction_of_limit: Option<f64>,
    /// Processor time of the store for that, per execution.
    pub limit_cpu_us_per_execution: Option<f64>,
    /// `store_cpu_us_per_execution` as a multiple of that.
    pub cpu_to_limit: Option<f64>,
    /// A simpler system in the same run: a list queue; for `http`, the same in process;
    /// for `classes` and `admission`, the same without them; for `chain`, the same work without flows, of
    /// which ten executions are one.
    pub baseline_per_second: Option<f64>,
    /// `per_second` as a part of that.
    pub fraction_of_baseline: Option<f64>,
    /// `per_second` of the same work with the feed on, once more in the same run.
    pub feed_per_second: Option<f64>,
    /// That as a part of `per_second`.
    pub fraction_with_feed: Option<f64>,
    /// Commits that waited for the disk, per execution.
    pub syncs_per_execution: Option<f64>,
    /// How many executions shared one commit that waited for the disk.
    pub commands_per_sync: Option<f64>,
    /// What was done in time, as a part of what the limit allows.
    pub goodput_fraction: Option<f64>,
    /// The same for each third of the time.
    pub goodput_thirds: Option<[f64; 3]>,
    /// Bytes of the store's memory per execution that waits.
    pub bytes_waiting: Option<f64>,
    /// Bytes of the store's memory per execution that is finished.
    pub bytes_finished: Option<f64>,
}

impl Report {
    pub(crate) fn new(scenario: &'static str, store: &str, load: crate::Load) -> Report {
        Report {
            scenario,
            store: store.parse::<StoreUrl>().map(|url| url.to_string()).unwrap_or_default(),
            executions: load.executions,
            workers: load.workers,
            batch: load.batch,
            payload_bytes: load.payload,
            retention_ms: load.retention.map(|retention| retention.get()),
            ..Report::default()
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
