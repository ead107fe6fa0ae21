//! Admission: an execution that names a budget or quota must be admitted before it is dispatched.
//!
//! `admit` is the command that asks and settles, `ledger` decides it on the loaded budgets, quotas
//! and tickets, `settle` says what became of an admission, `block` moves executions between their
//! queue and the limit they wait for, `recount` corrects what a fault has left counted.

mod admit;
mod block;
mod ledger;
mod recount;
mod settle;

pub use admit::{
    ADMISSION_TTL, AdmissionBatch, AdmissionRequest, Admissions, Admit, AdmitReply, Admitted,
    Decision, Home, NeedsAdmission, Shortfall, TICKET_TTL,
};
pub use block::{Block, SetWaiters, Unblock};
pub use recount::{Held, Recount};
pub use settle::{Phase, Settlement, SettlementEffects};
