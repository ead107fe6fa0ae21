//! Calls of one process that meet travel together: fewer calls, and to each its own answer.
//!
//! A proxy holds the first two calls back until all others have been made.

use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use ff_backend_valkey::Options;
use ff_core::bounds::{BATCH_BYTES, PAYLOAD_BYTES};
use ff_core::machine::{
    Action, Assignment, Claim, ClaimRequest, Complete, LeaseRef, Renew, Reply, Submit,
};
use ff_core::record::Exited;
use ff_core::{ExecutionId, Millis, Namespace, Partition, Payload};
use ff_store::{ClientBackend, Store, StoreError, WorkerBackend, mint};
use ff_testkit::proxy::{Mode, Proxy};
use ff_testkit::valkey::{Cluster, Server};
use futures_util::future::join_all;

use crate::fixture::{
    Home, Process, check, claim, complete, counted, counting, submit, take, target, try_submit,
    work,
};

/// How many calls are under way at a time.
const UNDER_WAY: usize = 2;

/// How many calls meet behind them.
const CALLERS: usize = 20;

/// The most commands of one call, as the limits page has it.
const MOST: usize = 100;

/// A store, mostly of one partition, which a process reaches through a proxy and whose functions count.
struct Meeting {
    proxy: Proxy,
    process: Process,
    name: String,
}

type Answer = Result<Reply, StoreError>;
type Asking<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

impl Meeting {
    async fn new() -> Meeting {
        Meeting::with(1, &[]).await
    }

    /// The same with so many partitions, and Lua of the library replaced.
    async fn with(partitions: u16, alter: &[(&str, &str)]) -> Meeting {
        let (server, home) = (Server::shared(), Home::on(Server::shared(), partitions));
        let name = home.options.prefix.as_str().to_owned();
        let proxy = Proxy::to(server.port());
        let mut home = home.with_prelude(&counting(&name)).through(proxy.port());
        let owned = alter.iter().map(|(old, new)| ((*old).to_owned(), (*new).to_owned()));
        home.options.alter = owned.collect();
        Meeting { process: home.open().await, proxy, name }
    }

    /// How often the function of a verb was called.
    fn calls(&self, verb: &str) -> i64 {
        counted(Server::shared(), &self.name).get(verb).map_or(0, |verb| verb.calls)
    }

    /// One command in a call of its own.
    fn ask(&self, action: impl Into<Action>) -> Asking<'_> {
        let command = mint::command(action);
        Box::pin(async move {
            self.process.store().execute(vec![command]).await.pop().expect("there is an answer")
        })
    }

    /// Makes these calls while the first of them are under way.
    async fn meet(&self, mut calls: Vec<Asking<'_>>) -> Vec<Answer> {
        self.hold(&mut calls).await;
        self.proxy.set(Mode::Forward);
        join_all(calls).await
    }

    /// Makes these calls; the first of them do not reach the server yet.
    async fn hold(&self, calls: &mut [Asking<'_>]) {
        self.proxy.set(Mode::Hold);
        for (number, call) in calls.iter_mut().enumerate() {
            begin(call.as_mut()).await;
            if number < UNDER_WAY {
                // A caller that may send first lets others join.
                begin(call.as_mut()).await;
            }
        }
    }

    fn work(&self) -> Submit {
        Submit::new(mint::execution_id(Partition::ONLY))
    }

    /// So much work in a worker's hands.
    async fn held(&self, count: usize) -> Vec<Assignment> {
        for _ in 0..count {
            submit(&self.process).await;
        }
        take(&self.process, count as u16).await
    }

    fn completes<'a>(&'a self, holds: impl IntoIterator<Item = LeaseRef>) -> Vec<Asking<'a>> {
        let each = holds.into_iter().enumerate().map(|(number, hold)| {
            self.ask(Complete { hold, result: Payload::bytes(format!("result {number}")) })
        });
        each.collect()
    }

    fn claims(&self, requests: &[ClaimRequest]) -> Vec<Asking<'_>> {
        requests.iter().map(|request| self.ask(Claim::from(request.clone()))).collect()
    }
}

