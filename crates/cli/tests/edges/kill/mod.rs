//! `kill -9` of every process, under load: nothing acknowledged is lost, and all work is done.
//!
//! Every round kills a server once while it opens the store and once while clients write through it
//! as fast as they can; on Valkey then a worker, and Valkey itself. After each kill the store is
//! checked and read back, and a subscriber that keeps its cursor through all of it has missed nothing. `FF_ROUNDS` sets the number of rounds; `cargo xtask kill` runs many.

mod acknowledged;
mod follower;
mod load;

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use acknowledged::{Acknowledged, Loss};
use ff_api::client::{HttpClient, HttpOptions};
use ff_testkit::report;
use ff_testkit::valkey::{self, Config};
use follower::Follower;
use load::{BATCH, Load};
use tokio::runtime::Runtime;
use tokio::time::Instant;

use crate::fixture::{Ff, Process, bare, wait_for};

/// How long after its first answer a server is killed, in milliseconds.
const LIFE_MS: std::ops::Range<u64> = 10..200;
/// How long after its start a server without clients is killed, in microseconds.
const YOUTH_US: std::ops::Range<u64> = 0..30_000;

/// What is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Server,
    Worker,
    Store,
}

/// A store, the process that keeps it, and what was done to it so far.
struct Fixture {
    name: &'static str,
    ff: Ff,
    valkey: Option<valkey::Server>,
    runtime: Runtime,
    all: Acknowledged,
    lost: Vec<Loss>,
    follower: Follower,
    /// The longest that a server took to serve again after Valkey was back.
    longest: Duration,
}

impl Fixture {
    fn sqlite() -> Fixture {
        Fixture::on("sqlite", Ff::new(), None)
    }

    /// On a Valkey server with this `appendfsync`.
    fn valkey(name: &'static str, sync: &str) -> Fixture {
        let valkey = valkey::Server::start(Config::default().with("appendfsync", sync));
        Fixture::on(name, Ff::on(&valkey.url()), Some(valkey))
    }

    fn on(name: &'static str, ff: Ff, valkey: Option<valkey::Server>) -> Fixture {
        let runtime = Runtime::new().unwrap();
        let (all, lost, longest) = (Acknowledged::default(), Vec::new(), Duration::ZERO);
        let follower = Follower::default();
        Fixture { name, ff, valkey, runtime, all, lost, follower, longest }
    }

    /// Runs `rounds` unless the environment sets another number, then completes all work.
    fn run(&mut self, rounds: u64) {
        let rounds = std::env::var("FF_ROUNDS").map_or(rounds, |rounds| rounds.parse().unwrap());
        let store = self.runtime.block_on(ff_backends::open(&self.ff.store())).unwrap();
        self.runtime.block_on(self.follower.begin(&*store));
        drop(store);
        for _ in 0..rounds {
            kill_while_opening(&self.ff);
            self.kill(Victim::Server);
            if self.valkey.is_some() {
                self.kill(Victim::Worker);
                self.kill(Victim::Store);
            }
        }
        self.finish();
        self.read_back_all();
        self.compare_events();
        let (name, count, lost) = (self.name, self.all.count() + self.lost.len(), self.lost.len());
        eprintln!("{name}: {rounds} rounds, {count} acknowledged, {lost} lost");
        if self.valkey.is_some() {
            eprintln!("{name}: served again within {:?} of Valkey's return", self.longest);
        }
        assert!(
            self.all.completed.len() as u64 > rounds * u64::from(BATCH),
            "there was too little load"
        );
        report::count(&format!("kill_rounds_{name}"), rounds);
        report::count(&format!("kill_acknowledged_{name}"), count as u64);
        report::count(&format!("kill_lost_{name}"), lost as u64);
    }

