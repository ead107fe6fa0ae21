//! What a view shows.

use super::*;
use crate::sample;
use ff_core::record::{Attempt, AttemptEnd, EndReason};
use ff_core::state::DelayReason;
use ff_core::{Capabilities, Payload};
use serde_json::json;

#[test]
fn new_work_reads_as_waiting_with_every_field_there() {
    let view = ExecutionView::from(&sample::queued());
    let json = serde_json::to_value(&view).unwrap();
    assert_eq!(json["id"], sample::id().to_string());
    assert_eq!(json["state"], "waiting");
    assert_eq!(json["state_vector"]["blocking_reason"], "waiting_for_worker");
    assert_eq!(json["created"], "2023-11-14T22:13:20.000Z");
    assert_eq!(json["input"], json!({"content_type": "application/json", "length": 2}));
    for absent in ["attempt", "lease", "result", "failure", "ended", "expires", "next_timer"] {
        assert_eq!(json.get(absent), Some(&json!(null)), "{absent}");
    }
    assert_eq!(serde_json::from_value::<ExecutionView>(json).unwrap(), view);
}

#[test]
fn held_work_names_its_holder_and_its_lease() {
    let view = ExecutionView::from(&sample::held(1));
    let lease = view.lease.unwrap();
    assert_eq!((view.attempt, view.attempts), (Some(1), 2));
    assert_eq!((lease.worker.as_str(), lease.epoch), ("w", 2));
    assert_eq!(lease.id, sample::lease().to_string());
    assert_eq!(view.next_timer.unwrap().what, DueAction::LeaseExpired);
}

#[test]
fn delayed_work_says_until_when() {
    let until = Time::from_ms(sample::NOW.as_ms() + 1);
    let record = Description {
        state: State::Delayed { until, why: DelayReason::Start, step: None },
        ..sample::queued()
    };
    let view = ExecutionView::from(&record);
    assert_eq!((view.state, view.intent), (PublicState::Delayed, Some(Intent::Fresh)));
    assert_eq!(view.delayed_until, Some(Timestamp(until)));
    let timer = TimerView { at: Timestamp(until), what: DueAction::DelayOver };
    assert_eq!(view.next_timer, Some(timer));
}

#[test]
fn completed_work_shows_the_shape_of_its_result_and_when_it_is_removed() {
    let result = Payload::bytes("abc").shape();
    let record = sample::ended(Outcome::Success { result });
    let view = ExecutionView::from(&record);
    assert_eq!((view.state, view.reason), (PublicState::Completed, None));
    assert_eq!(view.result.unwrap().length, 3);
    assert_eq!(view.ended, Some(Timestamp(sample::NOW)));
    assert_eq!(view.expires, Some(Timestamp(sample::NOW + record.retention())));
}

#[test]
fn failed_work_shows_its_failure() {
    let record = sample::ended(Outcome::Failed { failure: sample::failure("boom") });
    let view = ExecutionView::from(&record);
    assert_eq!(view.state, PublicState::Failed);
    let failure = view.failure.unwrap();
    assert_eq!((failure.category.as_str(), failure.message.as_str()), ("error", "boom"));
}

#[test]
fn requirements_are_a_list() {
    let mut record = sample::queued();
    record.spec.requires = Capabilities::new(["python", "gpu"]).unwrap();
    assert_eq!(ExecutionView::from(&record).requires, ["gpu", "python"]);
}

#[test]
fn past_runs_are_numbered_from_0() {
    let mut record = sample::queued();
    record.past_runs =
        vec![PastRun { started: sample::NOW, ended: sample::NOW, outcome: Outcome::Expired }];
    record.run.number = 1;
    let view = ExecutionView::from(&record);
    assert_eq!((view.run, view.past_runs.len()), (1, 1));
    assert_eq!((view.past_runs[0].run, view.past_runs[0].state), (0, PublicState::Expired));
}

fn reason(state: State) -> Option<String> {
    short_reason(&Description { state, ..sample::held(0) })
}

#[test]
fn waiting_work_says_for_what() {
    let mut record = sample::queued();
    assert_eq!(short_reason(&record).unwrap(), "waits for a worker");
    record.spec.requires = Capabilities::new(["gpu"]).unwrap();
    assert_eq!(short_reason(&record).unwrap(), "waits for a worker that offers gpu");
    record.state = State::Queued { why: Intent::Reclaim };
    let reason_text = short_reason(&record).unwrap();
    assert_eq!(reason_text, "waits for a worker that offers gpu, to try again after a lost lease");
}

#[test]
fn a_retry_repeats_what_went_wrong() {
    let end = |reason| Some(AttemptEnd { at: sample::NOW, reason });
    let mut record = sample::queued();
    record.state = State::Delayed { until: Time::MAX, why: DelayReason::Backoff, step: None };
    let failed = end(EndReason::Failed(sample::failure("boom")));
    record.attempt = Some(Attempt { end: failed, ..sample::attempt(0) });
    assert_eq!(short_reason(&record).unwrap(), "waits to try again after a failure: boom");
    record.attempt = Some(Attempt { end: end(EndReason::TimedOut), ..sample::attempt(0) });
    assert!(short_reason(&record).unwrap().ends_with("ran past its timeout"));
}

#[test]
fn a_holder_that_is_asked_to_stop_is_named_with_the_reason() {
    let State::Active { lease, .. } = sample::held(0).state else { panic!("not held") };
    let cancel = |reason: Option<&str>| {
        Some(CancelRequest { by: Time::MAX, reason: reason.map(Into::into) })
    };
    let reason_text =
        reason(State::Active { lease: lease.clone(), cancel: cancel(Some("enough")) });
    assert_eq!(reason_text.unwrap(), "is held by worker w-1, which is asked to stop: enough");
    let reason_text = reason(State::Active { lease, cancel: cancel(None) });
    assert_eq!(reason_text.unwrap(), "is held by worker w-1, which is asked to stop");
}

#[test]
fn an_end_has_the_reason_that_was_given() {
    let ended = |outcome| short_reason(&sample::ended(outcome));
    assert_eq!(ended(Outcome::Success { result: Payload::default().shape() }), None);
    let failed = |message| Outcome::Failed { failure: sample::failure(message) };
    assert_eq!(ended(failed("boom")).unwrap(), "boom");
    assert_eq!(ended(failed("")).unwrap(), "failed with category error and no message");
    let cancelled = |reason: Option<&str>| Outcome::Cancelled { reason: reason.map(Into::into) };
    assert_eq!(ended(cancelled(Some("no"))).unwrap(), "no");
    assert_eq!(ended(cancelled(None)).unwrap(), "cancelled without a reason");
}
