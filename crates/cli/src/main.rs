//! `ff`: FlowFabric from a shell.
//!
//! stdout is data, stderr is messages. The exit codes are in [`exit`].

mod address;
mod args;
mod commands;
mod dev;
mod docs;
mod duration;
mod error;
mod exit;
mod holder;
mod id;
mod input;
mod log;
mod output;
mod session;
mod signals;
mod usage;
// Its programs run in process groups, which only Unix has.
#[cfg(unix)]
mod worker;
mod yaml;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use crate::args::Cli;
use crate::error::Error;
use crate::output::Output;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage::report(&error),
    };
    log::start(cli.global.log_format);
    let output = Output::new(cli.global.json);
    match run(cli, &output) {
        Ok(verdict) => verdict.into(),
        Err(error) => error.report(&output),
    }
}

fn run(cli: Cli, output: &Output) -> Result<commands::Verdict, Error> {
    let mut builder = match cli.command {
        // A server keeps serving other clients while one keeps a thread busy.
        args::Command::Worker(_)
        | args::Command::Serve(_)
        | args::Command::Dev(_)
        | args::Command::Bench(_) => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = builder.enable_all().build().map_err(Error::Runtime)?;
    let verdict = runtime.block_on(commands::run(cli, output));
    runtime.shutdown_timeout(Duration::from_secs(1));
    verdict
}
