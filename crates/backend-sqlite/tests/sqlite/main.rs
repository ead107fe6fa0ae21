//! What is particular to this store. What every store does is in the exam.
#![allow(clippy::unwrap_used)]

mod backup;
mod bytes;
mod clock;
mod common;
mod damage;
mod file;
mod format;
mod group;
mod processes;
