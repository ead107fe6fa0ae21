//! Follow-up work: it runs at once, or later, but never not and never twice.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use ff_core::collection::{Collection, Content, ElementRange};
use ff_core::continuation::{Continuation, ContinuationKind, TAKEOVER};
use ff_core::machine::{Continued, Delete, Submit, ToyLater};
use ff_core::{ExecutionId, Millis, Partition};
use ff_store::audit::Row;
use ff_store::{MaintenanceBackend, PartitionSet, mint};
use tokio::task::JoinSet;

use crate::fixture::{Fixture, ms};

/// A kind that no release has.
const STRANGE: ContinuationKind = ContinuationKind(200);

/// How long a signal takes at most.
const TIMEOUT: Duration = Duration::from_secs(30);

impl Fixture {
    /// Nothing yet, for an execution.
    fn later(&self, id: ExecutionId) -> ToyLater {
        let (add, count) = (Vec::new(), BTreeMap::new());
        ToyLater { target: self.target(id), changes: false, add, count, at_zero: None }
    }

    /// Adds continuations with these numbers of slices.
    fn adding(&self, id: ExecutionId, slices: &[u32]) -> ToyLater {
        let add = slices.iter().map(|slices| (ContinuationKind::TOY, *slices)).collect();
        ToyLater { add, ..self.later(id) }
    }

    /// Counts; at zero the latch adds a continuation of one slice.
    fn counting(&self, id: ExecutionId, count: &[(u8, i64)]) -> ToyLater {
        let count = count.iter().copied().collect();
        ToyLater { count, at_zero: Some(1), ..self.later(id) }
    }

    /// Adds continuations by a process that dies before it runs them.
    async fn left(&self, later: ToyLater) {
        self.run(later).await.unwrap();
        self.store().continuations().take(usize::MAX);
    }

    /// The continuations that the store has, in order.
    async fn pending(&self) -> Vec<Continuation> {
        let mut rows = self.store().rows().await.unwrap();
        let mut found = Vec::new();
        while let Some(row) = rows.next().await {
            if let Row::Continuation(continuation, _) = row.unwrap() {
                found.push(continuation);
            }
        }
        found.sort();
        found
    }

    /// The counters of an execution.
    async fn counters(&self, id: ExecutionId) -> Vec<(u8, i64)> {
        let mut rows = self.store().rows().await.unwrap();
        let mut found = Vec::new();
        while let Some(row) = rows.next().await {
            if let Row::Tally(row) = row.unwrap()
                && row.owner == id
            {
                found.push((row.counter, row.value));
            }
        }
        found.sort_unstable();
        found
    }

    /// The slices that have run for an execution, in order: their number, and what the latch showed.
    async fn slices(&self, owner: ExecutionId) -> Vec<(u64, i64)> {
        let collection = Collection::Signals;
        let range = ElementRange { owner, collection, from: 0, limit: 1_000 };
        let elements = self.store().elements(range).await.unwrap().into_iter();
        let mut found: Vec<_> = elements
            .map(|element| {
                let Content::Bytes(bytes) = element.content else { panic!("an attempt") };
                let (slice, latch) = bytes.split_first_chunk().unwrap();
                let latch = i64::from_be_bytes(latch.try_into().unwrap());
                (u64::from_be_bytes(*slice), latch)
            })
            .collect();
        found.sort_unstable();
        found
    }
}

pub(crate) async fn what_a_write_adds_runs_at_once_to_its_end(g: Fixture) {
    let (id, process) = (g.waiting().await, g.process());
    process.run(g.adding(id, &[3, 1])).await.unwrap();
    process.drain().await;
    assert_eq!(g.slices(id).await, [(0, 0), (0, 0), (1, 0), (2, 0)]);
    assert_eq!(g.pending().await, []);
}

