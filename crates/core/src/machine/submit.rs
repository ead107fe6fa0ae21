//! Submit: accept new work, or find the work that the same call made before.

use super::{Context, Decide, Facts, LaneClass, ReadSet, Step, Submitted};
use crate::bounds;
use crate::capability::Capabilities;
use crate::collection::Counts;
use crate::digest::Digest;
use crate::event::EventKind;
use crate::id::{ExecutionId, Partition};
use crate::journal::Journal;
use crate::limits::{Amounts, ExecutionLimits};
use crate::name::{IdempotencyKey, Kind, Lane, Namespace};
use crate::overrides::PolicyOverrides;
use crate::payload::Payload;
use crate::placement::Placement;
use crate::policy::Policy;
use crate::record::{Description, Execution, Run, Spec, Tags, Version};
use crate::refusal::{Full, Refusal};
use crate::state::{DelayReason, Intent, State};
use crate::suspension::Waits;
use crate::table::Verb;
use crate::time::{Millis, When};

/// Accepts an execution. The caller makes the id and repeats it when it retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submit {
    /// The id, made by the caller.
    pub id: ExecutionId,
    /// The tenant.
    pub namespace: Namespace,
    /// The queue.
    pub lane: Lane,
    /// The kind of work.
    pub kind: Kind,
    /// What it is to work on.
    pub input: Payload,
    /// Its labels.
    pub tags: Tags,
    /// Higher goes first.
    pub priority: i16,
    /// When it may start.
    pub start: When,
    /// The caller's own name for it: the same name with the same body is the same execution.
    pub key: Option<IdempotencyKey>,
    /// What a worker must offer.
    pub requires: Capabilities,
    /// What it asks of the engine; what it leaves open is its lane's to say.
    pub policy: PolicyOverrides,
    /// What it spends from and counts against.
    pub limits: ExecutionLimits,
}

impl Submit {
    /// Work with every default: lane `default`, kind `task`, no input.
    pub fn new(id: ExecutionId) -> Submit {
        Submit {
            id,
            namespace: Namespace::default(),
            lane: Lane::default(),
            kind: Kind::default(),
            input: Payload::default(),
            tags: Tags::new(),
            priority: 0,
            start: When::Now,
            key: None,
            requires: Capabilities::NONE,
            policy: PolicyOverrides::default(),
            limits: ExecutionLimits::default(),
        }
    }

    /// Refuses an id that lies in another partition than the caller's own name, in a store of this many:
    /// one write sees one partition.
    pub fn check_partition(&self, partitions: u16) -> Result<(), Refusal> {
        let Some(key) = &self.key else { return Ok(()) };
        let of_key = Partition::of_key(&self.namespace, key).among(partitions);
        if self.id.partition().among(partitions) == of_key {
            return Ok(());
        }
        let why = "does not go with the idempotency key; leave it out, or make it for that key";
        Err(Refusal::invalid("id", why))
    }

    /// The fingerprint of everything the caller chose but the id. What its lane says is not in it: the same
    /// call is the same whatever the lane's settings are by then.
    pub(crate) fn digest(&self) -> Digest {
        Digest::of(|fields| {
            fields.text(self.namespace.as_str());
            fields.text(self.lane.as_str());
            fields.text(self.kind.as_str());
            self.input.fingerprint(fields);
            fields.number(self.tags.len() as u64);
            for (key, value) in &self.tags {
                fields.text(key.as_str());
                fields.text(value.as_str());
            }
            fields.number(i64::from(self.priority) as u64);
            self.start.fingerprint(fields);
            fields.text(self.key.as_ref().map_or("", IdempotencyKey::as_str));
            fields.text(self.requires.as_str());
            self.policy.fingerprint(fields);
            self.limits.fingerprint(fields);
        })
    }

    /// Refuses what no state could accept.
    pub(crate) fn check_input(&self) -> Result<(), Refusal> {
        self.input.check("input")?;
        Refusal::cap("tags", self.tags.len(), bounds::TAGS, "tags")?;
        super::priority::check(self.priority)?;
        self.start.check("start")?;
        self.limits.check()?;
        self.policy.check(self.key.is_some())
    }

