//! The stored format, byte by byte. The next release reads what this one stores: a change of
//! one of these bytes needs a new format number, and code that reads the old one as well.

use ff_core::act::{Act, Deed};
use ff_core::collection::{Collection, Counts};
use ff_core::digest::Digest;
use ff_core::machine::{self, Command, Loaded, Step, Submit};
use ff_core::placement::{Attention, Score};
use ff_core::record::{Attempt, Execution, Exit, Exited, Version};
use ff_core::state::{CancelRequest, Lease, Outcome, State, Worker};
use ff_core::suspension::Waitpoint;
use ff_core::{
    Actor, AdmissionId, Capabilities, IdempotencyKey, Lane, LeaseId, Namespace, Payload, RequestId,
    Time, TokenName, WaitpointId, WaitpointKey, WorkerId, WorkerInstanceId,
};

use super::bytes::{Packer, Unpacker};
use super::format;
use super::{FORMAT, Inline, Stored, encode};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Every field of a record has a distinct value here, which fills its width.
fn record() -> format::Record<'static> {
    format::Record {
        format: 0x01,
        state: 0x02,
        why: 0x03,
        attention: 0x04,
        counter: 0x0506_0708,
        salt: [0x09, 0x0a, 0x0b, 0x0c],
        timer: 0x0d0e_0f10_1112,
        score: -2,
        until_at: 0x1314_1516_1718,
        timeout_at: 0x191a_1b1c_1d1e,
        cancel_by: 0x1f20_2122_2324,
        deadline: 0x2526_2728_292a,
        queued_at: 0x2b2c_2d2e_2f30,
        run: 0x3132_3334,
        lease_ttl: 0x3536_3738_393a,
        attempt_timeout: 0x3b3c_3d3e_3f40,
        retention: 0x4142_4344_4546,
        limits: 0x47,
        result_place: 0x48,
        input_place: 0x49,
        input_len: 0x4a4b_4c4d,
        epoch: 0x4e4f_5051_5253,
        attempts: 0x5455_5657,
        holder: b"holder",
        exit: b"exit",
        attempt: b"attempt",
        detail: b"detail",
        result: b"result",
        ns: b"ns",
        blocked: b"blocked",
        admission: b"admission",
        counts: b"counts",
        member: b"member",
        priority: -3,
        created: 0x5859_5a5b_5c5d,
        started: 0x5e5f_6061_6263,
        failures: 0x6465_6667,
        reclaims: 0x6869_6a6b,
        digest: [0x6c, 0x6d, 0x6e, 0x6f, 0x70, 0x71, 0x72, 0x73],
        lane: b"lane",
        class: b"class",
        requires: b"requires",
        key: b"key",
        input: b"input",
    }
}

#[test]
fn the_fields_of_a_record_keep_their_order_and_width() {
    let mut packer = Packer::default();
    record().pack(&mut packer);
    let expected: [&str; 25] = [
        // One byte each, then the version, the timer and the score.
        "01020304",
        "05060708090a0b0c",
        "0d0e0f101112",
        "fffffffffffffffe",
        // Times.
        "131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f30",
        // The run, and three spans of the policy.
        "3132333435363738393a3b3c3d3e3f40414243444546",
        // Flags, and where payloads are.
        "4748494a4b4c4d",
        // The fence.
        "4e4f505152535455565706686f6c646572",
        // Counted by one byte or by two.
        "0465786974",
        "0007617474656d7074",
        "000664657461696c",
        "0006726573756c74",
        "026e73",
        "07626c6f636b6564",
        "0961646d697373696f6e",
        "06636f756e7473066d656d626572",
        // The tail.
        "fffd",
        "58595a5b5c5d5e5f60616263",
        "6465666768696a6b",
        "6c6d6e6f70717273",
        "046c616e65",
        "05636c617373",
        "00087265717569726573",
        "00036b6579",
        "0005696e707574",
    ];
    assert_eq!(hex(&packer.0), expected.concat());
    let mut from = Unpacker(&packer.0);
    let read = format::Record::unpack(&mut from).unwrap();
    assert_eq!((read.score, read.priority, read.input), (-2, -3, &b"input"[..]));
    assert_eq!(from.0, b"");
}

