//! Handlers: plain async functions over typed inputs and outputs.

use std::future::Future;
use std::pin::Pin;

use ff_core::{Category, Payload};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::TaskContext;
use crate::error::TaskError;

/// JSON in or out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<T>(pub T);

/// The bytes as they are, in or out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bytes(pub Payload);

/// What a handler can take.
pub trait Input: Sized + Send {
    /// Decodes the payload of a task.
    fn from_payload(payload: &Payload) -> Result<Self, TaskError>;
}

impl<T: DeserializeOwned + Send> Input for Json<T> {
    fn from_payload(payload: &Payload) -> Result<Self, TaskError> {
        // An input that does not decode now will not decode at the next try either.
        serde_json::from_slice(&payload.bytes).map(Json).map_err(|error| {
            let message = format!("the input is not what the handler takes: {error}");
            TaskError::bad_input(message)
        })
    }
}

impl Input for Bytes {
    fn from_payload(payload: &Payload) -> Result<Self, TaskError> {
        Ok(Bytes(payload.clone()))
    }
}

/// What a handler can give.
pub trait Output: Send {
    /// Encodes the result of a task.
    fn into_payload(self) -> Result<Payload, TaskError>;
}

impl<T: Serialize + Send> Output for Json<T> {
    fn into_payload(self) -> Result<Payload, TaskError> {
        Ok(Payload::json(serde_json::to_vec(&self.0)?))
    }
}

impl Output for Bytes {
    fn into_payload(self) -> Result<Payload, TaskError> {
        Ok(self.0)
    }
}

impl Output for () {
    fn into_payload(self) -> Result<Payload, TaskError> {
        Ok(Payload::default())
    }
}

/// The future of a handler.
pub(crate) type Handling = Pin<Box<dyn Future<Output = Result<Payload, TaskError>> + Send>>;

/// Something that can do a kind of work: any `async fn(TaskContext, I) -> Result<O, TaskError>`.
pub trait Handler<I, O>: Send + Sync + 'static {
    /// Does it.
    fn handle(
        &self,
        context: TaskContext,
    ) -> Pin<Box<dyn Future<Output = Result<Payload, TaskError>> + Send>>;
}

impl<F, Fut, I, O> Handler<I, O> for F
where
    F: Fn(TaskContext, I) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<O, TaskError>> + Send + 'static,
    I: Input,
    O: Output,
{
    fn handle(&self, context: TaskContext) -> Handling {
        match I::from_payload(context.input()) {
            Ok(input) => {
                let work = self(context, input);
                Box::pin(async move { work.await?.into_payload() })
            }
            Err(error) => Box::pin(async move { Err(error) }),
        }
    }
}

impl TaskError {
    fn bad_input(message: String) -> TaskError {
        match TaskError::permanent(message) {
            TaskError::Failed(mut failure) => {
                failure.category = Category::bad_input();
                TaskError::Failed(failure)
            }
            other => other,
        }
    }
}
