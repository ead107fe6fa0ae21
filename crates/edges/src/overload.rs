//! Three times as much work as a rate quota admits, with deadlines, cancels and retries: the
//! capacity of the limit is used throughout, and executions that expire leave nothing behind.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fastrand::Rng;
use ff_testkit::report;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio::time::{interval, sleep};

use crate::api::{self, Limits, now};
use crate::http::Client;
use crate::place::Place;
use crate::serving::Serving;
use crate::settings::Settings;
use crate::view::{self, must};

const QUOTA: &str = "rate";
/// How many may start in a second.
const LIMIT: u32 = 40;
/// How many times as much is submitted.
const OVERLOAD: u64 = 3;
const DEADLINE_MS: u64 = 1_000;
/// Half of the work is in each; they share the quota.
const LANES: [&str; 2] = ["left", "right"];
const WORKERS: u64 = 8;
/// How often work is submitted.
const TICK: Duration = Duration::from_millis(50);
const SAMPLE: Duration = Duration::from_millis(200);
/// The first executions find an empty quota and workers that are still connecting.
const WARM_UP: Duration = Duration::from_secs(1);

/// The part of the limit that must be used, far below the usual (`ff bench overload` measures
/// that): other load on the machine costs some.
const GOODPUT: f64 = 0.5;
/// The last third may be this much below the first, for the same reason.
const FALL: f64 = 0.5;
/// The share of each lane in what is completed; half would be even.
const FAIR: f64 = 0.25;
const WINDOW_MS: u64 = 1_000;
/// A start is reserved for a live execution, so at most this far ahead: what is submitted within two
/// deadlines has its turn by then.
const AHEAD_MS: u64 = 2 * OVERLOAD * DEADLINE_MS + WINDOW_MS;
/// How much more memory, in KiB, the server may have in the last third than in the first.
const GROWTH_KIB: u64 = 48 << 10;
/// How long everything may take to end after the last submit.
const AFTER: Duration = Duration::from_secs(10);

/// What workers and samplers recorded.
#[derive(Debug, Default)]
struct Seen {
    /// When something was completed, and in which lane.
    completed: Mutex<Vec<(Instant, usize)>>,
    submitted: Mutex<Vec<String>>,
    end: AtomicBool,
}

/// Submits too much for a while.
///
/// # Panics
///
/// When too little of the limit is used, or when memory or the reserved starts grow.
pub fn overload(place: Place) {
    let settings = Settings::read("overload", Duration::from_secs(10));
    let mut serving = place.serve();
    let runtime = Runtime::new().unwrap();
    let figures = runtime.block_on(run(&serving, settings));
    eprintln!("overload on {}: {figures:?}", place.name());
    figures.judge();
    runtime.block_on(settle(serving.client()));
    assert!(serving.stop(), "the server exits cleanly");
    place.assert_sound();
    report::count(&place.counted("overload_submitted"), figures.submitted);
    report::count(&place.counted("overload_completed"), figures.completed);
}

#[derive(Debug)]
struct Figures {
    submitted: u64,
    completed: u64,
    /// What was completed as a part of what the limit allows: in total, and in each third.
    goodput: f64,
    thirds: [f64; 3],
    /// The share of each lane.
    shares: [f64; 2],
    /// How far ahead the next start was at most.
    ahead_ms: u64,
    /// The most memory of the server in the first and the last third.
    resident_kib: [u64; 2],
}

impl Figures {
    fn judge(&self) {
        assert!(self.goodput >= GOODPUT, "too little is done: {self:?}");
        assert!(self.thirds[2] >= self.thirds[0] * FALL, "throughput falls: {self:?}");
        assert!(self.shares.iter().all(|share| *share >= FAIR), "a lane starves: {self:?}");
        assert!(self.ahead_ms <= AHEAD_MS, "expired executions have starts reserved: {self:?}");
        let [first, last] = self.resident_kib;
        assert!(last <= first + GROWTH_KIB, "memory grows: {self:?}");
    }
}

async fn run(serving: &Serving, settings: Settings) -> Figures {
    let client = serving.client();
    must(client, &api::put_quota(QUOTA, Some((LIMIT, WINDOW_MS)), None)).await;
    let seen = Arc::new(Seen::default());
    let mut tasks = Vec::new();
    for number in 0..WORKERS {
        tasks.push(tokio::spawn(work(client, settings.rng(number), number, seen.clone())));
    }
    tasks.push(tokio::spawn(submit(client, settings.rng(100), seen.clone())));
    tasks.push(tokio::spawn(cancel(client, settings.rng(101), seen.clone())));
    sleep(WARM_UP).await;
    let (began, length) = (Instant::now(), settings.length());
    let (mut ahead_ms, mut resident_kib) = (0, [0, 0]);
    while began.elapsed() < length {
        ahead_ms = ahead_ms.max(ahead(&view::quota(client, QUOTA).await));
        let third = (began.elapsed().as_secs_f64() * 3.0 / length.as_secs_f64()) as usize;
        if let Some(most) = [Some(0), None, Some(1)][third.min(2)] {
            resident_kib[most] = resident_kib[most].max(serving.resident_kib());
        }
        sleep(SAMPLE).await;
    }
    seen.end.store(true, Ordering::SeqCst);
    join(tasks).await;
    let mut figures = Figures { ahead_ms, resident_kib, ..count(&seen, began, length) };
    figures.submitted = seen.submitted.lock().unwrap().len() as u64;
    figures
}

