//! What a server acknowledged, and which of it is lost.

use std::collections::HashMap;

use bytes::Bytes;
use ff_core::machine::Target;
use ff_core::{ExecutionId, Namespace, PublicState};
use ff_store::EngineBackend;

/// Something the server acknowledged.
pub(crate) enum Answered {
    Submitted(ExecutionId, Bytes),
    Completed(ExecutionId, Bytes),
}

/// All that was acknowledged.
#[derive(Default)]
pub(crate) struct Acknowledged {
    pub(crate) submitted: HashMap<ExecutionId, Bytes>,
    pub(crate) completed: HashMap<ExecutionId, Bytes>,
}

/// Something that was acknowledged and is lost.
pub(crate) struct Loss {
    pub(crate) id: ExecutionId,
    pub(crate) what: String,
}

impl Acknowledged {
    pub(crate) fn add(&mut self, answered: Answered) {
        match answered {
            Answered::Submitted(id, input) => self.submitted.insert(id, input),
            Answered::Completed(id, result) => self.completed.insert(id, result),
        };
    }

    pub(crate) fn count(&self) -> usize {
        self.submitted.len() + self.completed.len()
    }

    /// Adds those of another, except for the lost ones.
    pub(crate) fn extend(&mut self, other: Acknowledged, lost: &[Loss]) {
        self.submitted.extend(other.submitted);
        self.completed.extend(other.completed);
        for loss in lost {
            self.submitted.remove(&loss.id);
            self.completed.remove(&loss.id);
        }
    }

    /// Those that the store does not have.
    pub(crate) async fn lost(&self, store: &dyn EngineBackend) -> Vec<Loss> {
        let mut lost = Vec::new();
        for (id, input) in &self.submitted {
            match store.input(&target(*id)).await {
                Ok(found) if found.bytes == input => {}
                other => {
                    lost.push(Loss { id: *id, what: format!("the input of {id}: {other:?}") });
                }
            }
        }
        for (id, result) in &self.completed {
            let state = state(store, *id).await;
            match store.result(&target(*id), None).await {
                Ok(found) if found.bytes == result && state == Some(PublicState::Completed) => {}
                other => {
                    let what = format!("the result of {id} ({state:?}): {other:?}");
                    lost.push(Loss { id: *id, what });
                }
            }
        }
        lost
    }

    /// How many of the submitted are not completed.
    pub(crate) async fn unfinished(&self, store: &dyn EngineBackend) -> usize {
        let mut count = 0;
        for id in self.submitted.keys() {
            count += usize::from(state(store, *id).await != Some(PublicState::Completed));
        }
        count
    }
}

async fn state(store: &dyn EngineBackend, id: ExecutionId) -> Option<PublicState> {
    store.describe(&target(id)).await.ok().map(|view| view.public_state())
}

fn target(execution: ExecutionId) -> Target {
    Target { namespace: Namespace::default(), execution }
}
