//! The pinned cycle: what a submit, a claim and a complete must do at least, each one function.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ff_store::{Clock, StoreError, SystemClock};
use redis::Cmd;

use super::{CeilingPlan, RESULT, Rest, Speed, timed, unexpected};
use crate::link::{Node, Servers};
use crate::probe::{Probe, send};

const LIBRARY: &str = include_str!("../../lua/ceiling.lua");
const LIBRARY_NAME: &str = "ffbench_limit";

/// How many executions are removed by one call.
const REMOVED_AT_ONCE: usize = 100;

/// Loads the functions on every primary, measures, and leaves nothing behind.
pub(super) async fn measure(
    servers: &Servers,
    probe: &mut Probe,
    plan: CeilingPlan,
) -> Result<Speed, StoreError> {
    for node in servers.primaries() {
        send(&node, redis::cmd("FUNCTION").arg("LOAD").arg("REPLACE").arg(LIBRARY)).await?;
    }
    let callers = (0..plan.callers).map(|number| Caller::new(servers, number, plan));
    let callers = callers.collect::<Result<Vec<_>, StoreError>>()?;
    let speed = timed(probe, plan, &callers, Caller::run).await;
    for caller in callers {
        caller.remove().await?;
    }
    for node in servers.primaries() {
        send(&node, redis::cmd("FUNCTION").arg("DELETE").arg(LIBRARY_NAME)).await?;
    }
    speed
}

/// One caller, with a separate queue and so a separate slot.
#[derive(Clone)]
struct Caller {
    node: Arc<Node>,
    base: String,
    plan: CeilingPlan,
    /// How many executions it made.
    made: Arc<AtomicU64>,
}

impl Caller {
    fn new(servers: &Servers, number: usize, plan: CeilingPlan) -> Result<Caller, StoreError> {
        let base = format!("ffbench_limit:{{{number}}}");
        Ok(Caller { node: servers.owner(&base)?, base, plan, made: Arc::default() })
    }

    async fn run(self, rest: Arc<Rest>) -> Result<(), StoreError> {
        let payload = vec![b'x'; self.plan.payload];
        loop {
            let count = rest.take();
            if count == 0 {
                return Ok(());
            }
            self.cycle(count, &payload).await?;
        }
    }

    /// Creates, claims and completes `count` executions.
    async fn cycle(&self, count: usize, payload: &[u8]) -> Result<(), StoreError> {
        let mut create = self.call("ffbench_create");
        let first = self.made.fetch_add(count as u64, Ordering::Relaxed);
        for number in first..first + count as u64 {
            create.arg(id(number)).arg(payload);
        }
        send(&self.node, &create).await?;

        let mut claim = self.call("ffbench_claim");
        claim.arg(count).arg("bench-0");
        let claimed = redis::from_redis_value(send(&self.node, &claim).await?);
        let claimed: Vec<(String, Vec<u8>)> = claimed.map_err(unexpected)?;
        if claimed.len() != count {
            return Err(unexpected(format!("{} of {count} were claimed", claimed.len())));
        }

        let mut complete = self.call("ffbench_complete");
        for (id, _) in &claimed {
            complete.arg(id).arg(&[b'y'; RESULT]);
        }
        send(&self.node, &complete).await?;
        Ok(())
    }

    /// A call of `function` at the current time.
    fn call(&self, function: &str) -> Cmd {
        let mut call = redis::cmd("FCALL");
        call.arg(function).arg(1).arg(&self.base).arg(SystemClock.now().as_ms());
        call
    }

    /// Removes everything this caller created.
    async fn remove(self) -> Result<(), StoreError> {
        let base = &self.base;
        let indexes = ["queue", "list", "timers"].map(|index| format!("{base}:{index}"));
        send(&self.node, redis::cmd("UNLINK").arg(&indexes)).await?;
        let made: Vec<_> = (0..self.made.load(Ordering::Relaxed)).collect();
        for some in made.chunks(REMOVED_AT_ONCE) {
            let mut unlink = redis::cmd("UNLINK");
            for number in some {
                let key = format!("{base}:e:{}", id(*number));
                unlink.arg(&key).arg(format!("{key}:in")).arg(format!("{key}:out"));
            }
            send(&self.node, &unlink).await?;
        }
        Ok(())
    }
}

/// As long as the engine's ids in keys.
fn id(number: u64) -> String {
    format!("{number:022}")
}
