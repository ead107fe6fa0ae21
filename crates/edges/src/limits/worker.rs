//! Workers that take limited work from any of the servers, and record what they were given.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fastrand::Rng;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::history::History;
use super::{CHURN_LANE, FREE_LANE, LIMITED_LANE};
use crate::api::{self, Held, Request, now};
use crate::http::{Answer, Client, Cut};
use crate::settings::Settings;

/// How often a request is repeated before its outcome is left unknown.
const TRIES: u64 = 60;
const PAUSE: Duration = Duration::from_millis(20);
/// How long a worker waits for work, in milliseconds.
const WAIT_MS: u64 = 300;
/// How long a grant lasts, in milliseconds: longer than any window.
const GRANT_MS: u64 = 4_000;
/// How many grants are collected before they are claimed together.
const GRANTS: usize = 6;
/// How often a grant is requested while some are collected.
const ASKS: usize = 12;
const BETWEEN_ASKS: Duration = Duration::from_millis(150);
/// After this many other reports, the key of a report may be forgotten: a store remembers twice as
/// many, and some may not be recorded yet.
const FORGOTTEN: u64 = 16;
/// How long some work is held, in milliseconds: long enough that others wait for its slot.
const LONG_MS: std::ops::Range<u64> = 400..1_500;
/// How long most work is held.
const SHORT_MS: std::ops::Range<u64> = 0..60;

/// All workers of a run.
pub(super) struct Crew {
    tasks: Vec<JoinHandle<()>>,
    calm: Arc<AtomicBool>,
    end: Arc<AtomicBool>,
}

impl Crew {
    pub(super) async fn start(
        workers: u64,
        settings: Settings,
        clients: &[Client],
        history: &Arc<History>,
    ) -> Crew {
        let (calm, end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let tasks = (1..=workers).map(|number| {
            let worker = Worker {
                habit: Habit::of(number),
                name: format!("worker-{number}"),
                clients: clients.to_vec(),
                rng: settings.rng(number),
                history: history.clone(),
                calm: calm.clone(),
            };
            tokio::spawn(worker.run(end.clone()))
        });
        Crew { tasks: tasks.collect(), calm, end }
    }

    /// From here on nothing is cut, and all work is completed.
    pub(super) async fn calm(&self) {
        self.calm.store(true, Ordering::SeqCst);
    }

    pub(super) async fn end(self) {
        self.end.store(true, Ordering::SeqCst);
        for task in self.tasks {
            task.await.unwrap();
        }
    }
}

/// What a worker does with work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Habit {
    /// Takes some and completes it.
    Steady,
    /// Reports usage, and hands most of it back at once.
    Returns,
    /// Collects grants for a while and then claims all of them.
    Collects,
}

impl Habit {
    fn of(number: u64) -> Habit {
        match number % 3 {
            0 => Habit::Collects,
            1 => Habit::Returns,
            _ => Habit::Steady,
        }
    }
}

/// What a worker was given.
struct Taken {
    held: Held,
    /// The claim was sent more than once: the server that lost the connection of an earlier send may
    /// hand back what that send took, also when a later send was answered with it.
    may_be_handed_back: bool,
}

impl Taken {
    /// Whether an accepted request of this route proves that the work was held until then. A second
    /// hand-back is answered like the first.
    fn is_proved_by(&self, route: &str) -> bool {
        !(self.may_be_handed_back && route == "hand-back")
    }
}

struct Worker {
    habit: Habit,
    name: String,
    clients: Vec<Client>,
    rng: Rng,
    history: Arc<History>,
    calm: Arc<AtomicBool>,
}

impl Worker {
    async fn run(mut self, end: Arc<AtomicBool>) {
        while !end.load(Ordering::SeqCst) {
            let lane = match self.habit {
                Habit::Returns => CHURN_LANE,
                _ if self.rng.u8(0..3) == 0 => LIMITED_LANE,
                _ => FREE_LANE,
            };
            let taken = match self.habit {
                Habit::Collects if !self.is_calm() => self.claim_by_grant(lane).await,
                _ => self.claim(lane).await,
            };
            for taken in &taken {
                self.history.began(&self.name, &taken.held);
            }
            for taken in taken {
                self.hold(&taken).await;
            }
        }
    }

    fn is_calm(&self) -> bool {
        self.calm.load(Ordering::SeqCst)
    }

    /// True with this probability in percent; never in the calm.
    /// does.
    fn chance(&mut self, percent: u8) -> bool {
        !self.is_calm() && self.rng.u8(0..100) < percent
    }

    async fn claim(&mut self, lane: &str) -> Vec<Taken> {
        let max = self.rng.u16(1..4);
        let claim = api::claim(&mut self.rng, &self.name, lane, max, WAIT_MS);
        let (claimed, sends) = self.send_counting(&claim).await;
        let held = claimed.map_or_else(Vec::new, |answer| api::assignments(&answer.body));
        let may_be_handed_back = sends > 1;
        held.into_iter().map(|held| Taken { held, may_be_handed_back }).collect()
    }

