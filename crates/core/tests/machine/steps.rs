//! Journals at their bounds.

use ff_core::bounds::{JOURNAL_BYTES, PAYLOAD_BYTES, STEPS};
use ff_core::machine::{Delay, LeaseRef, RecordStep, RecordedStep, Reply};
use ff_core::{Full, Payload, Refusal, StepName, When};

use crate::fixture::Fixture;
use crate::fixture::make::{brief, id, ms};

fn record(hold: &LeaseRef, name: u64, result: &Payload) -> RecordStep {
    let name = StepName::new(format!("step {name}")).unwrap();
    RecordStep { hold: hold.clone(), name, result: result.clone() }
}

#[test]
fn the_number_of_entries_is_bounded() {
    let mut fixture = Fixture::new();
    fixture.submitted(1, brief());
    let hold = fixture.claimed("a").hold();
    for number in 0..STEPS {
        let answer = fixture.act(record(&hold, number, &Payload::default()));
        assert_eq!(answer, Ok(Reply::RecordedStep(RecordedStep { number })));
    }
    let full = Err(Refusal::LimitReached { what: Full::Steps { most: STEPS } });
    assert_eq!(fixture.act(record(&hold, STEPS, &Payload::default())), full);
    let (until, step) = (When::After(ms(10)), StepName::new("nap").ok());
    let sleep = Delay { hold: hold.clone(), until, step };
    assert_eq!(fixture.act(sleep.clone()), full, "there is no room for the end of a sleep");
    let first = fixture.act(record(&hold, 0, &Payload::default()));
    assert_eq!(first, Ok(Reply::RecordedStep(RecordedStep { number: 0 })));
    fixture.act(Delay { step: None, ..sleep }).unwrap();
    assert_eq!(fixture.record(id(1)).journal.visible(), STEPS);
}

#[test]
fn the_bytes_of_all_results_are_bounded() {
    let mut fixture = Fixture::new();
    fixture.submitted(1, brief());
    let hold = fixture.claimed("a").hold();
    let most = Payload::bytes(vec![7; PAYLOAD_BYTES]);
    let full = JOURNAL_BYTES / PAYLOAD_BYTES as u64;
    for number in 0..full {
        fixture.act(record(&hold, number, &most)).unwrap();
    }
    let refusal = fixture.act(record(&hold, full, &Payload::bytes("x")));
    let what = Full::JournalBytes { most: JOURNAL_BYTES };
    assert_eq!(refusal, Err(Refusal::LimitReached { what }));
    fixture.act(record(&hold, full, &Payload::bytes(""))).unwrap();
    let (until, step) = (When::After(ms(10)), StepName::new("nap").ok());
    fixture.act(Delay { hold, until, step }).unwrap();
}
