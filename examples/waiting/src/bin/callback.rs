//! Work that another system finishes: it gets a token with the order, and posts it when it is done.
//!
//! The other system knows nothing of FlowFabric but a URL and that token. It may answer at once, in a
//! month, or twice; and a token that nobody made is worth nothing.
//!
//! ```sh
//! cargo run --release -- dev                        # in another terminal
//! cargo run -p ff-example-waiting --bin callback
//! ```
#![allow(clippy::print_stdout, reason = "it tells what happens")]

use std::sync::mpsc;
use std::time::Duration;

use ff_example_waiting::{Error, check, post, url};
use flowfabric::prelude::*;

const MONTH: Duration = Duration::from_secs(30 * 86_400);

/// An order to the printer: what to print, and the token by which it answers.
struct Order {
    title: String,
    token: String,
}

/// Has a book printed. The waitpoint is opened with the order, so the printer can answer before this task
/// waits for it.
async fn publish(
    task: TaskContext,
    printer: State<mpsc::Sender<Order>>,
    title: String,
) -> Result<String, TaskError> {
    let order = |_key: String| async {
        let token = task.open_waitpoint("printed").await?.token()?.reveal().to_owned();
        printer.send(Order { title: title.clone(), token })?;
        Ok::<_, TaskError>(())
    };
    task.step("order", order).await?;
    let wait = Wait::at("printed").reason(SuspendReason::Callback).within(MONTH);
    match task.wait_for_signal("printed", wait.on_timeout(OnTimeout::Fail)).await? {
        Waited::Signals(signals) => {
            let copies: u32 = signals[0].decode()?;
            Ok(format!("{copies} copies of {title} are printed"))
        }
        Waited::TimedOut | Waited::Resumed => Err(TaskError::permanent("the printer is silent")),
    }
}

/// The other system, in a thread of its own: one plain POST is all that it does with its token.
fn print(orders: &mpsc::Receiver<Order>) -> Result<(), Error> {
    let answer = |token: &str| {
        let body = serde_json::json!({ "token": token, "name": "printed", "payload": 500 });
        post(&url(), "/v1/signals", "application/json", &body.to_string())
    };
    let order = orders.recv()?;
    println!("the printer prints {}", order.title);
    let (status, refused) = answer(&order.token.replace("ff1.", "ff1.x"))?;
    println!("somebody guesses a token: {status}");
    check(
        status == 401 && refused.contains("invalid_token"),
        "a token that nobody made is refused",
    )?;
    let (status, first) = answer(&order.token)?;
    println!("the printer posts its token: {status}");
    check(status == 200, "the token is all it takes")?;
    let (status, again) = answer(&order.token)?;
    println!("and once more, because it saw no answer: {status}");
    check(again.contains("duplicate"), "the same answer counts once")?;
    check(!first.contains("duplicate"), "the first one counted")
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let (to_printer, orders) = mpsc::channel();
    let printer = std::thread::spawn(move || print(&orders));
    let ff = FlowFabric::open(url()).await?;
    let worker = ff.worker().lane("books").on("publish", publish).state(to_printer);
    worker.start().await?;
    let task = ff.task("publish", "Moby-Dick").lane("books").send().await?;
    println!("{}", task.result::<String>().await?);
    printer.join().map_err(|_| "the printer has died")??;
    ff.close().await;
    Ok(())
}
