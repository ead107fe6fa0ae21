//! Batches: one answer per command, in order, and bounds on their size.

use std::collections::BTreeSet;

use bytes::Bytes;
use ff_core::bounds::{BATCH, BATCH_BYTES};
use ff_core::machine::{Action, ClaimRequest, Complete, Reply, Submit};
use ff_core::{Code, Payload};
use ff_store::mint;

use crate::fixture::{Fixture, Refused, ms, permanent};

pub(crate) async fn each_submit_of_a_batch_has_its_own_answer(g: Fixture) {
    let good = g.work();
    let too_urgent = Submit { priority: i16::MAX, ..g.work() };
    let other_body = Submit { priority: 1, ..good.clone() };
    let batch = vec![good.clone(), too_urgent, good.clone(), other_body, g.work()];
    let answers = g.backend().submit(batch).await.unwrap();
    let created: Vec<_> = answers.iter().map(|answer| answer.as_ref().map(|s| s.created)).collect();
    assert!(matches!(created[0], Ok(true)));
    assert_eq!(created[1].as_ref().unwrap_err().code(), "invalid_argument");
    assert!(matches!(created[2], Ok(false)), "later commands see what earlier ones did");
    assert_eq!(created[3].as_ref().unwrap_err().code(), "id_conflict");
    assert!(matches!(created[4], Ok(true)));
}

pub(crate) async fn commands_of_a_batch_run_in_order(g: Fixture) {
    let work = g.work();
    let claim = g.claim();
    let commands: Vec<Action> = vec![work.into(), claim.clone().into(), claim.into()];
    let batch = commands.into_iter().map(mint::command).collect();
    let answers = g.store().execute(batch).await;
    let taken = |answer: &Result<Reply, _>| match answer {
        Ok(Reply::Claimed(claimed)) => claimed.assignments.len(),
        other => panic!("not a claim's answer: {other:?}"),
    };
    assert_eq!((taken(&answers[1]), taken(&answers[2])), (1, 0));
}

pub(crate) async fn each_completion_of_a_batch_has_its_own_answer(g: Fixture) {
    let (first, lost, second) = (g.held().await, g.held().await, g.held().await);
    g.fail(&lost, permanent("broken")).await.unwrap();
    let complete = |hold| Complete { hold, result: Payload::bytes("done") };
    let batch = [&first, &lost, &second].map(|held| complete(held.hold())).to_vec();
    let answers = g.backend().complete(batch).await.unwrap();
    let codes: Vec<_> = answers.iter().map(|a| a.as_ref().err().map(|e| e.code())).collect();
    assert_eq!(codes, [None, Some("exit_conflict"), None]);
}

pub(crate) async fn an_empty_batch_is_refused(g: Fixture) {
    assert_eq!(g.backend().submit(vec![]).await.refused(), Code::InvalidArgument);
    assert_eq!(g.backend().renew(vec![]).await.refused(), Code::InvalidArgument);
    assert_eq!(g.backend().complete(vec![]).await.refused(), Code::InvalidArgument);
    assert_eq!(g.backend().hand_back(vec![]).await.refused(), Code::InvalidArgument);
    assert_eq!(g.backend().tick(vec![]).await.refused(), Code::InvalidArgument);
}

pub(crate) async fn a_batch_of_too_many_is_refused_whole(g: Fixture) {
    let hold = g.held().await.hold();
    let before = g.snapshot().await;
    let many = BATCH + 1;
    let works = vec![g.work(); many];
    assert_eq!(g.backend().submit(works).await.refused(), Code::InvalidArgument);
    assert_eq!(g.backend().renew(vec![hold.clone(); many]).await.refused(), Code::InvalidArgument);
    let complete = Complete { hold: hold.clone(), result: Payload::default() };
    let completes = vec![complete; many];
    assert_eq!(g.backend().complete(completes).await.refused(), Code::InvalidArgument);
    let refused = g.backend().hand_back(vec![hold.clone(); many]).await.refused();
    assert_eq!(refused, Code::InvalidArgument);
    let ids = vec![hold.target.execution; many];
    assert_eq!(g.backend().tick(ids).await.refused(), Code::InvalidArgument);
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_batch_of_as_many_as_allowed_is_accepted(g: Fixture) {
    let works: Vec<_> = (0..BATCH).map(|_| g.work()).collect();
    let answers = g.backend().submit(works.clone()).await.unwrap();
    assert!(answers.iter().all(|answer| answer.as_ref().is_ok_and(|s| s.created)));
    let mut taken = Vec::new();
    loop {
        let more = g.take(ClaimRequest { max: 256, ..g.claim() }).await;
        if more.is_empty() {
            break;
        }
        taken.extend(more);
    }
    let ids: BTreeSet<_> = taken.iter().map(|assignment| assignment.execution).collect();
    assert_eq!(ids, works.iter().map(|work| work.id).collect());
    let holds = taken.iter().map(|assignment| assignment.hold()).collect();
    assert!(g.backend().renew(holds).await.unwrap().iter().all(Result::is_ok));
}

pub(crate) async fn a_batch_with_too_many_bytes_is_refused_whole(g: Fixture) {
    let half = Payload::bytes(Bytes::from(vec![0; BATCH_BYTES / 2]));
    let work = |input: &Payload| Submit { input: input.clone(), ..g.work() };
    let before = g.snapshot().await;
    let batch = vec![work(&half), work(&half), work(&Payload::bytes("x"))];
    assert_eq!(g.backend().submit(batch).await.refused(), Code::TooLarge);
    g.snapshot().await.assert_same(&before);
    let answers = g.backend().submit(vec![work(&half), work(&half)]).await.unwrap();
    assert!(answers.iter().all(Result::is_ok), "exactly the limit is accepted");
    g.pass(ms(0)).await;
}
