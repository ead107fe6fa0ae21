//! Invariants of budgets and quotas after any history: processes die between any two steps, calls
//! conflict, settlements are lost and repeated.
//!
//! A failure prints the seed; `FF_SEED=<seed>` runs that history alone and prints each step, and
//! `FF_HISTORIES=<count>` runs that many.

mod fixture;
mod plan;
mod without_wakeups;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use ff_core::resource::Ticket;
use ff_core::state::State;
use ff_core::{Execution, Millis, PublicState};
use fixture::{Fixture, named, optimistic, serial, sum};
use plan::{BUDGET, Plan, QUOTAS, Step};
use tokio::runtime::{Builder, Runtime};

/// How many steps a history has.
const STEPS: usize = 50;

/// In paused time, a delayed announcement arrives as soon as everything waits for it.
fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

/// Runs a property for many seeds. Each run returns how often it had something to check; the total
/// must be at least one per seed.
fn hold(seeds: u64, property: impl Fn(u64) -> u64) {
    if let Ok(seed) = std::env::var("FF_SEED") {
        property(seed.parse().unwrap());
        return;
    }
    let many = std::env::var("FF_HISTORIES").ok().map(|many| many.parse().unwrap());
    let seeds = many.unwrap_or(seeds);
    let mut checked = 0;
    for seed in 0..seeds {
        match catch_unwind(AssertUnwindSafe(|| property(seed))) {
            Ok(times) => checked += times,
            Err(panic) => {
                eprintln!("run it alone with FF_SEED={seed}");
                resume_unwind(panic);
            }
        }
    }
    assert!(checked >= seeds, "in {seeds} histories there were {checked} cases to check");
}

/// Runs a plan; for every other seed, commands conflict.
async fn lived(seed: u64, plan: &Plan) -> Fixture {
    let subject = if seed.is_multiple_of(2) { serial() } else { optimistic(seed) };
    let mut fixture = Fixture::new(&Arc::new(subject), "acme", plan).await;
    for step in &plan.steps {
        fixture.step(*step).await;
        if std::env::var("FF_SEED").is_ok() {
            eprintln!("{}", fixture.trace.last().unwrap());
        }
        check_now(&fixture, plan).await;
    }
    fixture
}

/// What holds at any time.
async fn check_now(fixture: &Fixture, plan: &Plan) {
    let (backend, namespace) = (&fixture.subject.backend, &fixture.namespace);
    let tickets = fixture.tickets().await;
    for (name, limits) in plan.quotas() {
        let quota = backend.quota(namespace, &named(name)).await.unwrap();
        let holds = |ticket: &&Ticket| ticket.quotas.contains(&named(name));
        let claimed_by = tickets.iter().filter(holds).count();
        assert_eq!(quota.active as usize, claimed_by, "{name} counts its tickets");
        assert!(limits.max_active.is_none_or(|most| quota.active <= most), "{name} is too full");
    }
    let budget = backend.budget(namespace, &named(BUDGET)).await.unwrap();
    let reserved: u64 = tickets.iter().map(|ticket| sum(&ticket.reserved())).sum();
    assert_eq!(sum(&budget.reserved), reserved, "the budget reserves for its tickets");
    let most = sum(&budget.used) + reserved;
    assert!(most <= plan.tokens, "{most} of {} may be used", plan.tokens);
}

/// Timers settle what was left, and all that can be claimed is.
async fn settled(fixture: &mut Fixture) {
    for _ in 0..3 {
        fixture.pass(Millis::from_secs(11)).await;
    }
    for _ in 0..50 {
        let before = fixture.trace.len();
        fixture.step(Step::Claim(100)).await;
        if fixture.trace[before].ends_with("[]") {
            return;
        }
    }
    panic!("there is no end to the work");
}

/// All work is done, as far as the budget allows.
async fn done(fixture: &mut Fixture) {
    for _ in 0..400 {
        fixture.complete_all().await;
        let records = fixture.records().await;
        if records.iter().all(|record| {
            matches!(record.state, State::Finished { .. }) || waits_for_budget(record)
        }) {
            return;
        }
        fixture.step(Step::Pass(3_000)).await;
        fixture.step(Step::Claim(100)).await;
    }
    let records = fixture.records().await;
    let states: Vec<_> = records.iter().map(|record| (&record.state, record.admission)).collect();
    panic!("work waits without a reason: {states:#?} {:#?}", fixture.tickets().await);
}

fn waits_for_budget(record: &Execution) -> bool {
    matches!(&record.state, State::Blocked { on, .. } if on.name == named(BUDGET))
}

