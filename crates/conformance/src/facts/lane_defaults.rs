//! The defaults of a lane: the policy of its submits where they set none.

use std::collections::BTreeSet;

use ff_core::bounds::{CATEGORIES, DEDUP_WINDOW, RECLAIMS};
use ff_core::machine::{ClaimRequest, SetLane, Submit};
use ff_core::overrides::BackoffOverrides;
use ff_core::policy::{Backoff, Policy};
use ff_core::resource::LaneState;
use ff_core::{
    Category, Code, ExecutionId, Lane, Millis, Patch, PolicyOverrides, PublicState, ResourceKey,
    When,
};
use ff_store::roles::LaneUpdate;

use crate::fixture::{Fixture, Refused, busy, failure, lane, ms, steady};

impl Fixture {
    /// Lane `default` has these defaults.
    async fn default_to(&self, ask: impl Into<PolicyOverrides>) -> LaneState {
        let defaults = Patch::Set(Box::new(ask.into()));
        self.update_lane(LaneUpdate { defaults, ..self.lane_update() }).await
    }

    /// Lane `default` has no defaults.
    async fn without_defaults(&self) -> LaneState {
        self.update_lane(LaneUpdate { defaults: Patch::Clear, ..self.lane_update() }).await
    }

    /// Work that sets no policy, not yet submitted.
    fn silent(&self) -> Submit {
        Submit { policy: PolicyOverrides::default(), ..self.work() }
    }

    /// The same with a key.
    fn silent_and_keyed(&self, name: &str) -> Submit {
        Submit { policy: PolicyOverrides::default(), ..self.keyed(name) }
    }

    /// The policy of an execution.
    async fn policy(&self, id: ExecutionId) -> Policy {
        self.record(id).await.spec.policy
    }

    /// The policy of work that sets none.
    async fn of_silent(&self) -> Policy {
        let id = self.submit(self.silent()).await;
        self.policy(id).await
    }
}

/// This many attempts, and nothing else.
fn attempts(max: u32) -> PolicyOverrides {
    PolicyOverrides { max_attempts: Some(max), ..PolicyOverrides::default() }
}

pub(crate) async fn a_submit_takes_unset_fields_from_its_lane(g: Fixture) {
    assert_eq!(g.of_silent().await, Policy::default());
    let settings = g.default_to(busy()).await;
    assert_eq!(settings.defaults.as_deref(), Some(&busy().into()));
    assert_eq!(g.lane().await, settings);
    assert_eq!(g.of_silent().await, busy());
}

pub(crate) async fn unset_fields_are_built_in(g: Fixture) {
    g.default_to(attempts(7)).await;
    let mut expected = Policy::default();
    expected.retry.max_attempts = 7;
    assert_eq!(g.of_silent().await, expected);
    let backoff =
        BackoffOverrides { base: Some(Millis::from_hours(1)), ..BackoffOverrides::default() };
    g.default_to(PolicyOverrides { backoff, ..PolicyOverrides::default() }).await;
    let policy = g.of_silent().await;
    assert_eq!(policy.retry.max_attempts, 3, "new defaults take the place of all earlier ones");
    assert_eq!(policy.retry.backoff.wait(1, 0), Millis::from_hours(1), "no cap cuts it short");
}

pub(crate) async fn a_submit_overrides_its_lane(g: Fixture) {
    g.default_to(busy()).await;
    let ask = PolicyOverrides {
        max_attempts: Some(1),
        categories: Patch::Clear,
        attempt_timeout: Patch::Set(ms(77)),
        deadline: Patch::Clear,
        ..PolicyOverrides::default()
    };
    let id = g.submit(Submit { policy: ask, ..g.work() }).await;
    let mut expected = busy();
    (expected.retry.max_attempts, expected.retry.categories) = (1, None);
    (expected.attempt_timeout, expected.deadline) = (Some(ms(77)), None);
    assert_eq!(g.policy(id).await, expected);
    assert_eq!(g.record(id).await.run.deadline, None);
    let whole = g.waiting().await;
    assert_eq!(g.policy(whole).await, steady());
}

pub(crate) async fn defaults_hold_for_every_submit(g: Fixture) {
    g.default_to(busy()).await;
    for n in 0..30 {
        let later = Submit { start: When::After(ms(500)), ..g.silent() };
        let batch = vec![g.silent(), later, g.silent_and_keyed(&format!("order-{n}")), g.work()];
        let answers = g.backend().submit(batch).await.unwrap();
        for (at, answer) in answers.into_iter().enumerate() {
            let expected = if at == 3 { steady() } else { busy() };
            assert_eq!(g.policy(answer.unwrap().execution).await, expected, "{n}, {at}");
        }
    }
}