#[test]
fn what_is_stored_next_to_a_record_keeps_its_order_and_width() {
    let lease = [7; format::LEASE];
    let mut attempt = Packer::default();
    format::Attempt {
        ended: 1,
        reason: 2,
        number: 3,
        run: 4,
        started: 5,
        lease,
        worker: b"w",
        instance: b"i",
        progress: b"p",
    }
    .pack(&mut attempt);
    let lease_hex = "07".repeat(18);
    let expected =
        ["0000000000010200000003000000040000000000", "05", &lease_hex, "0177", "0169", "000170"];
    assert_eq!(hex(&attempt.0), expected.concat());
    let mut exit = Packer::default();
    format::Exit { lease, digest: [8; 8], answer: 9, at: 10 }.pack(&mut exit);
    assert_eq!(hex(&exit.0), [&lease_hex, "080808080808080809", "00000000000a"].concat());
    let mut resource = Packer::default();
    format::Resource { version: [1; 8], gate: 2, timer: 3 }.pack(&mut resource);
    assert_eq!(hex(&resource.0), "010101010101010102000000000003");
    let mut element = Packer::default();
    format::Count { collection: 1, count: 2 }.pack(&mut element);
    format::Element { earlier: 3, name: b"n" }.pack(&mut element);
    assert_eq!(hex(&element.0), ["01000000000002", "00000000000300016e"].concat());
}

#[test]
fn the_numbers_of_states_and_flags_are_kept() {
    use format::{attention, collection, exit, gate, limits, outcome, place, state};
    let states = [state::QUEUED, state::DELAYED, state::GRANTED, state::ACTIVE, state::FINISHED];
    assert_eq!((states, state::BLOCKED, state::SUSPENDED), ([0, 1, 2, 3, 4], 5, 6));
    let outcomes = [outcome::SUCCESS, outcome::FAILED, outcome::CANCELLED, outcome::EXPIRED];
    assert_eq!(outcomes, [0, 1, 2, 3]);
    let exits = [exit::COMPLETED, exit::RETRYING, exit::FAILED, exit::DELAYED, exit::CANCELLED];
    assert_eq!((exits, exit::HANDED_BACK, exit::REVOKED), ([0, 1, 2, 3, 4], 5, 6));
    assert_eq!(exit::SUSPENDED, 7);
    assert_eq!(attention::NONE, 0);
    assert_eq!((Attention::Failed.number(), Attention::Failed.as_str()), (1, "failed"));
    for reason in Attention::ALL {
        assert_eq!(Attention::from_number(reason.number()), Some(*reason));
        assert_eq!(Attention::from_word(reason.as_str()), Some(*reason));
    }
    assert_eq!([place::NONE, place::HERE, place::OWN_KEY], [0, 1, 2]);
    assert_eq!([limits::NAMED, limits::ADMITTED], [1, 2]);
    assert_eq!([gate::PAUSED, gate::DRAINING, gate::LIMITED, gate::DEFAULTS], [1, 2, 4, 8]);
    for collection in Collection::ALL {
        assert_eq!(Collection::ALL[usize::from(collection.number())], *collection);
    }
    let named = [Collection::Attempts, Collection::Frames, Collection::Summary];
    let numbers = [collection::ATTEMPTS, collection::FRAMES, collection::SUMMARY];
    assert_eq!(named.map(|named| u64::from(named.number())), numbers);
    assert_eq!(numbers, [0, 6, 7]);
    assert_eq!(FORMAT, 2);
}

/// An execution that is held, has been held before, and was admitted.
fn held() -> Execution {
    let time = Time::from_ms;
    let id = "018bcfe5-6800-7000-8b6f-000000000001".parse().unwrap();
    let submit = Submit {
        namespace: Namespace::new("n").unwrap(),
        lane: Lane::new("l").unwrap(),
        priority: -3,
        key: Some(IdempotencyKey::new("key").unwrap()),
        requires: Capabilities::new(["gpu"]).unwrap(),
        input: Payload::bytes("in"),
        ..Submit::new(id)
    };
    let command = Command { entropy: 0x0102_0304, by: None, action: submit.into() };
    let Step::Done(mut made) = machine::apply(&command, &Loaded::at(time(1_000))).unwrap() else {
        panic!("a submit needs no more")
    };
    let mut write = made.items.remove(0).write.unwrap();
    let mut record = write.changes.remove(0).after.unwrap();
    let worker =
        Worker { id: WorkerId::new("w").unwrap(), instance: WorkerInstanceId::new("i").unwrap() };
    let lease = |index| LeaseId { request: RequestId::new(5), index };
    record.version = Version::from_stored(0x0000_0009_0000_0008);
    record.digest = Digest::from_stored(0x1112_1314_1516_1718);
    record.epoch = 6;
    record.attempt = Some(Attempt {
        number: 1,
        run: 0,
        started: time(2_000),
        lease: lease(1),
        worker: worker.clone(),
        progress: None,
        end: None,
    });
    record.last_exit = Some(Exit {
        lease: lease(0),
        digest: Digest::from_stored(7),
        answer: Exited::Retrying { from: time(1_500) },
    });
    record.counts = Counts::from_stored(vec![(Collection::Steps, 2)]);
    record.admission = Some(AdmissionId { batch: RequestId::new(4), index: 2 });
    record.state = State::Active {
        lease: Lease {
            id: lease(1),
            epoch: 6,
            worker,
            until: time(3_000),
            timeout_at: Some(time(4_000)),
        },
        cancel: Some(CancelRequest { by: time(2_500), reason: None }),
    };
    record.placed.score = None::<Score>;
    record.placed.timer = Some(time(2_500));
    record.placed.request = Some(RequestId::new(5));
    record
}

