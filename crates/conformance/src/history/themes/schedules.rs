//! Random commands on schedules.

use ff_core::machine::{
    Action, BackfillSchedule, Discard, FireSchedule, PauseSchedule, RunSchedule, SetSchedule,
};
use ff_core::schedule::{Cadence, Overlap, Plan, ScheduleSpec, ScheduledWork, Zone};
use ff_core::{Millis, RequestId, ResourceKey, ResourceKind, ResourceName, Time};

use crate::history::generate::Generator;
use crate::history::make::{self, chance, millis, one};
use crate::history::pair::View;

impl Generator {
    /// A change of a schedule, or what time or somebody does to it; mostly it fires.
    pub(crate) fn schedule(&mut self, view: View<'_>) -> Action {
        let (rng, partitions) = (&mut self.rng, self.partitions);
        let name = ResourceName::new(one(rng, &["nightly", "often"])).unwrap();
        let namespace = make::namespace(rng);
        let key = ResourceKey::at_home(ResourceKind::Schedule, &namespace, &name, partitions);
        if !view.held.resources.contains_key(&key) || chance(rng, 10) {
            return SetSchedule { key, spec: spec(rng, view.now) }.into();
        }
        match rng.u8(..10) {
            0..6 => FireSchedule { key }.into(),
            6 => RunSchedule { key, request: RequestId::new(rng.u128(..5)) }.into(),
            7 => {
                let (from, until) = (view.now - Millis::from_secs(20), view.now);
                let pace = millis(rng, &[10, 1_000, 1]);
                BackfillSchedule { key, from, until, pace }.into()
            }
            8 => {
                let reason = one(rng, &[None, Some("rest")]).map(Into::into);
                PauseSchedule { key, paused: chance(rng, 30), reason }.into()
            }
            _ => Discard { key }.into(),
        }
    }
}

fn spec(rng: &mut fastrand::Rng, now: Time) -> ScheduleSpec {
    let cadence = match rng.u8(..4) {
        0 => {
            let cron = one(rng, &["*/5 * * * * *", "* * * * *"]).parse().unwrap();
            Cadence::Cron { cron, zone: Zone::utc() }
        }
        1 => Cadence::At(now + millis(rng, &[1_000, 10_000])),
        _ => Cadence::Every { every: millis(rng, &[1_000, 3_000, 999]), from: Time::EPOCH },
    };
    let end = chance(rng, 20).then(|| now + millis(rng, &[10_000, 60_000]));
    ScheduleSpec {
        plan: Plan { cadence, start: None, end },
        overlap: one(rng, Overlap::ALL),
        catch_up: one(rng, &[0, 1, 5]),
        jitter: millis(rng, &[0, 0, 700]),
        work: ScheduledWork {
            lane: make::lane(rng),
            input: one(rng, &["", "7"]).into(),
            requires: make::requires(rng),
            ..ScheduledWork::default()
        },
    }
}
