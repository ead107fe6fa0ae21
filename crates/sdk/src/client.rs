//! What producers use.

use std::sync::Arc;
use std::time::Duration;

use ff_core::explain::Explanation;
use ff_core::journal::ReplayJournal;
use ff_core::machine::{Cancel, Cancelled, Replay, Submit, Submitted, Target};
use ff_core::state::Outcome;
use ff_core::{
    Capabilities, Description, ExecutionId, IdempotencyKey, Kind, Lane, Millis, Namespace, Payload,
    PublicState, Refusal, ResourceName, TagKey, TagValue, When,
};
use ff_store::retry::{Backoff, repeated};
use ff_store::roles::until_ended;
use ff_store::{ClientBackend, StoreError};

use crate::error::SdkError;
use crate::limits::amounts_of;
use crate::payload::{FromPayload, Json, ToPayload};
use crate::tail::Tail;

/// How often a submit is sent at most.
pub(crate) const TRIES: u32 = 5;

/// Submits work, looks at it, waits for it.
#[derive(Clone)]
pub struct Client {
    backend: Arc<dyn ClientBackend>,
    pub(crate) namespace: Namespace,
}

impl Client {
    /// A client of namespace `default`.
    pub fn new(backend: Arc<dyn ClientBackend>) -> Client {
        Client { backend, namespace: Namespace::default() }
    }

    /// A client of another namespace.
    pub fn namespace(self, namespace: Namespace) -> Client {
        Client { namespace, ..self }
    }

    /// Where the work goes.
    pub fn backend(&self) -> &Arc<dyn ClientBackend> {
        &self.backend
    }

    /// Submits work with every default.
    pub async fn submit(
        &self,
        kind: &str,
        input: &(impl ToPayload + ?Sized),
    ) -> Result<Submitted, SdkError> {
        self.task(kind)?.input(input)?.send().await
    }

    /// Submits work that is described already, in whatever namespace it names. A lost reply is repeated
    /// with the same id, so it is made once. The answer tells, in its `warnings`, what the work names
    /// that is not there.
    pub async fn send(&self, submit: &Submit) -> Result<Submitted, SdkError> {
        let mut tries = 1;
        let again = |error: &StoreError, _| {
            tries += 1;
            error.is_retryable() && tries <= TRIES
        };
        let backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(1));
        let submitted = repeated(backoff, again, |_| self.try_send(submit)).await?;
        for warning in &submitted.warnings {
            tracing::warn!(execution = %submitted.execution, "submitted, but {warning}");
        }
        Ok(submitted)
    }

    async fn try_send(&self, submit: &Submit) -> Result<Submitted, StoreError> {
        let answers = self.backend.submit(vec![submit.clone()]).await?;
        let no_answer = || Err(StoreError::Corrupt("a command was not answered".into()));
        answers.into_iter().next().unwrap_or_else(no_answer)
    }

    /// Begins to describe work.
    pub fn task(&self, kind: &str) -> Result<NewTask<'_>, Refusal> {
        let id = self.backend.new_id(&self.namespace, None);
        let submit =
            Submit { namespace: self.namespace.clone(), kind: Kind::new(kind)?, ..Submit::new(id) };
        Ok(NewTask { client: self, submit })
    }

    /// The record of an execution.
    pub async fn describe(&self, execution: ExecutionId) -> Result<Description, SdkError> {
        Ok(self.backend.describe(&self.target(execution)).await?)
    }

    /// Why an execution stands where it stands, and what it waits for.
    pub async fn explain(&self, execution: ExecutionId) -> Result<Explanation, SdkError> {
        Ok(self.backend.explain(&self.target(execution)).await?)
    }

    /// Waits until the execution ends and decodes its result.
    pub async fn wait<T: FromPayload>(&self, execution: ExecutionId) -> Result<T, SdkError> {
        let payload = self.wait_payload(execution).await?;
        Ok(T::from_payload(&payload)?)
    }

    /// Waits for at most `longest`; then it is a [`SdkError::Timeout`], and the execution runs on.
    pub async fn wait_within<T: FromPayload>(
        &self,
        execution: ExecutionId,
        longest: Duration,
    ) -> Result<T, SdkError> {
        let late = |_| SdkError::Timeout { waited: longest };
        tokio::time::timeout(longest, self.wait(execution)).await.map_err(late)?
    }

    /// Waits until the execution ends and gives its result as it is.
    pub async fn wait_payload(&self, execution: ExecutionId) -> Result<Payload, SdkError> {
        let target = self.target(execution);
        let record = until_ended(&*self.backend, &target).await?;
        match record.outcome() {
            Some((Outcome::Success { .. }, _)) | None => {
                // Of this run: a replay may already have started another.
                Ok(self.backend.result(&target, Some(record.run.number)).await?)
            }
            Some((outcome, _)) => Err(ended(record.public_state(), outcome)),
        }
    }

    /// Watches what an execution streams, from frame `from` on.
    pub fn tail(&self, execution: ExecutionId, from: u64) -> Tail {
        Tail::new(self.clone(), execution, from)
    }

    /// The summary of an execution, decoded; `None` if it has none.
    pub async fn summary<T: serde::de::DeserializeOwned>(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<T>, SdkError> {
        let found = self.backend.summary(&self.target(execution)).await?;
        let payload = found.map(|summary| Payload::json(summary.document));
        Ok(payload.map(|payload| Json::<T>::from_payload(&payload)).transpose()?.map(|json| json.0))
    }

    /// Cancels, leaving a holder `grace` to stop by itself.
    pub async fn cancel(
        &self,
        execution: ExecutionId,
        grace: Option<Millis>,
    ) -> Result<Cancelled, SdkError> {
        let cancel = Cancel { target: self.target(execution), grace, reason: None };
        Ok(self.backend.cancel(cancel).await?)
    }

    /// Runs an ended execution again and answers the number of the new run. It finds the journal of
    /// the last one, so no step that has a result is done again.
    pub async fn replay(&self, execution: ExecutionId) -> Result<u32, SdkError> {
        self.replay_with(execution, ReplayJournal::Keep).await
    }

    /// Runs an ended execution again, with as much of its journal as `journal` says.
    pub async fn replay_with(
        &self,
        execution: ExecutionId,
        journal: ReplayJournal,
    ) -> Result<u32, SdkError> {
        let target = self.target(execution);
        let run = self.backend.describe(&target).await?.run.number;
        Ok(self.backend.replay(Replay { target, run, journal }).await?)
    }

    pub(crate) fn target(&self, execution: ExecutionId) -> Target {
        Target { namespace: self.namespace.clone(), execution }
    }
}

