//! Ten questions to a language model, and tokens for about half of them.
//!
//! The budget warns at its soft limit. At its hard limit nothing new starts: what is left waits,
//! says why, and continues when the budget is reset.
//!
//! ```sh
//! cargo run -p ff-example-limits --bin token-budget
//! ```
#![allow(clippy::print_stdout, reason = "it tells what happens")]

use std::time::Duration;

use ff_core::budget::{BudgetLimits, BudgetView, DimensionLimits, OnBreach};
use ff_core::{Dimension, ExecutionId, PublicState};
use ff_example_limits::{Error, Place, check};
use ff_sdk::{Client, Json, TaskContext, TaskError};

const SOFT: u64 = 300;
const HARD: u64 = 500;
const PROMPT: u64 = 20;
const ANSWER: u64 = 100;
/// How many questions are answered at once.
const WORKERS: u64 = 2;

/// Answers a question, and says what that has cost. Each key counts once, however often it is told.
async fn answer(
    task: TaskContext,
    Json(question): Json<String>,
) -> Result<Json<String>, TaskError> {
    task.report_usage("prompt", &[("tokens", PROMPT)]).await?;
    tokio::time::sleep(Duration::from_millis(30)).await; // it thinks
    task.report_usage("answer", &[("tokens", ANSWER)]).await?;
    Ok(Json(format!("{question} It depends.")))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let place = Place::open().await?;
    let client = place.client();
    let tokens = DimensionLimits { soft: Some(SOFT), hard: Some(HARD) };
    let limits = BudgetLimits {
        dimensions: [(Dimension::new("tokens")?, tokens)].into(),
        period: None, // until somebody resets it
        on_breach: OnBreach::Block,
    };
    client.put_budget("llm", limits).await?;

    let mut questions = Vec::new();
    for number in 1..=10 {
        let task = client.task("answer")?.budget("llm")?;
        let task = task.input(&format!("Question {number}: is it worth it?"))?;
        questions.push(task.send().await?.execution);
    }
    println!("10 questions; {HARD} tokens may be used, {SOFT} are worth a warning");

    let worker = place.worker().on("answer", answer)?.concurrency(WORKERS as usize);
    let worker = worker.start().await?;

    let (answered, waiting) = until_nothing_moves(&client, &questions).await?;
    let first = client.budget("llm").await?;
    println!("{} are answered for {} tokens", answered.len(), used(&first));
    check(used(&first) >= HARD, "the budget is used up")?;
    let most = HARD + WORKERS * (PROMPT + ANSWER);
    check(used(&first) < most, "nothing started after the hard limit was reached")?;

    let why = client.explain(*waiting.first().ok_or("some questions wait")?).await?;
    println!("{} wait. Why? {}", waiting.len(), why.sentence);
    check(why.sentence.contains("budget llm"), "the explanation names the budget")?;

    client.reset_budget("llm").await?;
    println!("the budget is reset");
    for question in &waiting {
        client.wait::<String>(*question).await?;
    }
    let second = client.budget("llm").await?;
    println!("{} more are answered for {} tokens", waiting.len(), used(&second));

    let mut ledger = 0;
    for question in &questions {
        ledger += client.describe(*question).await?.used.values().sum::<u64>();
    }
    println!("in all: {ledger} tokens");
    check(ledger == 10 * (PROMPT + ANSWER), "every token is counted once")?;
    check(ledger == used(&first) + used(&second), "questions and budget agree")?;

    worker.shutdown().await;
    place.close().await;
    Ok(())
}

/// Tells what is used until every question is answered or has to wait, and which do what.
async fn until_nothing_moves(
    client: &Client,
    questions: &[ExecutionId],
) -> Result<(Vec<ExecutionId>, Vec<ExecutionId>), Error> {
    let mut told = 0;
    loop {
        let budget = client.budget("llm").await?;
        if used(&budget) > told {
            told = used(&budget);
            println!("  {}", in_words(&budget));
        }
        let (mut answered, mut waiting) = (Vec::new(), Vec::new());
        for question in questions {
            match client.describe(*question).await?.public_state() {
                PublicState::Completed => answered.push(*question),
                PublicState::RateLimited => waiting.push(*question),
                _ => {}
            }
        }
        if answered.len() + waiting.len() == questions.len() {
            return Ok((answered, waiting));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn used(budget: &BudgetView) -> u64 {
    budget.used.values().sum()
}

fn in_words(budget: &BudgetView) -> String {
    let used = used(budget);
    let limit = match used {
        HARD.. => ": the hard limit is reached, nothing new starts",
        SOFT.. => ": the soft limit is reached, be warned",
        _ => "",
    };
    format!("{used} of {HARD} tokens are used{limit}")
}