/// How often a limit was checked.
fn check_windows(fixture: &Fixture, plan: &Plan) -> u64 {
    let mut checked = 0;
    for (name, limits) in plan.quotas() {
        let Some(most) = limits.max_requests else { continue };
        let counted = fixture.starts.iter().filter(|(quotas, _)| quotas.contains(&named(name)));
        let mut times: Vec<_> = counted.map(|(_, at)| *at).collect();
        times.sort();
        for window in times.windows(most as usize + 1) {
            let span = window[most as usize].since(window[0]);
            assert!(
                span >= limits.window,
                "under {name}, {} have started within {span}, of {most} within {}",
                most + 1,
                limits.window
            );
            checked += 1;
        }
    }
    checked
}

#[test]
fn no_window_has_more_starts_than_its_limit() {
    hold(600, |seed| {
        runtime().block_on(async {
            let plan = Plan::new(seed, STEPS);
            let mut fixture = lived(seed, &plan).await;
            done(&mut fixture).await;
            check_windows(&fixture, &plan)
        })
    });
}

#[test]
fn slots_are_those_of_live_leases_once_timers_have_fired() {
    hold(600, |seed| {
        runtime().block_on(async {
            let plan = Plan::new(1_000_000 + seed, STEPS);
            let mut fixture = lived(seed, &plan).await;
            settled(&mut fixture).await;
            let records = fixture.records().await;
            let tickets = fixture.tickets().await;
            let mut live = 0;
            for name in QUOTAS {
                let runs = |record: &&Execution| {
                    matches!(record.state, State::Active { .. })
                        && record.spec.limits.quotas.contains(&named(name))
                };
                let quota = fixture.subject.backend.quota(&fixture.namespace, &named(name)).await;
                let running = records.iter().filter(runs).count();
                assert_eq!(quota.unwrap().active as usize, running, "{name}");
                live += running as u64;
            }
            for ticket in &tickets {
                let mine = records.iter().filter(|one| one.admission == Some(ticket.admission));
                assert_eq!(mine.count(), 1, "every ticket has an execution that runs");
            }
            let report = fixture.audit().await;
            assert!(report.violations.is_empty(), "{:#?}", report.violations);
            done(&mut fixture).await;
            for _ in 0..3 {
                fixture.pass(Millis::from_secs(40)).await;
            }
            assert_eq!(fixture.tickets().await, [], "nothing is held when nothing runs");
            live
        })
    });
}

#[test]
fn the_ledger_of_a_budget_is_what_its_executions_have_used() {
    hold(600, |seed| {
        runtime().block_on(async {
            let plan = Plan::new(2_000_000 + seed, STEPS);
            let mut fixture = lived(seed, &plan).await;
            done(&mut fixture).await;
            for _ in 0..3 {
                fixture.pass(Millis::from_secs(40)).await;
            }
            let budget = fixture.subject.backend.budget(&fixture.namespace, &named(BUDGET)).await;
            let budget = budget.unwrap();
            let used: u64 = fixture.records().await.iter().map(|record| sum(&record.used)).sum();
            assert_eq!(sum(&budget.used), used);
            assert_eq!(sum(&budget.reserved), 0, "nothing runs");
            used
        })
    });
}

/// The answers to a plan and its outcome, alone or with the traffic of another namespace.
async fn seen(seed: u64, rival: bool) -> Vec<String> {
    let (plan, other) = (Plan::new(3_000_000 + seed, STEPS), Plan::new(4_000_000 + seed, STEPS));
    let subject = Arc::new(serial());
    let mut mine = Fixture::new(&subject, "acme", &plan).await;
    let mut theirs = Fixture::new(&subject, "rivals", &other).await;
    for (step, another) in plan.steps.iter().zip(&other.steps) {
        mine.step(*step).await;
        // Time passes for both.
        if rival && !matches!(another, Step::Pass(_)) {
            theirs.step(*another).await;
        }
    }
    let mut seen = mine.trace.clone();
    for record in mine.records().await {
        seen.push(format!("{:?} {:?}", record.public_state(), record.used));
    }
    for name in QUOTAS {
        let quota = subject.backend.quota(&mine.namespace, &named(name)).await.unwrap();
        seen.push(format!("{quota:?}"));
    }
    let budget = subject.backend.budget(&mine.namespace, &named(BUDGET)).await.unwrap();
    seen.push(format!("{budget:?}"));
    seen
}

#[test]
fn no_namespace_changes_what_another_sees() {
    hold(300, |seed| {
        runtime().block_on(async {
            let (alone, shared) = (seen(seed, false).await, seen(seed, true).await);
            for (step, (alone, shared)) in alone.iter().zip(&shared).enumerate() {
                assert_eq!(alone, shared, "step {step}");
            }
            let blocked = format!("{:?} ", PublicState::RateLimited);
            alone.iter().filter(|line| line.starts_with(&blocked)).count() as u64
        })
    });
}
