//! Admission: an execution that names a budget or quota is admitted before it is dispatched.
//!
//! What budgets and quotas hold for an execution is a ticket at the home of its namespace, under an
//! id that the execution has too. Every ticket has a timer, so a process that dies between two
//! steps here leaves one that the engine checks; every step can be repeated.
//!
//! `claim` admits what a claim or grant finds, `single_flight` lets calls that wait on one queue scan
//! together, `batcher` sends what a process requests and settles at one time as one command, `queue` has
//! what commits have stopped, `settle` reports that to limits, `starts` when running executions have
//! started, `release` returns blocked executions to their queue. Claims use the batcher; settlements use the batcher
//! and then releases; nothing points back.

pub(crate) mod audit;
pub(crate) mod batcher;
pub(crate) mod claim;
pub(crate) mod queue;
pub(crate) mod release;
pub(crate) mod settle;
pub(crate) mod single_flight;
pub(crate) mod starts;
