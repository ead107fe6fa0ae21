//! Durable follow-up work, and what is counted for it.
//!
//! Any write may add a [`Continuation`] without reading anything. The process that committed the write
//! runs it at once; if that process dies, the engine runs it when it is due. A [`Tally`] is a few
//! counters of an execution that are changed without reading them; counter [`LATCH`] adds a
//! continuation, in the same write, when it reaches zero.
//!
//! A continuation is its own version: it is there or it is not. What its run does is decided by what is
//! stored, never by the continuation alone, because a fault in the middle of a write may leave one
//! whose cause was not written.

use std::collections::BTreeMap;

use crate::id::ExecutionId;
use crate::time::{Millis, Time};

/// How long after it was added the engine runs a continuation, unless that was done before.
pub const TAKEOVER: Millis = Millis::from_secs(5);

/// The counter that adds a continuation when it reaches zero.
pub const LATCH: u8 = 0;

/// No counter is further from zero: every whole number up to here is exact as a double, too.
pub const COUNTER_MAX: i64 = 1 << 53;

/// Which kind of follow-up work, as a stored number. A release may find the number of a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContinuationKind(pub u8);

impl ContinuationKind {
    /// A member of a flow has ended: what depends on it is released or skipped.
    pub const ENDED: ContinuationKind = ContinuationKind(1);
    /// All members of a flow have ended: it ends too.
    pub const SETTLE: ContinuationKind = ContinuationKind(2);
    /// A flow is ending: its members are cancelled.
    pub const CANCEL: ContinuationKind = ContinuationKind(3);
    /// A member needs no more of what it depends on: what nobody else needs is cancelled.
    pub const UNNEEDED: ContinuationKind = ContinuationKind(4);
    /// A held member of a flow is to be run again: it is cancelled if the flow is ending.
    pub const STRAY: ContinuationKind = ContinuationKind(5);
    /// A flow was sealed after members had ended.
    pub const CATCH_UP: ContinuationKind = ContinuationKind(6);
    /// The retention of a flow is over: its members are removed, and then the flow.
    pub const RETIRE: ContinuationKind = ContinuationKind(7);
    /// A flow is replayed, and all that runs again is reopened: what waits for nothing is released.
    pub const REOPENED: ContinuationKind = ContinuationKind(8);
    /// An execution waits for children: those that ended while it was being parked count.
    pub const CHILDREN: ContinuationKind = ContinuationKind(9);
    /// Whether its slices read and change other executions than their owner.
    pub const fn reaches_others(self) -> bool {
        self.0 < 128
    }

    /// Writes elements, slice by slice; for tests of stores.
    #[cfg(feature = "toy")]
    pub const TOY: ContinuationKind = ContinuationKind(255);
}

/// One piece of follow-up work, or what is left of it. The order is that of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Continuation {
    /// What is to be done.
    pub kind: ContinuationKind,
    /// For which execution; it lies in that one's partition.
    pub owner: ExecutionId,
    /// Random bits of the command that added it: the same work added twice is two continuations, so
    /// that removing one that was read never loses one that was added later.
    pub salt: u32,
    /// A number of which the kind knows the meaning, such as a member of a flow.
    pub member: u32,
    /// Where the next slice begins.
    pub from: u64,
}

impl Continuation {
    /// How many bytes it has.
    pub const BYTES: usize = 33;

    /// The bytes that are stored.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = self.kind.0;
        bytes[1..17].copy_from_slice(self.owner.as_bytes());
        bytes[17..21].copy_from_slice(&self.salt.to_be_bytes());
        bytes[21..25].copy_from_slice(&self.member.to_be_bytes());
        bytes[25..].copy_from_slice(&self.from.to_be_bytes());
        bytes
    }

    /// The continuation that is stored as `bytes`; `None` if they are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Continuation> {
        let (kind, rest) = bytes.split_first()?;
        let (owner, rest) = rest.split_at_checked(16)?;
        let (salt, rest) = rest.split_first_chunk()?;
        let (member, from) = rest.split_first_chunk()?;
        Some(Continuation {
            kind: ContinuationKind(*kind),
            owner: ExecutionId::from_bytes(owner).ok()?,
            salt: u32::from_be_bytes(*salt),
            member: u32::from_be_bytes(*member),
            from: u64::from_be_bytes(from.try_into().ok()?),
        })
    }
}

/// A continuation that a write adds or removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContinuationChange {
    /// Adds it.
    Add(Armed),
    /// Removes it. If it is not there, the write is a conflict.
    Remove(Continuation),
}

/// A continuation and when the engine runs it at the latest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Armed {
    /// What is to be done.
    pub continuation: Continuation,
    /// When it is due.
    pub due: Time,
}

impl Armed {
    /// A continuation that is added at `now`.
    pub fn at(now: Time, continuation: Continuation) -> Armed {
        Armed { continuation, due: now + TAKEOVER }
    }
}

/// The counters of an execution that are not zero, by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<u8, i64>);

