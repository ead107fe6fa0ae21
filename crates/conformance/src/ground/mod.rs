//! What a fact stands on: a subject, a namespace of its own, and short words for common calls.

mod allowance;
mod calls;
mod client;
mod deaf;
mod resource;
mod worker;

use std::sync::Arc;

use ff_core::machine::{Action, Reply, Target, Ticked};
use ff_core::placement::Entry;
use ff_core::{Code, Description, ExecutionId, Millis, Namespace, PublicState, Time};
use ff_store::audit::{self, Report};
use ff_store::roles::Answer;
use ff_store::{EngineBackend, Store, StoreError, mint};

pub(crate) use allowance::{at_once, in_ten_seconds, named, of_tokens, tokens};
pub(crate) use calls::{exit_calls, holder_calls, steering_calls};
pub(crate) use client::{busy, key, steady, tag};
pub use deaf::Deaf;
pub(crate) use resource::{capabilities, lane};
pub(crate) use worker::{failure, forged, permanent, worker};

use crate::snapshot::{Snapshot, snapshot};
use crate::subject::{Subject, TestClock};

/// A subject, seen from one namespace.
#[derive(Clone)]
pub(crate) struct Ground {
    subject: Arc<Subject>,
    pub(crate) namespace: Namespace,
}

/// A length of time.
pub(crate) const fn ms(span: u64) -> Millis {
    Millis::new(span)
}

impl Ground {
    pub(crate) fn on(subject: Subject) -> Ground {
        Ground { subject: Arc::new(subject), namespace: Namespace::new("acme").unwrap() }
    }

    /// The same store, seen from another namespace.
    pub(crate) fn elsewhere(&self) -> Ground {
        Ground { namespace: Namespace::new("rival").unwrap(), ..self.clone() }
    }

    pub(crate) fn backend(&self) -> &dyn EngineBackend {
        &*self.subject.backend
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.subject.store
    }

    pub(crate) fn clock(&self) -> &dyn TestClock {
        &*self.subject.clock
    }

    /// An id that names nothing.
    pub(crate) fn new_id(&self) -> ExecutionId {
        self.backend().new_id(&self.namespace, None)
    }

    pub(crate) fn target(&self, execution: ExecutionId) -> Target {
        Target { namespace: self.namespace.clone(), execution }
    }

    /// Runs one command, whatever it is.
    pub(crate) async fn run(&self, action: impl Into<Action>) -> Answer<Reply> {
        let mut answers = self.store().execute(vec![mint::command(action)]).await;
        assert_eq!(answers.len(), 1, "one command has one answer");
        answers.remove(0)
    }

    pub(crate) async fn record(&self, id: ExecutionId) -> Description {
        self.backend().describe(&self.target(id)).await.unwrap()
    }

    pub(crate) async fn state(&self, id: ExecutionId) -> PublicState {
        self.record(id).await.public_state()
    }

    /// The index entries of an execution.
    pub(crate) async fn entries(&self, id: ExecutionId) -> Vec<Entry> {
        let entries = self.snapshot().await.entries.into_iter();
        entries.filter(|(owner, _)| *owner == id).map(|(_, entry)| entry).collect()
    }

    pub(crate) async fn snapshot(&self) -> Snapshot {
        snapshot(&**self.store()).await.unwrap()
    }

    pub(crate) async fn audit(&self) -> Report {
        audit::audit(self.backend().rows().await.unwrap()).await.unwrap()
    }

    pub(crate) async fn now(&self) -> Time {
        self.clock().now().await
    }

    /// Lets time pass. Nothing looks at it.
    pub(crate) async fn advance(&self, span: Millis) {
        self.clock().advance(span).await;
    }

    /// Lets time pass and does all that is due, as the engine would.
    pub(crate) async fn pass(&self, span: Millis) {
        self.advance(span).await;
        for _ in 0..1_000 {
            let timers = self.backend().due(&ff_store::Share::All, None, 100).await.unwrap();
            if timers.due.is_empty() && timers.resources.is_empty() {
                return;
            }
            let ids: Vec<_> = timers.due.into_iter().map(|(_, id)| id).collect();
            for batch in ids.chunks(100) {
                for ticked in self.backend().tick(batch.to_vec()).await.unwrap() {
                    ticked.unwrap();
                }
            }
            for key in timers.resources {
                self.backend().tick_resource(key).await.unwrap();
            }
        }
        panic!("there is no end to what is due");
    }

    pub(crate) async fn tick(&self, id: ExecutionId) -> Ticked {
        self.backend().tick(vec![id]).await.unwrap().remove(0).unwrap()
    }
}

/// What a call was refused for.
pub(crate) trait Refused {
    /// The code of the refusal.
    fn refused(self) -> Code;
}

impl<T: std::fmt::Debug> Refused for Result<T, StoreError> {
    #[track_caller]
    fn refused(self) -> Code {
        match self.as_ref().map_err(StoreError::refused) {
            Err(Some(code)) => code,
            _ => panic!("not refused: {self:?}"),
        }
    }
}
