//! Why an execution is in its state.

use ff_core::explain::{Explanation, Reason};
use ff_core::state::{Intent, Worker};
use ff_core::suspension::{OnTimeout, SuspendReason};
use ff_core::{
    Capabilities, ExecutionId, Lane, NodeName, PublicState, ResourceKind, ResourceName,
    StateVector, WorkerId, WorkerInstanceId,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::schema;
use crate::timestamp::Timestamp;

/// Why an execution is in its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExplanationView {
    /// The execution.
    #[schema(value_type = crate::http::schema::Id)]
    pub id: ExecutionId,
    /// Its state.
    #[schema(value_type = schema::PublicState)]
    pub state: PublicState,
    /// Six views of its state, given its lane, workers and limits.
    #[schema(value_type = schema::StateVector)]
    pub state_vector: StateVector,
    /// For people.
    pub explanation: String,
    /// The same as a clause that follows "it".
    pub reason: String,
    /// The same for programs; what keeps it from running comes first.
    pub reasons: Vec<ReasonView>,
    /// The schedule of which it is a run; null for other work.
    pub schedule: Option<RunOfView>,
}

/// The schedule of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunOfView {
    /// Its name.
    #[schema(value_type = String)]
    pub schedule: ResourceName,
    /// The moment that the run is for.
    pub scheduled_for: Timestamp,
}

impl ExplanationView {
    /// The explanation of execution `id`.
    pub fn new(id: ExecutionId, explanation: &Explanation) -> Self {
        ExplanationView {
            id,
            state: explanation.state,
            state_vector: explanation.vector,
            explanation: explanation.sentence.clone(),
            reason: explanation.phrase.clone(),
            reasons: explanation.reasons.iter().map(ReasonView::from).collect(),
            schedule: explanation.schedule.as_ref().map(|(schedule, moment)| RunOfView {
                schedule: schedule.clone(),
                scheduled_for: (*moment).into(),
            }),
        }
    }
}

/// One reason for the state of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum ReasonView {
    /// An operator has paused its lane.
    LanePaused {
        /// Which.
        #[schema(value_type = String)]
        lane: Lane,
        /// Why, if given.
        said: Option<String>,
        /// Since when.
        since: Timestamp,
    },
    /// No live worker serves its lane.
    NoWorkerOnLane {
        /// Which.
        #[schema(value_type = String)]
        lane: Lane,
    },
    /// No live worker that serves its lane offers all that it requires.
    NoCapableWorker {
        /// What it requires.
        requires: Vec<String>,
        /// The worker that lacks least.
        nearest: Option<NearestView>,
    },
    /// It waits for its turn.
    InQueue {
        /// How many of the same class come before it.
        ahead: u64,
        /// How many live workers could run it.
        workers: u64,
    },
    /// It is not claimable before this time.
    NotBefore {
        /// When.
        until: Timestamp,
        /// What follows then.
        #[schema(value_type = schema::Intent)]
        intent: Intent,
    },
    /// A budget has no capacity for it.
    Budget {
        /// Which.
        #[schema(value_type = String)]
        name: ResourceName,
        /// The current figures, for people.
        detail: String,
        /// When it may clear.
        until: Option<Timestamp>,
    },
    /// A quota has no capacity for it.
    Quota {
        /// Which.
        #[schema(value_type = String)]
        name: ResourceName,
        /// The current figures, for people.
        detail: String,
        /// When it may clear.
        until: Option<Timestamp>,
    },
    /// Its lane runs as many as it may.
    LaneLimit {
        /// Which.
        #[schema(value_type = String)]
        lane: Lane,
        /// How many run.
        active: u32,
        /// How many may; null is any number.
        max_active: Option<u32>,
    },
    /// It is suspended.
    Suspended {
        /// What kind of answer it waits for.
        #[schema(value_type = schema::SuspendReason)]
        waits_for: SuspendReason,
        /// What is asked, for people.
        message: Option<String>,
        /// When its time is over.
        until: Option<Timestamp>,
        /// What happens then.
        #[schema(value_type = schema::OnTimeout)]
        on_timeout: OnTimeout,
    },
    /// Others must end first.
    Awaiting {
        /// How many of them it still needs.
        needs: u32,
        /// Those that have not ended, as far as they were read.
        upstreams: Vec<UpstreamView>,
    },
    /// It is reserved for a worker.
    Reserved {
        /// The name shared by the worker's instances.
        #[schema(value_type = String)]
        worker: WorkerId,
        /// The process it is for.
        #[schema(value_type = String)]
        instance: WorkerInstanceId,
        /// Until when.
        until: Timestamp,
    },
    /// A worker holds it.
    Held {
        /// The name shared by the worker's instances.
        #[schema(value_type = String)]
        worker: WorkerId,
        /// The process that holds it.
        #[schema(value_type = String)]
        instance: WorkerInstanceId,
        /// Until when, unless the lease is renewed.
        until: Timestamp,
        /// The holder is asked to stop by then.
        cancel_by: Option<Timestamp>,
    },
    /// It has ended.
    Finished {
        /// When.
        at: Timestamp,
    },
}

