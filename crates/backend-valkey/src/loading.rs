//! Waiting for a server that loads its data. Until it has, its INFO is not what it
//! will be: it reports that the append-only file is off.

use std::sync::Arc;
use std::time::Duration;

use ff_store::StoreError;
use redis::Cmd;
use tokio::time::{Instant, sleep};

use crate::link::{Link, Node};
use crate::startup::{Info, text};

/// How often a loading server is polled.
const PAUSE: Duration = Duration::from_millis(250);

/// How often it is logged that an opening store waits.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// The INFO of the node once it has loaded its data, waiting up to `timeout` for that.
pub(crate) async fn info(
    link: &Link,
    node: &Arc<Node>,
    command: &Cmd,
    timeout: Duration,
) -> Result<String, StoreError> {
    let (began, mut logged) = (Instant::now(), None::<Instant>);
    loop {
        let answer = text(link.ask(node, command).await?);
        let info = Info(&answer);
        if info.get("loading") != Some("1") {
            if logged.is_some() {
                tracing::info!(node = %node.address(), took = ?began.elapsed(), "the server has loaded its data");
            }
            return Ok(answer);
        }
        let percent = info.get("loading_loaded_perc").unwrap_or("?");
        if began.elapsed() >= timeout {
            return Err(StoreError::Unavailable(format!(
                "{} is still loading its data after {} s ({percent} %); start again when it has",
                node.address(),
                timeout.as_secs()
            )));
        }
        if logged.is_none_or(|logged| logged.elapsed() >= LOG_INTERVAL) {
            let node = node.address().to_string();
            tracing::info!(node, percent, "waiting while the server loads its data");
            logged = Some(Instant::now());
        }
        sleep(PAUSE).await;
    }
}
