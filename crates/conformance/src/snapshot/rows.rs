//! The rows of one kind: each by its key.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};

use ff_core::collection::Collection;
use ff_core::continuation::Continuation;
use ff_core::payload::BlobKey;
use ff_core::placement::Entry;
use ff_core::{Capabilities, ExecutionId, Lane, Namespace, ResourceKey};

/// How many differences are listed.
const MAX_DIFFERENCES: usize = 20;

/// What tells a row from all others of its kind.
pub trait RowKey: Ord + fmt::Debug {
    /// The execution that the row belongs to, if it belongs to one.
    fn execution(&self) -> Option<ExecutionId>;
}

impl RowKey for ExecutionId {
    fn execution(&self) -> Option<ExecutionId> {
        Some(*self)
    }
}

impl RowKey for (ExecutionId, Entry) {
    fn execution(&self) -> Option<ExecutionId> {
        Some(self.0)
    }
}

impl RowKey for BlobKey {
    fn execution(&self) -> Option<ExecutionId> {
        Some(self.execution)
    }
}

impl RowKey for (ExecutionId, Collection, u64) {
    fn execution(&self) -> Option<ExecutionId> {
        Some(self.0)
    }
}

impl RowKey for (ExecutionId, u8) {
    fn execution(&self) -> Option<ExecutionId> {
        Some(self.0)
    }
}

/// It may outlive its owner.
impl RowKey for Continuation {
    fn execution(&self) -> Option<ExecutionId> {
        None
    }
}

impl RowKey for (Namespace, Lane, Capabilities) {
    fn execution(&self) -> Option<ExecutionId> {
        None
    }
}

/// An event outlives its execution.
impl RowKey for (Namespace, ExecutionId, usize) {
    fn execution(&self) -> Option<ExecutionId> {
        None
    }
}

impl RowKey for ResourceKey {
    fn execution(&self) -> Option<ExecutionId> {
        None
    }
}

impl RowKey for String {
    fn execution(&self) -> Option<ExecutionId> {
        None
    }
}

/// The rows of one kind. One that a store gives twice is kept apart, so that it makes a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowsOf<K, V> {
    rows: BTreeMap<K, V>,
    repeated: Vec<(K, V)>,
}

impl<K, V> Default for RowsOf<K, V> {
    fn default() -> Self {
        RowsOf { rows: BTreeMap::new(), repeated: Vec::new() }
    }
}

impl<K, V> Deref for RowsOf<K, V> {
    type Target = BTreeMap<K, V>;

    fn deref(&self) -> &BTreeMap<K, V> {
        &self.rows
    }
}

impl<K, V> DerefMut for RowsOf<K, V> {
    fn deref_mut(&mut self) -> &mut BTreeMap<K, V> {
        &mut self.rows
    }
}

impl<K: RowKey, V: PartialEq + fmt::Debug> RowsOf<K, V> {
    pub(super) fn add(&mut self, key: K, value: V) {
        match self.rows.contains_key(&key) {
            true => {
                let place = self.repeated.partition_point(|(known, _)| *known <= key);
                self.repeated.insert(place, (key, value));
            }
            false => {
                self.rows.insert(key, value);
            }
        }
    }

    /// The rows that belong to `id`, in words.
    pub(super) fn naming(&self, word: &str, id: ExecutionId, into: &mut Vec<String>) {
        let all = self.rows.iter().chain(self.repeated.iter().map(|(key, value)| (key, value)));
        let own = all.filter(|(key, _)| key.execution() == Some(id));
        into.extend(own.map(|(key, value)| shown(word, key, value)));
    }

    /// What is only here (`-`), only in `other` (`+`), and repeated in one of them alone (`~`).
    pub(super) fn differences(&self, word: &str, other: &Self, into: &mut Vec<String>) {
        let only = |sign: char, these: &Self, those: &Self| -> Vec<String> {
            let missing = these.rows.iter().filter(|(key, row)| those.rows.get(key) != Some(row));
            missing.map(|(key, row)| format!("{sign} {}", shown(word, key, row))).collect()
        };
        let (gone, new) = (only('-', self, other), only('+', other, self));
        let (ours, theirs) = (&self.repeated, &other.repeated);
        let repeated = (ours != theirs)
            .then(|| format!("~ {word} rows are repeated: here {ours:?}, there {theirs:?}"));
        let left = MAX_DIFFERENCES.saturating_sub(into.len());
        into.extend(gone.into_iter().chain(new).chain(repeated).take(left));
    }
}

/// A row in words. What has no value is all in its key.
fn shown<K: fmt::Debug, V: fmt::Debug>(word: &str, key: &K, value: &V) -> String {
    match size_of::<V>() {
        0 => format!("{word} {key:?}"),
        _ => format!("{word} {key:?}: {value:?}"),
    }
}