/// The worker that lacks least of what an execution requires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NearestView {
    /// The name shared by its instances.
    #[schema(value_type = String)]
    pub worker: WorkerId,
    /// The running process.
    #[schema(value_type = String)]
    pub instance: WorkerInstanceId,
    /// What it lacks.
    pub lacks: Vec<String>,
}

impl From<&(Worker, Capabilities)> for NearestView {
    fn from((worker, lacks): &(Worker, Capabilities)) -> Self {
        NearestView {
            worker: worker.id.clone(),
            instance: worker.instance.clone(),
            lacks: tokens(lacks),
        }
    }
}

impl From<&Reason> for ReasonView {
    fn from(reason: &Reason) -> Self {
        match reason {
            Reason::LanePaused { lane, reason, since } => ReasonView::LanePaused {
                lane: lane.clone(),
                said: reason.as_deref().map(str::to_owned),
                since: (*since).into(),
            },
            Reason::NoWorkerOnLane { lane } => ReasonView::NoWorkerOnLane { lane: lane.clone() },
            Reason::NoCapableWorker { requires, nearest } => ReasonView::NoCapableWorker {
                requires: tokens(requires),
                nearest: nearest.as_ref().map(NearestView::from),
            },
            Reason::InQueue { ahead, workers } => {
                ReasonView::InQueue { ahead: *ahead, workers: *workers }
            }
            Reason::NotBefore { until, why } => {
                ReasonView::NotBefore { until: (*until).into(), intent: why.then() }
            }
            Reason::Blocked { on, detail, until } => {
                let (name, detail) = (on.name.clone(), detail.to_string());
                let until = until.map(Timestamp);
                match on.kind {
                    ResourceKind::Budget => ReasonView::Budget { name, detail, until },
                    _ => ReasonView::Quota { name, detail, until },
                }
            }
            Reason::LaneLimit { lane, active, max_active } => ReasonView::LaneLimit {
                lane: lane.clone(),
                active: *active,
                max_active: *max_active,
            },
            Reason::Suspended { reason, message, until, on_timeout } => ReasonView::Suspended {
                waits_for: *reason,
                message: message.as_deref().map(str::to_owned),
                until: until.map(Timestamp),
                on_timeout: *on_timeout,
            },
            Reason::Awaiting { needs, upstreams } => ReasonView::Awaiting {
                needs: *needs,
                upstreams: upstreams
                    .iter()
                    .map(|(name, state)| UpstreamView { name: name.clone(), state: *state })
                    .collect(),
            },
            Reason::Reserved { worker, until } => ReasonView::Reserved {
                worker: worker.id.clone(),
                instance: worker.instance.clone(),
                until: (*until).into(),
            },
            Reason::Held { worker, until, cancel_by } => ReasonView::Held {
                worker: worker.id.clone(),
                instance: worker.instance.clone(),
                until: (*until).into(),
                cancel_by: cancel_by.map(Timestamp),
            },
            Reason::Finished { at } => ReasonView::Finished { at: (*at).into() },
        }
    }
}

fn tokens(set: &Capabilities) -> Vec<String> {
    set.tokens().map(str::to_owned).collect()
}

/// A node that an execution depends on and that has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UpstreamView {
    /// Its name.
    #[schema(value_type = String)]
    pub name: NodeName,
    /// Its state.
    #[schema(value_type = schema::PublicState)]
    pub state: PublicState,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_reason_is_named_by_the_word_that_the_engine_uses() {
        for reason in sample::reasons() {
            let json = serde_json::to_value(ReasonView::from(&reason)).unwrap();
            assert_eq!(json["reason"], reason.as_str());
        }
    }

    #[test]
    fn the_nearest_worker_is_named_with_what_it_lacks() {
        let requires = Capabilities::new(["gpu", "python"]).unwrap();
        let lacks = Capabilities::new(["gpu"]).unwrap();
        let nearest = Some((sample::worker(), lacks));
        let reason = Reason::NoCapableWorker { requires, nearest };
        assert_eq!(
            serde_json::to_value(ReasonView::from(&reason)).unwrap(),
            serde_json::json!({
                "reason": "no_capable_worker",
                "requires": ["gpu", "python"],
                "nearest": {"worker": "w", "instance": "w-1", "lacks": ["gpu"]},
            })
        );
    }
}