async fn join(tasks: Vec<JoinHandle<()>>) {
    for task in tasks {
        task.await.unwrap();
    }
}

/// What was completed after the warm-up.
fn count(seen: &Seen, began: Instant, length: Duration) -> Figures {
    let completed = seen.completed.lock().unwrap();
    let within = completed.iter().filter_map(|(at, lane)| {
        let since = at.checked_duration_since(began)?;
        (since < length).then_some((since.as_secs_f64() / length.as_secs_f64(), *lane))
    });
    let within: Vec<_> = within.collect();
    let allowed = f64::from(LIMIT) * length.as_secs_f64();
    let third = |third: usize| {
        let count = within.iter().filter(|(part, _)| (part * 3.0) as usize == third).count();
        3.0 * count as f64 / allowed
    };
    let share = |lane: usize| {
        let count = within.iter().filter(|(_, of)| *of == lane).count();
        count as f64 / within.len().max(1) as f64
    };
    Figures {
        submitted: 0,
        completed: within.len() as u64,
        goodput: within.len() as f64 / allowed,
        thirds: [third(0), third(1), third(2)],
        shares: [share(0), share(1)],
        ahead_ms: 0,
        resident_kib: [0, 0],
    }
}

/// How long from now a quota admits no further start, in milliseconds.
fn ahead(quota: &Value) -> u64 {
    api::moment(&quota["next"]).saturating_sub(now())
}

/// After the last submit, all work ends by its deadline and nothing stays reserved or held.
async fn settle(client: Client) {
    view::settles(AFTER, "everything is over", async || {
        let all = view::executions(client, None).await;
        let left = all.iter().filter(|execution| !view::has_ended(execution)).count();
        let quota = view::quota(client, QUOTA).await;
        match (left, quota["active"].as_u64(), ahead(&quota)) {
            (0, Some(0), ..=WINDOW_MS) => Ok(()),
            _ => Err(format!("{left} are left, and the quota reports {quota}")),
        }
    })
    .await;
}

/// Submits in small batches at a steady pace.
async fn submit(client: Client, mut rng: Rng, seen: Arc<Seen>) {
    let mut tick = interval(TICK);
    let batch = OVERLOAD * u64::from(LIMIT) * TICK.as_millis() as u64 / 1_000;
    let mut number = 0;
    while !seen.end.load(Ordering::SeqCst) {
        tick.tick().await;
        let batch = (0..batch).map(|_| {
            number += 1;
            let policy = json!({
                "deadline_ms": DEADLINE_MS, "max_attempts": 3, "lease_ttl_ms": 10_000,
                "backoff": {"base_ms": 20, "cap_ms": 20},
            });
            let lane = LANES[rng.usize(0..2)];
            let limits = Limits { quotas: &[QUOTA], ..Limits::default() };
            api::submit(&format!("work-{number}"), lane, "task", limits, policy)
        });
        let answer = must(client, &api::submit_batch(batch)).await;
        let answers = answer["answers"].as_array().unwrap();
        let ids = answers.iter().map(|answer| answer["submitted"]["id"].as_str().unwrap());
        seen.submitted.lock().unwrap().extend(ids.map(str::to_owned));
    }
}

/// Cancels some of the newest: about one in ten.
async fn cancel(client: Client, mut rng: Rng, seen: Arc<Seen>) {
    let mut tick = interval(2 * TICK);
    while !seen.end.load(Ordering::SeqCst) {
        tick.tick().await;
        let id = {
            let submitted = seen.submitted.lock().unwrap();
            let newest = submitted.len().saturating_sub(100)..submitted.len();
            if newest.is_empty() {
                continue;
            }
            submitted[rng.usize(newest)].clone()
        };
        view::send_until_final(client, &api::cancel(&id)).await;
    }
}

/// Completes what it gets; one in thirty fails first.
async fn work(client: Client, mut rng: Rng, number: u64, seen: Arc<Seen>) {
    let worker = format!("worker-{number}");
    let lane = number as usize % LANES.len();
    while !seen.end.load(Ordering::SeqCst) {
        let claim = api::claim(&mut rng, &worker, LANES[lane], 4, 500);
        let claimed = view::send_until_final(client, &claim).await;
        for held in api::assignments(&claimed.body) {
            if rng.u8(0..30) == 0 {
                view::send_until_final(client, &api::fail(&held, true)).await;
                continue;
            }
            if view::send_until_final(client, &api::complete(&held)).await.is_ok() {
                seen.completed.lock().unwrap().push((Instant::now(), lane));
            }
        }
    }
}