/// Makes a call as far as it gets without an answer.
async fn begin<T>(mut call: Pin<&mut (dyn Future<Output = T> + Send + '_)>) {
    let is_pending = poll_fn(|context| Poll::Ready(call.as_mut().poll(context).is_pending())).await;
    assert!(is_pending, "nothing is answered yet");
}

fn submitted(answer: Answer) -> ExecutionId {
    match answer.unwrap() {
        Reply::Submitted(submitted) if submitted.created => submitted.execution,
        other => panic!("{other:?}"),
    }
}

fn claimed(answer: Answer) -> Vec<Assignment> {
    match answer.unwrap() {
        Reply::Claimed(claimed) => claimed.assignments,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn submits_that_meet_go_as_one() {
    let meeting = Meeting::new().await;
    let mut works: Vec<_> = (0..UNDER_WAY + CALLERS).map(|_| meeting.work()).collect();
    works[3].namespace = Namespace::new("other").unwrap();
    let calls = works.iter().map(|work| meeting.ask(work.clone())).collect();
    let made: Vec<_> = meeting.meet(calls).await.into_iter().map(submitted).collect();
    assert_eq!(made, works.iter().map(|work| work.id).collect::<Vec<_>>());
    assert_eq!(meeting.calls("submit"), 3, "the first two, and all that came meanwhile");
    check(&meeting.process).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_meets_none_is_sent_at_once_and_alone() {
    let meeting = Meeting::new().await;
    for count in 1..=5 {
        submit(&meeting.process).await;
        assert_eq!(meeting.calls("submit"), count);
    }
    let held = take(&meeting.process, 5).await;
    let calls: Vec<_> = held.iter().map(|one| meeting.ask(Renew { hold: one.hold() })).collect();
    for (count, call) in (1..).zip(calls) {
        call.await.unwrap();
        assert_eq!(meeting.calls("renew"), count);
    }
}

/// Completes what is held, one of them under a lease that is not its own.
async fn completes_meet(meeting: Meeting) {
    let held = meeting.held(UNDER_WAY + CALLERS).await;
    let wrong = 7;
    let holds = held.iter().enumerate().map(|(number, one)| {
        let mut hold = one.hold();
        if number == wrong {
            hold.fence.lease = held[wrong + 1].fence.lease;
        }
        hold
    });
    let answers = meeting.meet(meeting.completes(holds)).await;
    for (number, (answer, one)) in answers.iter().zip(&held).enumerate() {
        match answer {
            Err(StoreError::Refused(_)) => assert_eq!(number, wrong),
            Ok(Reply::Exited(Exited::Completed)) => {
                assert_ne!(number, wrong);
                let result = meeting.process.result(&target(one.execution), None).await.unwrap();
                assert_eq!(result, Payload::bytes(format!("result {number}")));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(meeting.calls("complete"), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_completion_costs_itself_alone() {
    completes_meet(Meeting::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_another_caller_would_be_noticed() {
    let reversed = [(
        "replies[#replies + 1], ended[#ended + 1] =",
        "table.insert(replies, 2, 0) replies[2], ended[#ended + 1] =",
    )];
    let meeting = Meeting::with(1, &reversed).await;
    assert!(tokio::spawn(completes_meet(meeting)).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn renewals_that_meet_go_as_one() {
    let meeting = Meeting::new().await;
    let held = meeting.held(UNDER_WAY + CALLERS).await;
    let calls = held.iter().map(|one| meeting.ask(Renew { hold: one.hold() })).collect();
    for answer in meeting.meet(calls).await {
        assert!(matches!(answer, Ok(Reply::Renewed(_))), "{answer:?}");
    }
    assert_eq!(meeting.calls("renew"), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_that_cannot_be_read_costs_its_caller_alone() {
    let meeting = Meeting::new().await;
    let held = meeting.held(UNDER_WAY + CALLERS).await;
    let keys = Server::shared().command(&["KEYS", &format!("{}:exec:*", meeting.name)]).unwrap();
    let key = keys.list()[0].to_string();
    let record = Server::shared().command(&["GET", &key]).unwrap();
    for order in [&["DEL", &key][..], &["LPUSH", &key, "not a record"]] {
        Server::shared().command(order).unwrap();
    }
    let answers = meeting.meet(meeting.completes(held.iter().map(Assignment::hold))).await;
    let failed: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    assert!(matches!(failed[..], [StoreError::Corrupt(_)]), "{failed:?}");
    Server::shared().command(&["SET".as_bytes(), key.as_bytes(), record.bytes()]).unwrap();
    let left = answers.iter().position(Result::is_err).unwrap();
    assert!(meeting.completes([held[left].hold()]).remove(0).await.is_ok(), "as if never tried");
}

/// Claims of different sizes, each of which has to get its own.
async fn claims_meet(meeting: Meeting) {
    let mut works = Vec::new();
    for _ in 0..30 {
        works.push(submit(&meeting.process).await);
    }
    let sizes = [1, 3, 1, 1, 8, 2, 1, 10, 5, 1];
    let requests: Vec<_> = sizes.into_iter().map(claim).collect();
    let answers = meeting.meet(meeting.claims(&requests)).await;
    let mut next = works.iter();
    for (answer, request) in answers.into_iter().zip(&requests) {
        let taken = claimed(answer);
        let ids: Vec<_> = taken.iter().map(|one| &one.execution).collect();
        let due: Vec<_> = next.by_ref().take(request.max.into()).collect();
        assert_eq!(ids, due, "who came first gets first what came first");
        assert!(taken.iter().all(|one| one.fence.lease.request == request.request));
        let again = ClaimRequest { retry: true, ..request.clone() };
        let again = claimed(meeting.ask(Claim::from(again)).await);
        if !due.is_empty() {
            let known: Vec<_> = again.iter().map(|one| (one.execution, one.fence.lease)).collect();
            let taken = taken.iter().map(|one| (one.execution, one.fence.lease));
            assert_eq!(known, taken.collect::<Vec<_>>(), "repeated, it finds what it took");
        }
    }
    assert!(next.next().is_none(), "nothing is left");
    check(&meeting.process).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_claim_gets_its_own_in_turn() {
    claims_meet(Meeting::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_that_meet_go_as_one() {
    let meeting = Meeting::new().await;
    for _ in 0..UNDER_WAY + CALLERS {
        submit(&meeting.process).await;
    }
    let requests: Vec<_> = (0..UNDER_WAY + CALLERS).map(|_| claim(1)).collect();
    let answers = meeting.meet(meeting.claims(&requests)).await;
    let taken: BTreeSet<_> = answers.into_iter().flat_map(claimed).map(|o| o.execution).collect();
    assert_eq!(taken.len(), UNDER_WAY + CALLERS);
    assert_eq!(meeting.calls("claim"), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_share_of_another_claim_would_be_noticed() {
    let shifted = [("reply[5 + i] = apart(take", "reply[6 + #claims - i] = apart(take")];
    let meeting = Meeting::with(1, &shifted).await;
    assert!(tokio::spawn(claims_meet(meeting)).await.is_err());
}

/// Claims of inputs of which two fill an answer.
async fn large_claims_meet(meeting: Meeting) {
    let mut works = BTreeSet::new();
    for _ in 0..7 {
        let input = Payload::bytes(vec![b'x'; BATCH_BYTES / 2]);
        let work = Submit { input, ..meeting.work() };
        works.insert(submitted(meeting.ask(work).await));
    }
    let requests: Vec<_> = (0..7).map(|_| claim(1)).collect();
    let answers = meeting.meet(meeting.claims(&requests)).await;
    let taken: Vec<_> = answers.into_iter().flat_map(claimed).map(|one| one.execution).collect();
    assert_eq!(taken.iter().copied().collect::<BTreeSet<_>>(), works);
    assert!(meeting.calls("claim") > 3, "no answer has more than a mebibyte");
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_of_large_inputs_ask_again_when_an_answer_is_full() {
    large_claims_meet(Meeting::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_a_bound_would_be_noticed() {
    let meeting = Meeting::with(1, &[("bytes > C.BATCH_BYTES", "false")]).await;
    assert!(tokio::spawn(large_claims_meet(meeting)).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_that_cannot_be_read_costs_one_claim_the_slow_path() {
    let meeting = Meeting::new().await;
    let mut works = Vec::new();
    for _ in 0..5 {
        works.push(submit(&meeting.process).await);
    }
    let queue = format!("{}:idx:{{p:0}}:lane:default:default:eligible", meeting.name);
    let third = Server::shared().command(&["ZRANGE", &queue, "2", "2"]).unwrap();
    let key = format!("{}:exec:{{p:0}}:{}", meeting.name, third.list()[0]);
    Server::shared().command(&["SET", &key, "damaged"]).unwrap();
    let requests: Vec<_> = (0..5).map(|_| claim(1)).collect();
    let answers = meeting.meet(meeting.claims(&requests)).await;
    let taken: BTreeSet<_> = answers.into_iter().flat_map(claimed).map(|o| o.execution).collect();
    let mut readable: BTreeSet<_> = works.iter().copied().collect();
    readable.remove(&works[2]);
    assert_eq!(taken, readable, "what can be read is taken");
}

/// Submits and claims of several partitions.
async fn partitions_meet(meeting: Meeting) {
    for _ in 0..8 {
        submit(&meeting.process).await;
    }
    let works: Vec<_> = (0..8).map(|_| work(&meeting.process)).collect();
    let mut calls: Vec<_> = works.iter().map(|work| meeting.ask(work.clone())).collect();
    let requests: Vec<_> = (0..3).map(|_| claim(1)).collect();
    calls.extend(meeting.claims(&requests));
    let mut answers = meeting.meet(calls).await;
    let taken = answers.split_off(works.len());
    let made: Vec<_> = answers.into_iter().map(submitted).collect();
    assert_eq!(made, works.iter().map(|work| work.id).collect::<Vec<_>>());
    for (answer, request) in taken.into_iter().zip(&requests) {
        let [taken] = &claimed(answer)[..] else { panic!("there is work for each") };
        assert_eq!(taken.fence.lease.request, request.request);
    }
    assert_eq!(meeting.calls("together"), 1);
    assert_eq!(meeting.calls("submit"), 8 + 2);
    check(&meeting.process).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_several_functions_and_partitions_go_as_one() {
    partitions_meet(Meeting::with(8, &[]).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_another_function_would_be_noticed() {
    let old = "replies[#replies + 1] = apart(callbacks[args[at]]";
    let new = "table.insert(replies, 1, 0) replies[1] = apart(callbacks[args[at]]";
    let meeting = Meeting::with(8, &[(old, new)]).await;
    assert!(tokio::spawn(partitions_meet(meeting)).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_cluster_a_call_keeps_to_its_partition() {
    let mut home = Home::on(Server::shared(), 8);
    let options: Options = Cluster::shared().url().parse().unwrap();
    home.options = Options { prefix: home.options.prefix, partitions: Some(8), ..options };
    let process = home.open().await;
    let works: Vec<_> = (0..200).map(|_| work(&process)).collect();
    let made = join_all(works.iter().map(|work| try_submit(&process, work.clone()))).await;
    let made: BTreeSet<_> = made.into_iter().map(Result::unwrap).collect();
    let claims = join_all((0..200).map(|_| take(&process, 1))).await;
    let taken: BTreeSet<_> = claims.iter().flatten().map(|one| one.execution).collect();
    assert_eq!(taken, made);
    for answer in join_all(claims.iter().flatten().map(|one| complete(&process, one))).await {
        answer.unwrap();
    }
    check(&process).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_carries_a_bounded_number_of_commands() {
    let meeting = Meeting::new().await;
    let works: Vec<_> = (0..UNDER_WAY + 2 * MOST + 1).map(|_| meeting.work()).collect();
    let calls = works.iter().map(|work| meeting.ask(work.clone())).collect();
    for answer in meeting.meet(calls).await {
        submitted(answer);
    }
    assert_eq!(meeting.calls("submit"), 2 + 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_carries_a_bounded_number_of_bytes() {
    let meeting = Meeting::new().await;
    let sizes = [1, 1, PAYLOAD_BYTES / 2, PAYLOAD_BYTES / 2, 1, PAYLOAD_BYTES, 1, 2, 3];
    let works =
        sizes.map(|size| Submit { input: Payload::bytes(vec![b'x'; size]), ..meeting.work() });
    let calls = works.iter().map(|work| meeting.ask(work.clone())).collect();
    let made: Vec<_> = meeting.meet(calls).await.into_iter().map(submitted).collect();
    assert_eq!(made, works.each_ref().map(|work| work.id));
    assert_eq!(meeting.calls("submit"), 6, "1; 1; two halves; 1; a whole; the rest");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_too_large_for_any_call_is_refused_alone() {
    let meeting = Meeting::new().await;
    let sizes = [1, 1, 2, PAYLOAD_BYTES + 1, 3];
    let calls = sizes.map(|size| {
        let input = Payload::bytes(vec![b'x'; size]);
        meeting.ask(Submit { input, ..meeting.work() })
    });
    let mut calls: Vec<_> = calls.into_iter().collect();
    let refused = calls.remove(3);
    assert!(matches!(refused.await, Err(StoreError::Refused(_))));
    for answer in meeting.meet(calls).await {
        submitted(answer);
    }
    assert_eq!(meeting.calls("submit"), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_outcome_of_a_call_that_is_lost_is_unknown_to_all_in_it() {
    let meeting = Meeting::new().await;
    let works: Vec<_> = (0..4)
        .map(|number| Submit {
            input: Payload::bytes(format!("number-{number}")),
            ..meeting.work()
        })
        .collect();
    let calls = works.iter().map(|work| meeting.ask(work.clone())).collect();
    meeting.proxy.cut_once("number-2");
    let mut answers = meeting.meet(calls).await;
    // The first answer lets the lost call go out; the second may be lost with it, on the same connection.
    submitted(answers.remove(0));
    let lost = answers.split_off(UNDER_WAY - 1);
    for error in
        answers.into_iter().filter_map(Result::err).chain(lost.into_iter().map(Result::unwrap_err))
    {
        assert!(error.outcome_is_unknown(), "{error}");
    }
    for work in &works {
        let again = meeting.ask(work.clone()).await.unwrap();
        assert!(matches!(again, Reply::Submitted(known) if !known.created), "it was carried out");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_goes_away_takes_nobody_along() {
    let meeting = Meeting::new().await;
    let works: Vec<_> = (0..5).map(|_| meeting.work()).collect();
    let mut calls: Vec<_> = works.iter().map(|work| meeting.ask(work.clone())).collect();
    meeting.hold(&mut calls).await;
    drop(calls.remove(2));
    drop(calls.remove(0));
    meeting.proxy.set(Mode::Forward);
    for answer in join_all(calls).await {
        submitted(answer);
    }
    let record = meeting.process.store().record(works[2].id).await.unwrap();
    assert!(record.is_none(), "what nobody waits for any more is not sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_of_a_role_that_goes_away_leaves_its_call_to_the_process() {
    let meeting = Meeting::new().await;
    let works: Vec<_> = (0..3).map(|_| meeting.work()).collect();
    let submits = works.iter().map(|work| meeting.process.submit(vec![work.clone()]));
    let mut submits: Vec<_> = submits.collect();
    meeting.proxy.set(Mode::Hold);
    for submit in &mut submits {
        begin(submit.as_mut()).await;
    }
    drop(submits);
    meeting.proxy.set(Mode::Forward);
    meeting.process.drain().await;
    for work in works {
        assert!(meeting.process.store().record(work.id).await.unwrap().is_some());
    }
    let taken = meeting.process.claim(claim(3), Millis::ZERO).await.unwrap();
    assert_eq!(taken.assignments.len(), 3);
}
