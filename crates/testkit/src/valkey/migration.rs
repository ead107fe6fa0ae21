//! Moving a slot from one primary to another, in steps that a test can observe.

use super::{Cluster, Server, cluster::id};

/// How many keys move at once, and how many times a slot may have more.
const BATCH: usize = 100;
const BATCHES_LIMIT: usize = 1_000;

impl Cluster {
    /// Moves a slot with all its keys.
    pub fn migrate_slot(&self, slot: u16, from: &Server, to: &Server) {
        self.begin_migration(slot, from, to);
        self.move_keys(slot, from, to);
        self.finish_migration(slot, from, to);
    }

    /// Opens the slot at both ends: from here on `from` sends clients to `to` for keys it does
    /// not have, with `ASK` or, for several keys, `TRYAGAIN`.
    pub fn begin_migration(&self, slot: u16, from: &Server, to: &Server) {
        let slot = slot.to_string();
        to.order(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id(from)]);
        from.order(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id(to)]);
    }

    /// Moves the keys that the slot has now. They move a batch at a time, each batch atomically.
    ///
    /// # Panics
    ///
    /// When keys keep coming.
    pub fn move_keys(&self, slot: u16, from: &Server, to: &Server) {
        let ask = ["CLUSTER", "GETKEYSINSLOT", &slot.to_string(), &BATCH.to_string()];
        let port = to.port().to_string();
        for _ in 0..BATCHES_LIMIT {
            let keys = from.order(&ask);
            if keys.list().is_empty() {
                return;
            }
            let head = ["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"].map(str::as_bytes);
            let words: Vec<&[u8]> =
                head.into_iter().chain(keys.list().iter().map(|key| key.bytes())).collect();
            from.command(&words).unwrap_or_else(|why| panic!("keys of slot {slot}: {why}"));
        }
        panic!("slot {slot} still has keys after {BATCHES_LIMIT} batches");
    }

    /// Gives the slot to `to`, and waits until every node that runs knows.
    pub fn finish_migration(&self, slot: u16, from: &Server, to: &Server) {
        let words = ["CLUSTER", "SETSLOT", &slot.to_string(), "NODE", &id(to)];
        // The receiver first: a slot that its source releases first has no owner.
        to.order(&words);
        from.order(&words);
        self.wait_for_primary(slot, |port| port == to.port());
    }
}
