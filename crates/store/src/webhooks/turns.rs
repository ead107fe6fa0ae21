//! The turns of webhooks that this process has started and has to take.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use ff_core::ResourceKey;
use ff_core::webhook::Webhook;
use tokio::sync::Notify;

use super::target::Reach;
use crate::lock::lock;

/// How many turns wait to be taken. One that finds no room is started again when it is over.
pub(crate) const WAITING: usize = 1_024;

/// The turn of a webhook: its process delivers until another turn begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Which webhook.
    pub key: ResourceKey,
    /// As it was when the turn began.
    pub webhook: Webhook,
}

/// What a process does of deliveries.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    waiting: Mutex<VecDeque<Turn>>,
    added: Notify,
    is_private: AtomicBool,
}

impl Turns {
    /// A turn has begun.
    pub(crate) fn add(&self, turn: Turn) {
        let mut waiting = lock(&self.waiting);
        if waiting.len() < WAITING {
            waiting.push_back(turn);
            self.added.notify_one();
        }
    }

    /// The next turn to take.
    pub(crate) async fn next(&self) -> Turn {
        loop {
            if let Some(turn) = lock(&self.waiting).pop_front() {
                return turn;
            }
            self.added.notified().await;
        }
    }

    /// What webhooks of this process may reach.
    pub(crate) fn reach(&self) -> Reach {
        match self.is_private.load(Ordering::Relaxed) {
            true => Reach::Private,
            false => Reach::Public,
        }
    }

    pub(crate) fn set_reach(&self, reach: Reach) {
        self.is_private.store(reach == Reach::Private, Ordering::Relaxed);
    }
}
