//! The constants of the functions on the server: numbers of the stored format and bounds of the
//! machine, written into the library.

use ff_core::bounds::{BATCH_BYTES, CLASSES_PER_LANE, MESSAGE_BYTES, RANGE_BYTES, RUNS};
use ff_core::continuation::{COUNTER_MAX, Continuation, LATCH};
use ff_core::event::EventName;
use ff_core::machine::ADMISSION_LOOKAHEAD;
use ff_core::placement::{Attention, PRIORITY_STEP, SCORE_MAX};
use ff_core::record::RETIRE_STEP;
use ff_core::state::Intent;
use ff_core::stream::FRAME_HEAD;
use ff_core::{LeaseId, Time};
use ff_store::optimistic::MAX_AGE_MS;

use crate::codec;
use crate::keys::ADMISSION_CLASS;

/// How many partitions one call over many reads. While a function runs the server does nothing else,
/// so everything that a function visits has a bound here, and none takes more than a few milliseconds.
pub(crate) const CALL_PARTITIONS: usize = 64;
/// How many lanes, each in one partition, one scan for work reads.
pub(crate) const PEEK_LANES: usize = 256;
/// How many queues of classes they have at most in total, in addition to one of each without
/// requirements.
pub(crate) const PEEK_CLASSES: usize = 512;
/// How many queues, budgets and quotas one slice of a count of the backlog reads, about.
pub(crate) const BACKLOG_SLICE: usize = 16;
/// How many executions that wait for a limit it reads, of those that ask for the same, until it finds
/// one that tells their lane.
pub(crate) const BACKLOG_LOOKAHEAD: usize = 4;
/// How many executions in a hold it reads.
pub(crate) const BACKLOG_HELD: usize = 128;
/// How many entries of all partitions one page of timers or of a listing reads, about.
pub(crate) const PAGE_ENTRIES: usize = 1_000;
/// How many entries of each partition such a page reads at least.
pub(crate) const PAGE_LEAST: usize = 8;
/// How many indexes one call of a walk covers.
pub(crate) const WALK_INDEXES: usize = 100;
/// How many entries one page of an audit reads.
pub(crate) const DUMP_ENTRIES: usize = 500;
/// How many bytes one page of an audit has, about.
pub(crate) const DUMP_BYTES: usize = 256 << 10;
/// How many earlier attempts of an execution are in such a page. More, and other elements, are read in
/// pages of as many.
pub(crate) const DUMP_ELEMENTS: usize = 16;
/// How many frames of a stream are read at once, until a read has enough bytes.
pub(crate) const FRAMES_PAGE: usize = 16;
/// The highest number that a frame can have; no stream comes near it.
pub(crate) const LAST_FRAME: u64 = (1 << 48) - 1;
/// How many entries one page of a repair examines.
pub(crate) const REPAIR_ENTRIES: usize = 200;
/// How many empty queues are unregistered after one count of the backlog.
pub(crate) const SWEEP_QUEUES: usize = 200;
/// How many commands one call carries, of one caller or of several. Claims of several callers take as
/// many executions at most; their bytes, too, are bounded as those of one caller are.
pub(crate) const CALL_COMMANDS: usize = 100;
/// How many events one call removes from one partition.
pub(crate) const TRIMMED_EVENTS: usize = 200;
/// How many bytes of MessagePack an event takes over as they are.
const EVENT_LABEL: usize = 512;
/// How many resources one page reads.
pub(crate) const RESOURCES: usize = ff_core::bounds::PAGE;

