//! The counters of the writers.

use std::sync::atomic::{AtomicU64, Ordering};

/// What the writers have done since the store was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Commands that were answered, refusals included.
    pub commands: u64,
    /// Transactions that were begun for them.
    pub groups: u64,
    /// Transactions that wrote something and were committed: each waits for one sync of the server's log.
    pub commits: u64,
    /// Transactions that were run again because others were in their way.
    pub again: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    commands: AtomicU64,
    groups: AtomicU64,
    commits: AtomicU64,
    again: AtomicU64,
}

impl Counters {
    pub(crate) fn answered(&self, commands: usize) {
        self.commands.fetch_add(commands as u64, Ordering::Relaxed);
    }

    pub(crate) fn begun(&self) {
        self.groups.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn committed(&self) {
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn again(&self) {
        self.again.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> Stats {
        Stats {
            commands: self.commands.load(Ordering::Relaxed),
            groups: self.groups.load(Ordering::Relaxed),
            commits: self.commits.load(Ordering::Relaxed),
            again: self.again.load(Ordering::Relaxed),
        }
    }
}
