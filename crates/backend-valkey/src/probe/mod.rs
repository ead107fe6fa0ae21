//! What the servers count during a measurement: calls, processor time, memory.
//!
//! A server counts the commands inside functions like those of clients. Watching some of the
//! work distinguishes them by name, and from then on the [`Probe`] counts the calls of clients.
//! Commands of the probe itself are left out.

mod info;
mod slow;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use ff_store::StoreError;
use redis::{Cmd, Value};
use tokio::time::Instant;

use crate::link::{Node, Servers};
use crate::options::Options;
use info::Info;
use slow::Timing;
use watch::{Seen, Watch};

/// How long a server may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What the servers have counted since they started, added up over the primaries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// Calls that clients made; known once some work was watched.
    pub client_calls: Option<u64>,
    /// Processor time of the servers, in microseconds.
    pub cpu_us: u64,
    /// Bytes the servers hold for data and its upkeep.
    pub used_memory: u64,
    /// How often an append-only file was rewritten.
    pub rewrites: u64,
}

/// Observes the servers of a store from outside, on separate connections.
pub struct Probe {
    options: Options,
    primaries: Vec<Arc<Node>>,
    readings: u64,
    watch: Option<Watch>,
    seen: Option<Seen>,
    timing: Option<Timing>,
}

impl Probe {
    /// Connects to every primary.
    pub async fn connect(options: Options) -> Result<Probe, StoreError> {
        let primaries = Servers::connect(&options).await?.primaries();
        for node in &primaries {
            // The commands that open a connection are sent now, and not during a measurement.
            send(node, &redis::cmd("PING")).await?;
        }
        Ok(Probe { options, primaries, readings: 0, watch: None, seen: None, timing: None })
    }

    /// What the servers have counted so far.
    pub async fn read(&mut self) -> Result<Reading, StoreError> {
        let mut sum = Reading { client_calls: self.seen.as_ref().map(|_| 0), ..Reading::default() };
        let mut ask = redis::cmd("INFO");
        ask.arg(&["commandstats", "cpu", "memory", "persistence"]);
        for node in &self.primaries {
            let info = Info::parse(&text(send(node, &ask).await?)?);
            let seconds = info.number("used_cpu_user")? + info.number("used_cpu_sys")?;
            sum.cpu_us += (seconds * 1e6) as u64;
            sum.used_memory += info.number("used_memory")? as u64;
            sum.rewrites += info.number("aof_rewrites")? as u64;
            if let (Some(sum), Some(seen)) = (&mut sum.client_calls, &self.seen) {
                let calls = info.calls().map(|(name, calls)| calls * seen.share_of_clients(name));
                *sum += (calls.sum::<f64>().round() as u64).saturating_sub(self.readings);
            }
        }
        self.readings += 1;
        Ok(sum)
    }

    /// Begins to time every function call, by the slow logs of the servers, whose settings are changed
    /// meanwhile. For a user who may not do that, a warning is logged, and no longest call is known.
    pub async fn time_calls(&mut self) -> Result<(), StoreError> {
        match Timing::start(&self.primaries).await {
            Ok(timing) => self.timing = Some(timing),
            Err(error) => tracing::warn!(%error, "calls are not timed"),
        }
        Ok(())
    }

    /// The longest function call since then, if they were timed.
    pub async fn longest_call(&mut self) -> Result<Option<Duration>, StoreError> {
        match self.timing.take() {
            Some(timing) => timing.end().await.map(Some),
            None => Ok(None),
        }
    }

    /// Begins to watch every command, which slows the servers down. `false` when that cannot be
    /// done, because the store is reached by TLS or the user may not.
    pub async fn watch(&mut self) -> bool {
        match Watch::start(&self.primaries, &self.options).await {
            Ok(watch) => self.watch = Some(watch),
            Err(error) => tracing::warn!(%error, "the calls of clients are not counted"),
        }
        self.watch.is_some()
    }

    /// Ends the watch and answers how many calls clients made meanwhile; `None` without a watch.
    pub async fn end_watch(&mut self) -> Result<Option<u64>, StoreError> {
        let Some(watch) = self.watch.take() else { return Ok(None) };
        let seen = watch.end(&self.primaries).await?;
        let calls = seen.client_calls();
        self.seen.get_or_insert_default().add(seen);
        Ok(Some(calls))
    }
}

/// Sends one command to one server.
pub(crate) async fn send(node: &Arc<Node>, command: &Cmd) -> Result<Value, StoreError> {
    Ok(node.send(command, Instant::now() + TIMEOUT).await?)
}

fn text(value: Value) -> Result<String, StoreError> {
    let text = redis::from_redis_value(value);
    text.map_err(|_| StoreError::Incompatible("the server's INFO is not text".into()))
}