impl Tally {
    /// What a counter has.
    pub fn of(&self, counter: u8) -> i64 {
        self.0.get(&counter).copied().unwrap_or(0)
    }

    /// Sets a counter. One that is zero takes no room.
    pub fn set(&mut self, counter: u8, value: i64) {
        match value {
            0 => self.0.remove(&counter),
            _ => self.0.insert(counter, value),
        };
    }

    /// The counters that are not zero, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u8, i64)> + '_ {
        self.0.iter().map(|(counter, value)| (*counter, *value))
    }

    /// Whether all counters are zero.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Counts, and answers the continuation that this adds, if the latch has reached zero by it.
    pub fn count(&mut self, change: &TallyChange) -> Option<Armed> {
        for (counter, by) in &change.add {
            self.set(*counter, counted(self.of(*counter), *by));
        }
        let is_moved = change.add.get(&LATCH).is_some_and(|by| *by != 0);
        change.at_zero.filter(|_| is_moved && self.of(LATCH) == 0)
    }
}

/// A counter of `value` after `by` was added: it stops at [`COUNTER_MAX`].
fn counted(value: i64, by: i64) -> i64 {
    let bounded = |number: i64| number.clamp(-COUNTER_MAX, COUNTER_MAX);
    bounded(bounded(value) + bounded(by))
}

impl TallyChange {
    /// Whether it raises the latch.
    pub fn raises(&self) -> bool {
        self.add.get(&LATCH).is_some_and(|by| *by > 0)
    }
}

/// What a write adds to the counters of an execution, whatever they are. It does nothing if there is no
/// such execution once the write is done: the counters go with their owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TallyChange {
    /// Whose counters.
    pub owner: ExecutionId,
    /// How much is added to which.
    pub add: BTreeMap<u8, i64>,
    /// Added when this change brings counter [`LATCH`] to zero.
    pub at_zero: Option<Armed>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Partition;

    fn continuation() -> Continuation {
        let owner =
            ExecutionId::mint(Time::from_ms(1_700_000_000_000), Partition::new(7).unwrap(), 1, 2);
        let kind = ContinuationKind(3);
        Continuation { kind, owner, salt: 0x0102_0304, member: 5, from: 6 }
    }

    #[test]
    fn the_bytes_are_a_fixed_format() {
        let hex: String =
            continuation().to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        let owner = "018bcfe568007007800004000000000200";
        let expected = format!("03{}0102030400000005{:016x}", &owner[..32], 6);
        assert_eq!(hex, expected);
    }

    #[test]
    fn bytes_read_back_and_have_the_order_of_continuations() {
        let one = continuation();
        let other = |change: fn(&mut Continuation)| {
            let mut other = one;
            change(&mut other);
            other
        };
        let mut all = [
            one,
            other(|c| c.kind = ContinuationKind(255)),
            other(|c| c.owner = ExecutionId::mint(Time::MAX, Partition::ONLY, 0, 0)),
            other(|c| c.salt = 256),
            other(|c| c.member = u32::MAX),
            other(|c| c.from = 1 << 40),
        ];
        all.sort();
        assert!(all.iter().map(Continuation::to_bytes).is_sorted());
        for one in all {
            assert_eq!(Continuation::from_bytes(&one.to_bytes()), Some(one));
        }
    }

    #[test]
    fn other_bytes_are_no_continuation() {
        let bytes = continuation().to_bytes();
        let longer = [&bytes[..], &[0]].concat();
        let no_id = [&[3; 17][..], &bytes[17..]].concat();
        for bad in [&[][..], &bytes[..32], &longer, &no_id] {
            assert_eq!(Continuation::from_bytes(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_latch_adds_its_continuation_only_when_it_is_brought_to_zero() {
        let at_zero = Some(Armed::at(Time::EPOCH, continuation()));
        let owner = continuation().owner;
        let mut tally = Tally::default();
        let mut count = |add: &[(u8, i64)]| {
            let add = add.iter().copied().collect();
            tally.count(&TallyChange { owner, add, at_zero }).is_some()
        };
        assert!(!count(&[(LATCH, 0)]), "it was zero");
        assert!(!count(&[(1, 4)]), "another counter");
        assert!(!count(&[(LATCH, 2)]));
        assert!(!count(&[(LATCH, -1)]));
        assert!(count(&[(LATCH, -1), (1, -4)]));
        assert!(!count(&[(LATCH, -1)]), "it has passed zero");
        assert!(count(&[(LATCH, 1)]), "from below, too");
        assert!(tally.is_empty(), "what is zero takes no room");
    }

    #[test]
    fn a_counter_stops_at_its_bounds() {
        assert_eq!(counted(COUNTER_MAX, i64::MAX), COUNTER_MAX);
        assert_eq!(counted(-COUNTER_MAX, i64::MIN), -COUNTER_MAX);
        assert_eq!(counted(COUNTER_MAX, -1), COUNTER_MAX - 1);
    }
}
