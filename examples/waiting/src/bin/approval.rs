//! A deployment that two different people must approve.
//!
//! It waits for them without a worker, for as long as they take. Who decides is known by the token or the
//! link that was made for them, so nobody is two people.
//!
//! ```sh
//! cargo run --release -- dev                                  # in another terminal
//! cargo run -p ff-example-waiting --bin approval              # plays everybody
//! cargo run -p ff-example-waiting --bin approval -- --links   # prints two links, and waits for you
//! ```
#![allow(clippy::print_stdout, reason = "it tells what happens")]

use std::time::Duration;

use ff_example_waiting::{Error, check, url};
use flowfabric::prelude::*;

const DAY: Duration = Duration::from_secs(86_400);

/// Builds once, asks, and ships once if two people have said yes.
async fn deploy(task: TaskContext, version: String) -> Result<String, TaskError> {
    task.step("build", |_| async { Ok::<_, TaskError>(format!("{version}.tar")) }).await?;
    let ask = Approval::ask(&format!("Deploy {version} to production?")).by(2).within(DAY);
    let votes = match task.wait_for_approval("gate", ask).await? {
        Decided::Approved(votes) => votes,
        Decided::Rejected(vote) => {
            let why = vote.comment.unwrap_or_else(|| "no reason given".to_owned());
            return Err(TaskError::permanent(format!("{} said no: {why}", vote.by)));
        }
        Decided::TimedOut | Decided::Resumed => {
            return Err(TaskError::permanent("nobody decided"));
        }
    };
    task.step("ship", |_| async { Ok::<_, TaskError>(()) }).await?;
    let names: Vec<_> = votes.into_iter().map(|vote| vote.by).collect();
    Ok(format!("{version} is out, approved by {}", names.join(" and ")))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let ff = FlowFabric::open(url()).await?;
    ff.worker().lane("deploy").on("deploy", deploy).start().await?;
    if std::env::args().any(|argument| argument == "--links") {
        by_hand(&ff).await?;
    } else {
        two_approve(&ff).await?;
        one_rejects(&ff).await?;
    }
    ff.close().await;
    Ok(())
}

/// A deployment that asks.
async fn asking(ff: &FlowFabric, version: &str) -> Result<TaskHandle, Error> {
    let task = ff.task("deploy", version).lane("deploy").send().await?;
    while task.state().await? != PublicState::Suspended {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    println!("{version}: {}", task.explain().await?);
    Ok(task)
}

async fn two_approve(ff: &FlowFabric) -> Result<(), Error> {
    let task = asking(ff, "1.4").await?;
    let (ann, bo) = (task.token("approval", "ann").await?, task.token("approval", "bo").await?);
    let says = |comment: &str| serde_json::json!({ "comment": comment });
    let first = ff.deliver_signal(&ann, "approve", &says("fine")).await?;
    println!("ann approves: {first}");
    let again = ff.deliver_signal(&ann, "approve", &says("really fine")).await?;
    println!("ann approves once more: {again}");
    check(task.state().await? == PublicState::Suspended, "one person does not count twice")?;
    let second = ff.deliver_signal(&bo, "approve", &says("go")).await?;
    println!("bo approves: {second}");
    check(second == SignalEffect::Resumed, "the second person ends the wait")?;
    println!("{}", task.result::<String>().await?);
    Ok(())
}

async fn one_rejects(ff: &FlowFabric) -> Result<(), Error> {
    let task = asking(ff, "1.5").await?;
    let bo = task.token("approval", "bo").await?;
    let no = serde_json::json!({ "comment": "not on a Friday" });
    println!("bo rejects: {}", ff.deliver_signal(&bo, "reject", &no).await?);
    match task.result::<String>().await {
        Err(error) => println!("{error}"),
        Ok(result) => return Err(format!("one no is enough, and yet: {result}").into()),
    }
    Ok(())
}

/// Leaves the decision to two people with a browser.
async fn by_hand(ff: &FlowFabric) -> Result<(), Error> {
    let task = asking(ff, "1.6").await?;
    for person in ["ann", "bo"] {
        println!("for {person}: {}{}", url(), task.approval_link("approval", person).await?);
    }
    match task.result::<String>().await {
        Ok(result) => println!("{result}"),
        Err(error) => println!("{error}"),
    }
    Ok(())
}