pub(crate) async fn new_defaults_leave_earlier_work_alone(g: Fixture) {
    let before = g.submit(g.silent()).await;
    g.default_to(busy()).await;
    let between = g.submit(g.silent()).await;
    let started = g.record(between).await.run;
    g.default_to(attempts(1)).await;
    assert_eq!(g.policy(before).await, Policy::default());
    assert_eq!((g.policy(between).await, g.record(between).await.run), (busy(), started));
    g.cancel(between, None).await.unwrap();
    g.replay(between, 0).await.unwrap();
    assert_eq!(g.policy(between).await, busy(), "another run is still the same work");
    assert_eq!(g.of_silent().await.retry.max_attempts, 1);
}

pub(crate) async fn a_lane_without_its_defaults_has_what_is_built_in(g: Fixture) {
    assert_eq!(g.without_defaults().await.generation, 0, "there is nothing to remove");
    assert_eq!(
        g.default_to(PolicyOverrides::default()).await.generation,
        0,
        "nothing is no default"
    );
    g.default_to(busy()).await;
    assert_eq!(g.without_defaults().await.defaults, None);
    assert_eq!(g.of_silent().await, Policy::default());
    g.default_to(busy()).await;
    assert_eq!(g.default_to(PolicyOverrides::default()).await.defaults, None);
    assert_eq!(g.of_silent().await, Policy::default());
}

pub(crate) async fn a_repeated_submit_is_recognised_whatever_the_lane_defaults(g: Fixture) {
    for (at, first) in [g.silent(), g.silent_and_keyed("order-1")].into_iter().enumerate() {
        g.default_to(attempts(5)).await;
        let id = g.submit(first.clone()).await;
        g.default_to(attempts(9)).await;
        assert!(!g.try_submit(first.clone()).await.unwrap().created, "{at}");
        g.without_defaults().await;
        let again = g.try_submit(first.clone()).await.unwrap();
        assert_eq!((again.execution, again.created), (id, false), "{at}");
        assert_eq!(g.policy(id).await.retry.max_attempts, 5);
        // A submit that sets the same value explicitly is another request.
        let other = Submit { policy: attempts(5), ..first };
        let conflict = [Code::IdConflict, Code::IdempotencyConflict][at];
        let other = Submit {
            id: if at == 0 { other.id } else { g.silent_and_keyed("order-1").id },
            ..other
        };
        assert_eq!(g.try_submit(other).await.refused(), conflict);
    }
}

pub(crate) async fn a_key_outlasts_a_shorter_retention_of_its_lane(g: Fixture) {
    g.default_to(PolicyOverrides { retention: Some(ms(1_000)), ..PolicyOverrides::default() })
        .await;
    let plain = g.submit(g.silent()).await;
    let keyed = g.submit(g.silent_and_keyed("order-1")).await;
    assert_eq!(g.policy(plain).await.retention, ms(1_000));
    assert_eq!(g.policy(keyed).await.retention, DEDUP_WINDOW);
    for id in [plain, keyed] {
        g.cancel(id, None).await.unwrap();
    }
    g.pass(ms(3_000)).await;
    assert_eq!(g.backend().describe(&g.target(plain)).await.refused(), Code::NotFound);
    assert!(!g.try_submit(g.silent_and_keyed("order-1")).await.unwrap().created);
}

pub(crate) async fn a_key_with_too_short_a_retention_is_refused_whatever_the_lane_defaults(
    g: Fixture,
) {
    g.default_to(PolicyOverrides { retention: Some(ms(1_000)), ..PolicyOverrides::default() })
        .await;
    let mut brief = g.silent_and_keyed("order-2");
    brief.policy.retention = Some(ms(1_000));
    assert_eq!(g.try_submit(brief).await.refused(), Code::InvalidArgument);
}

pub(crate) async fn a_deadline_of_a_lane_ends_its_work(g: Fixture) {
    g.default_to(PolicyOverrides { deadline: Patch::Set(ms(800)), ..PolicyOverrides::default() })
        .await;
    let id = g.submit(g.silent()).await;
    let record = g.record(id).await;
    assert_eq!(record.run.deadline, Some(record.created + ms(800)));
    let free = PolicyOverrides { deadline: Patch::Clear, ..PolicyOverrides::default() };
    let free = g.submit(Submit { policy: free, ..g.work() }).await;
    g.pass(ms(800)).await;
    assert_eq!(g.state(id).await, PublicState::Expired);
    assert_eq!(g.state(free).await, PublicState::Waiting);
}

