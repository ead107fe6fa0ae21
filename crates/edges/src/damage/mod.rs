//! One unreadable row of each kind, planted past the public surface: it affects only itself.
//!
//! Each kind of damage has a namespace of its own, with a sound quota and a sound budget in it. Once
//! it is planted, other work of the same lane and of another one is submitted, claimed, completed,
//! released, delayed and reclaimed as usual; explain says what is wrong, and `ff check` names it.

mod namespace;
mod plant;

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use ff_testkit::report;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::http::Client;
use crate::place::Place;
use crate::settings::Settings;
use namespace::{LANE, QUOTA, Tenant, Work};
use plant::{Part, garbage, plant};

/// Longer than a record on Valkey inlines, so that it has a key of its own.
const LONG: usize = 1_000;

/// One kind of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    QueuedRecord,
    LimitedRecord,
    BlockedRecord,
    ActiveRecord,
    Budget,
    Quota,
    Ticket,
    QueueEntry,
    Timer,
    BlockedEntry,
    ListEntry,
    Key,
    Input,
    Result,
    Attempt,
    Lane,
    Worker,
}

const ALL: [Damage; 17] = [
    Damage::QueuedRecord,
    Damage::LimitedRecord,
    Damage::BlockedRecord,
    Damage::ActiveRecord,
    Damage::Budget,
    Damage::Quota,
    Damage::Ticket,
    Damage::QueueEntry,
    Damage::Timer,
    Damage::BlockedEntry,
    Damage::ListEntry,
    Damage::Key,
    Damage::Input,
    Damage::Result,
    Damage::Attempt,
    Damage::Lane,
    Damage::Worker,
];

impl Damage {
    /// Whether all namespaces share what is damaged.
    fn is_shared(self) -> bool {
        self == Damage::Timer
    }
}

/// Damages a store in every way, once and then until the time is over, and checks the effects.
///
/// # Panics
///
/// When damage affects more than the damaged row, or when `ff check` does not name it.
pub fn damage(place: Place) {
    let settings = Settings::read("damage", Duration::ZERO);
    let end = settings.end();
    let place = Arc::new(place);
    let mut serving = place.serve();
    let (mut rounds, mut planted, mut worked) = (0, 0, 0);
    while rounds == 0 || std::time::Instant::now() < end {
        let runtime = Runtime::new().unwrap();
        let outcomes = runtime.block_on(round(&place, serving.client(), settings, rounds));
        let failures: Vec<_> = outcomes.iter().filter_map(|(_, failed)| failed.clone()).collect();
        let report = place.check();
        let wrong = outcomes.iter().flat_map(|(suffered, _)| suffered.unnamed(&report));
        let wrong: Vec<_> = failures.into_iter().chain(wrong).collect();
        assert!(wrong.is_empty(), "{}:\n{}\n{report}", place.name(), wrong.join("\n"));
        planted += outcomes.len() as u64;
        worked += outcomes.iter().map(|(suffered, _)| suffered.worked).sum::<u64>();
        rounds += 1;
    }
    assert!(serving.stop(), "the server exits cleanly");
    eprintln!("damage on {}: {planted} planted, {worked} completed nearby", place.name());
    assert!(worked >= 5 * planted, "other work continued");
    report::count(&place.counted("damage_planted"), planted);
}

/// What was damaged, and how much other work was done.
struct Suffered {
    damage: Damage,
    /// The id or name that a report must have in it.
    victim: Option<String>,
    worked: u64,
}

impl Suffered {
    /// The error when no violation of a report names the victim.
    fn unnamed(&self, report: &Value) -> Option<String> {
        let victim = self.victim.as_ref()?;
        let violations = report["violations"].to_string();
        (!violations.contains(victim))
            .then(|| format!("{:?}: `ff check` does not name {victim}", self.damage))
    }
}

/// Plants every kind of damage in a namespace of its own, all at once, and then those that are of no
/// namespace; answers each with what went wrong, if anything did.
async fn round(
    place: &Arc<Place>,
    client: Client,
    settings: Settings,
    round: u64,
) -> Vec<(Suffered, Option<String>)> {
    let (shared, own): (Vec<Damage>, Vec<Damage>) =
        ALL.into_iter().partition(|damage| damage.is_shared());
    let mut outcomes = Vec::new();
    for together in [own, shared] {
        let mut tasks = Vec::new();
        for damage in together.iter().copied() {
            let rng = settings.rng(round * 100 + damage as u64);
            let tenant = Tenant::new(client, &format!("r{round}-d{}", damage as u64), rng.clone());
            tasks.push(tokio::spawn(suffer(place.clone(), tenant, damage, rng)));
        }
        for (task, damage) in tasks.into_iter().zip(together) {
            outcomes.push(task.await.unwrap_or_else(|panicked| {
                let suffered = Suffered { damage, victim: None, worked: 0 };
                (suffered, Some(format!("{damage:?}: {panicked}, as printed above")))
            }));
        }
    }
    outcomes
}

