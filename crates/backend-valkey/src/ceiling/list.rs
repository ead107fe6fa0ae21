//! The baseline: a queue as a list, whose items move to a second list while they are worked on.

use std::sync::Arc;
use std::time::Duration;

use ff_store::StoreError;
use redis::{Pipeline, Value};
use tokio::time::Instant;

use super::{CeilingPlan, Rest, Speed, timed, unexpected};
use crate::link::{Node, Servers};
use crate::probe::{Probe, send};

const WAITING: &str = "ffbench_list:{0}:waiting";
const ACTIVE: &str = "ffbench_list:{0}:active";

/// How long a caller waits for an item at most, in seconds. It has just added one.
const WAIT_SECS: u64 = 1;
/// How long several commands may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Measures with one connection for all, and a blocking one for each caller, and removes the lists.
pub(super) async fn measure(
    servers: &Servers,
    probe: &mut Probe,
    plan: CeilingPlan,
) -> Result<Speed, StoreError> {
    let shared = servers.owner(WAITING)?;
    let callers = (0..plan.callers).map(|number| {
        let blocking = servers.owner_alone(WAITING)?;
        Ok(Caller { number, plan, shared: shared.clone(), blocking })
    });
    let callers = callers.collect::<Result<Vec<_>, StoreError>>()?;
    let speed = timed(probe, plan, &callers, Caller::run).await;
    send(&shared, redis::cmd("UNLINK").arg(WAITING).arg(ACTIVE)).await?;
    speed
}

#[derive(Clone)]
struct Caller {
    number: usize,
    plan: CeilingPlan,
    shared: Arc<Node>,
    blocking: Arc<Node>,
}

impl Caller {
    async fn run(self, rest: Arc<Rest>) -> Result<(), StoreError> {
        let payload = vec![b'x'; self.plan.payload];
        let mut made = 0_u64;
        loop {
            let count = rest.take();
            if count == 0 {
                return Ok(());
            }
            let mut push = redis::cmd("RPUSH");
            push.arg(WAITING);
            for _ in 0..count {
                // No two items are equal, or one would be removed for another.
                let name = format!("{:06}{made:016}", self.number);
                push.arg([name.as_bytes(), &payload].concat());
                made += 1;
            }
            send(&self.shared, &push).await?;

            let mut moves = redis::pipe();
            for _ in 0..count {
                let item = moves.cmd("BLMOVE").arg(WAITING).arg(ACTIVE);
                item.arg("LEFT").arg("RIGHT").arg(WAIT_SECS);
            }
            let mut removals = redis::pipe();
            for item in all(&self.blocking, &moves).await? {
                let item: Vec<u8> = redis::from_redis_value(item).map_err(unexpected)?;
                removals.cmd("LREM").arg(ACTIVE).arg(1).arg(item);
            }
            all(&self.shared, &removals).await?;
        }
    }
}

async fn all(node: &Arc<Node>, commands: &Pipeline) -> Result<Vec<Value>, StoreError> {
    Ok(node.send_all(commands, Instant::now() + TIMEOUT).await?)
}
