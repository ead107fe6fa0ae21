//! One command moves several executions: all of them or none, in one write.

use ff_core::collection::{Collection, ElementRange};
use ff_core::journal::ReplayJournal;
use ff_core::machine::{Action, Follower, Replay, SetPriority, Toy};
use ff_core::{Code, ExecutionId};
use ff_store::mint;

use crate::fixture::{Fixture, Refused, ms};

/// Writes an element of `id`, and gives `follower` a priority in the same write.
fn toy(g: &Fixture, id: ExecutionId, follower: ExecutionId, priority: i16) -> Toy {
    Toy {
        target: g.target(id),
        into: Collection::Signals,
        name: None,
        parts: Vec::new(),
        follower: Some(Follower { target: g.target(follower), priority }),
    }
}

async fn signals(g: &Fixture, owner: ExecutionId) -> usize {
    let range = ElementRange { owner, collection: Collection::Signals, from: 0, limit: 10 };
    g.store().elements(range).await.unwrap().len()
}

pub(crate) async fn another_execution_moves_in_the_same_write(g: Fixture) {
    let g = g.in_one_partition();
    let (first, behind) = (g.waiting().await, g.waiting().await);
    let active = g.claimed().await.execution;
    assert_eq!(active, first);
    g.waiting().await;
    g.run(toy(&g, active, behind, -5)).await.unwrap();
    assert_eq!(signals(&g, active).await, 1);
    assert_eq!(g.record(behind).await.priority, -5);
    assert_ne!(g.claimed().await.execution, behind, "it has left its old place in the queue");
    assert_eq!(g.claimed().await.execution, behind);
}

pub(crate) async fn an_execution_that_follows_in_any_state_keeps_its_state(g: Fixture) {
    let g = g.in_one_partition();
    let leader = g.delayed(ms(100_000)).await;
    let delayed = g.delayed(ms(50_000)).await;
    let active = g.held().await.execution;
    let waiting = g.waiting().await;
    for (priority, follower) in [delayed, active, waiting].into_iter().enumerate() {
        let before = g.state(follower).await;
        g.run(toy(&g, leader, follower, priority as i16 + 1)).await.unwrap();
        let after = g.record(follower).await;
        assert_eq!((after.public_state(), after.priority), (before, priority as i16 + 1));
    }
    assert_eq!(signals(&g, leader).await, 3);
}

pub(crate) async fn one_that_cannot_follow_keeps_the_other_from_moving(g: Fixture) {
    let g = g.in_one_partition();
    let (leader, finished) = (g.waiting().await, g.cancelled().await);
    let before = g.snapshot().await;
    let answer = g.run(toy(&g, leader, finished, 3)).await;
    assert_eq!(answer.refused(), Code::WrongState);
    assert_eq!(g.run(toy(&g, leader, g.new_id(), 3)).await.refused(), Code::NotFound);
    assert_eq!(g.run(toy(&g, leader, leader, 3)).await.refused(), Code::InvalidArgument);
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_command_sees_what_was_done_before_it_to_one_that_follows(g: Fixture) {
    let g = g.in_one_partition();
    let (leader, replayed, urgent) = (g.waiting().await, g.cancelled().await, g.waiting().await);
    let target = g.target(urgent);
    let batch: Vec<Action> = vec![
        Replay { target: g.target(replayed), run: 0, journal: ReplayJournal::Keep }.into(),
        toy(&g, leader, replayed, 3).into(),
        SetPriority { target, priority: 9 }.into(),
        toy(&g, leader, urgent, 4).into(),
    ];
    let answers = g.store().execute(batch.into_iter().map(mint::command).collect()).await;
    for answer in answers {
        answer.unwrap();
    }
    assert_eq!(g.record(replayed).await.priority, 3);
    assert_eq!(g.record(urgent).await.priority, 4);
    assert_eq!(signals(&g, leader).await, 2);
}

pub(crate) async fn one_of_another_partition_cannot_follow(g: Fixture) {
    let leader = g.in_one_partition().waiting().await;
    let partitions = g.backend().partitions();
    let mut away = g.waiting().await;
    while partitions > 1 && away.partition().among(partitions) == leader.partition() {
        away = g.waiting().await;
    }
    let before = g.snapshot().await;
    let answer = g.run(toy(&g, leader, away, 3)).await;
    match partitions {
        1 => drop(answer.unwrap()),
        _ => {
            assert_eq!(answer.refused(), Code::NotFound);
            g.snapshot().await.assert_same(&before);
        }
    }
}
