//! Bad input: refused by name, and nothing is written.

use std::collections::BTreeSet;

use ff_core::bounds::{self, MESSAGE_BYTES, NAME_BYTES};
use ff_core::machine::{
    Action, Cancel, CancelHeld, ClaimRequest, Delay, Fail, GrantNext, ReportProgress, SetPriority,
    SetTags, Submit,
};
use ff_core::policy::{Backoff, Policy, Retry};
use ff_core::record::{Progress, Tags};
use ff_core::{
    Capabilities, Category, Code, ExecutionId, IdempotencyKey, Kind, Lane, Millis, Namespace,
    RequestId, TagKey, TagValue, Time, When, WorkerId, WorkerInstanceId,
};

use crate::fixture::{
    Fixture, Refused, failure, forged, holder_calls, key, ms, steady, steering_calls, tag,
};

/// Each of `calls` is refused with its code, and the store does not change.
async fn all_refused(g: &Fixture, calls: Vec<(&str, Action, Code)>) {
    let before = g.snapshot().await;
    for (what, action, code) in calls {
        assert_eq!(g.run(action).await.refused(), code, "{what}");
    }
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn names_that_break_the_rules_are_refused(_: Fixture) {
    let long = "x".repeat(NAME_BYTES + 1);
    for (bad, code) in [
        ("", Code::InvalidArgument),
        ("a b", Code::InvalidArgument),
        ("a:b", Code::InvalidArgument),
        ("{a}", Code::InvalidArgument),
        ("../a", Code::InvalidArgument),
        ("a\0", Code::InvalidArgument),
        ("ä", Code::InvalidArgument),
        (&long, Code::TooLarge),
    ] {
        let refusals = [
            Namespace::new(bad).unwrap_err(),
            Lane::new(bad).unwrap_err(),
            Kind::new(bad).unwrap_err(),
            WorkerId::new(bad).unwrap_err(),
            WorkerInstanceId::new(bad).unwrap_err(),
            TagKey::new(bad).unwrap_err(),
            Category::new(bad).unwrap_err(),
        ];
        for refusal in refusals {
            assert_eq!(refusal.code(), code, "{bad:?}: {refusal}");
            assert!(refusal.field().is_some(), "{refusal} names what is wrong");
        }
    }
}

pub(crate) async fn keys_tags_and_capabilities_that_break_the_rules_are_refused(_: Fixture) {
    let long = "x".repeat(257);
    assert_eq!(IdempotencyKey::new("").unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(IdempotencyKey::new("a b").unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(IdempotencyKey::new(&*long).unwrap_err().code(), Code::TooLarge);
    assert_eq!(TagValue::new("a\nb").unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(TagValue::new(&*long).unwrap_err().code(), Code::TooLarge);
    assert_eq!(Capabilities::new(["a b"]).unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(Capabilities::new([""]).unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(Capabilities::new(["x".repeat(4_097)]).unwrap_err().code(), Code::TooLarge);
    let many = (0..=bounds::CAPABILITY_TOKENS).map(|n| n.to_string());
    assert_eq!(Capabilities::new(many).unwrap_err().code(), Code::TooLarge);
}

pub(crate) async fn ids_that_are_not_ids_are_refused(g: Fixture) {
    let good = g.new_id().to_string();
    for bad in ["", "7", &good[1..], &good.replace('-', ""), "550e8400-e29b-41d4-a716-446655440000"]
    {
        assert_eq!(bad.parse::<ExecutionId>().unwrap_err().code(), Code::InvalidArgument, "{bad}");
    }
    assert_eq!("x".parse::<RequestId>().unwrap_err().code(), Code::InvalidArgument);
}

pub(crate) async fn an_unknown_id_is_not_found(g: Fixture) {
    let known = g.held().await.hold();
    let target = g.target(g.new_id());
    let mut calls = steering_calls(&target);
    calls.extend(holder_calls(&ff_core::machine::LeaseRef { target, ..known }));
    let calls = calls.into_iter().map(|(call, action)| (call, action, Code::NotFound));
    all_refused(&g, calls.collect()).await;
}

pub(crate) async fn an_unknown_id_cannot_be_read(g: Fixture) {
    let target = g.target(g.new_id());
    assert_eq!(g.backend().describe(&target).await.refused(), Code::NotFound);
    assert_eq!(g.backend().input(&target).await.refused(), Code::NotFound);
    assert_eq!(g.backend().result(&target, None).await.refused(), Code::NotFound);
    assert_eq!(g.backend().attempts(&target, 0, 10).await.refused(), Code::NotFound);
}

pub(crate) async fn an_unknown_lease_is_stale(g: Fixture) {
    let assignment = g.held().await;
    g.hand_back(&assignment).await.unwrap();
    let calls = forged(&assignment.hold()).into_iter().filter(|(part, _)| part.contains("lease"));
    let calls = calls.flat_map(|(_, hold)| holder_calls(&hold));
    let calls = calls.map(|(call, action)| (call, action, Code::StaleLease));
    all_refused(&g, calls.collect()).await;
}

pub(crate) async fn a_submit_out_of_bounds_is_refused(g: Fixture) {
    let too_many: Tags = (0..=bounds::TAGS).map(|n| tag(&format!("t{n}"), "")).collect();
    let far = When::After(Millis::new(bounds::DELAY.get() + 1));
    let submits = [
        ("priority", Submit { priority: bounds::PRIORITY + 1, ..g.work() }, Code::InvalidArgument),
        (
            "priority",
            Submit { priority: bounds::PRIORITY_MIN - 1, ..g.work() },
            Code::InvalidArgument,
        ),
        ("tags", Submit { tags: too_many, ..g.work() }, Code::TooLarge),
        ("far", Submit { start: far, ..g.work() }, Code::InvalidArgument),
        ("9999", Submit { start: When::At(Time::MAX), ..g.work() }, Code::InvalidArgument),
    ];
    let calls = submits.into_iter().map(|(what, submit, code)| (what, submit.into(), code));
    all_refused(&g, calls.collect()).await;
}

pub(crate) async fn a_policy_out_of_bounds_is_refused(g: Fixture) {
    let retry = |max_attempts, backoff| Retry { max_attempts, backoff, categories: None };
    let with_retry = |retry| Policy { retry, ..steady() };
    let too_long = Millis::new(bounds::DELAY.get() + 1);
    let jumpy = Backoff { jitter_percent: 101, ..Backoff::none() };
    let policies = [
        ("no attempts", with_retry(retry(0, Backoff::none()))),
        ("too many attempts", with_retry(retry(bounds::ATTEMPTS + 1, Backoff::none()))),
        ("backoff too long", with_retry(retry(3, Backoff::fixed(too_long)))),
        ("jitter", with_retry(retry(3, jumpy))),
        ("no lease", Policy { lease_ttl: ms(0), ..steady() }),
        ("lease too short", Policy { lease_ttl: ms(99), ..steady() }),
        ("lease too long", Policy { lease_ttl: Millis::from_hours(25), ..steady() }),
        ("no attempt time", Policy { attempt_timeout: Some(ms(0)), ..steady() }),
        ("attempt too long", Policy { attempt_timeout: Some(too_long), ..steady() }),
        ("no deadline", Policy { deadline: Some(ms(0)), ..steady() }),
        ("deadline too far", Policy { deadline: Some(too_long), ..steady() }),
        ("reclaims", Policy { max_reclaims: bounds::RECLAIMS + 1, ..steady() }),
        ("no retention", Policy { retention: ms(0), ..steady() }),
        ("retention too long", Policy { retention: Millis::from_days(3_651), ..steady() }),
    ];
    let submits = policies.into_iter().map(|(what, policy)| {
        (what, Submit { policy: policy.into(), ..g.work() }.into(), Code::InvalidArgument)
    });
    all_refused(&g, submits.collect()).await;
}

pub(crate) async fn too_many_retried_categories_are_refused(g: Fixture) {
    let categories: BTreeSet<_> =
        (0..=bounds::CATEGORIES).map(|n| Category::new(format!("c{n}")).unwrap()).collect();
    let retry = Retry { categories: Some(categories), ..steady().retry };
    let submit = Submit { policy: Policy { retry, ..steady() }.into(), ..g.work() };
    all_refused(&g, vec![("categories", submit.into(), Code::TooLarge)]).await;
}

pub(crate) async fn a_key_needs_a_retention_of_a_day(g: Fixture) {
    let policy = Policy { retention: Millis::new(86_400_000 - 1), ..steady() };
    let submit = Submit { key: Some(key("order-1")), policy: policy.into(), ..g.work() };
    let calls = vec![("keyed", submit.clone().into(), Code::InvalidArgument)];
    all_refused(&g, calls).await;
    g.submit(Submit { key: None, ..submit }).await;
}

pub(crate) async fn a_claim_of_none_or_too_many_is_refused(g: Fixture) {
    g.waiting().await;
    let claim = |max| (("claim"), ClaimRequest { max, ..g.claim() }.into(), Code::InvalidArgument);
    all_refused(&g, vec![claim(0), claim(257), claim(u16::MAX)]).await;
    let wait = Millis::new(bounds::CLAIM_WAIT_MAX.get() + 1);
    assert_eq!(g.backend().claim(g.claim(), wait).await.refused(), Code::InvalidArgument);
}

pub(crate) async fn a_grant_of_no_or_too_much_time_is_refused(g: Fixture) {
    g.waiting().await;
    let grant = |ttl| ("grant", GrantNext { ttl, ..g.grant() }.into(), Code::InvalidArgument);
    let too_long = Millis::new(bounds::GRANT_TTL_MAX.get() + 1);
    all_refused(&g, vec![grant(ms(0)), grant(too_long)]).await;
}

pub(crate) async fn messages_over_the_limit_are_refused(g: Fixture) {
    let hold = || g.target(g.new_id());
    let held = g.held().await.hold();
    let long: Box<str> = "x".repeat(MESSAGE_BYTES + 1).into();
    let progress = Progress { percent: None, message: Some(long.clone()) };
    let calls: Vec<(&str, Action)> = vec![
        ("fail", Fail { hold: held.clone(), failure: failure(&long) }.into()),
        ("progress", ReportProgress { hold: held.clone(), progress }.into()),
        ("held", CancelHeld { hold: held.clone(), reason: Some(long.clone()) }.into()),
        ("cancel", Cancel { target: hold(), grace: None, reason: Some(long) }.into()),
    ];
    let calls = calls.into_iter().map(|(call, action)| (call, action, Code::TooLarge));
    all_refused(&g, calls.collect()).await;
}

pub(crate) async fn numbers_out_of_range_are_refused(g: Fixture) {
    let held = g.held().await.hold();
    let target = || held.target.clone();
    let progress = Progress { percent: Some(101), message: None };
    let far = When::After(Millis::new(bounds::DELAY.get() + 1));
    let grace = |span| Cancel { target: target(), grace: Some(span), reason: None };
    let calls: Vec<(&str, Action)> = vec![
        ("percent", ReportProgress { hold: held.clone(), progress }.into()),
        ("delay", Delay { hold: held.clone(), until: far, step: None }.into()),
        ("delay", Delay { hold: held.clone(), until: When::At(Time::MAX), step: None }.into()),
        ("no grace", grace(ms(0)).into()),
        ("long grace", grace(Millis::from_hours(25)).into()),
        ("priority", SetPriority { target: target(), priority: i16::MAX }.into()),
        ("priority", SetPriority { target: target(), priority: i16::MIN }.into()),
    ];
    let calls = calls.into_iter().map(|(call, action)| (call, action, Code::InvalidArgument));
    all_refused(&g, calls.collect()).await;
}

pub(crate) async fn too_many_tags_at_once_are_refused(g: Fixture) {
    let target = g.target(g.waiting().await);
    let set: Tags = (0..=bounds::TAGS).map(|n| tag(&format!("t{n}"), "")).collect();
    let remove: Vec<_> = set.keys().cloned().collect();
    let setting = SetTags { target: target.clone(), set, remove: Vec::new() };
    let removing = SetTags { target, set: Tags::new(), remove };
    let calls =
        vec![("set", setting.into(), Code::TooLarge), ("remove", removing.into(), Code::TooLarge)];
    all_refused(&g, calls).await;
}
