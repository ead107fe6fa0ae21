//! Budgets: how much may be used in total.

use ff_core::budget::{BudgetLimits, OnBreach};
use ff_core::limits::{Amounts, ExecutionLimits};
use ff_core::machine::{
    Admit, ClaimRequest, Home, Phase, Reply, ReportUsage, Settlement, Submit, TICKET_TTL,
};
use ff_core::view::{BlockingReason, EligibilityState};
use ff_core::{Code, Dimension, Millis, PublicState, Warning, bounds};

use crate::fixture::{Fixture, Refused, at_once, forged, key, ms, named, of_tokens, tokens};

fn used(amounts: &Amounts) -> u64 {
    amounts.values().sum()
}

pub(crate) async fn usage_is_charged_to_every_budget_of_the_execution(g: Fixture) {
    g.put_budget("team", of_tokens(1_000)).await;
    g.put_budget("total", of_tokens(5_000)).await;
    let id = g.spending(&["team", "total"]).await;
    let held = g.claimed().await;
    assert_eq!(g.report(&held, "first", tokens(30)).await.unwrap(), tokens(30));
    assert_eq!(g.report(&held, "second", tokens(12)).await.unwrap(), tokens(42));
    assert_eq!(used(&g.budget("team").await.used), 42);
    assert_eq!(used(&g.budget("total").await.used), 42);
    assert_eq!(g.record(id).await.used, tokens(42), "the ledger of the execution");
}

pub(crate) async fn the_same_report_again_changes_nothing(g: Fixture) {
    g.put_budget("team", of_tokens(1_000)).await;
    g.spending(&["team"]).await;
    let held = g.claimed().await;
    g.report(&held, "first", tokens(30)).await.unwrap();
    let before = g.snapshot().await.without_versions();
    assert_eq!(g.report(&held, "first", tokens(30)).await.unwrap(), tokens(30));
    let after = g.snapshot().await.without_versions();
    assert_eq!(after.records, before.records);
    assert_eq!(used(&g.budget("team").await.used), 30);
    let other = g.report(&held, "first", tokens(31)).await;
    assert_eq!(other.refused(), Code::IdempotencyConflict);
    g.report(&held, "second", tokens(3)).await.unwrap();
    assert_eq!(g.report(&held, "first", tokens(30)).await.unwrap(), tokens(33), "all that is used");
}

pub(crate) async fn a_full_budget_admits_nothing_new(g: Fixture) {
    let g = g.in_one_partition();
    g.put_budget("team", of_tokens(100)).await;
    g.spending(&["team"]).await;
    let second = g.spending(&["team"]).await;
    let held = g.claimed().await;
    g.report(&held, "all", tokens(130)).await.unwrap();
    assert!(g.nothing_to_claim().await);
    let record = g.record(second).await;
    assert_eq!(record.public_state(), PublicState::RateLimited);
    assert_eq!(record.state_vector().eligibility_state, EligibilityState::BlockedByBudget);
    assert_eq!(record.state_vector().blocking_reason, BlockingReason::WaitingForBudget);
    assert!(g.explained(second).await.sentence.contains("130 of 100 tokens"));
    g.complete(&held, "done").await.unwrap();
    assert!(g.nothing_to_claim().await, "running work continues, and usage is kept");
}

pub(crate) async fn an_estimate_over_the_limit_can_never_start(g: Fixture) {
    let daily = BudgetLimits { period: Some(ms(86_400_000)), ..of_tokens(100) };
    g.put_budget("team", daily).await;
    let id = g.controlled(&["team"], &[], tokens(500)).await;
    assert!(g.nothing_to_claim().await);
    let explained = g.explained(id).await;
    for words in ["0 of 100 tokens", "500 are needed", "100 are free", "can never start"] {
        assert!(explained.sentence.contains(words), "{words}: {}", explained.sentence);
    }
    assert!(!explained.sentence.contains("may clear"), "{}", explained.sentence);
}

pub(crate) async fn an_estimate_over_what_is_free_waits(g: Fixture) {
    g.put_budget("team", of_tokens(100)).await;
    let fits = g.controlled(&["team"], &[], tokens(80)).await;
    assert_eq!(g.claimed().await.execution, fits);
    let short = g.controlled(&["team"], &[], tokens(30)).await;
    assert!(g.nothing_to_claim().await);
    let sentence = g.explained(short).await.sentence;
    assert!(
        sentence.contains("80 of 100 tokens") && sentence.contains("20 are free"),
        "{sentence}"
    );
    assert!(!sentence.contains("never"), "{sentence}");
}