    fn again(&self, record: &Execution, conflict: Refusal) -> Result<Step, Refusal> {
        if record.digest != self.digest() {
            return Err(conflict);
        }
        Ok(Step::answer(Submitted {
            execution: record.id,
            created: false,
            state: record.public_state(),
            warnings: Vec::new(),
        }))
    }
}

/// The record that `submit` makes, in a lane with these defaults.
pub(super) fn new_record(
    context: &Context<'_>,
    submit: &Submit,
    lane: Option<&PolicyOverrides>,
    digest: Digest,
) -> Execution {
    let now = context.now;
    let state = match submit.start.resolve(now) {
        Some(until) => State::Delayed { until, why: DelayReason::Start, step: None },
        None => State::Queued { why: Intent::Fresh },
    };
    let policy = submit.policy.policy(lane, submit.key.is_some());
    let run = Run::start(0, now, &policy);
    let description = Description {
        id: submit.id,
        spec: Spec {
            namespace: submit.namespace.clone(),
            lane: submit.lane.clone(),
            kind: submit.kind.clone(),
            requires: submit.requires.clone(),
            input: submit.input.shape(),
            policy,
            key: submit.key.clone(),
            limits: submit.limits.clone(),
        },
        created: now,
        priority: submit.priority,
        tags: submit.tags.clone(),
        queued_at: now,
        state,
        epoch: 0,
        run,
        past_runs: Vec::new(),
        attempt: None,
        used: Amounts::new(),
        acts: Vec::new(),
        flow: None,
        member: None,
    };
    Execution {
        version: Version::first(context.salt),
        digest,
        last_exit: None,
        placed: Placement::default(),
        admission: None,
        reports: Vec::new(),
        description,
        counts: Counts::default(),
        journal: Journal::default(),
        waits: Waits::default(),
    }
}

impl Decide for Submit {
    fn facts(&self) -> Facts<'_> {
        Facts {
            adds: true,
            payload_bytes: self.input.bytes.len(),
            ..Facts::execution(self.id, Verb::Submit)
        }
    }

    fn check(&self) -> Result<(), Refusal> {
        self.check_input()
    }

    fn reads(&self) -> ReadSet {
        ReadSet {
            records: vec![self.id],
            keys: self.key.iter().map(|key| (self.namespace.clone(), key.clone())).collect(),
            class: (!self.requires.is_empty()).then(|| LaneClass {
                namespace: self.namespace.clone(),
                lane: self.lane.clone(),
                class: self.requires.clone(),
            }),
            lane: Some((self.namespace.clone(), self.lane.clone())),
            ..ReadSet::default()
        }
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let loaded = context.loaded;
        if let Some(record) = loaded.record(self.id) {
            return self.again(record, Refusal::IdConflict);
        }
        if let Some(key) = &self.key
            && let Some(Some(id)) = loaded.keys.get(&(self.namespace.clone(), key.clone()))
        {
            if !loaded.records.contains_key(id) {
                return Ok(Step::NeedMore(ReadSet::record(*id)));
            }
            if let Some(record) = loaded.record(*id) {
                return self.again(record, Refusal::IdempotencyConflict);
            }
        }
        if loaded.lane_state().is_some_and(|lane| lane.draining) {
            return Err(Refusal::LaneDraining);
        }
        if loaded.other_classes.is_some_and(|others| others >= bounds::CLASSES_PER_LANE) {
            let most = bounds::CLASSES_PER_LANE as u64;
            return Err(Refusal::LimitReached { what: Full::CapabilitySets { most } });
        }
        let lane = loaded.lane_state().and_then(|lane| lane.defaults.as_deref());
        let record = new_record(context, self, lane, self.digest());
        let answer = Submitted {
            execution: record.id,
            created: true,
            state: record.public_state(),
            warnings: Vec::new(),
        };
        let from = self.start.resolve(context.now);
        let write = context.create(record, self.input.bytes.clone(), EventKind::Submitted { from });
        Ok(Step::write(context.guarded(write), answer))
    }
}

impl Run {
    /// Run `number`, beginning at `now`.
    pub(super) fn start(number: u32, now: crate::time::Time, policy: &Policy) -> Run {
        Run {
            number,
            started: now,
            deadline: policy.deadline.map(|span: Millis| now + span),
            failures: 0,
            reclaims: 0,
        }
    }
}
