//! Limits as a user sees them: several servers on one store are killed, stopped and cut off while
//! workers start, hold and end limited work, and a model independent of the engine judges
//! by what the workers recorded.
//!
//! Every record errs on the safe side, so a violation found is real. A start is the store's time of a
//! claim that a worker was answered; claims whose answers were lost are not counted. Work was held
//! from then until its holder sent a call that was accepted under that lease, and at most until
//! the lease expired: what a holder does after that, or after a server has handed back the work of a
//! lost connection, is not held any more by the store's clock. A report of usage that is refused
//! was not counted, however often it was sent: one that was counted is answered as such while its key
//! is remembered.

mod chaos;
mod history;
mod model;
mod worker;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ff_testkit::{report, wait};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::api::{self, Limits};
use crate::http::Client;
use crate::place::Place;
use crate::settings::Settings;
use crate::view::{self, must};
use chaos::Chaos;
use history::History;
use model::{Cap, Rate};
use worker::Crew;

const SERVERS: usize = 2;
const WORKERS: u64 = 9;
const BUDGET: &str = "money";
const PLENTY: u64 = 1_000_000_000;
const FREE_LANE: &str = "free";
/// At most [`LANE_CAP`] of its work run at once.
const LIMITED_LANE: &str = "limited";
const LANE_CAP: usize = 3;
/// Its work names the budget alone, and is handed back over and over.
const CHURN_LANE: &str = "churn";
/// Work that a killed or silent worker holds is reclaimed after this.
const LEASE_MS: u64 = 2_000;

/// What a quota allows, for the servers and for the model.
struct Quota {
    name: &'static str,
    rate: Option<(u32, u64)>,
    cap: Option<u32>,
}

const QUOTAS: [Quota; 4] = [
    Quota { name: "rate", rate: Some((12, 1_000)), cap: None },
    Quota { name: "slow", rate: Some((4, 2_000)), cap: None },
    Quota { name: "cap", rate: None, cap: Some(3) },
    Quota { name: "both", rate: Some((8, 800)), cap: Some(4) },
];

/// A kind of work: the quotas that it names, and how much of it is submitted for each second of a
/// run, which is about what the limits admit.
struct Kind {
    name: &'static str,
    quotas: &'static [&'static str],
    per_second: f64,
}

const KINDS: [Kind; 8] = [
    Kind { name: "budget", quotas: &[], per_second: 1.0 },
    Kind { name: "rate", quotas: &["rate"], per_second: 5.0 },
    Kind { name: "rate-cap", quotas: &["rate", "cap"], per_second: 2.0 },
    Kind { name: "slow", quotas: &["slow"], per_second: 0.5 },
    Kind { name: "slow-cap", quotas: &["slow", "cap"], per_second: 0.8 },
    Kind { name: "slow-rate", quotas: &["slow", "rate"], per_second: 0.7 },
    Kind { name: "both", quotas: &["both"], per_second: 4.0 },
    Kind { name: "cap", quotas: &["cap"], per_second: 1.0 },
];

/// After the last fault, work that is left is stuck if none of it is done for this long: longer
/// than the lease and the ticket of a killed server last, however busy the machine is.
const REST: Duration = Duration::from_secs(30);

/// How long the last charges may take.
const SETTLE: Duration = Duration::from_secs(15);

/// Lets servers fail for a while, and judges what the workers recorded.
///
/// # Panics
///
/// When a limit was exceeded, when a charge is wrong or work is stuck, or when nothing happened.
pub fn limits(place: Place) {
    let settings = Settings::read("limits", Duration::from_secs(9));
    let servers: Vec<_> = (0..SERVERS).map(|_| place.serve()).collect();
    let clients: Vec<_> = servers.iter().map(|serving| serving.client()).collect();
    let runtime = Runtime::new().unwrap();
    let history = Arc::new(History::default());
    let mut chaos = Chaos::new(servers, settings.rng(0));
    let submitted = runtime.block_on(prepare(clients[0], settings));
    let crew = runtime.block_on(Crew::start(WORKERS, settings, &clients, &history));
    chaos.rage(settings.end());
    runtime.block_on(crew.calm());
    let rest = runtime.block_on(drain(clients[0], submitted));
    runtime.block_on(crew.end());
    let (used, mut verdict) = runtime.block_on(charges(clients[0], &history));
    chaos.stop();

    verdict.extend(judge(&history));
    let starts = history.holds().len();
    eprintln!(
        "limits on {}: {submitted} submitted, {starts} starts, {}, {} cuts, {used} used, \
         the rest done {rest:?} after the last fault",
        place.name(),
        chaos.summary(),
        history.cuts(),
    );
    if !verdict.is_empty() {
        eprintln!("the history:\n{}", history.summary());
        panic!("{} violations on {}:\n{}", verdict.len(), place.name(), verdict.join("\n"));
    }
    assert!(starts as u64 >= submitted, "every execution starts");
    place.assert_sound();
    report::count(&place.counted("limits_starts"), starts as u64);
    report::count(&place.counted("limits_faults"), chaos.faults());
}