pub(crate) async fn a_submit_that_names_a_missing_limit_is_warned(g: Fixture) {
    let limits = |budget: &str, quota: &str, dimension: &str| ExecutionLimits {
        budgets: [named(budget)].into(),
        quotas: [named(quota)].into(),
        estimate: [(Dimension::new(dimension).unwrap(), 50)].into(),
    };
    let warnings = async |limits: ExecutionLimits| {
        g.try_submit(Submit { limits, ..g.work() }).await.unwrap().warnings
    };
    g.put_budget("team", of_tokens(100)).await;
    g.put_quota("api", at_once(1)).await;
    assert_eq!(warnings(limits("team", "api", "tokens")).await, []);
    assert_eq!(warnings(ExecutionLimits::default()).await, []);
    assert_eq!(
        warnings(limits("taem", "aip", "tokens")).await,
        [Warning::NoBudget { name: named("taem") }, Warning::NoQuota { name: named("aip") }]
    );
    let dimension = Dimension::new("tokns").unwrap();
    let not_counted = [Warning::NotCounted { dimension }];
    assert_eq!(warnings(limits("team", "api", "tokns")).await, not_counted);
    g.put_budget("taem", of_tokens(100)).await;
    g.put_quota("aip", at_once(1)).await;
    assert_eq!(warnings(limits("taem", "aip", "tokens")).await, []);
}

pub(crate) async fn a_raised_limit_releases_waiting_executions(g: Fixture) {
    let g = g.in_one_partition();
    g.put_budget("team", of_tokens(100)).await;
    for _ in 0..300 {
        g.spending(&["team"]).await;
    }
    let held = g.claimed().await;
    g.report(&held, "all", tokens(100)).await.unwrap();
    assert!(g.nothing_to_claim().await);
    g.put_budget("team", of_tokens(1_000)).await;
    let taken = g.take(ClaimRequest { max: 256, ..g.claim() }).await;
    assert_eq!(taken.len(), 256);
}

pub(crate) async fn a_reset_releases_waiting_executions(g: Fixture) {
    let g = g.in_one_partition();
    g.put_budget("team", of_tokens(100)).await;
    g.spending(&["team"]).await;
    let second = g.spending(&["team"]).await;
    let held = g.claimed().await;
    g.report(&held, "all", tokens(100)).await.unwrap();
    assert!(g.nothing_to_claim().await);
    let reset = g.backend().reset_budget(&g.namespace, &named("team")).await.unwrap();
    assert_eq!(used(&reset.used), 0);
    assert_eq!(g.claimed().await.execution, second);
}

pub(crate) async fn a_budget_resets_at_the_end_of_its_period(g: Fixture) {
    let g = g.in_one_partition();
    let limits = BudgetLimits { period: Some(ms(60_000)), ..of_tokens(100) };
    g.put_budget("team", limits).await;
    g.spending(&["team"]).await;
    let second = g.spending(&["team"]).await;
    let held = g.claimed().await;
    g.report(&held, "all", tokens(100)).await.unwrap();
    g.complete(&held, "done").await.unwrap();
    assert!(g.nothing_to_claim().await);
    g.pass(ms(60_000)).await;
    assert_eq!(g.claimed().await.execution, second);
    assert_eq!(used(&g.budget("team").await.used), 0);
}

pub(crate) async fn a_budget_made_after_the_usage_has_its_limits(g: Fixture) {
    let id = g.spending(&["team"]).await;
    assert!(g.nothing_to_claim().await, "there is no limit to admit it");
    g.put_budget("team", of_tokens(50)).await;
    let held = g.claimed().await;
    assert_eq!(held.execution, id);
    g.report(&held, "all", tokens(50)).await.unwrap();
    g.spending(&["team"]).await;
    assert!(g.nothing_to_claim().await);
}

pub(crate) async fn an_unknown_dimension_is_refused(g: Fixture) {
    g.put_budget("team", of_tokens(50)).await;
    g.spending(&["team"]).await;
    let held = g.claimed().await;
    let euros: Amounts = [(Dimension::new("euros").unwrap(), 1)].into();
    assert_eq!(g.report(&held, "one", euros).await.refused(), Code::InvalidArgument);
    assert_eq!(used(&g.budget("team").await.used), 0);
}

