//! Servers that are restarted one after the other, and one that is frozen, under load: clients of
//! the other server notice nothing.

mod load;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ff_testkit::{report, wait};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::http::Client;
use crate::place::Place;
use crate::serving::Serving;
use crate::settings::Settings;
use crate::view;
use load::Load;

const QUOTA: &str = "slots";
const CAP: u32 = 6;
/// How long a server runs between two restarts, in milliseconds.
const RUNS_MS: std::ops::Range<u64> = 200..700;
/// How long the work that is left may take.
const DRAIN: Duration = Duration::from_secs(60);
/// A run lasts until so many executions were accepted.
const LEAST_SUBMITTED: u64 = 50;
/// A run that has stopped servers so often shows no more.
const MOST_TIMES: usize = 10_000;
/// How long a server is frozen: longer than the lease of work in progress.
const STILL: Duration = Duration::from_secs(4);
/// A lease that expires while a server is frozen.
const SHORT_LEASE_MS: u64 = 2_000;
/// A lease that never expires in a run.
const LONG_LEASE_MS: u64 = 15_000;

/// Two servers of one store.
struct Pair {
    servers: [Serving; 2],
}

impl Pair {
    fn of(place: &Place) -> Pair {
        Pair { servers: [place.serve(), place.serve()] }
    }

    fn clients(&self) -> [Client; 2] {
        [self.servers[0].client(), self.servers[1].client()]
    }

    fn stop(&mut self) {
        for server in &mut self.servers {
            assert!(server.stop(), "a stopped server exits cleanly");
        }
    }
}

fn pass(span: Duration) {
    wait::until(span, || None::<()>);
}

/// Restarts two servers in turn while clients use both: no attempt is lost, nothing is reclaimed
/// and nothing fails.
///
/// # Panics
///
/// When something is, or when nothing happened.
pub fn restart(place: Place) {
    let settings = Settings::read("restart", Duration::from_secs(8));
    let mut pair = Pair::of(&place);
    let runtime = Runtime::new().unwrap();
    let load = runtime.block_on(Load::start(pair.clients(), settings, LONG_LEASE_MS));
    let (mut rng, end) = (settings.rng(0), settings.end());
    let mut restarts = 0;
    while Instant::now() < end || is_too_little(restarts, 4, &load) {
        pass(Duration::from_millis(rng.u64(RUNS_MS)));
        let server = &mut pair.servers[restarts % 2];
        assert!(server.stop(), "a stopped server exits cleanly");
        server.restart();
        restarts += 1;
    }
    let submitted = runtime.block_on(load.stop_submitting());
    let all = runtime.block_on(drain(pair.clients()[0], submitted));
    runtime.block_on(load.end());
    pair.stop();
    let odd: Vec<_> = all.iter().filter(|execution| !is_untouched(execution)).collect();
    eprintln!(
        "restart on {}: {restarts} restarts, {submitted} submitted, {} disturbed",
        place.name(),
        odd.len()
    );
    assert!(odd.is_empty(), "{} of {submitted} lost an attempt, such as {}", odd.len(), odd[0]);
    place.assert_sound();
    report::count(&place.counted("restart_restarts"), restarts as u64);
    report::count(&place.counted("restart_executions"), submitted);
}

/// Whether a run has shown too little yet, however slow the machine is.
///
/// # Panics
///
/// When it never will.
fn is_too_little(times: usize, least: usize, load: &Load) -> bool {
    assert!(times < MOST_TIMES, "there is too little load");
    times < least || load.submitted() < LEAST_SUBMITTED
}

/// Completed at its first attempt.
fn is_untouched(execution: &Value) -> bool {
    let number = |name: &str| execution[name].as_u64();
    execution["state"] == "completed"
        && number("attempts") == Some(1)
        && (number("reclaims"), number("failures")) == (Some(0), Some(0))
}

/// Freezes one of two servers for longer than leases last, and resumes it: the work it had in
/// progress is done once, by it or by the other one.
///
/// # Panics
///
/// When something is lost or done twice, or when nothing happened.
pub fn frozen(place: Place) {
    let settings = Settings::read("restart_frozen", Duration::from_secs(6));
    let mut pair = Pair::of(&place);
    let runtime = Runtime::new().unwrap();
    let load = runtime.block_on(Load::start(pair.clients(), settings, SHORT_LEASE_MS));
    let (mut rng, end) = (settings.rng(0), settings.end());
    let mut freezes = 0;
    while Instant::now() < end || is_too_little(freezes, 1, &load) {
        pass(Duration::from_millis(rng.u64(RUNS_MS)));
        let server = &pair.servers[freezes % 2];
        server.freeze();
        pass(STILL);
        server.thaw();
        freezes += 1;
    }
    let submitted = runtime.block_on(load.stop_submitting());
    let all = runtime.block_on(drain(pair.clients()[0], submitted));
    let (completed, twice) = runtime.block_on(load.end());
    let client = pair.clients()[0];
    runtime.block_on(view::settles(DRAIN, "every slot is free", async || {
        let active = view::quota(client, QUOTA).await["active"].as_u64().unwrap();
        (active == 0).then_some(()).ok_or_else(|| format!("{active} slots taken"))
    }));
    pair.stop();
    let reclaims: u64 = all.iter().filter_map(|execution| execution["reclaims"].as_u64()).sum();
    eprintln!(
        "restart_frozen on {}: {freezes} times, {submitted} submitted, {completed} acknowledged, \
         {reclaims} reclaimed",
        place.name()
    );
    assert_eq!(twice, BTreeMap::new(), "completed under two leases");
    let unfinished = all.iter().find(|execution| execution["state"] != "completed");
    assert!(unfinished.is_none(), "it is not completed: {unfinished:?}");
    place.assert_sound();
    report::count(&place.counted("restart_freezes"), freezes as u64);
}

/// Waits until all work is completed.
async fn drain(client: Client, submitted: u64) -> Vec<Value> {
    let mut all = Vec::new();
    view::settles(DRAIN, "all work ends", async || {
        all = view::executions(client, None).await;
        let left = all.iter().filter(|execution| !view::has_ended(execution)).count();
        match left {
            0 => Ok(()),
            _ => Err(format!("{left} of {submitted} are not done")),
        }
    })
    .await;
    assert_eq!(all.len() as u64, submitted, "every accepted execution exists");
    all
}
