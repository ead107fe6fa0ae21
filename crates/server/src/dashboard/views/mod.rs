//! The pages: each reads what it shows and gives it to its templates.

pub(super) mod approvals;
pub(super) mod events;
pub(super) mod execution;
pub(super) mod executions;
pub(super) mod flow;
pub(super) mod flows;
pub(super) mod job;
pub(super) mod lanes;
pub(super) mod limits;
mod output;
pub(super) mod overview;
mod webhooks;
pub(super) mod workers;
