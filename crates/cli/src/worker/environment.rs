//! The environment of a program: what it works on and where it reports, without the
//! settings of the worker.

use ff_core::machine::Assignment;

/// The prefix of the names of all settings. The token of a server and the URL of a store are among
/// them, so a program inherits none.
pub(super) const OWN: &str = "FF_";

/// The variables of a program that runs `assignment` and reports to `url`.
pub(super) fn of(assignment: &Assignment, url: &str) -> Vec<(&'static str, String)> {
    let fence = assignment.fence;
    let budgets: Vec<_> = assignment.budgets.iter().map(ToString::to_string).collect();
    let used = assignment.used.iter().map(|(dimension, amount)| format!("{dimension}={amount}"));
    let used: Vec<_> = used.collect();
    let mut variables = vec![
        ("FF_URL", url.to_owned()),
        ("FF_EXECUTION", assignment.execution.to_string()),
        ("FF_LEASE", fence.lease.to_string()),
        ("FF_EPOCH", fence.epoch.to_string()),
        ("FF_ATTEMPT", fence.attempt.to_string()),
        ("FF_RUN", assignment.run.to_string()),
        ("FF_KIND", assignment.kind.to_string()),
        ("FF_LANE", assignment.lane.to_string()),
        ("FF_NAMESPACE", assignment.namespace.to_string()),
        ("FF_PRIORITY", assignment.priority.to_string()),
        ("FF_FAILURES", assignment.failures.to_string()),
        ("FF_MAX_ATTEMPTS", assignment.max_attempts.to_string()),
        ("FF_LAST_ATTEMPT", assignment.is_last_attempt().to_string()),
        ("FF_BUDGETS", budgets.join(",")),
        ("FF_USED", used.join(",")),
        ("FF_STEPS", assignment.steps.to_string()),
        ("FF_GENERATION", assignment.generation.to_string()),
    ];
    if let Some((flow, node)) = &assignment.member {
        variables.push(("FF_FLOW", flow.to_string()));
        variables.push(("FF_NODE", node.to_string()));
    }
    let progress = assignment.progress.as_ref();
    if let Some(percent) = progress.and_then(|progress| progress.percent) {
        variables.push(("FF_PROGRESS", percent.to_string()));
    }
    if let Some(message) = progress.and_then(|progress| progress.message.as_deref()) {
        // No variable holds a zero byte, and a message may.
        variables.push(("FF_PROGRESS_MESSAGE", message.replace('\0', "")));
    }
    variables
}
