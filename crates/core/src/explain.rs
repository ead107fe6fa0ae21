//! Why an execution is in its state: one sentence for people, and the same as a list.

use crate::capability::Capabilities;
use crate::limits::Blocker;
use crate::name::{Lane, NodeName, ResourceName};
use crate::phrase::words;
use crate::record::Description;
use crate::resource::{Body, LaneState, Registration, Resource, ResourceKind};
use crate::schedule::run_of;
use crate::state::{DelayReason, State, Worker};
use crate::suspension::{OnTimeout, SuspendReason};
use crate::time::Time;
use crate::view::{BlockingReason, EligibilityState, PublicState, StateVector};

/// What is around a queued execution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExplainInputs {
    /// Every live worker of its namespace.
    pub workers: Vec<Registration>,
    /// Who was seen to claim in its namespace, as far as is known, registered or not.
    pub claimers: Vec<Claimer>,
    /// The settings of its lane.
    pub lane: Option<LaneState>,
    /// How many come before it in its queue.
    pub ahead: Option<u64>,
    /// The budget or quota that it waits for, as it is now.
    pub limit: Option<Resource>,
    /// It is there and cannot be read.
    pub limit_is_unreadable: bool,
    /// The nodes it depends on that have not ended, as far as they were read.
    pub upstreams: Vec<(NodeName, PublicState)>,
}

/// A worker that was seen to claim, and what it offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimer {
    /// Who.
    pub worker: Worker,
    /// From which lane.
    pub lane: Lane,
    /// What it offered.
    pub capabilities: Capabilities,
}

impl ExplainInputs {
    /// Whoever serves `lane`, each once, and what it offers.
    fn serving<'a>(
        &'a self,
        lane: &'a Lane,
    ) -> impl Iterator<Item = (&'a Worker, &'a Capabilities)> {
        let registered = move || self.workers.iter().filter(move |worker| worker.serves(lane));
        let is_known = move |worker: &Worker| {
            registered().any(|known| known.worker.instance == worker.instance)
        };
        let claimers = self.claimers.iter().filter(move |seen| seen.lane == *lane);
        let others = claimers.filter(move |seen| !is_known(&seen.worker));
        let registered = registered().map(|known| (&known.worker, &known.capabilities));
        registered.chain(others.map(|seen| (&seen.worker, &seen.capabilities)))
    }

    /// Whether `record` is queued, and no worker of its lane offers all that it requires.
    pub fn lacks_worker_for(&self, record: &Description) -> bool {
        may_lack_worker(record) && !self.covers(&record.spec.lane, &record.spec.requires)
    }

    /// Whether some worker of `lane` offers all of `requires`.
    pub fn covers(&self, lane: &Lane, requires: &Capabilities) -> bool {
        self.serving(lane).any(|(_, offers)| offers.covers(requires))
    }
}

/// Whether the workers may change the reason of `record`: it is queued, and not
/// every worker can run it.
pub fn may_lack_worker(record: &Description) -> bool {
    matches!(record.state, State::Queued { .. }) && !record.spec.requires.is_empty()
}

/// Why `record` waits while no worker can run it.
pub fn without_worker(record: &Description) -> Explanation {
    let requires = record.spec.requires.clone();
    explanation(record, vec![Reason::NoCapableWorker { requires, nearest: None }], None)
}

/// Why an execution is in its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The one word for it.
    pub state: PublicState,
    /// The six dimensions, as its surroundings make them.
    pub vector: StateVector,
    /// For people.
    pub sentence: String,
    /// The same as a clause that follows "it", for a page with other facts about the execution.
    pub phrase: String,
    /// The same for programs; what keeps it from running comes first.
    pub reasons: Vec<Reason>,
    /// The schedule of which it is a run, and for which moment.
    pub schedule: Option<(ResourceName, Time)>,
}

