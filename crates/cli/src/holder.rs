//! The lease of a program that `ff worker` runs, read from its environment.

use std::str::FromStr;

use ff_core::machine::{LeaseRef, Target};
use ff_core::{Fence, Refusal};

use crate::error::Error;

/// The execution this process works on, and the lease on it.
pub(crate) fn hold() -> Result<LeaseRef, Error> {
    let target = Target { namespace: read("FF_NAMESPACE")?, execution: read("FF_EXECUTION")? };
    let (lease, epoch) = (read("FF_LEASE")?, number("FF_EPOCH")?);
    let attempt = u32::try_from(number("FF_ATTEMPT")?);
    let attempt = attempt.map_err(|_| wrong("FF_ATTEMPT", "it is too large"))?;
    Ok(LeaseRef { target, fence: Fence { lease, epoch, attempt } })
}

/// How many replays have hidden entries of its journal.
pub(crate) fn generation() -> Result<u32, Error> {
    let number = u32::try_from(number("FF_GENERATION")?);
    number.map_err(|_| wrong("FF_GENERATION", "it is too large"))
}

fn read<T: FromStr<Err = Refusal>>(name: &'static str) -> Result<T, Error> {
    text(name)?.parse().map_err(|refusal: Refusal| wrong(name, &refusal.to_string()))
}

fn number(name: &'static str) -> Result<u64, Error> {
    text(name)?.parse().map_err(|_| wrong(name, "it is not a whole number"))
}

fn text(name: &'static str) -> Result<String, Error> {
    std::env::var(name).map_err(|_| wrong(name, "it is not set"))
}

fn wrong(name: &'static str, why: &str) -> Error {
    let message = format!(
        "{name} does not name what this program works on: {why}; run this inside a program of \
         `ff worker --exec`, which sets it"
    );
    Error::usage(name, message)
}
