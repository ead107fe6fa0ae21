//! The tests' Postgres server from a shell: `fetch` makes sure that there is one, `serve` runs one until
//! its input ends.

#![allow(clippy::print_stdout, reason = "what it prints is its result")]

use std::{env, io, process::ExitCode};

use ff_testkit::postgres::{Server, binary};

const USAGE: &str = "usage: ff-postgres fetch | serve";

fn main() -> ExitCode {
    let done = match env::args().nth(1).as_deref() {
        Some("fetch") => binary::find_or_fetch().map(|path| println!("{}", path.display())),
        Some("serve") => serve(),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("ff-postgres: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Prints where the server is and where its data is, a line each. It is as durable as one in production.
fn serve() -> Result<(), String> {
    let server = Server::start(&[]);
    println!("{}\n{}", server.url(), server.folder().display());
    let ended = io::copy(&mut io::stdin(), &mut io::sink());
    ended.map(|_| ()).map_err(|why| format!("cannot wait for the end of the input: {why}"))
}
