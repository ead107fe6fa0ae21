//! A task that is being described.

use std::time::Duration;

use ff_core::machine::Submit;
use ff_core::{
    Capabilities, Dimension, IdempotencyKey, Kind, Lane, Patch, ResourceName, TagKey, TagValue,
    When,
};
use ff_sdk::{ToPayload, millis};

use crate::Error;
use crate::flowfabric::FlowFabric;
use crate::handle::TaskHandle;

/// Describes a task. Made by [`FlowFabric::task`]; checked and submitted by [`TaskBuilder::send`].
#[must_use = "nothing is submitted before `send()`"]
pub struct TaskBuilder {
    flowfabric: FlowFabric,
    requires: Vec<String>,
    /// The task, or the first error.
    submit: Result<Submit, Error>,
}

impl TaskBuilder {
    pub(crate) fn new(
        flowfabric: FlowFabric,
        kind: &str,
        input: &(impl ToPayload + ?Sized),
    ) -> TaskBuilder {
        let id = flowfabric.backend.new_id(&flowfabric.namespace, None);
        let namespace = flowfabric.namespace.clone();
        let submit = Ok(Submit { namespace, ..Submit::new(id) });
        let task = TaskBuilder { flowfabric, requires: Vec::new(), submit };
        task.try_with(|submit| {
            submit.kind = Kind::new(kind)?;
            submit.input = input.to_payload()?;
            Ok(())
        })
    }

    /// The queue; by default `default`.
    pub fn lane(self, lane: &str) -> TaskBuilder {
        self.try_with(|submit| {
            submit.lane = Lane::new(lane)?;
            Ok(())
        })
    }

    /// Higher goes first: -9000 to 9000, by default 0.
    pub fn priority(self, priority: i16) -> TaskBuilder {
        self.with(|submit| submit.priority = priority)
    }

    /// The caller's key for the task: the same key with the same task is the same task, and it runs
    /// once, however often it is sent.
    pub fn key(self, key: &str) -> TaskBuilder {
        let (backend, namespace) =
            (self.flowfabric.backend.clone(), self.flowfabric.namespace.clone());
        self.try_with(|submit| {
            let key = IdempotencyKey::new(key)?;
            submit.id = backend.new_id(&namespace, Some(&key));
            submit.key = Some(key);
            Ok(())
        })
    }

    /// It starts after this long at the earliest.
    pub fn delay(self, span: Duration) -> TaskBuilder {
        self.with(|submit| submit.start = When::After(millis(span)))
    }

    /// A label.
    pub fn tag(self, key: &str, value: &str) -> TaskBuilder {
        self.try_with(|submit| {
            submit.tags.insert(TagKey::new(key)?, TagValue::new(value)?);
            Ok(())
        })
    }

    /// A capability that its worker must offer. It may be called again for more.
    pub fn requires(mut self, capability: &str) -> TaskBuilder {
        self.requires.push(capability.to_owned());
        self
    }

    /// A budget that its usage is charged to. It waits while the budget is used up. It may be called
    /// again for more.
    pub fn budget(self, name: &str) -> TaskBuilder {
        self.try_with(|submit| {
            submit.limits.budgets.insert(ResourceName::new(name)?);
            Ok(())
        })
    }

    /// A quota that must admit it. It waits until every quota it names does. It may be called
    /// again for more.
    pub fn quota(self, name: &str) -> TaskBuilder {
        self.try_with(|submit| {
            submit.limits.quotas.insert(ResourceName::new(name)?);
            Ok(())
        })
    }

    /// What it is expected to use of a dimension, at most: reserved in its budgets while it runs.
    pub fn estimate(self, dimension: &str, amount: u64) -> TaskBuilder {
        self.try_with(|submit| {
            submit.limits.estimate.insert(Dimension::new(dimension)?, amount);
            Ok(())
        })
    }

    /// How many attempts may end by failure: 3 unless given here or by its lane.
    pub fn max_attempts(self, attempts: u32) -> TaskBuilder {
        self.with(|submit| submit.policy.max_attempts = Some(attempts))
    }

    /// How long to wait after the first failure, and after later ones at most; the wait doubles each
    /// time. A second and a minute unless given here or by its lane.
    pub fn backoff(self, first: Duration, longest: Duration) -> TaskBuilder {
        self.with(|submit| {
            submit.policy.backoff.base = Some(millis(first));
            submit.policy.backoff.cap = Some(millis(longest));
        })
    }

    /// How long one attempt may run; by default without limit.
    pub fn attempt_timeout(self, span: Duration) -> TaskBuilder {
        self.with(|submit| submit.policy.attempt_timeout = Patch::Set(millis(span)))
    }

    /// How long it may take in total, from now on, waits included; by default without limit.
    pub fn deadline(self, span: Duration) -> TaskBuilder {
        self.with(|submit| submit.policy.deadline = Patch::Set(millis(span)))
    }

    /// How long its worker may be silent before another one takes it over; by default 30 seconds.
    pub fn lease_ttl(self, span: Duration) -> TaskBuilder {
        self.with(|submit| submit.policy.lease_ttl = Some(millis(span)))
    }

    /// How long it stays readable after its end; by default 7 days.
    pub fn retention(self, span: Duration) -> TaskBuilder {
        self.with(|submit| submit.policy.retention = Some(millis(span)))
    }

    /// Checks the task and submits it. Once this returns, the task is kept and offered to workers until
    /// it ends. After a lost reply it is repeated with the same id, so the task is created once.
    pub async fn send(self) -> Result<TaskHandle, Error> {
        let (flowfabric, submit) = self.checked()?;
        let submitted = flowfabric.client().send(&submit).await?;
        Ok(TaskHandle::new(flowfabric, submitted.execution))
    }

    /// The task as it is submitted, or the first error.
    pub(crate) fn checked(self) -> Result<(FlowFabric, Submit), Error> {
        let mut submit = self.submit?;
        if !self.requires.is_empty() {
            submit.requires = Capabilities::new(&self.requires)?;
        }
        Ok((self.flowfabric, submit))
    }

    fn with(self, change: impl FnOnce(&mut Submit)) -> TaskBuilder {
        self.try_with(|submit| {
            change(submit);
            Ok(())
        })
    }

    fn try_with(mut self, change: impl FnOnce(&mut Submit) -> Result<(), Error>) -> TaskBuilder {
        self.submit = self.submit.and_then(|mut submit| change(&mut submit).map(|()| submit));
        self
    }
}

impl std::fmt::Debug for TaskBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskBuilder").field("task", &self.submit).finish_non_exhaustive()
    }
}