/// One reason for the state of an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// An operator has paused its lane.
    LanePaused {
        /// Which.
        lane: Lane,
        /// What was said.
        reason: Option<Box<str>>,
        /// Since when.
        since: Time,
    },
    /// No live worker serves its lane.
    NoWorkerOnLane {
        /// Which.
        lane: Lane,
    },
    /// No live worker that serves its lane offers all that it requires.
    NoCapableWorker {
        /// What it requires.
        requires: Capabilities,
        /// The worker that lacks least, and what that one lacks.
        nearest: Option<(Worker, Capabilities)>,
    },
    /// It waits for its turn.
    InQueue {
        /// How many of the same class come before it.
        ahead: u64,
        /// How many live workers could run it.
        workers: u64,
    },
    /// It is not claimable before a moment.
    NotBefore {
        /// When.
        until: Time,
        /// What it waits for.
        why: DelayReason,
    },
    /// A budget or a quota has no room for it.
    Blocked {
        /// Which.
        on: Blocker,
        /// More about it, for people.
        detail: Box<str>,
        /// When it may clear: when the next one may start, or the end of the period.
        until: Option<Time>,
    },
    /// As many of its lane run as may.
    LaneLimit {
        /// Which.
        lane: Lane,
        /// How many run.
        active: u32,
        /// How many may; `None` is any number.
        max_active: Option<u32>,
    },
    /// It is suspended.
    Suspended {
        /// What kind of answer it waits for.
        reason: SuspendReason,
        /// What is asked, in its holder's words.
        message: Option<Box<str>>,
        /// When its time is over.
        until: Option<Time>,
        /// What happens then.
        on_timeout: OnTimeout,
    },
    /// Others must end first.
    Awaiting {
        /// How many of them it still needs.
        needs: u32,
        /// Those that have not ended, as far as they were read.
        upstreams: Vec<(NodeName, PublicState)>,
    },
    /// It is reserved for a worker.
    Reserved {
        /// For whom.
        worker: Worker,
        /// Until when.
        until: Time,
    },
    /// A worker holds it.
    Held {
        /// Who.
        worker: Worker,
        /// Until when, unless the lease is renewed.
        until: Time,
        /// The holder is asked to stop by then.
        cancel_by: Option<Time>,
    },
    /// It has ended.
    Finished {
        /// When.
        at: Time,
    },
}

impl Reason {
    /// The word for it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Reason::LanePaused { .. } => "lane_paused",
            Reason::NoWorkerOnLane { .. } => "no_worker_on_lane",
            Reason::NoCapableWorker { .. } => "no_capable_worker",
            Reason::InQueue { .. } => "in_queue",
            Reason::NotBefore { .. } => "not_before",
            Reason::Blocked { on, .. } => match on.kind {
                ResourceKind::Budget => "budget",
                _ => "quota",
            },
            Reason::LaneLimit { .. } => "lane_limit",
            Reason::Suspended { .. } => "suspended",
            Reason::Awaiting { .. } => "awaiting",
            Reason::Reserved { .. } => "reserved",
            Reason::Held { .. } => "held",
            Reason::Finished { .. } => "finished",
        }
    }
}

/// Explains the state of `record` at `now`.
pub fn explain(record: &Description, now: Time, around: &ExplainInputs) -> Explanation {
    let reasons = match &record.state {
        State::Queued { .. } => queued(record, around),
        State::Blocked { on, detail, .. } => vec![blocked(record, now, around, on, detail)],
        State::Awaiting { .. } => {
            let needs = record.member.as_ref().map_or(0, |member| member.needs.max(0) as u32);
            vec![Reason::Awaiting { needs, upstreams: around.upstreams.clone() }]
        }
        _ => own_reason(record).into_iter().collect(),
    };
    explanation(record, reasons, Some(now))
}

/// The reason that a record gives by itself; `None` while that depends on what is around it.
pub(crate) fn own_reason(record: &Description) -> Option<Reason> {
    match &record.state {
        State::Queued { .. } | State::Blocked { .. } => None,
        State::Delayed { until, why, .. } => Some(Reason::NotBefore { until: *until, why: *why }),
        State::Suspended { suspension } => Some(Reason::Suspended {
            reason: suspension.reason,
            message: suspension.message.clone(),
            until: suspension.until,
            on_timeout: suspension.on_timeout,
        }),
        State::Awaiting { .. } => {
            let needs = record.member.as_ref().map_or(0, |member| member.needs.max(0) as u32);
            Some(Reason::Awaiting { needs, upstreams: Vec::new() })
        }
        State::Granted { grant, .. } => {
            Some(Reason::Reserved { worker: grant.to.clone(), until: grant.until })
        }
        State::Active { lease, cancel } => Some(Reason::Held {
            worker: lease.worker.clone(),
            until: lease.until,
            cancel_by: cancel.as_ref().map(|cancel| cancel.by),
        }),
        State::Finished { at, .. } => Some(Reason::Finished { at: *at }),
    }
}

