//! Schedules: every moment is decided once, and has its run or a reason for none.

use ff_core::bounds::{SCHEDULE_INPUT_BYTES, SCHEDULE_JITTER_MAX, SCHEDULE_RUNS};
use ff_core::machine::{FireSchedule, Fired, Reply, SetSchedule};
use ff_core::schedule::{
    Cadence, Overlap, Plan, RunEffect, RunRefused, RunWord, Schedule, ScheduleSpec, ScheduledWork,
    run_id,
};
use ff_core::{
    Code, ExecutionId, Kind, Millis, PublicState, ResourceKey, ResourceKind, ResourceName, Time,
};
use ff_store::mint;
use ff_store::schedules::{BackfillRange, NamedSchedule};

use crate::fixture::{Fixture, Refused, ms, tag};

const MINUTE: Millis = Millis::from_secs(60);

fn name(text: &str) -> ResourceName {
    ResourceName::new(text).unwrap()
}

fn minutes(number: u64) -> Millis {
    Millis::from_secs(60 * number)
}

impl Fixture {
    fn schedule_key(&self) -> ResourceKey {
        let partitions = self.backend().partitions();
        ResourceKey::at_home(ResourceKind::Schedule, &self.namespace, &name("s"), partitions)
    }

    /// A schedule that runs every minute, for the first time in a minute; and its first moment.
    async fn every_minute(&self) -> (ScheduleSpec, Time) {
        let start = self.now().await + MINUTE;
        let spec = ScheduleSpec {
            plan: Plan {
                cadence: Cadence::Every { every: MINUTE, from: start },
                start: Some(start),
                end: None,
            },
            overlap: Overlap::Allow,
            catch_up: 1,
            jitter: Millis::ZERO,
            work: ScheduledWork {
                kind: Kind::new("report").unwrap(),
                input: "7".into(),
                tags: [tag("team", "a")].into(),
                ..ScheduledWork::default()
            },
        };
        (spec, start)
    }

    async fn set_schedule(&self, spec: ScheduleSpec) -> NamedSchedule {
        self.backend().set_schedule(&self.namespace, &name("s"), spec).await.unwrap()
    }

    async fn scheduled(&self) -> Schedule {
        self.backend().schedule(&self.namespace, &name("s")).await.unwrap().schedule
    }

    async fn fired(&self) -> Fired {
        match self.run(FireSchedule { key: self.schedule_key() }).await.unwrap() {
            Reply::Fired(fired) => fired,
            other => panic!("{other:?}"),
        }
    }

    /// What became of the latest moments: minutes after the first, and a word.
    async fn effects(&self, first: Time) -> Vec<(u64, RunWord)> {
        let runs = self.scheduled().await.runs;
        let each = |moment: Time| moment.since(first).get() / MINUTE.get();
        runs.iter().map(|run| (each(run.moment), run.effect.word())).collect()
    }

    fn run_at(&self, moment: Time) -> ExecutionId {
        run_id(&self.schedule_key(), moment)
    }
}

