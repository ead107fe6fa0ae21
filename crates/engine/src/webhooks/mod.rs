//! Deliveries of webhooks: one task for each webhook whose turn this process has.
//!
//! A turn begins with the tick of the webhook's timer, in the one process that acts on its partition, and
//! lasts while that process says that it is alive. Each webhook has its own task, its own bound on what is
//! under way and its own pauses, so a target that hangs delays nobody else's deliveries.

mod page;
mod send;
mod sign;
mod turn;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ff_core::ResourceKey;
use ff_store::EngineBackend;
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use send::Sender;
pub use send::Trust;

use crate::metrics;

/// How many webhooks a process delivers at once; others wait for their next turn.
const TURNS: usize = 1_024;

/// How long turns have to say that they end when the process stops.
const LEAVE: Duration = Duration::from_secs(2);

/// How deliveries are tried.
#[derive(Debug, Clone)]
pub struct DeliveryOptions {
    /// How often an event is tried before it is given up.
    pub tries: u32,
    /// The pause before the second try; each later one is twice as long.
    pub first_pause: Duration,
    /// The longest pause.
    pub longest_pause: Duration,
    /// How long one try may take.
    pub timeout: Duration,
    /// How often a turn says that it is alive.
    pub keep: Duration,
    /// Which certificates are trusted.
    pub trust: Trust,
}

impl Default for DeliveryOptions {
    fn default() -> Self {
        DeliveryOptions {
            tries: 12,
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(300),
            timeout: Duration::from_secs(10),
            keep: Duration::from_secs(5),
            trust: Trust::default(),
        }
    }
}

/// Delivers until it is stopped.
pub async fn run(
    backend: Arc<dyn EngineBackend>,
    options: DeliveryOptions,
    stop: CancellationToken,
) {
    metrics::webhooks_start();
    let sender = Arc::new(Sender::new(&options));
    let options = Arc::new(options);
    let mut tasks = JoinSet::new();
    let mut running: HashMap<ResourceKey, AbortHandle> = HashMap::new();
    loop {
        let turn = tokio::select! {
            turn = backend.next_turn(), if running.len() < TURNS => turn,
            Some(_) = tasks.join_next() => {
                running.retain(|_, task| !task.is_finished());
                continue;
            }
            () = stop.cancelled() => break,
        };
        let key = turn.key.clone();
        let taking = turn::Taking::new(backend.clone(), sender.clone(), options.clone(), turn);
        let task = tasks.spawn(taking.run(stop.clone()));
        // The turn before it is over.
        if let Some(earlier) = running.insert(key, task) {
            earlier.abort();
        }
    }
    let _ = tokio::time::timeout(LEAVE, async { while tasks.join_next().await.is_some() {} }).await;
}
