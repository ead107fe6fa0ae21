//! Waiters learn of an end from whatever process it comes.

use ff_core::bounds::END_WAIT_MAX;
use ff_core::machine::{Assignment, Cancel, Complete, Delete, Submit};
use ff_core::{Code, ExecutionId, Partition, Payload, PublicState};
use ff_store::ends::Waiting;
use ff_store::wakeups::Wake;
use ff_store::{BulkBackend, ClientBackend, MaintenanceBackend, WorkerBackend, mint};
use ff_testkit::valkey::Server;

use crate::fixture::{Home, Process, complete, held, submit_many, take, target, until, work};

/// How often a wait polls before a test gives up on a hint.
const POLLS: usize = 30;

/// Returns when the wait has a hint.
async fn learns(waiting: &mut Waiting) {
    for _ in 0..POLLS {
        if waiting.woken().await == Wake::Announced {
            return;
        }
    }
    panic!("no hint came in {POLLS} polls");
}

/// A wait of `process` for an unfinished execution, once it listens to other processes.
async fn listening(process: &Process, id: ExecutionId) -> Waiting {
    let mut waiting = process.wakeups().ends().wait_for(id);
    assert_eq!(state(process, &mut waiting).await, Some(PublicState::Active));
    // That the channel is joined wakes whoever waits in its partition.
    learns(&mut waiting).await;
    assert_eq!(state(process, &mut waiting).await, Some(PublicState::Active));
    waiting
}

async fn state(process: &Process, waiting: &mut Waiting) -> Option<PublicState> {
    let record = waiting.read(&**process.store()).await.unwrap();
    record.map(|record| record.public_state())
}

/// How many connections listen for ends where `id` lies.
fn listeners(home: &Home, server: &Server, id: ExecutionId) -> String {
    let channel = home.ended_channel(id);
    let answer = server.command(&["PUBSUB", "SHARDNUMSUB", &channel]).unwrap().to_string();
    answer.lines().nth(1).unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_in_another_process_is_heard_of() {
    let home = Home::on(Server::shared(), 64);
    let (one, other) = (home.open().await, home.open().await);
    for fast in [true, false] {
        let held = held(&other, work(&other)).await;
        let mut waiting = listening(&one, held.execution).await;
        let ended = match fast {
            true => {
                complete(&other, &held).await.unwrap();
                PublicState::Completed
            }
            false => {
                let target = target(held.execution);
                other.cancel(Cancel { target, grace: None, reason: None }).await.unwrap();
                PublicState::Cancelled
            }
        };
        learns(&mut waiting).await;
        assert_eq!(state(&one, &mut waiting).await, Some(ended));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_in_another_process_is_heard_of() {
    let home = Home::on(Server::shared(), 64);
    let (one, other) = (home.open().await, home.open().await);
    let held = held(&other, work(&other)).await;
    let mut waiting = listening(&one, held.execution).await;
    complete(&other, &held).await.unwrap();
    learns(&mut waiting).await;
    other.delete(Delete { target: target(held.execution) }).await.unwrap();
    learns(&mut waiting).await;
    assert_eq!(state(&one, &mut waiting).await, None);
    let gone = one.wait(&target(held.execution), END_WAIT_MAX).await.unwrap_err();
    assert_eq!(gone.refused(), Some(Code::NotFound));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_ends_of_one_call_are_all_heard_of() {
    const MANY: usize = 40;
    let home = Home::on(Server::shared(), 1);
    let (one, other) = (home.open().await, home.open().await);
    submit_many(&other, MANY).await;
    let held = take(&other, MANY as u16).await;
    assert_eq!(held.len(), MANY);
    let mut waiting = Vec::new();
    for held in &held {
        waiting.push(listening_or_joined(&one, held.execution).await);
    }
    let done = |held: &Assignment| Complete { hold: held.hold(), result: Payload::bytes("done") };
    other.complete(held.iter().map(done).collect()).await.unwrap();
    for waiting in &mut waiting {
        learns(waiting).await;
        assert_eq!(state(&one, waiting).await, Some(PublicState::Completed));
    }
}

/// The first wait in a partition joins its channel; the others find it joined.
async fn listening_or_joined(process: &Process, id: ExecutionId) -> Waiting {
    match process.wakeups().ends().waited_for().is_empty() {
        true => listening(process, id).await,
        false => {
            let mut waiting = process.wakeups().ends().wait_for(id);
            assert_eq!(state(process, &mut waiting).await, Some(PublicState::Active));
            waiting
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_is_listened_to_while_somebody_waits_in_it() {
    let server = Server::shared();
    let home = Home::on(server, 64);
    let (one, other) = (home.open().await, home.open().await);
    let work_in = |at| Submit::new(mint::execution_id(Partition::new(at).unwrap()));
    let (first, second) = (held(&other, work_in(3)).await, held(&other, work_in(4)).await);
    assert_eq!(listeners(&home, server, first.execution), "0");
    let waiting = listening(&one, first.execution).await;
    assert_eq!(listeners(&home, server, first.execution), "1");
    assert_eq!(listeners(&home, server, second.execution), "0", "nobody waits there");
    let also = listening(&one, second.execution).await;
    drop(waiting);
    until("the first channel to be left", async || {
        (listeners(&home, server, first.execution) == "0").then_some(())
    })
    .await;
    assert_eq!(listeners(&home, server, second.execution), "1");
    drop(also);
    until("the second channel to be left", async || {
        (listeners(&home, server, second.execution) == "0").then_some(())
    })
    .await;
    // The next wait listens again.
    drop(listening(&one, first.execution).await);
}
