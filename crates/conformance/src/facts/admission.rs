//! Admission: the call that requested it uses it, releases it, or leaves it to its timer.

use std::collections::BTreeSet;

use ff_core::ExecutionId;
use ff_core::limits::Amounts;
use ff_core::machine::{
    ADMISSION_TTL, AdmissionBatch, AdmissionRequest, Admissions, Admit, Admitted, Claim,
    ClaimRequest, Decision, HandBack, Home, NeedsAdmission, Reply, ReportUsage, Settlement,
    TICKET_TTL,
};
use ff_core::{AdmissionId, Millis};
use ff_store::mint;

use crate::fixture::{Fixture, at_once, failure, key, of_tokens, tokens, worker};

/// Another call requests admission of `execution` and stops there.
async fn request(g: &Fixture, execution: ExecutionId) -> Decision {
    request_for(g, seen(g, execution).await).await
}

/// An execution as a call that scans its queue sees it.
async fn seen(g: &Fixture, execution: ExecutionId) -> NeedsAdmission {
    let record = g.store().record(execution).await.unwrap().unwrap();
    NeedsAdmission::of(&record, false).unwrap()
}

async fn request_for(g: &Fixture, needs: NeedsAdmission) -> Decision {
    let request =
        AdmissionRequest { id: AdmissionId { batch: mint::request_id(), index: 0 }, needs };
    let home = Home { namespace: g.namespace.clone(), partitions: g.store().partitions() };
    let batch = AdmissionBatch { requests: vec![request], max: 1, reserved_for: Millis::ZERO };
    let admit = Admit { home, settlements: Vec::new(), batches: vec![batch] };
    let reply = g.run(admit).await.unwrap();
    let Reply::AdmitReply(mut reply) = reply else { panic!("{reply:?}") };
    reply.decisions.remove(0).remove(0)
}

async fn admitted(g: &Fixture, execution: ExecutionId) -> Admitted {
    match request(g, execution).await {
        Decision::Admitted(admitted) => admitted,
        other => panic!("{other:?}"),
    }
}

/// That call claims with its admission.
async fn claim_with(g: &Fixture, admitted: Admitted) -> Vec<ExecutionId> {
    let call = ClaimRequest { worker: worker("bob"), ..g.claim() };
    let claim = Claim { call, first: 0, admissions: Admissions::Only(vec![admitted]) };
    let reply = g.run(claim).await.unwrap();
    let Reply::Claimed(claimed) = reply else { panic!("{reply:?}") };
    claimed.assignments.iter().map(|assignment| assignment.execution).collect()
}

/// The id under which an execution was last admitted.
async fn admission(g: &Fixture, id: ExecutionId) -> Option<AdmissionId> {
    g.store().record(id).await.unwrap().unwrap().admission
}

pub(crate) async fn an_admission_is_known_only_to_its_caller(g: Fixture) {
    g.put_quota("api", at_once(1)).await;
    let id = g.under(&["api"]).await;
    let admitted_call = admitted(&g, id).await;
    assert_eq!(request(&g, id).await, Decision::AdmittedElsewhere { spent: false });
    assert!(g.nothing_to_claim().await, "another call is about to take it");
    assert!(g.backend().grant(g.grant()).await.unwrap().offer.is_none());
    assert_eq!(g.quota("api").await.active, 1, "no other call has released it");
    let name = admitted_call.request.id;
    assert_eq!(claim_with(&g, admitted_call).await, [id]);
    assert_eq!(admission(&g, id).await, Some(name));
    assert_eq!(g.tickets().await.len(), 1);
}

pub(crate) async fn an_admission_is_not_used_past_its_ttl(g: Fixture) {
    g.put_quota("api", at_once(1)).await;
    let id = g.under(&["api"]).await;
    let admission = admitted(&g, id).await;
    g.pass(ADMISSION_TTL).await;
    assert_eq!(claim_with(&g, admission.clone()).await, []);
    g.pass(TICKET_TTL).await;
    assert_eq!(g.quota("api").await.active, 0);
    assert_eq!(claim_with(&g, admission).await, []);
    assert_eq!(g.claimed().await.execution, id);
    assert_eq!((g.quota("api").await.active, g.tickets().await.len()), (1, 1));
}

pub(crate) async fn an_execution_admitted_elsewhere_is_skipped(g: Fixture) {
    let g = g.in_one_partition();
    g.put_quota("api", at_once(2)).await;
    let first = g.under(&["api"]).await;
    let second = g.under(&["api"]).await;
    let plain = g.waiting().await;
    admitted(&g, first).await;
    assert_eq!(g.claimed().await.execution, second);
    assert_eq!(g.claimed().await.execution, plain);
    assert!(g.nothing_to_claim().await);
}

/// An execution that stopped is settled under its old id, whichever worker claims it meanwhile.
pub(crate) async fn an_admission_id_is_not_used_twice(g: Fixture) {
    g.put_quota("api", at_once(2)).await;
    let id = g.under(&["api"]).await;
    let held = g.claimed().await;
    let before = admission(&g, id).await;
    g.fail(&held, failure("again")).await.unwrap();
    g.pass(Millis::from_secs(1)).await;
    let again = g.claimed().await;
    assert_eq!(again.execution, id);
    assert_ne!(admission(&g, id).await, before);
    assert_eq!((g.quota("api").await.active, g.tickets().await.len()), (1, 1));
}

