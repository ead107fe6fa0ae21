//! What the rest of the system sees of a store: three roles, written once for all stores.

mod allowance;
mod client;
mod maintenance;
mod worker;

use std::sync::Arc;

use ff_core::Refusal;
use ff_core::limits::BATCH;
use ff_core::machine::{Action, Reply};

pub use allowance::AllowanceBackend;
pub use client::{ClientBackend, LaneOrder, LaneView};
pub use maintenance::MaintenanceBackend;
pub use worker::{Registering, Session, WorkerBackend};

use tokio_util::task::TaskTracker;

use crate::error::StoreError;
use crate::store::Store;
use crate::{mint, settlement};

/// The answer to one command of a batch.
pub type Answer<T> = Result<T, StoreError>;

/// What can be asked of a server and of a store alike.
pub trait Roles: ClientBackend + WorkerBackend {}

impl<T: ClientBackend + WorkerBackend + ?Sized> Roles for T {}

/// All three roles.
pub trait EngineBackend: Roles + MaintenanceBackend {}

impl<T: Roles + MaintenanceBackend + ?Sized> EngineBackend for T {}

/// The roles of a store.
#[derive(Debug)]
pub struct Backend<S> {
    store: Arc<S>,
    /// Claims under way, and hand-backs of what a claim took for a caller that went away.
    claims: TaskTracker,
}

impl<S: Store> Backend<S> {
    /// Puts the roles on `store`.
    pub fn new(store: S) -> Backend<S> {
        Backend { store: Arc::new(store), claims: TaskTracker::new() }
    }

    /// The store beneath.
    pub fn store(&self) -> &Arc<S> {
        &self.store
    }
}

impl<S> Clone for Backend<S> {
    fn clone(&self) -> Self {
        Backend { store: self.store.clone(), claims: self.claims.clone() }
    }
}

/// Runs one command, and settles what has stopped by it.
pub(crate) async fn one<S: Store + ?Sized>(
    store: &S,
    action: impl Into<Action>,
) -> Result<Reply, StoreError> {
    let answer = bare(store, action).await;
    settlement::settle_stopped(store).await;
    answer
}

/// Runs one command.
pub(crate) async fn bare<S: Store + ?Sized>(
    store: &S,
    action: impl Into<Action>,
) -> Result<Reply, StoreError> {
    let answers = store.execute(vec![mint::command(action)]).await;
    answers.into_iter().next().unwrap_or_else(|| Err(no_answer()))
}

/// Runs a batch and turns each reply into what `expect` expects.
async fn many<S: Store + ?Sized, A: Into<Action>, T>(
    store: &S,
    actions: Vec<A>,
    expect: impl Fn(Reply) -> Result<T, StoreError>,
) -> Result<Vec<Answer<T>>, StoreError> {
    if actions.is_empty() || actions.len() > BATCH {
        let why = format!("has {} commands; give 1 to {BATCH}", actions.len());
        return Err(Refusal::invalid("batch", why).into());
    }
    let expected = actions.len();
    let commands = actions.into_iter().map(mint::command).collect();
    let answers = store.execute(commands).await;
    settlement::settle_stopped(store).await;
    if answers.len() != expected {
        return Err(no_answer());
    }
    Ok(answers.into_iter().map(|answer| answer.and_then(&expect)).collect())
}

/// A store answered a command with another command's reply.
pub(crate) fn unexpected(reply: &Reply) -> StoreError {
    StoreError::Corrupt(format!("unexpected reply {reply:?}"))
}

fn no_answer() -> StoreError {
    StoreError::Corrupt("a command was not answered".into())
}

/// Takes the named variant out of a reply.
macro_rules! only {
    ($variant:ident) => {
        |reply| match reply {
            ff_core::machine::Reply::$variant(answer) => Ok(answer),
            other => Err($crate::roles::unexpected(&other)),
        }
    };
}
pub(crate) use only;

pub(crate) fn done(reply: Reply) -> Result<(), StoreError> {
    match reply {
        Reply::Done => Ok(()),
        other => Err(unexpected(&other)),
    }
}