fn ended(state: PublicState, outcome: &Outcome) -> SdkError {
    let reason = match outcome {
        Outcome::Failed { failure } => failure.message.to_string(),
        Outcome::Cancelled { reason } => {
            reason.as_deref().unwrap_or("no reason was given").to_owned()
        }
        Outcome::Expired => "its deadline passed".to_owned(),
        Outcome::Skipped { .. } => outcome.reason().unwrap_or_default(),
        Outcome::Success { .. } => String::new(),
    };
    SdkError::Ended { state, reason }
}

/// Work that is being described.
pub struct NewTask<'a> {
    client: &'a Client,
    submit: Submit,
}

impl NewTask<'_> {
    /// What it is to work on, as JSON.
    pub fn input(mut self, input: &(impl ToPayload + ?Sized)) -> Result<Self, SdkError> {
        self.submit.input = input.to_payload()?;
        Ok(self)
    }

    /// What it is to work on, as it is.
    pub fn payload(mut self, input: Payload) -> Self {
        self.submit.input = input;
        self
    }

    /// The queue.
    pub fn lane(mut self, lane: &str) -> Result<Self, Refusal> {
        self.submit.lane = Lane::new(lane)?;
        Ok(self)
    }

    /// Higher goes first.
    pub fn priority(mut self, priority: i16) -> Self {
        self.submit.priority = priority;
        self
    }

    /// When it may start.
    pub fn start(mut self, start: When) -> Self {
        self.submit.start = start;
        self
    }

    /// The caller's own name for it: the same name with the same body is the same execution.
    pub fn idempotency_key(mut self, key: &str) -> Result<Self, Refusal> {
        let key = IdempotencyKey::new(key)?;
        self.submit.id = self.client.backend.new_id(&self.client.namespace, Some(&key));
        self.submit.key = Some(key);
        Ok(self)
    }

    /// A label.
    pub fn tag(mut self, key: &str, value: &str) -> Result<Self, Refusal> {
        self.submit.tags.insert(TagKey::new(key)?, TagValue::new(value)?);
        Ok(self)
    }

    /// What a worker must offer.
    pub fn requires(mut self, capabilities: Capabilities) -> Self {
        self.submit.requires = capabilities;
        self
    }

    /// A budget that what it uses is charged to. It waits while that has no room.
    pub fn budget(mut self, name: &str) -> Result<Self, Refusal> {
        self.submit.limits.budgets.insert(ResourceName::new(name)?);
        Ok(self)
    }

    /// A quota that must let it through. It waits until all that it names do.
    pub fn quota(mut self, name: &str) -> Result<Self, Refusal> {
        self.submit.limits.quotas.insert(ResourceName::new(name)?);
        Ok(self)
    }

    /// What it is expected to use at most: reserved in its budgets from its start to its end, so that
    /// what runs at once does not pass their limits together.
    pub fn estimate(mut self, amounts: &[(&str, u64)]) -> Result<Self, Refusal> {
        self.submit.limits.estimate = amounts_of(amounts)?;
        Ok(self)
    }

    /// What it asks of the engine. What it leaves unsaid is what its lane says, or built in.
    pub fn policy(mut self, change: impl FnOnce(&mut ff_core::PolicyOverrides)) -> Self {
        change(&mut self.submit.policy);
        self
    }

    /// Submits it: see [`Client::send`].
    pub async fn send(self) -> Result<Submitted, SdkError> {
        self.client.send(&self.submit).await
    }
}
