//! What others must know of a command without taking it apart.
//!
//! Each command states its facts in its own file. A store finds from them where the command goes and
//! what it costs, so that a new command needs no line in any store. Nothing here allocates.

use super::Target;
use crate::id::{ExecutionId, Partition};
use crate::name::{Lane, Namespace};
use crate::resource::ResourceKey;
use crate::table::Verb;

/// The facts of one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts<'a> {
    /// What it concerns.
    pub subject: Subject<'a>,
    /// How it moves executions.
    pub moves: Moves,
    /// The execution that may have stopped when the outcome is unknown.
    pub may_stop: Option<&'a Target>,
    /// It adds to what the store holds, so it is refused when memory is full.
    pub adds: bool,
    /// How many bytes of payload it carries.
    pub payload_bytes: usize,
}

/// What a command concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject<'a> {
    /// One execution.
    Execution(ExecutionId),
    /// Whatever waits in a queue.
    Queue(&'a Namespace, &'a Lane),
    /// One resource.
    Resource(&'a ResourceKey),
    /// Several resources of a namespace.
    Home(&'a Namespace),
}

/// How a command moves executions in the [table](crate::table).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moves {
    /// Not at all.
    Nothing,
    /// By this verb.
    By(Verb),
    /// By what is due.
    Due,
}

impl Subject<'_> {
    /// Where it lies in a store of this many partitions. A queue has a part in each; its lane lies at
    /// home.
    pub fn partition(self, partitions: u16) -> Partition {
        match self {
            Subject::Execution(id) => id.partition().among(partitions),
            Subject::Resource(key) => key.partition.among(partitions),
            Subject::Queue(namespace, _) | Subject::Home(namespace) => {
                Partition::home(namespace, partitions)
            }
        }
    }

    /// The execution, if it is one.
    pub fn execution(self) -> Option<ExecutionId> {
        match self {
            Subject::Execution(id) => Some(id),
            _ => None,
        }
    }
}

impl<'a> Facts<'a> {
    fn new(subject: Subject<'a>, moves: Moves) -> Facts<'a> {
        Facts { subject, moves, may_stop: None, adds: false, payload_bytes: 0 }
    }

    /// Of a command on one execution.
    pub(super) fn execution(id: ExecutionId, verb: Verb) -> Facts<'a> {
        Facts::new(Subject::Execution(id), Moves::By(verb))
    }

    /// Of a command that may stop an execution.
    pub(super) fn stop(target: &'a Target, verb: Verb) -> Facts<'a> {
        Facts { may_stop: Some(target), ..Facts::execution(target.execution, verb) }
    }

    /// Of a command that lets time pass for an execution.
    pub(super) fn due(id: ExecutionId) -> Facts<'a> {
        Facts::new(Subject::Execution(id), Moves::Due)
    }

    /// Of a command that takes from a queue.
    pub(super) fn queue(namespace: &'a Namespace, lane: &'a Lane, verb: Verb) -> Facts<'a> {
        Facts::new(Subject::Queue(namespace, lane), Moves::By(verb))
    }

    /// Of a command on one resource.
    pub(super) fn resource(key: &'a ResourceKey) -> Facts<'a> {
        Facts::new(Subject::Resource(key), Moves::Nothing)
    }

    /// Of a command on several resources of a namespace.
    pub(super) fn home(namespace: &'a Namespace) -> Facts<'a> {
        Facts::new(Subject::Home(namespace), Moves::Nothing)
    }
}
