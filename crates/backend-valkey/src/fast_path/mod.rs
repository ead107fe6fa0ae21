//! Commands that are one function on the server, many at a time.
//!
//! A function does the plain case and writes nothing otherwise; what it leaves takes the slow
//! path, which answers for it.

mod append;
mod complete;
mod hold;
mod renew;
mod retire;
mod submit;
mod unblock;

use bytes::Bytes;
use ff_core::bounds::BATCH_BYTES;
use ff_core::machine::{Action, Command, Reply};
use ff_core::{ExecutionId, IdempotencyKey, Namespace, Refusal};
use ff_store::StoreError;
use redis::Value;

use crate::constants::CALL_COMMANDS;
use crate::error::Fault;
use crate::gather::{Part, Way};
use crate::reply;
use crate::store::Shared;

/// What became of one command.
pub(crate) enum Outcome {
    /// It is answered.
    Done(Result<Reply, StoreError>),
    /// It is left to the slow path.
    SlowPath,
}

/// The function that a command has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Verb {
    Append,
    Submit,
    Complete,
    Renew,
    Retire,
    Unblock,
}

impl Verb {
    /// The function of `action`, and the execution that it is called for.
    pub(crate) fn of(action: &Action) -> Option<(Verb, ExecutionId)> {
        let verb = match action {
            Action::AppendFrames(_) => Verb::Append,
            Action::Submit(_) => Verb::Submit,
            Action::Complete(_) => Verb::Complete,
            Action::Renew(_) => Verb::Renew,
            Action::Tick(_) => Verb::Retire,
            Action::Unblock(_) => Verb::Unblock,
            _ => return None,
        };
        Some((verb, action.facts().subject.execution()?))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Verb::Append => "append",
            Verb::Submit => "submit",
            Verb::Complete => "complete",
            Verb::Renew => "renew",
            Verb::Retire => "retire",
            Verb::Unblock => "unblock",
        }
    }

    /// Whether other processes learn of it: it puts executions into queues, or adds to their streams.
    pub(crate) fn announces(self) -> bool {
        matches!(self, Verb::Append | Verb::Submit | Verb::Unblock)
    }

    fn push(self, command: &Command, args: &mut Vec<Bytes>) -> Result<(), StoreError> {
        match &command.action {
            Action::AppendFrames(append) => append::push(append, command.entropy, args),
            Action::Submit(submit) => submit::push(submit, command, args),
            Action::Complete(complete) => complete::push(complete, command.entropy, args),
            Action::Renew(renew) => renew::push(renew, command.entropy, args),
            Action::Tick(tick) => retire::push(tick, args),
            Action::Unblock(unblock) => unblock::push(unblock, command.entropy, args),
            _ => Ok(()),
        }
    }
}

/// Refuses what this store cannot route.
pub(crate) fn check(store: &Shared, action: &Action) -> Result<(), Refusal> {
    match action {
        Action::Submit(submit) => submit.check_partition(store.keys.partitions()),
        _ => Ok(()),
    }
}

/// The submitter's own name for what a command is to make.
pub(crate) fn key(action: &Action) -> Option<(&Namespace, &IdempotencyKey)> {
    match action {
        Action::Submit(submit) => Some((&submit.namespace, submit.key.as_ref()?)),
        _ => None,
    }
}

/// Runs commands of one verb and one partition, in order. They travel together with those of other
/// callers.
pub(crate) async fn run(
    store: &Shared,
    verb: Verb,
    partition: u16,
    commands: &[&Command],
) -> Vec<Outcome> {
    let mut outcomes = Vec::with_capacity(commands.len());
    for slice in slices(commands) {
        match call(store, verb, partition, slice).await {
            Ok(answers) => outcomes.extend(answers),
            Err(error) => {
                outcomes.extend(slice.iter().map(|_| Outcome::Done(Err(error.clone()))));
            }
        }
    }
    outcomes
}

async fn call(
    store: &Shared,
    verb: Verb,
    partition: u16,
    commands: &[&Command],
) -> Result<Vec<Outcome>, StoreError> {
    let mut args = Vec::with_capacity(2 * commands.len());
    for command in commands {
        verb.push(command, &mut args)?;
    }
    let bytes = commands.iter().map(|command| command.action.facts().payload_bytes).sum();
    let part = Part { args, commands: commands.len(), bytes };
    let way = Way::Commands { verb, partition };
    let shared = way.shared();
    let mut answers = store.gathering.ask(way, part).await?;
    if answers.len() != shared + commands.len() {
        return Err(reply::missing());
    }
    let both = commands.iter().zip(answers.split_off(shared));
    Ok(both.map(|(command, answer)| read(store, partition, command, &answers, answer)).collect())
}

/// Reads the answer to one command; `shared` is for all commands of the call.
fn read(
    store: &Shared,
    partition: u16,
    command: &Command,
    shared: &[Value],
    answer: Value,
) -> Outcome {
    if let Value::ServerError(error) = &answer {
        return Outcome::Done(Err(Fault::replied(error).into()));
    }
    let read = match &command.action {
        Action::AppendFrames(append) => append::read(store, append, answer),
        Action::Submit(submit) => submit::read(store, partition, submit, answer),
        Action::Complete(complete) => complete::read(store, complete, shared, answer),
        Action::Renew(_) => renew::read(answer),
        Action::Tick(tick) => retire::read(store, tick, &answer),
        Action::Unblock(_) => unblock::read(store, partition, shared, &answer),
        _ => Ok(None),
    };
    match read.transpose() {
        Some(answer) => Outcome::Done(answer),
        None => Outcome::SlowPath,
    }
}

/// Commands in stretches that one call carries.
fn slices<'a, 'c>(commands: &'a [&'c Command]) -> impl Iterator<Item = &'a [&'c Command]> {
    let mut rest = commands;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let mut fits = |command: &&Command| {
            bytes += command.action.facts().payload_bytes;
            bytes <= BATCH_BYTES
        };
        let count = rest.iter().take(CALL_COMMANDS).take_while(|command| fits(command)).count();
        let (slice, behind) = rest.split_at(count.max(1).min(rest.len()));
        rest = behind;
        (!slice.is_empty()).then_some(slice)
    })
}