/// Once its budget is removed, the dimensions that it counted are unknown.
pub(crate) async fn an_execution_uses_a_bounded_number_of_dimensions(g: Fixture) {
    g.put_budget("team", of_tokens(50)).await;
    g.spending(&["team"]).await;
    let held = g.claimed().await;
    g.backend().delete_budget(&g.namespace, &named("team")).await.unwrap();
    let some = |report: usize| -> Amounts {
        let names = (0..bounds::DIMENSIONS).map(|n| format!("d{report}-{n}"));
        names.map(|name| (Dimension::new(name).unwrap(), 1)).collect()
    };
    for report in 0..bounds::BUDGETS {
        g.report(&held, &format!("r{report}"), some(report)).await.unwrap();
    }
    let before = g.snapshot().await;
    assert_eq!(g.report(&held, "more", some(99)).await.refused(), Code::TooLarge);
    g.snapshot().await.assert_same(&before);
    let again = g.report(&held, "known", some(0)).await.unwrap();
    assert_eq!(again.len(), bounds::USED_DIMENSIONS);
}

pub(crate) async fn a_stale_holder_charges_nothing(g: Fixture) {
    g.put_budget("team", of_tokens(50)).await;
    g.spending(&["team"]).await;
    let held = g.claimed().await;
    for (how, hold) in forged(&held.hold()) {
        let report = ReportUsage { hold, key: key("x"), amounts: tokens(1), release: false };
        let refused = g.backend().report_usage(report).await;
        assert_eq!(refused.refused(), Code::StaleLease, "{how}");
    }
    assert_eq!(used(&g.budget("team").await.used), 0);
}

pub(crate) async fn what_was_reported_can_be_taken_back(g: Fixture) {
    g.put_budget("team", of_tokens(100)).await;
    g.spending(&["team"]).await;
    let held = g.claimed().await;
    g.report(&held, "all", tokens(100)).await.unwrap();
    let back = |amount, name: &str| ReportUsage {
        hold: held.hold(),
        key: key(name),
        amounts: tokens(amount),
        release: true,
    };
    let too_much = g.backend().report_usage(back(101, "much")).await;
    assert_eq!(too_much.refused(), Code::InvalidArgument);
    assert_eq!(g.backend().report_usage(back(60, "some")).await.unwrap(), tokens(40));
    assert_eq!(used(&g.budget("team").await.used), 40);
}

pub(crate) async fn an_estimate_is_reserved_and_settled(g: Fixture) {
    let g = g.in_one_partition();
    g.put_budget("team", of_tokens(100)).await;
    for _ in 0..3 {
        g.controlled(&["team"], &[], tokens(40)).await;
    }
    let taken = g.take(ClaimRequest { max: 10, ..g.claim() }).await;
    assert_eq!(taken.len(), 2, "a third could pass the limit");
    assert_eq!(used(&g.budget("team").await.reserved), 80);
    g.report(&taken[0], "some", tokens(10)).await.unwrap();
    g.complete(&taken[0], "done").await.unwrap();
    let budget = g.budget("team").await;
    assert_eq!((used(&budget.used), used(&budget.reserved)), (10, 40));
    assert_eq!(g.take(ClaimRequest { max: 10, ..g.claim() }).await.len(), 1);
}

pub(crate) async fn a_breach_can_cancel_running_executions(g: Fixture) {
    let g = g.in_one_partition();
    let limits = BudgetLimits { on_breach: OnBreach::Cancel, ..of_tokens(100) };
    g.put_budget("team", limits).await;
    g.spending(&["team"]).await;
    g.spending(&["team"]).await;
    let plain = g.waiting().await;
    let taken = g.take(ClaimRequest { max: 10, ..g.claim() }).await;
    assert_eq!(taken.len(), 3);
    let first = taken.iter().find(|a| a.execution != plain).unwrap();
    g.report(first, "all", tokens(100)).await.unwrap();
    for assignment in &taken {
        let expected = match assignment.execution == plain {
            true => PublicState::Active,
            false => PublicState::Cancelled,
        };
        assert_eq!(g.state(assignment.execution).await, expected);
    }
    assert_eq!(g.tickets().await.len(), 0);
}

pub(crate) async fn what_a_lost_worker_reported_is_charged(g: Fixture) {
    g.put_budget("team", of_tokens(100)).await;
    g.spending(&["team"]).await;
    let held = g.claimed().await;
    // The report reaches the execution, and its process dies before it reaches the budget.
    let report =
        ReportUsage { hold: held.hold(), key: key("x"), amounts: tokens(7), release: false };
    g.run(report).await.unwrap();
    assert_eq!(used(&g.budget("team").await.used), 0);
    g.pass(ms(30_000)).await;
    assert_eq!(used(&g.budget("team").await.used), 7);
    assert_eq!(g.tickets().await.len(), 0, "its lease is over");
}