/// What one call visits at most, for the reference page.
pub const BOUNDS: &[(&str, usize)] = &[
    ("partitions that one call over many reads", CALL_PARTITIONS),
    ("lanes, each in one partition, of one scan for work", PEEK_LANES),
    ("queues of classes of one scan for work", PEEK_CLASSES),
    ("queues, budgets and quotas of one slice of a count of the backlog", BACKLOG_SLICE),
    ("held executions of one slice of a count of the backlog", BACKLOG_HELD),
    ("empty queues that are unregistered after one count", SWEEP_QUEUES),
    ("entries of one page of timers or of a listing", PAGE_ENTRIES),
    ("resources of one page", RESOURCES),
    ("events that one call removes from one partition", TRIMMED_EVENTS),
    (
        "commands of one call that submits, completes, renews or removes, of however many callers",
        CALL_COMMANDS,
    ),
    ("executions that one call claims for several callers", CALL_COMMANDS),
    ("bytes of payload of one call for several callers", BATCH_BYTES),
    ("bytes of elements beside an execution, such as earlier attempts, of one read", RANGE_BYTES),
    ("indexes that one page of an audit or repair covers", WALK_INDEXES),
    ("entries of one page of an audit", DUMP_ENTRIES),
    ("bytes of one page of an audit", DUMP_BYTES),
    ("entries of one page of a repair", REPAIR_ENTRIES),
];

/// The head of the library: the table its modules live in, and its constants.
pub(crate) fn lua() -> String {
    let last_start = codec::whys().iter().rposition(|why| why.starts_attempt()).unwrap_or(0);
    let constants = [
        ("FORMAT", codec::FORMAT as i64),
        ("END_COMPLETED", codec::completed_attempt() as i64),
        ("INTENT_FRESH", place(codec::whys(), &Intent::Fresh)),
        ("LAST_START", last_start as i64),
        ("NO_SCORE", codec::NO_SCORE),
        ("INLINE", codec::INLINE as i64),
        ("TIME_MAX", Time::MAX.as_ms() as i64),
        ("RETIRE_STEP", RETIRE_STEP.get() as i64),
        ("PRIORITY_STEP", PRIORITY_STEP),
        ("SCORE_MAX", SCORE_MAX),
        ("BATCH_BYTES", BATCH_BYTES as i64),
        ("MESSAGE_BYTES", MESSAGE_BYTES as i64),
        ("RANGE_BYTES", RANGE_BYTES as i64),
        ("BACKLOG_HELD", BACKLOG_HELD as i64),
        ("BACKLOG_LOOKAHEAD", BACKLOG_LOOKAHEAD as i64),
        ("CLASSES", CLASSES_PER_LANE as i64),
        ("RUNS", RUNS as i64),
        ("ADMISSION_LOOKAHEAD", ADMISSION_LOOKAHEAD as i64),
        ("CLASS_NAME", ADMISSION_CLASS as i64),
        ("MAX_AGE", MAX_AGE_MS as i64),
        ("ELEMENTS", DUMP_ELEMENTS as i64),
        ("FRAMES_PAGE", FRAMES_PAGE as i64),
        ("FRAME_HEAD", FRAME_HEAD as i64),
        ("LAST_FRAME", LAST_FRAME as i64),
        ("CONTINUATION", Continuation::BYTES as i64),
        ("COUNTER_LATCH", LATCH.into()),
        ("COUNTER_MAX", COUNTER_MAX),
        ("TRIMMED_EVENTS", TRIMMED_EVENTS as i64),
        ("EVENT_LABEL", EVENT_LABEL as i64),
        ("PLACES", LeaseId::PLACES as i64),
        ("TURNS", (u16::MAX / LeaseId::PLACES) as i64 + 1),
    ];
    let events = EventName::ALL
        .iter()
        .map(|name| format!("EVENT_{} = {}", name.as_str().to_uppercase(), name.number()));
    let mut fields: Vec<_> = constants
        .iter()
        .chain(codec::format::LUA)
        .map(|(name, value)| format!("{name} = {value}"))
        .chain(events)
        .collect();
    let word = |reason: &Attention| format!("[{}] = '{}'", reason.number(), reason.as_str());
    let words: Vec<_> = Attention::ALL.iter().map(word).collect();
    fields.push(format!("ATTENTION = {{{}}}", words.join(", ")));
    format!("local ff = {{}}\nlocal C = {{{}}}\n", fields.join(", "))
}

fn place<T: PartialEq>(all: &[T], one: &T) -> i64 {
    all.iter().position(|other| other == one).unwrap_or_default() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_starts_an_attempt_has_the_lowest_numbers() {
        let starts: Vec<_> = codec::whys().iter().map(|why| why.starts_attempt()).collect();
        assert!(starts.is_sorted_by(|a, b| a >= b), "{starts:?}");
    }
}
