//! An audit reads a store in pages: no payload leaves the server, and little is held at any time.

use ff_core::machine::{Fail, Submit};
use ff_core::policy::Backoff;
use ff_core::state::Failure;
use ff_core::{Category, Millis, Payload};
use ff_store::audit::{Auditor, Row};
use ff_store::{MaintenanceBackend, WorkerBackend};
use ff_testkit::valkey::{Config, Server};

use crate::fixture::{self, Home, claim, submit_many, take, try_submit, work};

/// How many bytes the server has sent in total.
fn sent(server: &Server) -> u64 {
    let stats = server.command(&["INFO", "stats"]).unwrap().to_string();
    let line = stats.lines().find_map(|line| line.strip_prefix("total_net_output_bytes:"));
    line.unwrap().trim().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_reads_no_payload() {
    const LARGE: usize = 500_000;
    let server = Server::start(Config::default().with("appendfsync", "no"));
    let process = Home::on(&server, 4).open().await;
    for _ in 0..20 {
        let input = Payload::bytes(vec![b'x'; LARGE]);
        try_submit(&process, Submit { input, ..work(&process) }).await.unwrap();
    }
    for _ in 0..3 {
        for taken in take(&process, 1).await {
            let result = Payload::bytes(vec![b'y'; LARGE]);
            let batch = vec![ff_core::machine::Complete { hold: taken.hold(), result }];
            process.complete(batch).await.unwrap().remove(0).unwrap();
        }
    }
    let before = sent(&server);
    fixture::check(&process).await;
    let read = sent(&server) - before;
    eprintln!("{read} bytes were read of a store of {}", 23 * LARGE);
    assert!(read < LARGE as u64 / 4, "{read}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_expects_no_more_than_one_partition_holds() {
    const COUNT: usize = 6_400;
    let process = Home::on(Server::shared(), 64).open().await;
    submit_many(&process, COUNT).await;
    let mut rows = process.rows().await.unwrap();
    let (mut auditor, mut most, mut read) = (Auditor::default(), 0, 0);
    while let Some(row) = rows.next().await {
        auditor.row(row.unwrap());
        most = most.max(auditor.expects());
        read += 1;
    }
    eprintln!("{most} at most of {read} rows");
    assert!(most < read / 20, "{most} of {read}");
    assert_eq!(auditor.finish().violations, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_with_many_attempts_is_read_whole() {
    const ATTEMPTS: u32 = 60;
    let process = Home::on(Server::shared(), 1).open().await;
    let mut submit = work(&process);
    submit.policy.max_attempts = Some(1_000);
    submit.policy.backoff = Backoff::none().into();
    try_submit(&process, submit).await.unwrap();
    for _ in 0..ATTEMPTS {
        let claimed = process.claim(claim(1), Millis::from_secs(5)).await.unwrap().assignments;
        let category = Category::error();
        let failure = Failure { category, retryable: true, message: "m".repeat(4_000).into() };
        process.fail(Fail { hold: claimed[0].hold(), failure }).await.unwrap();
    }
    let mut rows = process.rows().await.unwrap();
    let mut attempts = 0;
    while let Some(row) = rows.next().await {
        attempts += u32::from(matches!(row.unwrap(), Row::Element(..)));
    }
    assert_eq!(attempts, ATTEMPTS - 1, "the newest is in the record");
    fixture::check(&process).await;
}