fn explanation(record: &Description, reasons: Vec<Reason>, now: Option<Time>) -> Explanation {
    let parts: Vec<_> = reasons.iter().map(|reason| words(reason, record, now)).collect();
    let phrase = parts.join("; it ");
    Explanation {
        state: record.public_state(),
        vector: vector(record, &reasons),
        sentence: sentence(&phrase),
        phrase,
        reasons,
        schedule: run_of(record),
    }
}

/// A question that a holder asks ends its sentence.
fn sentence(phrase: &str) -> String {
    let end = if phrase.ends_with(['.', '?', '!']) { "" } else { "." };
    format!("The execution {phrase}{end}")
}

fn queued(record: &Description, around: &ExplainInputs) -> Vec<Reason> {
    let (lane, requires) = (&record.spec.lane, &record.spec.requires);
    let mut reasons = Vec::new();
    if let Some(said) = around.lane.as_ref().filter(|said| said.paused) {
        let (reason, since) = (said.reason.clone(), said.since);
        reasons.push(Reason::LanePaused { lane: lane.clone(), reason, since });
    }
    let serving = || around.serving(lane);
    let workers = serving().filter(|(_, offers)| offers.covers(requires)).count() as u64;
    if serving().next().is_none() {
        reasons.push(Reason::NoWorkerOnLane { lane: lane.clone() });
    } else if workers == 0 {
        let lacks = serving().map(|(worker, offers)| (worker.clone(), offers.lacks(requires)));
        let nearest = lacks.min_by_key(|(_, lacks)| lacks.tokens().count());
        reasons.push(Reason::NoCapableWorker { requires: requires.clone(), nearest });
    }
    reasons.push(Reason::InQueue { ahead: around.ahead.unwrap_or(0), workers });
    reasons
}

/// What an execution waits for, with the numbers of now.
fn blocked(
    record: &Description,
    now: Time,
    around: &ExplainInputs,
    on: &Blocker,
    detail: &str,
) -> Reason {
    if let Some(lane) = on.name.lane() {
        let quota = around.limit.as_ref().and_then(Resource::as_quota);
        let max_active = quota.and_then(|quota| quota.limits.max_active);
        return Reason::LaneLimit {
            lane,
            active: quota.map_or(0, |quota| quota.active),
            max_active,
        };
    }
    let (detail, until) = match around.limit.as_ref().map(|found| &found.body) {
        Some(Body::Budget(budget)) => {
            let estimate = &record.spec.limits.estimate;
            let short = budget.shortage(estimate);
            let until = budget.resets_at().filter(|_| budget.impossible(estimate).is_none());
            (short.map(|(_, detail)| detail), until)
        }
        Some(Body::Quota(quota)) => match quota.crowd() {
            Some(crowd) => (Some(crowd), None),
            None => {
                let next = Some(quota.next_start(now)).filter(|next| *next > now);
                (next.and(quota.pace()), next)
            }
        },
        _ if around.limit_is_unreadable => (Some(on.unreadable()), None),
        _ => (Some(detail.to_owned()), None),
    };
    let detail = detail.unwrap_or_else(|| "there is room again".to_owned());
    Reason::Blocked { on: on.clone(), detail: detail.into(), until }
}

/// The six dimensions, with what its surroundings keep it from.
fn vector(record: &Description, reasons: &[Reason]) -> StateVector {
    let alone = record.state_vector();
    match reasons.first() {
        Some(Reason::LanePaused { .. }) => StateVector {
            eligibility_state: EligibilityState::BlockedByLaneState,
            blocking_reason: BlockingReason::PausedByOperator,
            ..alone
        },
        Some(Reason::NoCapableWorker { .. }) => StateVector {
            eligibility_state: EligibilityState::BlockedByRoute,
            blocking_reason: BlockingReason::WaitingForCapableWorker,
            ..alone
        },
        Some(Reason::NoWorkerOnLane { .. }) if !record.spec.requires.is_empty() => StateVector {
            eligibility_state: EligibilityState::BlockedByRoute,
            blocking_reason: BlockingReason::WaitingForCapableWorker,
            ..alone
        },
        _ => alone,
    }
}