/// Makes the limits and submits all the work.
async fn prepare(client: Client, settings: Settings) -> u64 {
    for Quota { name, rate, cap } in QUOTAS {
        must(client, &api::put_quota(name, rate, cap)).await;
    }
    must(client, &api::put_budget(BUDGET, PLENTY)).await;
    must(client, &api::patch_lane(LIMITED_LANE, json!({"max_active": LANE_CAP}))).await;
    let mut rng = settings.rng(u64::MAX);
    let seconds = settings.length().as_secs_f64();
    let mut kinds: Vec<_> = KINDS
        .iter()
        .flat_map(|kind| (0..(kind.per_second * seconds) as usize).map(move |_| kind))
        .collect();
    rng.shuffle(&mut kinds);
    for (number, kind) in kinds.iter().enumerate() {
        let lane = match kind.quotas {
            [] => CHURN_LANE,
            _ if rng.u8(0..3) == 0 => LIMITED_LANE,
            _ => FREE_LANE,
        };
        let limits = Limits { budgets: &[BUDGET], quotas: kind.quotas, tokens: 20 };
        let policy = json!({
            "lease_ttl_ms": LEASE_MS, "max_attempts": 100, "max_reclaims": 1_000,
            "backoff": {"base_ms": 1, "cap_ms": 1},
        });
        let submit = api::submit(&format!("work-{number}"), lane, kind.name, limits, policy);
        must(client, &submit).await;
    }
    kinds.len() as u64
}

/// Waits until all work is done, and answers how long that took. Work that is left when the rest is
/// done is stuck.
async fn drain(client: Client, submitted: u64) -> Duration {
    let began = Instant::now();
    let left = async || {
        let mut all = view::executions(client, None).await;
        assert_eq!(all.len() as u64, submitted, "every accepted execution exists");
        all.retain(|execution| execution["state"] != "completed");
        all
    };
    let mut before = left().await;
    while let Some(first) = before.first() {
        let fewer = wait::until_async(REST, async || {
            let left = left().await;
            (left.len() < before.len()).then_some(left)
        });
        let Some(fewer) = fewer.await else {
            panic!("{} are left while there is capacity, such as {first}", before.len());
        };
        before = fewer;
    }
    began.elapsed()
}

/// Whether work of this kind names a quota.
fn names(kind: &str, quota: &str) -> bool {
    KINDS.iter().any(|known| known.name == kind && known.quotas.contains(&quota))
}

/// What executions used, and which charges are wrong: the budget is charged as much, and they used
/// what workers reported.
async fn charges(client: Client, history: &History) -> (u64, Vec<String>) {
    let all = view::executions(client, None).await;
    let used: u64 = all.iter().map(view::used).sum();
    let charged = wait::until_async(SETTLE, async || {
        let charged = view::budget(client, BUDGET).await;
        (charged == (used, 0)).then_some(())
    });
    let mut wrong = Vec::new();
    if charged.await.is_none() {
        let (charged, reserved) = view::budget(client, BUDGET).await;
        wrong.push(format!(
            "the budget is charged {charged} and reserves {reserved} where {used} were used"
        ));
    }
    for execution in &all {
        let (id, used) = (execution["id"].as_str().unwrap(), view::used(execution));
        let reported = history.reported(id);
        if !reported.contains(&used) {
            wrong.push(format!("{id} used {used} where {reported:?} were reported"));
        }
    }
    (used, wrong)
}

/// Every violation in a history, in sentences.
fn judge(history: &History) -> Vec<String> {
    let holds = history.holds();
    let mut wrong = Vec::new();
    for Quota { name, rate, cap } in QUOTAS {
        let of_quota: Vec<_> = holds.iter().filter(|hold| names(&hold.kind, name)).collect();
        if let Some((starts, window_ms)) = rate {
            let rate = Rate { starts: starts as usize, window_ms };
            wrong.extend(rate.passed(name, &of_quota));
        }
        if let Some(most) = cap {
            wrong.extend(Cap { most: most as usize }.passed(name, &of_quota));
        }
    }
    let in_lane: Vec<_> = holds.iter().filter(|hold| hold.lane == LIMITED_LANE).collect();
    wrong.extend(Cap { most: LANE_CAP }.passed("the limited lane", &in_lane));
    wrong
}