/// What follows from a call belongs to the process, not to its caller.
pub(crate) async fn a_caller_that_goes_away_leaves_nothing_to_run(g: Fixture) {
    for polls in 1..8 {
        let (id, process) = (g.waiting().await, g.process());
        {
            let later = ToyLater { changes: true, ..g.adding(id, &[2]) };
            let mut leaving = pin!(process.run(later));
            for _ in 0..polls {
                let done = poll_fn(|cx| Poll::Ready(leaving.as_mut().poll(cx).is_ready())).await;
                if done {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        process.drain().await;
        assert_eq!(g.slices(id).await, [(0, 0), (1, 0)], "after {polls} polls");
        assert_eq!(g.pending().await, [], "after {polls} polls");
    }
}

pub(crate) async fn what_a_dead_process_has_added_the_engine_runs_when_it_is_due(g: Fixture) {
    let id = g.waiting().await;
    let due_at = g.now().await + TAKEOVER;
    g.left(g.adding(id, &[2])).await;
    g.advance(Millis::new(TAKEOVER.get() - 1)).await;
    let timers = g.backend().due(&PartitionSet::All, None, 10).await.unwrap();
    assert_eq!((timers.continuations, timers.next), (vec![], Some(due_at)));
    g.advance(ms(1)).await;
    let timers = g.backend().due(&PartitionSet::All, None, 10).await.unwrap();
    assert_eq!((timers.continuations, timers.next), (g.pending().await, None));
    g.pass(Millis::ZERO).await;
    g.backend().drain().await;
    assert_eq!(g.slices(id).await, [(0, 0), (1, 0)]);
    assert_eq!(g.pending().await, []);
}

pub(crate) async fn the_timer_loop_hears_of_what_a_write_adds(g: Fixture) {
    let id = g.waiting().await;
    let wakeups = g.store().wakeups();
    wakeups.arm_timer(Some(g.now().await + TAKEOVER + ms(1)));
    g.left(g.adding(id, &[1])).await;
    let heard = tokio::time::timeout(TIMEOUT, wakeups.timer_changed()).await;
    assert!(heard.is_ok(), "an earlier timer was not announced");
}

pub(crate) async fn a_latch_is_released_once_however_many_count_it_down_together(g: Fixture) {
    const WRITERS: i64 = 24;
    let id = g.waiting().await;
    g.run(g.counting(id, &[(0, WRITERS), (1, 1)])).await.unwrap();
    let processes = [g.process(), g.process(), g.process()];
    let mut writers = JoinSet::new();
    for (_, process) in (0..WRITERS).zip(processes.iter().cycle()) {
        let (process, count) = (process.clone(), g.counting(id, &[(0, -1)]));
        writers.spawn(async move { process.run(count).await });
    }
    while let Some(counted) = writers.join_next().await {
        counted.unwrap().unwrap();
    }
    for process in processes {
        process.drain().await;
    }
    assert_eq!(g.slices(id).await, [(0, 0)]);
    assert_eq!(g.counters(id).await, [(1, 1)]);
    assert_eq!(g.pending().await, []);
}

pub(crate) async fn a_latch_adds_its_continuation_only_when_it_is_brought_to_zero(g: Fixture) {
    let id = g.waiting().await;
    let mut added = 0;
    let counts: [(&[(u8, i64)], usize); 8] = [
        (&[(0, 0)], 0),
        (&[(1, 5)], 0),
        (&[(0, 2)], 0),
        (&[(0, -1)], 0),
        (&[(0, -1), (1, 2)], 1),
        (&[(0, -1)], 0),
        (&[(0, 0)], 0),
        (&[(0, 1)], 1),
    ];
    for (count, more) in counts {
        g.left(g.counting(id, count)).await;
        added += more;
        assert_eq!(g.pending().await.len(), added, "after {count:?}");
    }
    assert_eq!(g.counters(id).await, [(1, 7)]);
    g.left(ToyLater { at_zero: None, ..g.counting(id, &[(0, 1)]) }).await;
    g.left(ToyLater { at_zero: None, ..g.counting(id, &[(0, -1)]) }).await;
    assert_eq!(g.pending().await.len(), added, "there is nothing to add");
    g.pass(TAKEOVER).await;
}

pub(crate) async fn a_latch_is_counted_before_the_same_call_removes_its_owner(g: Fixture) {
    let held = g.held().await;
    g.left(g.counting(held.execution, &[(0, 1)])).await;
    g.complete(&held, "done").await.unwrap();
    let remove = Delete { target: g.target(held.execution) };
    let last = g.counting(held.execution, &[(0, -1)]);
    for answer in g.store().execute(vec![mint::command(last), mint::command(remove)]).await {
        answer.unwrap();
    }
    g.store().continuations().take(usize::MAX);
    assert_eq!(g.pending().await.len(), 1);
    assert_eq!(g.counters(held.execution).await, []);
    g.pass(TAKEOVER).await;
    assert_eq!(g.pending().await, []);
}

pub(crate) async fn counters_are_read_as_they_were_counted(g: Fixture) {
    let (id, process) = (g.waiting().await, g.process());
    process.run(g.counting(id, &[(0, 2), (3, -7)])).await.unwrap();
    process.run(g.counting(id, &[(0, 3), (255, i64::MAX)])).await.unwrap();
    assert_eq!(g.counters(id).await, [(0, 5), (3, -7), (255, 1 << 53)]);
    process.run(g.adding(id, &[1])).await.unwrap();
    process.drain().await;
    assert_eq!(g.slices(id).await, [(0, 5)]);
    process.run(g.counting(id, &[(3, 7), (255, i64::MIN)])).await.unwrap();
    assert_eq!(g.counters(id).await, [(0, 5)], "what is zero takes no room");
}

pub(crate) async fn of_two_runners_one_finds_nothing(g: Fixture) {
    let (first, second) = (g.process(), g.process());
    let done = g.held().await;
    g.complete(&done, "done").await.unwrap();
    let open = g.waiting().await;
    // Work on an execution that has ended is only removed: nothing else tells the runners apart.
    for id in [open, done.execution] {
        for _ in 0..12 {
            g.left(g.adding(id, &[1])).await;
            let due = g.pending().await;
            let runs = (first.run_continuations(due.clone()), second.run_continuations(due));
            let (one, other) = tokio::join!(runs.0, runs.1);
            let answers = [one.unwrap().remove(0).unwrap(), other.unwrap().remove(0).unwrap()];
            assert!(answers.contains(&Continued::Done), "{answers:?}");
            assert!(answers.contains(&Continued::Nothing), "{answers:?}");
        }
    }
    assert_eq!(g.slices(open).await, [(0, 0); 12]);
    assert_eq!(g.slices(done.execution).await, []);
}

pub(crate) async fn an_unknown_kind_is_left_alone_and_hides_nothing(g: Fixture) {
    let id = g.waiting().await;
    let add = [[(STRANGE, 1); 5].to_vec(), vec![(ContinuationKind::TOY, 1)]].concat();
    g.left(ToyLater { add, ..g.later(id) }).await;
    g.advance(TAKEOVER).await;
    let (mut answers, mut after) = (Vec::new(), None);
    loop {
        let timers = g.backend().due(&PartitionSet::All, after, 2).await.unwrap();
        if !timers.continuations.is_empty() {
            answers.extend(g.backend().run_continuations(timers.continuations).await.unwrap());
        }
        after = timers.more;
        if after.is_none() || answers.len() > 6 {
            break;
        }
    }
    let answers: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
    assert_eq!(answers[..5], [Continued::Unknown; 5]);
    assert_eq!(answers[5..], [Continued::Done]);
    assert_eq!(g.slices(id).await.len(), 1);
    let left = g.pending().await;
    assert_eq!(left.len(), 5);
    let timers = g.backend().due(&PartitionSet::All, None, 10).await.unwrap();
    assert_eq!(timers.continuations, left, "they are still due");
}

pub(crate) async fn pages_of_continuations_neither_skip_nor_repeat(g: Fixture) {
    let id = g.waiting().await;
    for _ in 0..5 {
        g.left(g.adding(id, &[1; 6])).await;
        g.advance(ms(1)).await;
    }
    g.advance(TAKEOVER).await;
    let (mut seen, mut after) = (Vec::new(), None);
    for _ in 0..40 {
        let timers = g.backend().due(&PartitionSet::All, after, 4).await.unwrap();
        seen.extend(timers.continuations);
        after = timers.more;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(after, None, "there is an end");
    seen.sort();
    assert_eq!(seen, g.pending().await, "also where several are due in one millisecond");
    g.pass(Millis::ZERO).await;
    assert_eq!(g.slices(id).await.len(), 30);
}

/// The last of four partitions, where there are four.
pub(crate) async fn a_continuation_runs_where_its_owner_is(g: Fixture) {
    let third = mint::execution_id(Partition::new(3).unwrap());
    let id = g.submit(Submit { id: third, ..g.work() }).await;
    g.left(g.adding(id, &[2])).await;
    g.left(g.counting(id, &[(0, 1)])).await;
    g.left(g.counting(id, &[(0, -1)])).await;
    g.pass(TAKEOVER).await;
    g.backend().drain().await;
    assert_eq!(g.slices(id).await, [(0, 0), (0, 0), (1, 0)]);
    assert_eq!(g.pending().await, []);
}

pub(crate) async fn what_belongs_to_a_removed_owner_ends_by_itself(g: Fixture) {
    let held = g.held().await;
    let (id, target) = (held.execution, g.target(held.execution));
    g.left(g.adding(id, &[2])).await;
    g.left(g.counting(id, &[(0, 2), (1, 1)])).await;
    g.complete(&held, "done").await.unwrap();
    g.run(Delete { target }).await.unwrap();
    assert_eq!(g.counters(id).await, [], "counters go with their owner");
    g.left(g.counting(id, &[(0, 1)])).await;
    g.left(g.counting(id, &[(0, -1)])).await;
    assert_eq!(g.counters(id).await, []);
    assert_eq!(g.pending().await.len(), 1, "what is not counted adds nothing");
    g.pass(TAKEOVER).await;
    assert_eq!(g.pending().await, []);
    g.submit(Submit { id, ..g.work() }).await;
    assert_eq!(g.counters(id).await, [], "another execution of that id begins at zero");
    assert_eq!(g.slices(id).await, []);
}
