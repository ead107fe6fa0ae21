//! Submitting: what is accepted, and in which state.

use ff_core::bounds::{CLASSES_PER_LANE, TAGS};
use ff_core::machine::Submit;
use ff_core::policy::Policy;
use ff_core::record::Tags;
use ff_core::state::{DelayReason, Intent, State};
use ff_core::{Capabilities, Code, Kind, Lane, Payload, PublicState, Time, When};

use crate::fixture::{Fixture, Refused, busy, key, ms, steady, tag};

pub(crate) async fn new_work_waits_in_its_queue(g: Fixture) {
    let answer = g.try_submit(g.work()).await.unwrap();
    assert!(answer.created);
    assert_eq!(answer.state, PublicState::Waiting);
    let record = g.record(answer.execution).await;
    assert_eq!(record.state, State::Queued { why: Intent::Fresh });
    assert_eq!((record.created, record.queued_at), (g.now().await, g.now().await));
    assert_eq!((record.epoch, record.run.number, record.attempt), (0, 0, None));
}

pub(crate) async fn everything_submitted_is_kept(g: Fixture) {
    let submit = Submit {
        lane: Lane::new("gpu-jobs").unwrap(),
        kind: Kind::new("render").unwrap(),
        input: Payload::json(r#"{"frame":7}"#),
        tags: Tags::from([tag("note", "größe: 3 {x}"), tag("empty", "")]),
        priority: 9_000,
        requires: Capabilities::new(["cuda", "a100"]).unwrap(),
        policy: busy().into(),
        ..g.keyed("frame-7")
    };
    let record = g.record(g.submit(submit.clone()).await).await;
    assert_eq!(record.spec.namespace, submit.namespace);
    assert_eq!(record.spec.lane, submit.lane);
    assert_eq!(record.spec.kind, submit.kind);
    assert_eq!(record.spec.input, submit.input.shape());
    assert_eq!(record.spec.requires, submit.requires);
    assert_eq!(record.spec.policy, busy());
    assert_eq!(record.spec.key, submit.key);
    assert_eq!(record.tags, submit.tags);
    assert_eq!(record.priority, submit.priority);
}

pub(crate) async fn work_with_a_later_start_is_delayed(g: Fixture) {
    let start = When::After(ms(500));
    let answer = g.try_submit(Submit { start, ..g.work() }).await.unwrap();
    assert_eq!(answer.state, PublicState::Delayed);
    let until = g.now().await + ms(500);
    let record = g.record(answer.execution).await;
    assert_eq!(record.state, State::Delayed { until, why: DelayReason::Start, step: None });
    assert!(g.nothing_to_claim().await);
}

pub(crate) async fn delayed_work_takes_the_place_of_its_start(g: Fixture) {
    let late = g.delayed(ms(500)).await;
    g.advance(ms(800)).await;
    let younger = g.waiting().await;
    g.pass(ms(0)).await;
    assert_eq!(g.claimed().await.execution, late, "it was due before the other was submitted");
    assert_eq!(g.claimed().await.execution, younger);
}

pub(crate) async fn a_start_in_the_past_means_now(g: Fixture) {
    for start in [
        When::At(Time::EPOCH),
        When::At(g.now().await - ms(1)),
        When::At(g.now().await),
        When::After(ms(0)),
        When::Now,
    ] {
        let answer = g.try_submit(Submit { start, ..g.work() }).await.unwrap();
        assert_eq!(answer.state, PublicState::Waiting, "{start:?}");
        assert_eq!(g.claimed().await.execution, answer.execution, "{start:?}");
    }
}

pub(crate) async fn the_same_id_and_body_again_finds_the_first(g: Fixture) {
    let work = g.work();
    let id = g.submit(work.clone()).await;
    g.claimed().await;
    let before = g.snapshot().await;
    let again = g.try_submit(work).await.unwrap();
    assert_eq!((again.execution, again.created), (id, false));
    assert_eq!(again.state, PublicState::Active, "it has the current state of the first");
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn the_same_id_with_another_body_is_refused(g: Fixture) {
    let work = Submit { key: None, ..g.keyed("other") };
    g.submit(work.clone()).await;
    let before = g.snapshot().await;
    for other in [
        Submit { lane: Lane::new("other").unwrap(), ..work.clone() },
        Submit { kind: Kind::new("other").unwrap(), ..work.clone() },
        Submit { input: Payload::bytes("other"), ..work.clone() },
        Submit { input: Payload::json(""), ..work.clone() },
        Submit { tags: Tags::from([tag("other", "tag")]), ..work.clone() },
        Submit { priority: 1, ..work.clone() },
        Submit { start: When::After(ms(1)), ..work.clone() },
        Submit { key: Some(key("other")), ..work.clone() },
        Submit { requires: Capabilities::new(["other"]).unwrap(), ..work.clone() },
        Submit { policy: Policy { deadline: Some(ms(9)), ..steady() }.into(), ..work.clone() },
    ] {
        assert_eq!(g.try_submit(other.clone()).await.refused(), Code::IdConflict, "{other:?}");
    }
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn the_deadline_is_armed_at_submission(g: Fixture) {
    let id = g.waiting_under(Policy { deadline: Some(ms(700)), ..steady() }).await;
    let record = g.record(id).await;
    assert_eq!(record.run.deadline, Some(g.now().await + ms(700)));
    g.pass(ms(699)).await;
    assert_eq!(g.state(id).await, PublicState::Waiting);
    g.pass(ms(1)).await;
    assert_eq!(g.state(id).await, PublicState::Expired);
}

pub(crate) async fn as_many_tags_as_allowed_are_kept(g: Fixture) {
    let tags: Tags = (0..TAGS).map(|n| tag(&format!("t{n}"), "x")).collect();
    let id = g.submit(Submit { tags: tags.clone(), ..g.work() }).await;
    assert_eq!(g.record(id).await.tags, tags);
}

pub(crate) async fn a_lane_full_of_classes_takes_no_new_class(g: Fixture) {
    let g = g.in_one_partition();
    let needing =
        |token: String| Submit { requires: Capabilities::new([token]).unwrap(), ..g.work() };
    let all: Vec<_> = (0..CLASSES_PER_LANE).map(|n| needing(format!("c{n}"))).collect();
    for part in all.chunks(512) {
        let answers = g.backend().submit(part.to_vec()).await.unwrap();
        assert!(answers.iter().all(Result::is_ok));
    }
    let one_more = needing("one-more".into());
    let before = g.snapshot().await;
    assert_eq!(g.try_submit(one_more.clone()).await.refused(), Code::LimitReached);
    g.snapshot().await.assert_same(&before);

    g.submit(needing("c0".into())).await;
    g.waiting().await;
    let lane = Lane::new("roomy").unwrap();
    g.submit(Submit { id: g.new_id(), lane, ..one_more.clone() }).await;
    g.cancel(all[1].id, None).await.unwrap();
    g.submit(one_more).await;
}
