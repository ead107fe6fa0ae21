//! The longest call that servers took, from their slow logs.

use std::sync::Arc;
use std::time::Duration;

use ff_store::StoreError;
use redis::Value;

use super::send;
use crate::link::Node;
use crate::reply;

/// Shorter calls are not counted, in microseconds.
const LEAST_US: u64 = 500;
/// How many are remembered.
const MOST: u64 = 10_000;
/// The settings while calls are timed.
const SETTINGS: [(&str, u64); 2] =
    [("slowlog-log-slower-than", LEAST_US), ("slowlog-max-len", MOST)];

/// The earlier settings of a server's slow log.
pub(super) struct Timing(Vec<(Arc<Node>, [String; 2])>);

impl Timing {
    /// Times every call of `nodes` from now on.
    pub(super) async fn start(nodes: &[Arc<Node>]) -> Result<Timing, StoreError> {
        let mut before = Vec::new();
        for node in nodes {
            let mut was = [String::new(), String::new()];
            for (at, (name, value)) in SETTINGS.iter().enumerate() {
                let answer = send(node, redis::cmd("CONFIG").arg("GET").arg(name)).await?;
                was[at] = reply::text(reply::list(answer)?.pop().ok_or_else(reply::missing)?)?;
                send(node, redis::cmd("CONFIG").arg("SET").arg(name).arg(value)).await?;
            }
            send(node, redis::cmd("SLOWLOG").arg("RESET")).await?;
            before.push((Arc::clone(node), was));
        }
        Ok(Timing(before))
    }

    /// The longest function call since then; one that is too short to be logged counts as that long.
    pub(super) async fn end(self) -> Result<Duration, StoreError> {
        let mut longest = LEAST_US;
        for (node, was) in self.0 {
            let log = send(&node, redis::cmd("SLOWLOG").arg("GET").arg(MOST)).await?;
            for entry in reply::list(log)? {
                longest = longest.max(took(entry)?.unwrap_or(0));
            }
            for ((name, _), was) in SETTINGS.iter().zip(was) {
                send(&node, redis::cmd("CONFIG").arg("SET").arg(name).arg(was)).await?;
            }
        }
        Ok(Duration::from_micros(longest))
    }
}

/// How long an entry of a slow log took in microseconds, if it is of a function.
fn took(entry: Value) -> Result<Option<u64>, StoreError> {
    let mut fields = reply::list(entry)?.into_iter();
    let (took, words) = (fields.nth(2), fields.next());
    let (took, words) = took.zip(words).ok_or_else(reply::missing)?;
    let name = reply::list(words)?.into_iter().next().ok_or_else(reply::missing)?;
    let is_function = reply::text(name)?.eq_ignore_ascii_case("fcall");
    Ok(is_function.then(|| reply::number(&took)).transpose()?.map(i64::unsigned_abs))
}
