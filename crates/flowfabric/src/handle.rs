//! A task that was submitted.

use std::marker::PhantomData;
use std::time::Duration;

use ff_core::signal::SignalEffect;
use ff_core::{ExecutionId, PublicState};
use ff_sdk::{FromPayload, Tail, ToPayload, millis};
use ff_store::ring::SignedToken;

use crate::Error;
use crate::flowfabric::FlowFabric;

/// The result of a [`TaskHandle`] whose type is chosen by each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Untyped;

/// A task that was submitted. Dropping it does not affect the task.
///
/// [`TaskBuilder::send`](crate::TaskBuilder::send) gives a handle whose `result` has the type its
/// caller chooses; [`typed`](TaskHandle::typed) makes it one that remembers the type, to be stored
/// or passed on.
///
/// ```
/// # use flowfabric::prelude::*;
/// # async fn example(ff: FlowFabric) -> Result<(), Error> {
/// let task = ff.task("count", "some words").send().await?;
/// let words: usize = task.result().await?;
///
/// let task: TaskHandle<usize> = ff.task("count", "more").send().await?.typed();
/// let words = task.result().await?;
/// # Ok(())
/// # }
/// ```
pub struct TaskHandle<R = Untyped> {
    flowfabric: FlowFabric,
    id: ExecutionId,
    result: PhantomData<fn() -> R>,
}

impl TaskHandle<Untyped> {
    pub(crate) fn new(flowfabric: FlowFabric, id: ExecutionId) -> TaskHandle {
        TaskHandle { flowfabric, id, result: PhantomData }
    }

    /// The same task, with a result of this type.
    pub fn typed<R: FromPayload>(self) -> TaskHandle<R> {
        TaskHandle { flowfabric: self.flowfabric, id: self.id, result: PhantomData }
    }

    /// Waits until the task ends, and decodes its result. A task that ends without one is an
    /// [`Error::Ended`], which says why.
    pub async fn result<R: FromPayload>(&self) -> Result<R, Error> {
        self.flowfabric.client().wait(self.id).await
    }

    /// Waits for at most this long. After that it is an [`Error::Timeout`], and the task keeps
    /// running.
    pub async fn result_within<R: FromPayload>(&self, longest: Duration) -> Result<R, Error> {
        self.flowfabric.client().wait_within(self.id, longest).await
    }
}

impl<R: FromPayload> TaskHandle<R> {
    /// Waits until the task ends, and decodes its result. A task that ends without one is an
    /// [`Error::Ended`], which says why.
    pub async fn result(&self) -> Result<R, Error> {
        self.flowfabric.client().wait(self.id).await
    }

    /// Waits for at most this long. After that it is an [`Error::Timeout`], and the task keeps
    /// running.
    pub async fn result_within(&self, longest: Duration) -> Result<R, Error> {
        self.flowfabric.client().wait_within(self.id, longest).await
    }
}

impl<R> TaskHandle<R> {
    /// Watches what the task streams, from its first frame on.
    ///
    /// ```
    /// # use flowfabric::prelude::*;
    /// # async fn example(task: TaskHandle) -> Result<(), Error> {
    /// let mut tail = task.tail(0);
    /// while let Some(frame) = tail.next().await? {
    ///     print!("{}", String::from_utf8_lossy(&frame.bytes));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn tail(&self, from: u64) -> Tail {
        self.flowfabric.client().tail(self.id, from)
    }

    /// The id of its execution. Keep it to find the task again with [`FlowFabric::handle`].
    pub fn id(&self) -> ExecutionId {
        self.id
    }

    /// Its state, in a word.
    pub async fn state(&self) -> Result<PublicState, Error> {
        Ok(self.flowfabric.client().describe(self.id).await?.public_state())
    }

    /// Why it is in that state and what it waits for, in a sentence.
    pub async fn explain(&self) -> Result<String, Error> {
        Ok(self.flowfabric.client().explain(self.id).await?.sentence)
    }

    /// Sends it a signal of this name at a waitpoint, as this program. The same signal again changes
    /// nothing.
    pub async fn signal(
        &self,
        waitpoint: &str,
        name: &str,
        payload: &(impl ToPayload + ?Sized),
    ) -> Result<SignalEffect, Error> {
        let signalled = self.flowfabric.client().signal(self.id, waitpoint, name, payload).await?;
        Ok(signalled.effect)
    }

    /// A token by which `subject`, and nobody else, answers at an open waitpoint. Two who must both
    /// answer get two tokens. Give [its text](SignedToken::reveal) to no other.
    pub async fn token(&self, waitpoint: &str, subject: &str) -> Result<SignedToken, Error> {
        self.flowfabric.client().waitpoint_token(self.id, waitpoint, subject).await
    }

    /// The path of a page, `/approve/..` on the server, on which `subject` approves or rejects what it asks
    /// at an open waitpoint. Give it to no other.
    pub async fn approval_link(&self, waitpoint: &str, subject: &str) -> Result<String, Error> {
        self.flowfabric.client().approval_link(self.id, waitpoint, subject).await
    }

    /// The keys of its open waitpoints, where it takes signals.
    pub async fn waitpoints(&self) -> Result<Vec<String>, Error> {
        let open = self.flowfabric.client().waitpoints(self.id).await?;
        Ok(open.into_iter().map(|waitpoint| waitpoint.key.to_string()).collect())
    }

    /// Cancels it at once: nothing that a handler does from now on counts.
    pub async fn cancel(&self) -> Result<(), Error> {
        self.flowfabric.client().cancel(self.id, None).await.map(drop)
    }

    /// Asks its handler to stop, and cancels it after this long. A result in time still counts.
    pub async fn cancel_after(&self, grace: Duration) -> Result<(), Error> {
        self.flowfabric.client().cancel(self.id, Some(millis(grace))).await.map(drop)
    }
}

impl<R> Clone for TaskHandle<R> {
    fn clone(&self) -> Self {
        TaskHandle { flowfabric: self.flowfabric.clone(), id: self.id, result: PhantomData }
    }
}

impl<R> std::fmt::Debug for TaskHandle<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskHandle").field("id", &self.id).finish_non_exhaustive()
    }
}
