//! Graphs of tasks. Say which one, and where, if not in the memory of this program:
//!
//! ```sh
//! cargo run -p ff-example-flows -- map-reduce
//! cargo run -p ff-example-flows -- race sqlite:work.ff
//! cargo run -p ff-example-flows -- pipeline http://127.0.0.1:7272
//! cargo run -p ff-example-flows -- agent-team
//! ```
#![allow(clippy::print_stdout, reason = "it tells what happens")]

use ff_example_flows::{agent_team, map_reduce, pipeline, race};
use flowfabric::prelude::*;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut args = std::env::args().skip(1);
    let which = args.next().unwrap_or_default();
    let ff = FlowFabric::open(args.next().unwrap_or_else(|| "memory:".to_owned())).await?;
    match which.as_str() {
        "map-reduce" => println!("the words of all parts: {}", map_reduce::run(&ff).await?),
        "race" => println!("{}", race::run(&ff).await?),
        "pipeline" => println!("{}", pipeline::run(&ff).await?),
        "agent-team" => println!("{}", agent_team::run(&ff).await?),
        _ => println!("say map-reduce, race, pipeline or agent-team"),
    }
    ff.close().await;
    Ok(())
}