async fn suffer(
    place: Arc<Place>,
    mut tenant: Tenant,
    damage: Damage,
    mut rng: Rng,
) -> (Suffered, Option<String>) {
    tenant.set_up().await;
    let bytes = garbage(&mut rng);
    let victim = hurt(&place, &mut tenant, damage, &bytes).await;
    let mut wrong = tenant.continues().await.err();
    if wrong.is_none()
        && let Some(id) = &victim.explained
    {
        wrong = tenant.explains(id, &victim.blamed).await.err();
    }
    let wrong = wrong.map(|why| format!("{damage:?}: {why}"));
    (Suffered { damage, victim: victim.named, worked: tenant.worked() }, wrong)
}

/// What is damaged, and where that must be reported.
#[derive(Default)]
struct Victim {
    /// In the report of `ff check`.
    named: Option<String>,
    /// The execution whose explanation says so.
    explained: Option<String>,
    /// A part of the explanation.
    blamed: String,
}

impl Victim {
    /// An execution that cannot be read.
    fn unreadable(id: String) -> Victim {
        Victim { named: Some(id.clone()), explained: Some(id), blamed: "read".to_owned() }
    }

    fn named(name: impl Into<String>) -> Victim {
        Victim { named: Some(name.into()), ..Victim::default() }
    }
}

/// Makes what is to be damaged, and damages it.
async fn hurt(place: &Place, tenant: &mut Tenant, damage: Damage, garbage: &[u8]) -> Victim {
    let namespace = tenant.name.clone();
    let plant = |part: Part<'_>| plant(place, &namespace, part, garbage);
    match damage {
        Damage::QueuedRecord => {
            let id = tenant.submit(&Work::plain(LANE)).await;
            plant(Part::Record(&id));
            Victim::unreadable(id)
        }
        Damage::LimitedRecord => {
            let id = tenant.submit(&Work::limited(LANE)).await;
            plant(Part::Record(&id));
            Victim::unreadable(id)
        }
        Damage::BlockedRecord => {
            let (id, held) = tenant.blocked().await;
            plant(Part::Record(&id));
            tenant.complete_all(&held).await;
            Victim::unreadable(id)
        }
        Damage::ActiveRecord => {
            let id = tenant.submit(&Work::limited(LANE)).await;
            tenant.take(LANE, &id).await.expect("it can be claimed");
            plant(Part::Record(&id));
            Victim::unreadable(id)
        }
        Damage::Budget => {
            let id = tenant.submit(&Work { budgets: &["poor"], ..Work::plain(LANE) }).await;
            tenant.put_budget("poor").await;
            plant(Part::Resource("budget", Some("poor")));
            Victim { named: Some("poor".into()), explained: Some(id), blamed: "poor".into() }
        }
        Damage::Quota => {
            let id = tenant.submit(&Work { quotas: &["poor"], ..Work::plain(LANE) }).await;
            tenant.put_quota("poor", 1).await;
            plant(Part::Resource("quota", Some("poor")));
            Victim { named: Some("poor".into()), explained: Some(id), blamed: "poor".into() }
        }
        Damage::Ticket => {
            let id = tenant.submit(&Work::limited(LANE)).await;
            let held = tenant.take(LANE, &id).await.expect("it can be claimed");
            plant(Part::Resource("ticket", None));
            tenant.complete(&held).await;
            Victim::named("ticket")
        }
        Damage::QueueEntry => {
            tenant.submit(&Work::plain(LANE)).await;
            plant(Part::QueueHead(LANE));
            Victim::default()
        }
        Damage::Timer => {
            tenant.submit(&Work { delay_ms: 100, ..Work::plain(LANE) }).await;
            plant(Part::Timer);
            Victim::default()
        }
        Damage::BlockedEntry => {
            let (_, held) = tenant.blocked().await;
            plant(Part::BlockedHead(QUOTA));
            tenant.complete_all(&held).await;
            Victim::default()
        }
        Damage::ListEntry => {
            tenant.submit(&Work::plain(LANE)).await;
            plant(Part::List);
            Victim::default()
        }
        Damage::Key => {
            let work = Work { key: Some("known"), ..Work::plain(LANE) };
            tenant.submit(&work).await;
            plant(Part::Key("known"));
            Victim::named("known")
        }
        Damage::Input => {
            let id = tenant.submit(&Work { length: LONG, ..Work::plain(LANE) }).await;
            plant(Part::Input(&id));
            Victim::named(id)
        }
        Damage::Result => {
            let id = tenant.submit(&Work::plain(LANE)).await;
            let held = tenant.take(LANE, &id).await.expect("it can be claimed");
            tenant.complete_with(&held, LONG).await;
            plant(Part::Result(&id));
            Victim::named(id)
        }
        Damage::Attempt => {
            let id = tenant.tried_twice().await;
            plant(Part::Attempts(&id));
            Victim::named(id)
        }
        Damage::Lane => {
            tenant.limit_lane("third").await;
            plant(Part::Resource("lane", Some("third")));
            Victim::named("third")
        }
        Damage::Worker => {
            tenant.register("unread").await;
            plant(Part::Resource("worker", Some("unread")));
            Victim::named("unread")
        }
    }
}
