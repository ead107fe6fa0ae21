//! What the server counts is what it documents.

use std::collections::BTreeSet;

use ff_core::Millis;
use ff_core::machine::{Complete, Submit};
use ff_server::METRICS;
use ff_store::{ClientBackend, WorkerBackend};

use crate::common::raw::{ask, get};
use crate::common::{Fixture, claim};

/// The metric that a line of the text belongs to.
fn name(line: &str) -> &str {
    let name = line.split(['{', ' ']).next().unwrap();
    let part = ["_bucket", "_sum", "_count"].into_iter().find_map(|part| name.strip_suffix(part));
    part.unwrap_or(name)
}

#[tokio::test]
async fn every_metric_is_emitted_and_every_emitted_one_is_documented() {
    let server = Fixture::start().await;
    let client = server.client();
    let submit = Submit::new(client.new_id(&Default::default(), None));
    client.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    let held = client.claim(claim(), Millis::ZERO).await.unwrap().assignments.remove(0);
    client.renew(vec![held.hold()]).await.unwrap().remove(0).unwrap();
    let complete = Complete { hold: held.hold(), result: Default::default() };
    client.complete(vec![complete]).await.unwrap().remove(0).unwrap();
    client.fail(fail(&held)).await.unwrap_err();
    ask(server.address, "MADEUP /nowhere HTTP/1.1\r\nhost: ff\r\n\r\n").await;

    let answer = ask(server.address, get("/metrics")).await;
    assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
    let text = answer.text();
    let emitted: BTreeSet<_> =
        text.lines().filter(|line| line.starts_with("ff_")).map(name).collect();
    let documented: BTreeSet<_> = METRICS.iter().map(|(name, ..)| *name).collect();
    assert_eq!(emitted, documented);
    for (name, labels, what) in METRICS {
        assert!(text.contains(&format!("# HELP {name} {what}")), "{name}");
        for label in labels.split(", ").filter(|label| !label.is_empty()) {
            let mut lines = text.lines().filter(|line| {
                line.starts_with(&format!("{name}{{")) || line.starts_with(&format!("{name}_"))
            });
            assert!(lines.any(|line| line.contains(&format!("{label}=\""))), "{name} has {label}");
        }
    }
    assert!(text.contains("method=\"other\"") && !text.contains("MADEUP"), "labels are bounded");
    assert!(!text.contains(&held.execution.to_string()), "no label names an execution");
}

fn fail(held: &ff_core::machine::Assignment) -> ff_core::machine::Fail {
    let category = ff_core::Category::error();
    let failure = ff_core::state::Failure { category, retryable: true, message: "late".into() };
    ff_core::machine::Fail { hold: held.hold(), failure }
}
