//! An agent that calls tools, asks a person before it spends money, and survives being killed.
//!
//! The model is a script, so this runs offline and costs nothing; everything else is as with a real one.
//! Each call of the model and each booking is a durable step: it is paid for once, however often this
//! process dies. The provider's bill is in a file beside the store, one line for each call.
//!
//! ```sh
//! cargo run -p ff-example-waiting --bin agent                  # asks you to run `ff approve`
//! cargo run -p ff-example-waiting --bin agent -- --pause       # waits for Enter after each step: kill it
//! ```
//!
//! Start it again after a kill, with the same arguments, and it goes on where it was. What the model says is
//! streamed while it says it: watch it beside the steps, the budget and the question, on a page that reads the
//! same file, and approve there.
//!
//! ```sh
//! ff serve --store sqlite:agent.ff                              # its dashboard is at http://127.0.0.1:7272/
//! ```
#![allow(clippy::print_stdout, reason = "it tells what happens")]

use std::fs::File;
use std::io::{BufRead, Write};
use std::time::Duration;

use ff_example_waiting::Error;
use flowfabric::prelude::*;
use serde::{Deserialize, Serialize};

/// How often the model is asked for one answer, at most.
const TURNS: u32 = 8;
/// How many tokens all questions may use.
const TOKENS: u64 = 1_000;
/// How long the model takes for a word.
const WORD: Duration = Duration::from_millis(40);

/// What the model answers.
#[derive(Debug, Serialize, Deserialize)]
struct Said {
    tokens: u64,
    next: Next,
}

#[derive(Debug, Serialize, Deserialize)]
enum Next {
    Search(String),
    Book(String),
    Answer(String),
}

/// A provider that is paid for each call.
struct Provider {
    bill: String,
    pause: bool,
}

impl Provider {
    /// Writes a call on the bill. The key is the same if a call is repeated, so that a real provider could
    /// tell.
    fn charge(&self, what: &str, key: &str) -> Result<(), std::io::Error> {
        let mut bill = File::options().append(true).create(true).open(&self.bill)?;
        writeln!(bill, "{what} {key}")?;
        bill.sync_all()
    }

    /// The model, by its script. It says what it thinks word by word, to everybody who watches the task.
    async fn ask(&self, task: &TaskContext, key: &str, talk: &[String]) -> Result<Said, TaskError> {
        self.charge("model", key)?;
        let (tokens, thought, next) = match talk {
            [_] => (
                120,
                "Monday, then. I look for trains to Lyon.",
                Next::Search("trains to Lyon on Monday".into()),
            ),
            [_, _] => (
                210,
                "The 9:04 is the earlier one, and it costs money: I ask before I book.",
                Next::Book("the 9:04 to Lyon, for 42 EUR".into()),
            ),
            [.., last] if last.starts_with("booked") => {
                let answer = "You are on the 9:04 to Lyon.";
                (90, "It is booked.", Next::Answer(answer.into()))
            }
            _ => (80, "Then I stop here.", Next::Answer("I have booked nothing.".into())),
        };
        let mut stream = task.stream();
        for word in thought.split_inclusive(' ').chain(["\n"]) {
            stream.write(word).await?;
            tokio::time::sleep(WORD).await;
        }
        stream.finish().await?;
        task.flush().await?; // a step that is done has said all of it
        Ok(Said { tokens, next })
    }

    /// Says what was done and, with `--pause`, waits for Enter: the moment to kill this process.
    async fn done(&self, what: &str) -> Result<(), TaskError> {
        println!("{what}");
        if self.pause {
            let enter = || std::io::stdin().lock().lines().next().transpose();
            tokio::task::spawn_blocking(enter).await??;
        }
        Ok(())
    }
}

/// Asks the model until it has an answer, and does what it asks for in between.
async fn agent(
    task: TaskContext,
    State(provider): State<Provider>,
    question: String,
) -> Result<String, TaskError> {
    let (mut talk, provider) = (vec![question], &*provider);
    for turn in 0..TURNS {
        let (model, task, so_far) = (format!("model-{turn}"), &task, &talk);
        let ask = |key: String| async move { provider.ask(task, &key, so_far).await };
        let said = task.step(&model, ask).await?;
        task.report_usage(&model, &[("tokens", said.tokens)]).await?;
        provider.done(&model).await?;
        let heard = match said.next {
            Next::Answer(answer) => return Ok(answer),
            Next::Search(what) => {
                let search = |_| async move {
                    task.emit("tool", format!("search: {what}\n")).await?;
                    task.flush().await?;
                    Ok::<_, TaskError>(format!("found for {what}: 9:04, 11:04"))
                };
                task.step(&format!("search-{turn}"), search).await?
            }
            Next::Book(what) => book(task, provider, turn, &what).await?,
        };
        talk.push(heard);
    }
    Err(TaskError::permanent(format!("the model has no answer after {TURNS} turns")))
}

/// Books if a person agrees. While they think about it, this task holds no worker and no tokens.
async fn book(
    task: &TaskContext,
    provider: &Provider,
    turn: u32,
    what: &str,
) -> Result<String, TaskError> {
    let ask = Approval::ask(&format!("Book {what}?"));
    if !task.wait_for_approval(&format!("approval-{turn}"), ask).await?.is_approved() {
        return Ok("a person said no".to_owned());
    }
    let book = |key: String| async move {
        provider.charge("booking", &key)?;
        task.emit("tool", format!("book: {what}\n")).await?;
        task.flush().await?;
        Ok::<_, TaskError>(())
    };
    task.step(&format!("book-{turn}"), book).await?;
    provider.done(&format!("book-{turn}")).await?;
    Ok(format!("booked {what}"))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut arguments: Vec<_> = std::env::args().skip(1).collect();
    let pause = arguments.iter().position(|argument| argument == "--pause");
    let pause = pause.map(|at| arguments.remove(at)).is_some();
    let file = arguments.pop().unwrap_or_else(|| "agent.ff".to_owned());

    let ff = FlowFabric::open(format!("sqlite:{file}")).await?;
    let budget = ff.budget("agent").limit("tokens", TOKENS);
    budget.set().await?;
    // The same key is the same question: after a kill it is not asked again.
    let task = ff.task("agent", "Get me to Lyon on Monday.").key("lyon").budget("agent");
    let task = task.estimate("tokens", 500).lease_ttl(Duration::from_secs(2)).max_attempts(20);
    let task = task.send().await?;
    let provider = Provider { bill: format!("{file}.bill"), pause };
    ff.worker().on("agent", agent).state(provider).start().await?;

    let ended = tokio::spawn({
        let task = task.clone();
        async move { task.result::<String>().await }
    });
    while !ended.is_finished() {
        if task.state().await? == PublicState::Suspended {
            println!("{}", task.explain().await?);
            println!("  ff approve {} --store sqlite:{file}", task.id());
            while task.state().await? == PublicState::Suspended {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    println!("{}", ended.await??);
    let used = ff.budget("agent").used().await?;
    println!("used {} of {TOKENS} tokens", used.get("tokens").copied().unwrap_or_default());
    ff.close().await;
    Ok(())
}
