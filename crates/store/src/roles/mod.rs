//! What the rest of the system sees of a store: three roles, written once for all stores.

mod bulk;
mod client;
mod ended;
mod events;
mod flow;
mod keys;
mod limits;
mod maintenance;
mod named_tokens;
mod schedules;
mod stream;
mod suspend;
mod token;
mod webhooks;
mod worker;

use std::fmt;
use std::sync::Arc;

use ff_core::bounds::BATCH;
use ff_core::machine::{Action, Command, Reply};
use ff_core::{Actor, Refusal};

pub use bulk::{Bulk, BulkAction, BulkBackend, BulkSlice, BulkVerb, REFUSALS};
pub use client::{ClientBackend, LaneUpdate, LaneView, explained};
pub use ended::until_ended;
pub use events::EventsBackend;
pub use flow::{FlowBackend, FlowCancelled, MemberBackend, PENDING, PendingMember};
pub use keys::KeysBackend;
pub use limits::LimitsBackend;
pub use maintenance::MaintenanceBackend;
pub(crate) use maintenance::ROUTED_NAMESPACES;
pub use named_tokens::{CreateToken, CreatedToken, NamedTokensBackend, Verified, VerifyBackend};
pub use schedules::SchedulesBackend;
pub use stream::{EmitBackend, StreamBackend};
pub use suspend::{OpenedWaitpoint, Parked, SignalBackend, SuspendBackend};
pub use token::{MadeToken, NewToken, TokenBackend, TokenSignal};
pub use webhooks::{DeliveryBackend, WebhooksBackend};
pub use worker::{Registering, Session, WorkerBackend};

use crate::admission::settle;
use crate::continuations;
use crate::error::StoreError;
use crate::mint;
use crate::process::Process;
use crate::store::Store;

/// The answer to one command of a batch.
pub type Answer<T> = Result<T, StoreError>;

/// What can be asked of a server and of a store alike.
pub trait ClientAndWorker: ClientBackend + WorkerBackend {}

impl<T: ClientBackend + WorkerBackend + ?Sized> ClientAndWorker for T {}

/// All roles: what has the store itself can do.
pub trait EngineBackend:
    ClientAndWorker + MaintenanceBackend + KeysBackend + VerifyBackend + DeliveryBackend
{
    /// The same for somebody: what people do is kept under this name.
    fn acting(&self, by: Actor) -> Arc<dyn EngineBackend>;
}

impl<S: Store + ?Sized> EngineBackend for Engine<S> {
    fn acting(&self, by: Actor) -> Arc<dyn EngineBackend> {
        erased(self.0.clone(), by)
    }
}

/// The roles of a store, for somebody. What they do is compiled once for all stores: a store is known by
/// its type only to those who ask for [the store beneath](Engine::store).
pub struct Engine<S: ?Sized>(Arc<Process>, Arc<S>, Actor);

impl<S: Store> Engine<S> {
    /// Puts the roles on `store`, for who has it.
    pub fn new(store: S) -> Engine<S> {
        let store = Arc::new(store);
        Engine(Arc::new(Process::new(store.clone())), store, Actor::local())
    }

    /// The roles of a store of any type.
    pub fn erased(self) -> Arc<dyn EngineBackend> {
        erased(self.0, self.2)
    }
}

/// Not a method of a generic type, so that the roles are compiled here and not by who opens a store.
fn erased(process: Arc<Process>, by: Actor) -> Arc<dyn EngineBackend> {
    let store = process.store.clone();
    Arc::new(Engine(process, store, by))
}

impl<S: Store + ?Sized> Engine<S> {
    /// The store beneath.
    pub fn store(&self) -> &Arc<S> {
        &self.1
    }

    /// Waits until every call has come to its end, and what follows from it.
    pub async fn drain(&self) {
        self.0.drain().await;
    }

    /// Runs one command of any kind, and what follows from it, whether or not the caller stays.
    pub async fn run(&self, action: impl Into<Action>) -> Result<Reply, StoreError> {
        self.one(action).await
    }

    /// Runs one command, and settles what it has stopped, whether or not the caller stays.
    async fn one(&self, action: impl Into<Action>) -> Result<Reply, StoreError> {
        let (process, command) = (self.0.clone(), self.command(action));
        self.0.call_here(async move { one(&process, command).await }).await
    }

    /// `action`, given by whom these roles are for.
    fn command(&self, action: impl Into<Action>) -> Command {
        mint::command_by(self.2.clone(), action)
    }
}

impl<S: ?Sized> Clone for Engine<S> {
    fn clone(&self) -> Self {
        Engine(self.0.clone(), self.1.clone(), self.2.clone())
    }
}

impl<S: ?Sized> fmt::Debug for Engine<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

/// Runs one command, and settles what it has stopped.
async fn one(process: &Arc<Process>, command: Command) -> Result<Reply, StoreError> {
    let facts = command.action.facts();
    let (own, may_stop) = (facts.subject.execution(), facts.may_stop.cloned());
    let answer = give(&*process.store, command).await;
    continuations::run_soon(process);
    settle::settle_in_task(process, own.into_iter()).await;
    if let Some(target) = may_stop.filter(|_| is_unknown(&answer)) {
        settle::check_soon(process, target);
    }
    answer
}

/// Whether a command may have been carried out although it failed.
fn is_unknown<T>(answer: &Result<T, StoreError>) -> bool {
    matches!(answer, Err(error) if error.outcome_is_unknown())
}

/// Runs one command of which nobody is known to give it.
pub(crate) async fn run(store: &dyn Store, action: impl Into<Action>) -> Result<Reply, StoreError> {
    give(store, mint::command(action)).await
}

/// Runs one command.
pub(crate) async fn give(store: &dyn Store, command: Command) -> Result<Reply, StoreError> {
    let answers = store.execute(vec![command]).await;
    answers.into_iter().next().unwrap_or_else(|| Err(no_answer()))
}

impl<S: Store + ?Sized> Engine<S> {
    /// Runs a batch, whether or not the caller stays, and turns each reply into what `expect` expects.
    async fn many<A: Into<Action>, T: Send + 'static>(
        &self,
        actions: Vec<A>,
        expect: impl Fn(Reply) -> Result<T, StoreError>,
    ) -> Result<Vec<Answer<T>>, StoreError> {
        if actions.is_empty() || actions.len() > BATCH {
            let why = format!("has {} commands; give 1 to {BATCH}", actions.len());
            return Err(Refusal::invalid("batch", why).into());
        }
        let expected = actions.len();
        let commands = actions.into_iter().map(|action| self.command(action)).collect();
        let process = self.0.clone();
        let run = async move {
            let commands: Vec<Command> = commands;
            let facts = || commands.iter().map(|command| command.action.facts());
            let own: Vec<_> = facts().filter_map(|facts| facts.subject.execution()).collect();
            let may_stop: Vec<_> = facts().map(|facts| facts.may_stop.cloned()).collect();
            let answers = process.store.execute(commands).await;
            continuations::run_soon(&process);
            settle::settle_in_task(&process, own.iter().copied()).await;
            for (target, answer) in may_stop.into_iter().zip(&answers) {
                if let Some(target) = target.filter(|_| is_unknown(answer)) {
                    settle::check_soon(&process, target);
                }
            }
            answers
        };
        let answers = self.0.call_here(run).await;
        if answers.len() != expected {
            return Err(no_answer());
        }
        Ok(answers.into_iter().map(|answer| answer.and_then(&expect)).collect())
    }
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
