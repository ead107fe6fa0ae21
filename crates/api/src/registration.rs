//! Registered workers.

use ff_core::resource::Registration;
use ff_core::state::Worker;
use ff_core::{Capabilities, Lane, Millis, Refusal, WorkerId, WorkerInstanceId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::timestamp::Timestamp;

/// A worker that has registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkerView {
    /// The running process.
    #[schema(value_type = String)]
    pub instance: WorkerInstanceId,
    /// The name shared by its instances.
    #[schema(value_type = String)]
    pub worker: WorkerId,
    /// The id of this registration: another process with the same instance id has another one.
    pub session: String,
    /// Which lanes it serves.
    #[schema(value_type = Vec<String>)]
    pub lanes: Vec<Lane>,
    /// What it offers.
    pub capabilities: Vec<String>,
    /// How long it may be silent.
    pub ttl_ms: u64,
    /// When it registered.
    pub registered: Timestamp,
    /// When its last heartbeat arrived.
    pub last_seen: Timestamp,
    /// When it counts as gone unless a heartbeat arrives.
    pub until: Timestamp,
}

impl From<&Registration> for WorkerView {
    fn from(registration: &Registration) -> Self {
        WorkerView {
            instance: registration.worker.instance.clone(),
            worker: registration.worker.id.clone(),
            session: registration.session.to_string(),
            lanes: registration.lanes.clone(),
            capabilities: registration.capabilities.tokens().map(str::to_owned).collect(),
            ttl_ms: registration.ttl.get(),
            registered: registration.registered_at.into(),
            last_seen: registration.last_seen.into(),
            until: registration.until().into(),
        }
    }
}

impl WorkerView {
    /// The registration.
    pub fn registration(self) -> Result<Registration, Refusal> {
        Ok(Registration {
            worker: Worker { id: self.worker, instance: self.instance },
            session: self.session.parse()?,
            lanes: self.lanes,
            capabilities: Capabilities::new(&self.capabilities)?,
            ttl: Millis::new(self.ttl_ms),
            registered_at: self.registered.0,
            last_seen: self.last_seen.0,
        })
    }
}

/// One page of workers, in the order of their instance ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkerPageView {
    /// The workers.
    pub workers: Vec<WorkerView>,
    /// The cursor to continue with; null when there is nothing more.
    pub next: Option<String>,
}

impl WorkerPageView {
    /// The page requested with `limit`.
    pub fn new(found: &[Registration], limit: usize) -> Self {
        let full = found.last().filter(|_| found.len() >= limit);
        WorkerPageView {
            workers: found.iter().map(WorkerView::from).collect(),
            next: full.map(|last| last.worker.instance.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_registration_reads_back_as_it_was_written() {
        let registration = sample::registration();
        let text = serde_json::to_string(&WorkerView::from(&registration)).unwrap();
        let view: WorkerView = serde_json::from_str(&text).unwrap();
        assert_eq!(view.until, Timestamp(registration.until()));
        assert_eq!(view.registration(), Ok(registration));
    }

    #[test]
    fn a_full_page_has_a_cursor() {
        let found = [sample::registration()];
        assert_eq!(WorkerPageView::new(&found, 1).next.as_deref(), Some("w-1"));
        assert_eq!(WorkerPageView::new(&found, 2).next, None);
        assert_eq!(WorkerPageView::new(&[], 1).next, None);
    }
}