/// The answer to the first report is lost, and the lease has ended when it is repeated.
pub(crate) async fn a_counted_report_is_confirmed_after_its_lease(g: Fixture) {
    g.put_budget("team", of_tokens(1_000)).await;
    let id = g.spending(&["team"]).await;
    let held = g.claimed().await;
    g.report(&held, "first", tokens(30)).await.unwrap();
    g.pass(held.lease_ttl).await;
    assert_eq!(g.report(&held, "first", tokens(30)).await.unwrap(), tokens(30));
    let other = g.claimed().await;
    assert_eq!(other.execution, id);
    assert_eq!(g.report(&held, "first", tokens(30)).await.unwrap(), tokens(30));
    let stale =
        [g.report(&held, "first", tokens(31)).await, g.report(&held, "new", tokens(1)).await];
    for stale in stale {
        assert_eq!(stale.refused(), Code::StaleLease);
    }
    g.report(&other, "second", tokens(5)).await.unwrap();
    g.complete(&other, "done").await.unwrap();
    assert_eq!(g.report(&held, "first", tokens(30)).await.unwrap(), tokens(35));
    assert_eq!(used(&g.budget("team").await.used), 35);
    assert_eq!(g.tickets().await.len(), 0);
}

pub(crate) async fn bad_limits_are_refused(g: Fixture) {
    let none = BudgetLimits { dimensions: [].into(), ..of_tokens(1) };
    let huge = of_tokens(u64::MAX);
    let brief = BudgetLimits { period: Some(Millis::ZERO), ..of_tokens(1) };
    let short = BudgetLimits { period: Some(ms(999)), ..of_tokens(1) };
    for limits in [none, huge, brief, short] {
        let put = g.backend().put_budget(&g.namespace, &named("team"), limits).await;
        assert_eq!(put.refused(), Code::InvalidArgument);
    }
    let reset = g.backend().reset_budget(&g.namespace, &named("team")).await;
    assert_eq!(reset.refused(), Code::NotFound);
    let gone = g.backend().delete_budget(&g.namespace, &named("team")).await;
    assert_eq!(gone.refused(), Code::NotFound);
}

/// Two reports are settled in the reverse of the order in which they were made.
pub(crate) async fn a_late_report_changes_nothing(g: Fixture) {
    g.put_budget("team", of_tokens(1_000)).await;
    let id = g.spending(&["team"]).await;
    let held = g.claimed().await;
    let record = g.store().record(id).await.unwrap().unwrap();
    let mut settlements = Vec::new();
    for (name, amount) in [("first", 30), ("second", 12)] {
        let (hold, amounts) = (held.hold(), tokens(amount));
        let report = ReportUsage { hold, key: key(name), amounts, release: false };
        let reply = g.run(report).await.unwrap();
        let Reply::Used(used) = reply else { panic!("{reply:?}") };
        let phase = Phase::Running { started: None, at_least: TICKET_TTL };
        settlements.push(Settlement {
            used: used.amounts,
            revision: used.revision,
            ..Settlement::of(&record, record.admission.unwrap(), phase)
        });
    }
    for settlement in settlements.into_iter().rev() {
        let home = Home { namespace: g.namespace.clone(), partitions: g.store().partitions() };
        let admit = Admit { home, settlements: vec![settlement], batches: Vec::new() };
        g.run(admit).await.unwrap();
    }
    assert_eq!(used(&g.budget("team").await.used), 42);
    g.complete(&held, "done").await.unwrap();
    assert_eq!(used(&g.budget("team").await.used), 42);
}

pub(crate) async fn a_recreated_budget_counts_what_it_admits(g: Fixture) {
    g.put_budget("team", of_tokens(100)).await;
    for _ in 0..3 {
        g.controlled(&["team"], &[], tokens(60)).await;
    }
    let before = g.claimed().await;
    g.advance(ms(10)).await;
    g.backend().delete_budget(&g.namespace, &named("team")).await.unwrap();
    g.put_budget("team", of_tokens(100)).await;
    assert_eq!(used(&g.budget("team").await.reserved), 0);
    g.claimed().await;
    g.complete(&before, "done").await.unwrap();
    assert_eq!(used(&g.budget("team").await.reserved), 60);
    assert!(g.nothing_to_claim().await);
}
