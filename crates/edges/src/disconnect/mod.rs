//! Clients that cut their connections at any point of any request that changes something.
//!
//! The effects of a commit belong to the server, not to the connection that requested it. So
//! once the clients are gone and their leases are revoked, every slot of a quota is free and
//! nothing is reserved; and in the end budgets are charged exactly what was used.

mod cutter;
mod operator;
mod worker;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ff_testkit::{report, wait};
use tokio::runtime::Runtime;

use crate::api;
use crate::http::Client;
use crate::place::Place;
use crate::settings::Settings;
use crate::view::{self, must};
use cutter::Cutter;

const LANE: &str = "edge";
/// Admits a few at once.
const QUOTA: &str = "slots";
/// Is charged, and compared in the end.
const BUDGET: &str = "money";
/// Is charged, changed and reset.
const SPARE: &str = "spare";
/// More than the work uses.
const PLENTY: u64 = 1_000_000_000;

const WORKERS: u64 = 6;
/// How long clients cut before the check for leaks. A leak lasts for ten
/// seconds at least, so it is still visible at the end of the check.
const ROUND: Duration = Duration::from_secs(2);
/// How long the effects of a commit may take on a busy machine.
const SOON: Duration = Duration::from_secs(5);
/// How long all the work may take after the last cut.
const DRAIN: Duration = Duration::from_secs(120);

/// Every request that changes something.
const ROUTES: [&str; 21] = [
    "submit",
    "claim",
    "grant",
    "claim-granted",
    "complete",
    "fail",
    "delay",
    "cancel-held",
    "hand-back",
    "heartbeat",
    "usage",
    "progress",
    "cancel",
    "replay",
    "revoke",
    "priority",
    "tags",
    "put-quota",
    "put-budget",
    "reset-budget",
    "lane",
];

/// What all clients of a run share.
#[derive(Debug, Default)]
struct Shared {
    /// How often a request of each route was cut.
    cuts: Mutex<BTreeMap<&'static str, u64>>,
    /// What was accepted so far.
    executions: Mutex<Vec<String>>,
}

/// Cuts connections for a while, and checks that nothing is lost and nothing leaks.
///
/// # Panics
///
/// When something is, or when a route was never cut.
pub fn disconnect(place: Place) {
    let settings = Settings::read("disconnect", Duration::from_secs(6));
    let mut serving = place.serve();
    let client = serving.client();
    let shared = Arc::new(Shared::default());
    Runtime::new().unwrap().block_on(async {
        must(client, &api::put_quota(QUOTA, None, Some(4))).await;
        must(client, &api::put_budget(BUDGET, PLENTY)).await;
        must(client, &api::put_budget(SPARE, PLENTY)).await;
        let end = settings.end();
        let mut rounds = 0;
        let mut slowest = Duration::ZERO;
        while rounds == 0 || Instant::now() < end {
            round(client, settings, rounds, &shared).await;
            slowest = slowest.max(nothing_leaks(client).await);
            rounds += 1;
        }
        let ended = finish(client).await;
        let cuts = shared.cuts.lock().unwrap().clone();
        let count: u64 = cuts.values().sum();
        let accepted = shared.executions.lock().unwrap().len();
        eprintln!(
            "disconnect on {}: {rounds} rounds, {count} cuts, {accepted} accepted, {ended} ended, \
             all given back within {slowest:?}: {cuts:?}",
            place.name()
        );
        assert!(ended >= accepted, "{accepted} were accepted and {ended} exist");
        let missed: Vec<_> = ROUTES.iter().filter(|route| !cuts.contains_key(*route)).collect();
        assert!(missed.is_empty(), "never cut: {missed:?}");
        report::count(&place.counted("disconnect_cuts"), count);
    });
    assert!(serving.stop(), "the server exits cleanly");
    place.assert_sound();
}

/// Lets clients work and cut for a while.
async fn round(client: Client, settings: Settings, round: u64, shared: &Arc<Shared>) {
    let end = Instant::now() + ROUND;
    let mut tasks = Vec::new();
    for task in 0..=WORKERS {
        let name = format!("r{round}-{task}");
        let rng = settings.rng(round * (WORKERS + 1) + task);
        let cutter = Cutter { client, rng, name, shared: shared.clone() };
        tasks.push(match task {
            WORKERS => tokio::spawn(operator::operate(cutter, end)),
            _ => tokio::spawn(worker::work(cutter, end)),
        });
    }
    for task in tasks {
        task.await.unwrap();
    }
    let open = serde_json::json!({"paused": false, "max_active": null});
    must(client, &api::patch_lane(LANE, open)).await;
}

/// Checks that slots and reservations match what is held, revokes that, and checks that all are
/// freed. Answers the longest time that took.
async fn nothing_leaks(client: Client) -> Duration {
    let counted = view::settles(SOON, "slots match what is held", async || {
        let held = view::executions(client, None).await;
        let held = held.iter().filter(|execution| view::is_held(execution)).count() as u64;
        let active = view::quota(client, QUOTA).await["active"].as_u64().unwrap();
        let same = active == held;
        same.then_some(()).ok_or_else(|| format!("{active} slots taken, {held} held"))
    });
    let counted = counted.await;
    let revoked = wait::until_async(DRAIN, async || {
        let held = view::executions(client, None).await;
        let held: Vec<_> = held.iter().filter(|execution| view::is_held(execution)).collect();
        for execution in &held {
            if let Some(lease) = execution["lease"]["id"].as_str() {
                let id = execution["id"].as_str().unwrap();
                view::send_until_final(client, &api::revoke(id, lease)).await;
            }
        }
        held.is_empty().then_some(())
    });
    revoked.await.expect("what is held can be revoked");
    let given_back = view::settles(SOON, "everything is freed", async || {
        let active = view::quota(client, QUOTA).await["active"].as_u64().unwrap();
        let (_, reserved) = view::budget(client, BUDGET).await;
        let (_, spare) = view::budget(client, SPARE).await;
        match (active, reserved, spare) {
            (0, 0, 0) => Ok(()),
            _ => Err(format!("{active} slots taken, {reserved} and {spare} tokens reserved")),
        }
    });
    counted.max(given_back.await)
}

/// Completes all work, checks its charges, and answers how much there is.
async fn finish(client: Client) -> usize {
    let mut rng = fastrand::Rng::with_seed(0);
    let drained = wait::until_async(DRAIN, async || {
        let claim = api::claim(&mut rng, "finisher", LANE, 8, 200);
        let claimed = view::send_until_final(client, &claim).await;
        for held in api::assignments(&claimed.body) {
            view::send_until_final(client, &api::complete(&held)).await;
        }
        let all = view::executions(client, None).await;
        all.iter().all(view::has_ended).then_some(all)
    });
    let Some(all) = drained.await else {
        let all = view::executions(client, None).await;
        let left: Vec<_> = all.iter().filter(|execution| !view::has_ended(execution)).collect();
        panic!("{} executions never end, such as {}", left.len(), left[0]);
    };
    let used: u64 = all.iter().map(view::used).sum();
    view::settles(SOON, "a budget is charged what was used", async || {
        let charged = view::budget(client, BUDGET).await;
        let same = charged == (used, 0);
        same.then_some(()).ok_or_else(|| format!("{charged:?} charged and reserved, {used} used"))
    })
    .await;
    all.len()
}
