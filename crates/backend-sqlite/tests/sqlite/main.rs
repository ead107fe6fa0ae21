//! What is particular to this store. What every store does is in the exam.
#![allow(clippy::unwrap_used)]

mod backup;
mod bytes;
mod clock;
mod damage;
mod engines;
mod file;
mod fixture;
mod format;
mod group;
mod planted;
mod processes;
mod violations;