#[test]
fn a_held_execution_keeps_its_bytes() {
    let record = held();
    let (input, result) = (Inline::of(&bytes::Bytes::from_static(b"in")), Inline::None);
    let bytes = encode(&record, &input, &result).unwrap();
    assert_eq!(hex(&bytes), HELD.concat());
    let read = Stored::decode(record.id, &bytes).unwrap();
    assert_eq!(read, Stored { record, input, result });
}

#[test]
fn what_was_stored_before_there_were_a_journal_and_waitpoints_is_read() {
    let record = held();
    let input = Inline::of(&bytes::Bytes::from_static(b"in"));
    let mut bytes = encode(&record, &input, &Inline::None).unwrap();
    let rest = bytes.iter().rposition(|byte| *byte == 0x9a).unwrap();
    for fields in [0x99, 0x98] {
        assert_eq!(bytes.pop(), Some(0xc0));
        bytes[rest] = fields;
        assert_eq!(Stored::decode(record.id, &bytes).unwrap().record, record);
    }
}

#[test]
fn what_people_did_is_stored_after_all_that_plain_work_has() {
    let (mut record, input) = (held(), Inline::of(&bytes::Bytes::from_static(b"in")));
    let plain = encode(&record, &input, &Inline::None).unwrap();
    let by = Actor::from(&TokenName::new("ann").unwrap());
    record.acts = vec![Act { what: Deed::Cancel, by, at: Time::from_ms(9) }];
    let bytes = encode(&record, &input, &Inline::None).unwrap();
    let rest = plain.iter().rposition(|byte| *byte == 0x9a).unwrap();
    let expected = [&plain[..rest], &[0x9b], &plain[rest + 1..], b"\x91\x93\xa6Cancel\xa3ann\x09"];
    assert_eq!(hex(&bytes), hex(&expected.concat()));
    assert_eq!(Stored::decode(record.id, &bytes).unwrap().record, record);
}

#[test]
fn an_execution_that_has_ended_has_no_waitpoints_whatever_is_stored() {
    let mut record = held();
    record.waits.waitpoints.push(Waitpoint {
        id: WaitpointId::new(3),
        key: WaitpointKey::new("gate").unwrap(),
        until: None,
        signals: 0,
        of: None,
    });
    let bytes = encode(&record, &Inline::None, &Inline::None).unwrap();
    assert_eq!(Stored::decode(record.id, &bytes).unwrap().record, record);
    record.state = State::Finished { outcome: Outcome::Expired, at: Time::from_ms(9) };
    record.placed.request = None;
    let bytes = encode(&record, &Inline::None, &Inline::None).unwrap();
    let read = Stored::decode(record.id, &bytes).unwrap().record;
    assert!(read.waits.waitpoints.is_empty());
}

/// The bytes of [`held`].
const HELD: &[&str] = &[
    // Format, state, why, attention, version, timer, score.
    "0203000000000009000000080000000009c4ffe0000000000000",
    // Lease, timeout, cancel, deadline, queued.
    "000000000bb8000000000fa00000000009c40000000000000000000003e8",
    // Run, lease span, attempt timeout, retention.
    "000000000000000075300000000000000000240c8400",
    // Admitted; where payloads are, and how long the input is.
    "02000100000002",
    // The fence.
    "0000000000060000000212000000000000000000000000000000050001",
    // The last exit.
    "210000000000000000000000000000000500000000000000000007010000000005dc",
    // The attempt.
    "002d0000000000000000000001000000000000000007d0000000000000000000000000000000050001017701690000",
    // No detail, no result; the namespace; the admission; two steps; no flow.
    "00000000016e0012000000000000000000000000000000040002070100000000000200",
    // Priority, times, counts, fingerprint.
    "fffd0000000003e80000000003e800000000000000001112131415161718",
    // Lane, class, requirements, key, input.
    "016c16324248642d46535070733356705f69794e5a614d622d000367707500036b65790002696e",
    // The rest.
    "9aa47461736b92c002c08090c08090c0c0",
];
