//! What a handler can take besides its input.

use std::any::TypeId;
use std::ops::Deref;
use std::sync::Arc;

use crate::context::TaskContext;
use crate::task_error::TaskError;

/// An argument of a handler that is made from the task. [`TaskContext`] and [`State`] are.
pub trait FromTask: Sized {
    /// Makes it.
    fn from_task(task: &TaskContext) -> Result<Self, TaskError>;

    /// The state without which it cannot be made: a worker that has none does not start.
    fn needs() -> Option<NeededState>;
}

/// A type of which a handler needs a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeededState {
    pub(crate) id: TypeId,
    pub(crate) name: &'static str,
}

impl NeededState {
    /// The state of this type.
    pub fn of<S: Send + Sync + 'static>() -> NeededState {
        NeededState { id: TypeId::of::<S>(), name: std::any::type_name::<S>() }
    }
}

/// A value that all handlers of a worker share, such as a pool of connections. The worker is given it
/// before it starts, and does not start without it.
#[derive(Debug)]
pub struct State<S>(pub Arc<S>);

impl<S> Clone for State<S> {
    fn clone(&self) -> Self {
        State(self.0.clone())
    }
}

impl<S> Deref for State<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S: Send + Sync + 'static> FromTask for State<S> {
    fn from_task(task: &TaskContext) -> Result<Self, TaskError> {
        task.state().map(State)
    }

    fn needs() -> Option<NeededState> {
        Some(NeededState::of::<S>())
    }
}

impl FromTask for TaskContext {
    fn from_task(task: &TaskContext) -> Result<Self, TaskError> {
        Ok(task.clone())
    }

    fn needs() -> Option<NeededState> {
        None
    }
}