pub(crate) async fn attempts_of_a_lane_are_counted(g: Fixture) {
    let at_once = BackoffOverrides::from(Backoff::none());
    g.default_to(PolicyOverrides { backoff: at_once, ..attempts(2) }).await;
    let id = g.submit(g.silent()).await;
    for state in [PublicState::Waiting, PublicState::Failed] {
        let held = g.claimed().await;
        g.fail(&held, failure("broken")).await.unwrap();
        assert_eq!(g.state(id).await, state);
    }
}

pub(crate) async fn a_lane_with_defaults_gives_its_work(g: Fixture) {
    g.default_to(busy()).await;
    let ids = [g.submit(g.silent()).await, g.waiting().await, g.submit(g.silent()).await];
    let held = g.take(ClaimRequest { max: 2, ..g.claim() }).await;
    let mut given: BTreeSet<_> = held.iter().map(|held| held.execution).collect();
    assert_eq!(given.len(), 2);
    for held in &held {
        g.complete(held, "done").await.unwrap();
    }
    given.insert(g.granted().await.execution);
    assert_eq!(given, ids.into());
}

pub(crate) async fn a_lane_keeps_its_defaults_when_it_is_changed(g: Fixture) {
    g.default_to(busy()).await;
    g.limit(1).await;
    g.drain().await;
    assert_eq!(g.try_submit(g.silent()).await.refused(), Code::LaneDraining);
    let settings = g.resume().await;
    assert_eq!(settings.max_active, Some(1));
    assert_eq!(settings.defaults.as_deref(), Some(&busy().into()), "unset fields stay as they are");
    assert_eq!(g.of_silent().await, busy());
}

pub(crate) async fn defaults_are_of_one_lane_of_one_namespace(g: Fixture) {
    let there = g.elsewhere();
    g.default_to(busy()).await;
    assert_eq!(there.lane().await.defaults, None);
    assert_eq!(there.of_silent().await, Policy::default());
    let id = g.submit(Submit { lane: lane("slow"), ..g.silent() }).await;
    assert_eq!(g.policy(id).await, Policy::default());
}

pub(crate) async fn defaults_whose_caller_dies_are_spread_by_their_timer(g: Fixture) {
    let at_home = SetLane {
        key: ResourceKey::lane(&g.namespace, &Lane::default(), g.backend().partitions()),
        paused: None,
        draining: None,
        max_active: Patch::Unset,
        defaults: Patch::Set(Box::new(attempts(9))),
        reason: None,
        spread: true,
    };
    g.run(at_home).await.unwrap();
    g.pass(ms(5_000)).await;
    for _ in 0..20 {
        assert_eq!(g.of_silent().await.retry.max_attempts, 9);
    }
}

pub(crate) async fn bad_defaults_are_refused_by_name(g: Fixture) {
    g.default_to(attempts(5)).await;
    let before = g.snapshot().await;
    let silent = PolicyOverrides::default;
    let waits = |backoff| PolicyOverrides { backoff, ..silent() };
    let too_long = Millis::from_days(3_651);
    let many = (0..=CATEGORIES).map(|n| Category::new(format!("c{n}")).unwrap()).collect();
    for (field, ask) in [
        ("max_attempts", attempts(0)),
        ("max_attempts", attempts(1_001)),
        (
            "backoff.base",
            waits(BackoffOverrides { base: Some(too_long), ..BackoffOverrides::default() }),
        ),
        (
            "backoff.cap",
            waits(BackoffOverrides { cap: Some(too_long), ..BackoffOverrides::default() }),
        ),
        (
            "backoff.jitter_percent",
            waits(BackoffOverrides { jitter_percent: Some(101), ..BackoffOverrides::default() }),
        ),
        ("retry.categories", PolicyOverrides { categories: Patch::Set(many), ..silent() }),
        ("attempt_timeout", PolicyOverrides { attempt_timeout: Patch::Set(ms(0)), ..silent() }),
        ("deadline", PolicyOverrides { deadline: Patch::Set(too_long), ..silent() }),
        ("lease_ttl", PolicyOverrides { lease_ttl: Some(ms(99)), ..silent() }),
        ("max_reclaims", PolicyOverrides { max_reclaims: Some(RECLAIMS + 1), ..silent() }),
        ("retention", PolicyOverrides { retention: Some(ms(0)), ..silent() }),
    ] {
        let defaults = Patch::Set(Box::new(ask));
        let order = LaneUpdate { paused: Some(true), defaults, ..g.lane_update() };
        let refused = g.backend().update_lane(order).await.unwrap_err();
        assert!(refused.to_string().contains(field), "{field}: {refused}");
        assert!(refused.refused().is_some(), "{field}: {refused}");
    }
    g.snapshot().await.assert_same(&before);
}
