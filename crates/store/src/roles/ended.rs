//! An unlimited wait for the end of an execution, made of bounded calls.

use std::time::Duration;

use ff_core::Description;
use ff_core::bounds::END_WAIT_MAX;
use ff_core::machine::Target;
use tokio::time::{Instant, sleep_until};

use super::ClientBackend;
use crate::error::StoreError;
use crate::retry::Backoff;

/// The shortest and the longest pause between two calls that fail or return early.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// The record of `target` once it has ended. A retryable failure does not end the wait.
pub async fn until_ended<C: ClientBackend + ?Sized>(
    client: &C,
    target: &Target,
) -> Result<Description, StoreError> {
    let pauses = || Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
    let mut backoff = pauses();
    loop {
        let asked = Instant::now();
        match client.wait(target, END_WAIT_MAX).await {
            Ok(record) if record.outcome().is_some() => return Ok(record),
            Err(error) if !error.is_retryable() => return Err(error),
            Ok(_) if asked.elapsed() >= LONGEST_PAUSE => backoff = pauses(),
            Ok(_) | Err(_) => sleep_until(asked + backoff.pause()).await,
        }
    }
}