    /// Reserves several, and then claims them all at once.
    async fn claim_by_grant(&mut self, lane: &str) -> Vec<Taken> {
        let mut offers = Vec::new();
        for _ in 0..ASKS {
            let grant = api::grant(&mut self.rng, &self.name, lane, GRANT_MS);
            let granted = self.send(&grant).await;
            let offer = granted.map(|answer| answer.body["offer"].clone());
            offers.extend(offer.filter(|offer| !offer.is_null()));
            if offers.len() >= GRANTS {
                break;
            }
            sleep(BETWEEN_ASKS).await;
        }
        let mut taken = Vec::new();
        for offer in offers {
            let claim = api::claim_granted(&self.name, &offer);
            let claimed = self.send(&claim).await.filter(Answer::is_ok);
            taken.extend(claimed.iter().flat_map(|answer| api::assignments(&answer.body)));
        }
        taken.into_iter().map(|held| Taken { held, may_be_handed_back: false }).collect()
    }

    /// Holds an execution for a while, and ends it in some way.
    async fn hold(&mut self, taken: &Taken) {
        let held = &taken.held;
        let least = u64::from(self.habit == Habit::Returns);
        for number in 0..self.rng.u64(least..3) {
            let tokens = self.rng.u64(1..6);
            let key = format!("{}-{number}", held.fence["epoch"]);
            let (sent, noted) = (now(), self.history.reports(&held.execution));
            let (answer, sends) = self.send_counting(&api::usage(held, &key, tokens)).await;
            match answer {
                Some(answer) if answer.is_ok() => {
                    self.history.accepted(&held.execution, tokens);
                    self.history.was_held(held, sent, "reported");
                }
                Some(_) => {
                    // A send before the last may have been counted and forgotten since.
                    let others = self.history.reports(&held.execution) - noted;
                    if sends > 1 && others >= FORGOTTEN {
                        self.history.unknown(&held.execution, tokens);
                    }
                    return;
                }
                None => self.history.unknown(&held.execution, tokens),
            }
        }
        let returns = self.habit == Habit::Returns && self.chance(97);
        if !returns {
            let is_long = self.habit == Habit::Steady && self.chance(15);
            self.pass(if is_long { LONG_MS } else { SHORT_MS }).await;
        }
        if self.chance(20) {
            self.renew(held).await;
        }
        let (request, how) = match self.rng.u8(0..20) {
            _ if returns => (api::hand_back(&self.name, held), "handed back"),
            0 if !self.is_calm() => (api::fail(held, true), "failed"),
            3 | 4 if !self.is_calm() => (api::hand_back(&self.name, held), "handed back"),
            1 if !self.is_calm() => (api::delay(held, 5), "delayed"),
            2 if !self.is_calm() => return,
            _ => (api::complete(held), "completed"),
        };
        let sent = now();
        let answer = self.send(&request).await.filter(Answer::is_ok);
        // One answer of several may be an error.
        let accepted = answer.is_some_and(|answer| answer.body["answers"][0]["error"].is_null());
        if accepted && taken.is_proved_by(request.route) {
            self.history.was_held(held, sent, how);
        }
    }

    async fn renew(&mut self, held: &Held) {
        let sent = now();
        let Some(answer) = self.send(&api::heartbeat(&self.name, held)).await else { return };
        let until = &answer.body["leases"][0]["until"];
        if !until.is_null() {
            self.history.was_held(held, sent, "renewed");
            self.history.renewed(held, api::moment(until));
        }
    }

    /// Sends a request to any of the servers, sometimes cuts it, and repeats it until there is an
    /// answer; `None` when its outcome stays unknown.
    async fn send(&mut self, request: &Request) -> Option<Answer> {
        self.send_counting(request).await.0
    }

    /// The same, and how often it was sent.
    async fn send_counting(&mut self, request: &Request) -> (Option<Answer>, u64) {
        let mut request = request.clone();
        for sends in 1..=TRIES {
            let client = self.clients[self.rng.usize(0..self.clients.len())];
            let cut = if self.chance(15) { Cut::random(&mut self.rng) } else { Cut::Nowhere };
            if cut != Cut::Nowhere {
                self.history.cut();
            }
            let answer = client.send(&request, cut).await;
            match answer.filter(Answer::is_final) {
                Some(answer) => return (Some(answer), sends),
                None if self.chance(10) => return (None, sends),
                None => {}
            }
            request = request.repeated();
            sleep(PAUSE).await;
        }
        (None, TRIES)
    }

    async fn pass(&mut self, ms: std::ops::Range<u64>) {
        sleep(Duration::from_millis(self.rng.u64(ms))).await;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_hand_back_proves_nothing_of_work_that_a_server_may_have_handed_back() {
        let assignment = json!({
            "execution": "x", "claimed": "2026-01-01T00:00:00Z", "until": "2026-01-01T00:00:02Z",
            "lease_ttl_ms": 2_000,
        });
        let held = api::assignments(&json!({"assignments": [assignment]})).remove(0);
        let hand_back = api::hand_back("w", &held).route;
        for (may_be_handed_back, proved) in [(false, true), (true, false)] {
            let taken = Taken { held: held.clone(), may_be_handed_back };
            assert_eq!(taken.is_proved_by(hand_back), proved);
            assert!(taken.is_proved_by(api::complete(&held).route));
        }
    }
}