pub(crate) async fn a_settlement_takes_nothing_from_a_later_admission(g: Fixture) {
    g.put_quota("api", at_once(2)).await;
    let id = g.under(&["api"]).await;
    let held = g.claimed().await;
    let before = g.store().record(id).await.unwrap().unwrap();
    let late = Settlement::stopped(&before, before.admission.unwrap());
    g.fail(&held, failure("again")).await.unwrap();
    g.pass(Millis::from_secs(1)).await;
    assert_eq!(g.claimed().await.execution, id);
    let home = Home { namespace: g.namespace.clone(), partitions: g.store().partitions() };
    g.run(Admit { home, settlements: vec![late], batches: Vec::new() }).await.unwrap();
    assert_eq!((g.quota("api").await.active, g.tickets().await.len()), (1, 1));
}

/// A call sees an execution, another worker runs it for a while, then the call requests admission for
/// what it saw and its process dies.
pub(crate) async fn a_late_admission_request_charges_nothing(g: Fixture) {
    g.put_budget("team", of_tokens(1_000)).await;
    g.put_quota("api", at_once(1)).await;
    let id = g.controlled(&["team"], &["api"], Amounts::new()).await;
    let needs = seen(&g, id).await;
    let held = g.claimed().await;
    g.report(&held, "first", tokens(7)).await.unwrap();
    g.hand_back(&held).await.unwrap();
    assert_eq!((g.budget("team").await.used, g.tickets().await.len()), (tokens(7), 0));
    assert!(matches!(request_for(&g, needs).await, Decision::Admitted(_)));
    assert_eq!(g.quota("api").await.active, 1);
    g.pass(TICKET_TTL).await;
    assert_eq!((g.quota("api").await.active, g.tickets().await.len()), (0, 0));
    assert_eq!(g.budget("team").await.used, tokens(7), "it was charged when it was used");
    let held = g.claimed().await;
    g.report(&held, "second", tokens(5)).await.unwrap();
    g.complete(&held, "done").await.unwrap();
    assert_eq!(g.budget("team").await.used, tokens(12));
}

/// The process that ran it dies before it has settled anything.
pub(crate) async fn a_used_admission_is_charged_whichever_process_settles_it(g: Fixture) {
    g.put_budget("team", of_tokens(1_000)).await;
    g.spending(&["team"]).await;
    let held = g.claimed().await;
    let (hold, amounts) = (held.hold(), tokens(7));
    g.run(ReportUsage { hold, key: key("first"), amounts, release: false }).await.unwrap();
    g.run(HandBack { hold: held.hold() }).await.unwrap();
    g.store().settlements().take();
    g.pass(Millis::from_secs(60)).await;
    assert_eq!((g.budget("team").await.used, g.tickets().await.len()), (tokens(7), 0));
}

pub(crate) async fn a_repeated_claim_finds_what_it_took(g: Fixture) {
    let g = g.in_one_partition();
    g.put_quota("api", at_once(2)).await;
    for _ in 0..3 {
        g.under(&["api"]).await;
    }
    let claim = ClaimRequest { max: 3, ..g.claim() };
    let taken = g.take(claim.clone()).await;
    assert_eq!(taken.len(), 2);
    let again = g.take(ClaimRequest { retry: true, ..claim }).await;
    let ids = |all: &[ff_core::machine::Assignment]| -> Vec<_> {
        all.iter().map(|one| (one.execution, one.fence)).collect()
    };
    assert_eq!(ids(&again), ids(&taken));
}

/// As many callers as there is work, all at once: each gets one, and nothing is left held.
pub(crate) async fn many_callers_get_one_each(g: Fixture) {
    const CALLERS: usize = 100;
    g.put_quota("api", at_once(1_000)).await;
    for _ in 0..CALLERS {
        g.under(&["api"]).await;
    }
    let calls = (0..CALLERS).map(|_| {
        let g = g.clone();
        tokio::spawn(async move {
            let wait = Millis::from_secs(20);
            g.backend().claim(g.claim(), wait).await.unwrap().assignments
        })
    });
    let mut taken = BTreeSet::new();
    for call in calls.collect::<Vec<_>>() {
        let some = call.await.unwrap();
        assert_eq!(some.len(), 1);
        taken.extend(some.iter().map(|one| one.execution));
    }
    assert_eq!(taken.len(), CALLERS);
    assert_eq!(g.quota("api").await.active as usize, CALLERS);
    assert_eq!(g.tickets().await.len(), CALLERS);
}

/// More callers than slots: no more are admitted than the limit.
pub(crate) async fn many_callers_share_few_slots(g: Fixture) {
    g.put_quota("api", at_once(3)).await;
    for _ in 0..30 {
        g.under(&["api"]).await;
    }
    let calls = (0..20).map(|_| {
        let g = g.clone();
        tokio::spawn(async move { g.take(ClaimRequest { max: 2, ..g.claim() }).await.len() })
    });
    let mut taken = 0;
    for call in calls.collect::<Vec<_>>() {
        taken += call.await.unwrap();
    }
    assert_eq!(taken, 3);
    assert_eq!((g.quota("api").await.active, g.tickets().await.len()), (3, 3));
}
