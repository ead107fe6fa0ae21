//! The stored format of entries, byte by byte, and which of them are visible.

use super::*;
use crate::id::Partition;

fn entry(name: &str, what: Recorded) -> Entry {
    let name = StepName::new(name).unwrap();
    Entry { number: 7, name, run: 1, attempt: 2, at: Time::from_ms(0x0102_0304_0506), what }
}

fn hex(entry: &Entry) -> String {
    match entry.element().content {
        Content::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        Content::Attempt(_) => panic!("an entry is bytes"),
    }
}

/// An entry of each kind, and its bytes.
fn pinned() -> Vec<(Entry, String)> {
    let head = "010000010203040506" /* format, time */
        .to_owned()
        + "0000000100000002";
    let wait = |signals: &[u64], timed_out| Recorded::Wait { signals: signals.to_vec(), timed_out };
    vec![
        (entry("a", Recorded::Step(Payload::bytes(&b"\xff\x00"[..]))), format!("{head}0000ff00")),
        (
            entry("größe", Recorded::Step(Payload::json("1"))),
            format!("{head}00106170706c69636174696f6e2f6a736f6e31"),
        ),
        (entry("b", Recorded::Step(Payload::bytes(""))), format!("{head}0000")),
        (entry("c", Recorded::Sleep), format!("{head}01")),
        (entry("d", wait(&[3, 258], false)), format!("{head}0200000000000000030000000000000102")),
        (entry("e", wait(&[], true)), format!("{head}03")),
    ]
}

#[test]
fn entries_are_written_in_these_bytes_and_read_from_them() {
    for (entry, bytes) in pinned() {
        assert_eq!(hex(&entry), bytes, "{entry:?}");
        assert_eq!(Entry::of(&entry.element()).as_ref(), Ok(&entry));
    }
}

#[test]
fn an_entry_says_what_it_was_written_with_and_nothing_else() {
    let all = pinned();
    for (entry, _) in &all {
        let element = Entry { at: Time::from_ms(1), attempt: 9, ..entry.clone() }.element();
        for (other, _) in &all {
            assert_eq!(says(&element, &other.what), entry.what == other.what);
        }
    }
    let typed = Recorded::Step(Payload::json("\u{0}"));
    let plain = Recorded::Step(Payload::bytes("\u{0}"));
    assert!(!says(&entry("a", typed).element(), &plain), "the type is part of a result");
}

#[test]
fn what_is_damaged_is_an_error() {
    let (whole, _) = pinned().remove(4);
    let element = whole.element();
    let Content::Bytes(bytes) = &element.content else { panic!() };
    let damaged = [
        bytes.slice(..HEAD - 1),
        bytes.slice(..HEAD),
        bytes.slice(..HEAD + 4),
        [&[2], &bytes[1..]].concat().into(),
        [&bytes[..HEAD], &[9]].concat().into(),
        [&bytes[..HEAD], &[STEP, 5, b'a']].concat().into(),
    ];
    for bytes in damaged {
        let content = Content::Bytes(bytes);
        assert_eq!(
            Entry::of(&Element { content, ..element.clone() }),
            Err(UnreadableEntry(whole.number))
        );
    }
    assert!(Entry::of(&Element { name: None, ..element }).is_err());
}

#[test]
fn a_replay_hides_entries_and_later_ones_are_visible() {
    let mut journal = Journal::default();
    (0..5).for_each(|number| journal.add(number, 10));
    assert_eq!((journal.visible(), journal.bytes(), journal.generation()), (5, 50, 0));
    journal.keep_up_to(Some(1));
    assert_eq!((journal.visible(), journal.bytes(), journal.generation()), (2, 50, 1));
    (5..7).for_each(|number| journal.add(number, 10));
    let shown: Vec<_> = (0..8).filter(|number| journal.shows(*number)).collect();
    assert_eq!(shown, [0, 1, 5, 6]);
    let next: Vec<_> = [0, 1, 2, 6, 7].map(|from| journal.next(from)).to_vec();
    assert_eq!(next, [Some((0, 2)), Some((1, 2)), Some((5, 7)), Some((6, 7)), None]);
    journal.keep_up_to(Some(6));
    assert_eq!((journal.visible(), journal.generation()), (4, 1), "nothing came after it");
    journal.keep_up_to(Some(5));
    assert_eq!((journal.visible(), journal.next(2), journal.generation()), (3, Some((5, 6)), 2));
    journal.keep_up_to(None);
    assert_eq!((journal.visible(), journal.bytes(), journal.generation()), (0, 70, 3));
    journal.keep_up_to(None);
    assert_eq!(journal.generation(), 4);
}

#[test]
fn a_key_names_one_step_of_one_generation() {
    let id = ExecutionId::mint(Time::from_ms(1_700_000_000_000), Partition::ONLY, 7, 42);
    let step = |name| StepName::new(name).unwrap();
    let key = idempotency_key(id, 0, &step("charge"));
    assert_eq!(key, idempotency_key(id, 0, &step("charge")));
    assert_eq!(key.as_str(), format!("{id}-0-{:032x}", xxh3_128(b"charge")));
    assert_ne!(key, idempotency_key(id, 1, &step("charge")));
    assert_ne!(key, idempotency_key(id, 0, &step("refund")));
    let longest = idempotency_key(id, u32::MAX, &step(&"ö".repeat(128)));
    assert!(longest.as_str().len() < 128);
}

#[test]
fn a_journal_that_was_only_used_has_no_fault() {
    let mut journal = Journal::default();
    assert_eq!(journal.fault(0, 0), None);
    journal.add(0, 3);
    journal.add(1, 4);
    assert_eq!(journal.fault(2, 0), None);
    journal.keep_up_to(Some(0));
    journal.add(2, 1);
    assert_eq!(journal.fault(3, 1), None);
    journal.keep_up_to(None);
    assert_eq!(journal.fault(3, 2), None);
}

#[test]
fn what_a_journal_cannot_be_is_a_fault() {
    let of = |kept: &[(u64, u64)], bytes, generation| {
        Journal { kept: kept.to_vec(), bytes, generation }.fault(3, 1)
    };
    assert_eq!(of(&[(0, 1), (2, 3)], 9, 1), None);
    for kept in [&[(1, 1)][..], &[(2, 1)], &[(0, 1), (1, 2)], &[(2, 3), (0, 1)], &[(0, 4)]] {
        assert!(of(kept, 9, 1).is_some(), "{kept:?}");
    }
    assert!(of(&[], 9, 2).is_some(), "hidden twice by one replay");
    assert!(of(&[], JOURNAL_BYTES + 1, 1).is_some());
    assert!(Journal { bytes: 1, ..Journal::default() }.fault(0, 0).is_some());
}
