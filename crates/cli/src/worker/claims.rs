//! Claims, one at a time, that survive every error of the store.

use std::sync::Arc;
use std::time::Duration;

use ff_core::machine::{Assignment, ClaimRequest};
use ff_core::{Millis, RequestId};
use ff_store::mint;

use super::retry::Backoff;
use super::{Context, Stop};
use crate::duration;

/// How long a claim waits for work.
const WAIT: Millis = Millis::from_secs(20);
/// How long nothing must appear before a lane counts as idle: time enough for what is due.
const IDLE_WAIT: Millis = Millis::new(500);

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Takes up to `max` executions; none when the wait was in vain. A claim whose reply was lost is
/// repeated under the same name, so that what it took is found and nothing is taken twice.
pub(super) async fn next(context: Arc<Context>, max: usize) -> Vec<Assignment> {
    let wait = match context.options.stop {
        Stop::WhenIdle => IDLE_WAIT,
        Stop::OnSignal | Stop::AfterOne => WAIT,
    };
    let mut claim = claim(&context, mint::request_id(), max);
    let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
    loop {
        match context.backend.claim(claim.clone(), wait).await {
            Ok(claimed) => return claimed.assignments,
            Err(error) => {
                let pause = backoff.pause();
                let soon = duration::rough(Millis::new(pause.as_millis() as u64));
                let told = format!("cannot claim: {error}; trying again in {soon}");
                context.log.trouble(&context.options.lane, told);
                tokio::time::sleep(pause).await;
                claim.retry = true;
            }
        }
    }
}

fn claim(context: &Context, request: RequestId, max: usize) -> ClaimRequest {
    let options = &context.options;
    ClaimRequest {
        namespace: options.namespace.clone(),
        lane: options.lane.clone(),
        worker: options.worker.clone(),
        capabilities: options.capabilities.clone(),
        request,
        max: u16::try_from(max).unwrap_or(u16::MAX),
        retry: false,
    }
}
