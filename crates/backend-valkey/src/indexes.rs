//! The indexes of a partition, by the letters under which functions know them: the Rust side of the
//! table in `lua/lib/placement.lua`.

/// The name of an index is its letter and its subject: one for each of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Each {
    /// There is one in a partition.
    Partition,
    /// Every namespace that has executions there.
    Namespace,
    /// Every reason for attention, in every such namespace.
    Attention,
    /// Every limit that executions are blocked on, with their class.
    Blocker,
    /// Every lane that has a queue there.
    Lane,
    /// Every queue.
    Queue,
}

/// One letter.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) letter: char,
    pub(crate) each: Each,
    /// What an entry is, in reports of unreadable ones.
    pub(crate) entry: &'static str,
}

const fn index(letter: char, each: Each, entry: &'static str) -> Index {
    Index { letter, each, entry }
}

/// All of them, in the order in which they are walked: lists come first, because they lead to every
/// complete record, and the classes of lanes before queues, of which the last may be all that names a
/// lane.
pub(crate) const INDEXES: [Index; 11] = [
    index('l', Each::Namespace, "an entry of a list"),
    index('a', Each::Attention, "an entry of what needs attention"),
    index('k', Each::Namespace, "an idempotency key"),
    index('t', Each::Partition, "a timer"),
    index('h', Each::Partition, "an entry of a claim"),
    index('b', Each::Blocker, "an entry of those that wait"),
    index('c', Each::Lane, "a class"),
    index('q', Each::Queue, "an entry of a queue"),
    index('r', Each::Partition, "a resource"),
    index('d', Each::Partition, "a timer of a resource"),
    index('f', Each::Partition, "a continuation"),
];