pub(crate) async fn a_moment_has_one_run_whoever_fires_it(g: Fixture) {
    let (spec, first) = g.every_minute().await;
    let set = g.set_schedule(spec).await;
    let next: Vec<_> = (0..SCHEDULE_RUNS as u64).map(|n| first + minutes(n)).collect();
    assert_eq!(set.next, next, "its next ten moments");
    g.advance(ms(30_000)).await;
    assert_eq!(g.fired().await, Fired::default(), "nothing is due");
    g.advance(ms(30_000)).await;
    let key = || FireSchedule { key: g.schedule_key() };
    let (one, two, three, four) =
        tokio::join!(g.run(key()), g.run(key()), g.run(key()), g.run(key()));
    let made: Vec<_> = [one, two, three, four]
        .into_iter()
        .flat_map(|fired| match fired.unwrap() {
            Reply::Fired(fired) => fired.made,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(made, [g.run_at(first)]);
    g.pass(Millis::ZERO).await;
    let schedule = g.scheduled().await;
    assert_eq!((schedule.tally.made, schedule.runs.len()), (1, 1));
    let run = g.claimed().await;
    assert_eq!(
        (run.execution, run.kind.as_str(), &run.input.bytes[..]),
        (made[0], "report", &b"7"[..])
    );
    let tags: Vec<_> = run.tags.keys().map(|key| key.as_str()).collect();
    assert_eq!(tags, ["schedule", "scheduled_for", "team"]);
    assert_eq!(g.explained(made[0]).await.schedule, Some((name("s"), first)));
    let other = g.submit(ff_core::machine::Submit { tags: run.tags.clone(), ..g.work() }).await;
    assert_eq!(g.explained(other).await.schedule, None, "tags alone name no schedule");
}

pub(crate) async fn the_run_of_a_moment_that_is_there_is_not_made_again(g: Fixture) {
    let (spec, first) = g.every_minute().await;
    g.set_schedule(spec.clone()).await;
    g.pass(MINUTE).await;
    let run = g.claimed().await;
    g.complete(&run, "done").await.unwrap();
    // The same schedule again, which knows of no run, decides the same moment once more.
    g.backend().delete_schedule(&g.namespace, &name("s")).await.unwrap();
    g.set_schedule(spec).await;
    let range = BackfillRange { from: first, until: first, pace: ms(1_000) };
    g.backend().backfill_schedule(&g.namespace, &name("s"), range).await.unwrap();
    g.pass(Millis::ZERO).await;
    assert_eq!(g.state(run.execution).await, PublicState::Completed);
    assert!(g.nothing_to_claim().await);
    let schedule = g.scheduled().await;
    assert_eq!((schedule.tally.made, schedule.backfill), (0, None));
}

pub(crate) async fn a_moment_is_skipped_while_an_earlier_run_has_not_ended(g: Fixture) {
    let (spec, first) = g.every_minute().await;
    g.set_schedule(ScheduleSpec { overlap: Overlap::Skip, ..spec }).await;
    g.pass(MINUTE).await;
    g.pass(MINUTE).await;
    let run = g.claimed().await;
    assert_eq!(run.execution, g.run_at(first));
    assert!(g.nothing_to_claim().await);
    g.complete(&run, "done").await.unwrap();
    g.pass(MINUTE).await;
    let expected = [(0, RunWord::Started), (1, RunWord::Skipped), (2, RunWord::Started)];
    assert_eq!(g.effects(first).await, expected);
    assert_eq!(g.claimed().await.execution, g.run_at(first + minutes(2)));
    assert_eq!(g.scheduled().await.tally.skipped, 1);
}

pub(crate) async fn a_run_waits_until_the_earlier_one_has_ended(g: Fixture) {
    let (spec, first) = g.every_minute().await;
    g.set_schedule(ScheduleSpec { overlap: Overlap::Queue, ..spec }).await;
    for _ in 0..3 {
        g.pass(MINUTE).await;
    }
    let run = g.claimed().await;
    assert!(g.nothing_to_claim().await);
    assert_eq!(g.scheduled().await.waiting, [first + minutes(1), first + minutes(2)]);
    g.complete(&run, "done").await.unwrap();
    g.pass(ms(2_000)).await;
    let second = g.claimed().await;
    assert_eq!(second.execution, g.run_at(first + minutes(1)));
    assert!(g.nothing_to_claim().await, "one at a time");
    g.complete(&second, "done").await.unwrap();
    g.pass(ms(2_000)).await;
    assert_eq!(g.claimed().await.execution, g.run_at(first + minutes(2)));
    assert!(g.scheduled().await.waiting.is_empty());
}

pub(crate) async fn an_earlier_run_is_cancelled_before_the_next(g: Fixture) {
    let (spec, first) = g.every_minute().await;
    g.set_schedule(ScheduleSpec { overlap: Overlap::Cancel, ..spec }).await;
    g.pass(MINUTE).await;
    let run = g.claimed().await;
    g.pass(MINUTE).await;
    assert_eq!(g.state(run.execution).await, PublicState::Cancelled);
    assert_eq!(g.complete(&run, "late").await.refused(), Code::Cancelled);
    assert_eq!(g.claimed().await.execution, g.run_at(first + minutes(1)));
}

pub(crate) async fn runs_overlap_if_that_is_allowed(g: Fixture) {
    let (spec, first) = g.every_minute().await;
    g.set_schedule(spec).await;
    for _ in 0..3 {
        g.pass(MINUTE).await;
    }
    let runs = [g.claimed().await, g.claimed().await, g.claimed().await];
    let expected: Vec<_> = (0..3).map(|n| g.run_at(first + minutes(n))).collect();
    assert_eq!(runs.map(|run| run.execution).to_vec(), expected);
}

/// What runs of eight moments that passed while nothing ran.
async fn missed(g: &Fixture, catch_up: u32) -> Vec<(u64, RunWord)> {
    let (spec, first) = g.every_minute().await;
    g.set_schedule(ScheduleSpec { catch_up, ..spec }).await;
    // Half a minute after the eighth, which is in time.
    g.pass(ms(8 * MINUTE.get() + 10_000)).await;
    let effects = g.effects(first).await;
    g.backend().delete_schedule(&g.namespace, &name("s")).await.unwrap();
    effects
}

pub(crate) async fn missed_moments_are_made_up_for_as_far_as_that_is_asked(g: Fixture) {
    let started = |moments: &[u64]| -> Vec<_> {
        moments.iter().map(|moment| (*moment, RunWord::Started)).collect()
    };
    let missed_first = |moments: &[u64]| {
        let mut all = vec![(0, RunWord::Missed)];
        all.extend(started(moments));
        all
    };
    assert_eq!(missed(&g, 0).await, missed_first(&[7]));
    assert_eq!(missed(&g, 1).await, missed_first(&[6, 7]));
    assert_eq!(missed(&g, 3).await, missed_first(&[4, 5, 6, 7]));
    assert_eq!(missed(&g, 7).await, started(&[0, 1, 2, 3, 4, 5, 6, 7]));
    assert_eq!(missed(&g, 1_000).await, started(&[0, 1, 2, 3, 4, 5, 6, 7]));
}

pub(crate) async fn a_paused_schedule_runs_nothing_and_makes_up_for_nothing(g: Fixture) {
    let (spec, first) = g.every_minute().await;
    g.set_schedule(spec).await;
    let pause = |paused, reason: Option<&str>| {
        let reason = reason.map(Into::into);
        let (backend, namespace) = (g.backend(), &g.namespace);
        async move { backend.pause_schedule(namespace, &name("s"), paused, reason).await }
    };
    let paused = pause(true, Some("deploy")).await.unwrap().schedule.paused.unwrap();
    assert_eq!(paused.reason.as_deref(), Some("deploy"));
    let before = g.snapshot().await;
    pause(true, Some("deploy")).await.unwrap();
    g.snapshot().await.assert_same(&before);
    g.pass(minutes(3)).await;
    assert!(g.nothing_to_claim().await);
    let resumed = pause(false, None).await.unwrap();
    assert_eq!((resumed.schedule.paused, resumed.next[0]), (None, first + minutes(3)));
    g.pass(Millis::ZERO).await;
    assert!(g.nothing_to_claim().await, "what passed meanwhile is not made up for");
    g.pass(MINUTE).await;
    assert_eq!(g.claimed().await.execution, g.run_at(first + minutes(3)));
}

pub(crate) async fn a_change_of_a_schedule_decides_what_fires_after_it(g: Fixture) {
    let (spec, first) = g.every_minute().await;
    g.set_schedule(spec.clone()).await;
    let before = g.snapshot().await;
    g.set_schedule(spec.clone()).await;
    g.snapshot().await.assert_same(&before);
    g.advance(MINUTE).await;
    // The moment has come and has not been decided: other work at the same moments is its work.
    let mut other = spec.clone();
    other.work.kind = Kind::new("other").unwrap();
    g.set_schedule(other.clone()).await;
    g.pass(Millis::ZERO).await;
    let run = g.claimed().await;
    assert_eq!((run.kind.as_str(), run.execution), ("other", g.run_at(first)));
    g.advance(MINUTE).await;
    // Other moments: those that have passed are none of its.
    other.plan.cadence = Cadence::Every { every: minutes(2), from: first };
    g.set_schedule(other).await;
    g.pass(Millis::ZERO).await;
    assert!(g.nothing_to_claim().await);
    g.pass(MINUTE).await;
    assert_eq!(g.claimed().await.execution, g.run_at(first + minutes(2)));
}

pub(crate) async fn a_run_now_is_made_once_for_each_request(g: Fixture) {
    let (spec, _) = g.every_minute().await;
    g.set_schedule(spec).await;
    let request = mint::request_id();
    let run = |request| {
        let (backend, namespace) = (g.backend(), &g.namespace);
        async move { backend.run_schedule(namespace, &name("s"), request).await.unwrap() }
    };
    let first = run(request).await;
    assert!(first.created);
    let again = run(request).await;
    assert_eq!((again.execution, again.created), (first.execution, false));
    assert_ne!(run(mint::request_id()).await.execution, first.execution);
    assert_eq!(g.scheduled().await.tally.made, 2);
    let explained = g.explained(first.execution).await.schedule;
    assert_eq!(explained.map(|(schedule, _)| schedule), Some(name("s")));
}

pub(crate) async fn a_backfill_runs_the_moments_of_a_range_at_its_pace(g: Fixture) {
    let (spec, first) = g.every_minute().await;
    // Nothing of it ran until now: its moments begin in the past.
    let from = first - minutes(60);
    let plan =
        Plan { cadence: Cadence::Every { every: MINUTE, from }, start: None, ..spec.plan.clone() };
    g.set_schedule(ScheduleSpec { plan, ..spec }).await;
    let fill = |from, until, pace| {
        let (backend, namespace) = (g.backend(), &g.namespace);
        let range = BackfillRange { from, until, pace };
        async move { backend.backfill_schedule(namespace, &name("s"), range).await }
    };
    let until = from + minutes(4);
    let future = fill(from, first + minutes(60), ms(10_000)).await;
    assert_eq!(future.refused(), Code::InvalidArgument);
    assert_eq!(fill(until, from, ms(10_000)).await.refused(), Code::InvalidArgument);
    assert_eq!(fill(from, until, ms(1)).await.refused(), Code::InvalidArgument);
    fill(from, until, ms(10_000)).await.unwrap();
    assert_eq!(fill(from, until + ms(1), ms(10_000)).await.refused(), Code::InvalidArgument);
    g.pass(Millis::ZERO).await;
    assert_eq!(g.scheduled().await.backfill.unwrap().made, 1);
    for _ in 0..5 {
        g.pass(ms(10_000)).await;
    }
    assert_eq!(g.scheduled().await.backfill, None);
    for number in 0..5 {
        assert_eq!(g.state(g.run_at(from + minutes(number))).await, PublicState::Waiting);
    }
    assert_eq!(g.scheduled().await.tally.made, 5);
}

pub(crate) async fn a_moment_without_a_run_says_why(g: Fixture) {
    let (spec, first) = g.every_minute().await;
    g.set_schedule(spec).await;
    g.drain().await;
    g.pass(MINUTE).await;
    let schedule = g.scheduled().await;
    assert_eq!(schedule.runs[0].effect, RunEffect::Refused(RunRefused::LaneDraining));
    assert_eq!((schedule.tally.refused, schedule.tally.made), (1, 0));
    let now = g.backend().run_schedule(&g.namespace, &name("s"), mint::request_id()).await;
    assert_eq!(now.refused(), Code::LaneDraining);
    g.resume().await;
    g.pass(MINUTE).await;
    assert_eq!(g.claimed().await.execution, g.run_at(first + MINUTE));
}

pub(crate) async fn a_schedule_ends_with_its_last_moment_or_its_removal(g: Fixture) {
    let (spec, first) = g.every_minute().await;
    let plan = Plan { end: Some(first), ..spec.plan.clone() };
    let set = g.set_schedule(ScheduleSpec { plan, ..spec.clone() }).await;
    assert_eq!(set.next, [first]);
    g.pass(MINUTE).await;
    g.pass(minutes(5)).await;
    assert_eq!(g.effects(first).await, [(0, RunWord::Started)]);
    assert_eq!(g.due_resources().await, []);
    let once = Plan { cadence: Cadence::At(g.now().await + MINUTE), start: None, end: None };
    g.set_schedule(ScheduleSpec { plan: once, ..spec }).await;
    g.backend().delete_schedule(&g.namespace, &name("s")).await.unwrap();
    g.pass(minutes(5)).await;
    assert_eq!(g.claimed().await.execution, g.run_at(first), "its runs stay");
    assert!(g.nothing_to_claim().await);
}

pub(crate) async fn a_run_starts_within_the_jitter_of_its_moment(g: Fixture) {
    let (spec, first) = g.every_minute().await;
    let spec = ScheduleSpec { jitter: ms(20_000), ..spec };
    let due = spec.due(&g.schedule_key(), first);
    assert!(due >= first && due <= first + ms(20_000));
    g.set_schedule(spec).await;
    g.pass(due.since(g.now().await + ms(2_000))).await;
    assert!(g.nothing_to_claim().await);
    g.pass(ms(4_000)).await;
    assert_eq!(g.claimed().await.execution, g.run_at(first), "its moment names it");
}

pub(crate) async fn what_is_no_schedule_is_refused(g: Fixture) {
    let (spec, first) = g.every_minute().await;
    let now = g.now().await;
    let plans = [
        Plan { cadence: Cadence::At(now - MINUTE), start: None, end: None },
        Plan { end: Some(now - MINUTE), start: None, ..spec.plan.clone() },
        Plan { end: Some(first - MINUTE), ..spec.plan.clone() },
        Plan { cadence: Cadence::Every { every: ms(999), from: now }, ..spec.plan.clone() },
    ];
    let mut bad: Vec<_> =
        plans.into_iter().map(|plan| ScheduleSpec { plan, ..spec.clone() }).collect();
    bad.push(ScheduleSpec { jitter: Millis::new(SCHEDULE_JITTER_MAX.get() + 1), ..spec.clone() });
    bad.push(ScheduleSpec { catch_up: 1_001, ..spec.clone() });
    let work = |work: ScheduledWork| ScheduleSpec { work, ..spec.clone() };
    bad.push(work(ScheduledWork { tags: [tag("schedule", "x")].into(), ..spec.work.clone() }));
    bad.push(work(ScheduledWork { priority: 9_001, ..spec.work.clone() }));
    for spec in bad {
        let set = g.backend().set_schedule(&g.namespace, &name("s"), spec.clone()).await;
        assert_eq!(set.refused(), Code::InvalidArgument, "{spec:?}");
    }
    let long = vec![b'7'; SCHEDULE_INPUT_BYTES + 1].into();
    let long = work(ScheduledWork { input: long, ..spec.work.clone() });
    let set = g.run(SetSchedule { key: g.schedule_key(), spec: long }).await;
    assert_eq!(set.refused(), Code::TooLarge);
    let (backend, namespace, none) = (g.backend(), &g.namespace, name("none"));
    assert_eq!(backend.schedule(namespace, &none).await.refused(), Code::NotFound);
    let paused = backend.pause_schedule(namespace, &none, true, None).await;
    assert_eq!(paused.refused(), Code::NotFound);
    let run = backend.run_schedule(namespace, &none, mint::request_id()).await;
    assert_eq!(run.refused(), Code::NotFound);
    assert_eq!(backend.delete_schedule(namespace, &none).await.refused(), Code::NotFound);
}

pub(crate) async fn schedules_are_listed_by_name_each_of_its_namespace(g: Fixture) {
    let (spec, first) = g.every_minute().await;
    for text in ["c", "a", "b"] {
        g.backend().set_schedule(&g.namespace, &name(text), spec.clone()).await.unwrap();
    }
    let found = g.backend().schedules(&g.namespace, None, 2).await.unwrap();
    let names: Vec<_> = found.iter().map(|found| found.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(found.iter().all(|found| found.next == [first] && found.schedule.spec == spec));
    let rest = g.backend().schedules(&g.namespace, Some(&name("b")), 2).await.unwrap();
    assert_eq!(rest.len(), 1);
    let elsewhere = g.elsewhere();
    assert_eq!(g.backend().schedules(&elsewhere.namespace, None, 10).await.unwrap(), []);
    let other = g.backend().delete_schedule(&elsewhere.namespace, &name("a")).await;
    assert_eq!(other.refused(), Code::NotFound);
}