    /// Lets clients write, and kills the victim meanwhile.
    fn kill(&mut self, victim: Victim) {
        let mut server = self.ff.serve();
        let mut worker = self.valkey.as_ref().map(|_| cat(&server.ff()));
        let follower = std::mem::take(&mut self.follower);
        let over = Arc::new(AtomicBool::new(false));
        let client = Arc::new(HttpClient::new(HttpOptions::new(&server.url)).unwrap());
        let following = self.runtime.spawn(follower.follow(client, over.clone()));
        let answered = self.runtime.block_on(async {
            let mut load = Load::start(&server.url).await;
            let life = Duration::from_millis(fastrand::u64(LIFE_MS));
            load.collect(Instant::now() + life).await;
            match (victim, &self.valkey, &mut worker) {
                (Victim::Store, Some(valkey), _) => {
                    valkey.kill();
                    valkey.restart();
                    // The server that kept running serves again.
                    self.longest = self.longest.max(load.until_served().await);
                }
                (Victim::Worker, _, Some(worker)) => worker.kill(),
                _ => server.kill(),
            }
            load.end().await
        });
        worker.iter_mut().for_each(Process::kill);
        over.store(true, Ordering::SeqCst);
        server.kill();
        self.follower = self.runtime.block_on(following).unwrap();
        let lost = self.read_back(&answered);
        assert!(lost.is_empty() || victim == Victim::Store, "{:?}", whats(lost));
        self.ff.check();
        self.all.extend(answered, &lost);
        self.lost.extend(lost);
    }

    /// Completes every acknowledged execution: none is stuck.
    fn finish(&self) {
        let server = self.ff.serve();
        let _worker = cat(&server.ff());
        let store = self.runtime.block_on(ff_backends::open(&self.ff.store())).unwrap();
        wait_for("all work to be done", || {
            let unfinished = self.runtime.block_on(self.all.unfinished(&*store));
            (unfinished == 0).then_some(())
        });
        drop(server);
        self.ff.check();
    }

    /// The subscriber was told of everything that was acknowledged.
    fn compare_events(&mut self) {
        let store = self.runtime.block_on(ff_backends::open(&self.ff.store())).unwrap();
        self.runtime.block_on(self.follower.catch_up(&*store));
        let missed = self.follower.missed(&self.all);
        let (name, follower) = (self.name, &self.follower);
        eprintln!(
            "{name}: {} events, {} of them again, {} missed, the cursor expired {} times",
            follower.count(),
            follower.repeated,
            missed.len(),
            follower.expired
        );
        assert_eq!(missed, []);
        report::count(&format!("kill_events_{name}"), follower.count() as u64);
    }

    /// What earlier rounds acknowledged survived the later ones.
    fn read_back_all(&self) {
        assert_eq!(whats(self.read_back(&self.all)), Vec::<String>::new());
    }

    /// What a process that opens the store again does not find.
    fn read_back(&self, answered: &Acknowledged) -> Vec<Loss> {
        self.runtime.block_on(async {
            let store = ff_backends::open(&self.ff.store()).await.unwrap();
            answered.lost(&*store).await
        })
    }

    fn assert_nothing_lost(self) {
        assert_eq!(self.follower.expired, 0, "nothing was removed, and nothing was lost");
        assert_eq!(whats(self.lost), Vec::<String>::new());
    }
}

fn whats(lost: Vec<Loss>) -> Vec<String> {
    lost.into_iter().map(|loss| loss.what).collect()
}

/// Kills a server that is about to open the store, opens it, or has just opened it.
fn kill_while_opening(ff: &Ff) {
    let mut command = bare(&["serve", "--listen", "127.0.0.1:0", "--store", &ff.store()]);
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut process = Process::start(command);
    process.stdout().next_within(Duration::from_micros(fastrand::u64(YOUTH_US)));
    process.kill();
}

/// A worker that completes everything with its own input.
fn cat(ff: &Ff) -> Process {
    ff.worker(&["--exec", "cat", "--concurrency", "4"])
}

#[test]
fn acknowledged_work_on_sqlite_survives_a_kill() {
    let mut fixture = Fixture::sqlite();
    fixture.run(20);
    fixture.assert_nothing_lost();
}

#[test]
fn acknowledged_work_on_valkey_survives_a_kill() {
    let mut fixture = Fixture::valkey("valkey_always", "always");
    fixture.run(3);
    fixture.assert_nothing_lost();
}

/// With `everysec` Valkey delays writing its file while it syncs it, and acknowledges meanwhile:
/// killing it then may lose that, whatever the client. All else is sound.
#[test]
fn a_valkey_that_syncs_every_second_loses_at_most_what_it_had_not_written() {
    let mut fixture = Fixture::valkey("valkey_everysec", "everysec");
    fixture.run(3);
}
