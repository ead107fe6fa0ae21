//! Waiting for a server that reads its data back. Until it has, what it says of itself is not what it
//! will be: INFO tells that the append-only file is off.

use std::sync::Arc;
use std::time::Duration;

use ff_store::StoreError;
use redis::Cmd;
use tokio::time::{Instant, sleep};

use crate::link::{Link, Node};
use crate::startup::{Info, text};

/// How often a server that loads is asked whether it has done so.
const PAUSE: Duration = Duration::from_millis(250);

/// How often it is logged that an opening store waits.
const TELL: Duration = Duration::from_secs(10);

/// What the node says of itself once it has read its data back, waiting up to `patience` for that.
pub(crate) async fn info(
    link: &Link,
    node: &Arc<Node>,
    command: &Cmd,
    patience: Duration,
) -> Result<String, StoreError> {
    let (began, mut told) = (Instant::now(), None::<Instant>);
    loop {
        let said = text(link.ask(node, command).await?);
        let info = Info(&said);
        if info.get("loading") != Some("1") {
            if told.is_some() {
                tracing::info!(node = %node.address(), took = ?began.elapsed(), "the server has read its data");
            }
            return Ok(said);
        }
        let percent = info.get("loading_loaded_perc").unwrap_or("?");
        if began.elapsed() >= patience {
            return Err(StoreError::Unavailable(format!(
                "{} still reads its data back after {} s ({percent} %); start again when it has",
                node.address(),
                patience.as_secs()
            )));
        }
        if told.is_none_or(|told| told.elapsed() >= TELL) {
            let node = node.address().to_string();
            tracing::info!(node, percent, "waiting while the server reads its data back");
            told = Some(Instant::now());
        }
        sleep(PAUSE).await;
    }
}
