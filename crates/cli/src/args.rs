//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use ff_core::Namespace;

use crate::address::Address;
use crate::commands::{
    attempts, backup, bench, budget, cancel, check, completions, dev, docs, explain, lane, ls, man,
    payload, priority, progress, quota, replay, revoke, serve, show, submit, tags, usage, version,
    wait, worker, workers,
};
use crate::log::Format;

/// Durable execution from a shell: submit work, run it, look at it, steer it.
#[derive(Debug, Parser)]
#[command(
    name = "ff",
    version,
    after_help = "Durations are a whole number and a unit: 500ms, 5s, 2m, 1h, 7d.\n\
                  Warnings are logged to stderr; FF_LOG, or RUST_LOG without it, says what else: info, \
                  ff_engine=debug.\n\
                  Exit codes: 0 done, 1 refused, 2 a wrong command line, 3 no answer, 4 busy, 5 full,\n\
                  6 no token, 7 denied, 8 corrupt, 9 incompatible, 10 an unknown failure, 11 no store."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// The server to ask: http:// or https://, a host, and a path if it stands behind one.
    #[arg(long, global = true, value_name = "URL", env = "FF_URL", hide_env_values = true)]
    #[arg(default_value = "http://127.0.0.1:7272")]
    pub(crate) url: Address,

    /// Work directly on a store instead of asking a server: sqlite:PATH or valkey://HOST:PORT.
    #[arg(long, global = true, value_name = "URL", env = "FF_STORE", hide_env_values = true)]
    pub(crate) store: Option<Address>,

    /// Trust the certificate authorities in this PEM file, instead of those of the machine, when the
    /// server is asked by https.
    #[arg(long, global = true, value_name = "FILE", env = "FF_CA", hide_env_values = true)]
    pub(crate) ca: Option<PathBuf>,

    /// Open a Valkey store although its server may evict keys or keeps no append-only file.
    #[arg(long, global = true)]
    pub(crate) accept_data_loss: bool,

    /// What the server asks its callers for. It is taken from the environment alone, so that it
    /// stands in no process list.
    #[arg(skip = std::env::var("FF_TOKEN").ok().filter(|token| !token.is_empty()))]
    pub(crate) token: Option<String>,

    /// The tenant; nothing of another one is visible.
    #[arg(long, global = true, value_name = "NAME", env = "FF_NAMESPACE", hide_env_values = true)]
    #[arg(default_value_t = Namespace::default())]
    pub(crate) namespace: Namespace,

    /// Print JSON on stdout, and errors as JSON on stderr.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Write logs as text, or as one JSON object a line.
    #[arg(
        long,
        global = true,
        value_name = "FORMAT",
        env = "FF_LOG_FORMAT",
        hide_env_values = true
    )]
    #[arg(value_enum, default_value_t = Format::Text)]
    pub(crate) log_format: Format,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start everything on a fresh file, with work already moving.
    Dev(dev::Dev),
    /// Serve a store over HTTP, and let time pass in it.
    Serve(serve::Serve),
    /// Submit work and print its id.
    Submit(Box<submit::Submit>),
    /// List executions, newest first.
    Ls(ls::Ls),
    /// Show all that is known of an execution.
    Show(show::Show),
    /// Say why an execution is where it is, and what it waits for.
    Explain(explain::Explain),
    /// Wait for an execution to end, and print its result.
    Wait(wait::Wait),
    /// List the attempts of an execution, oldest first.
    Attempts(attempts::Attempts),
    /// Print the bytes an execution completed with.
    Result(payload::Result),
    /// Print the bytes an execution was submitted with.
    Input(payload::Input),
    /// Cancel an execution, at once or leaving its holder some time.
    Cancel(cancel::Cancel),
    /// Run a finished execution again.
    Replay(replay::Replay),
    /// Change the priority of an execution that is not finished.
    Priority(priority::Priority),
    /// Change the tags of an execution that is not finished.
    Tags(tags::Tags),
    /// Take an execution from its holder and put it back in its queue.
    Revoke(revoke::Revoke),
    /// Run a program for every execution of one or more lanes.
    Worker(worker::Worker),
    /// Report how far a program of a worker is.
    Progress(progress::Progress),
    /// Report what a program of a worker has used.
    Usage(usage::Usage),
    /// List the registered workers.
    Workers(workers::Workers),
    /// Look at lanes; pause, drain, resume and limit them.
    Lane(lane::Lane),
    /// Manage budgets: limit total usage, inspect it, reset it.
    Budget(budget::Budget),
    /// Look at quotas; limit how many start in a time or run at once.
    Quota(quota::Quota),
    /// Compare every record of a store with its indexes and invariants.
    Check(check::Check),
    /// Copy a SQLite store that is in use, and check the copy.
    Backup(backup::Backup),
    /// Measure a store, beside what it could do at best.
    Bench(bench::Bench),
    /// Print the completion script of a shell.
    Completions(completions::Completions),
    /// Print the manual page of ff, or of one of its commands.
    Man(man::Man),
    /// Print the version.
    Version(version::Version),
    /// Print a reference page.
    #[command(hide = true)]
    Docs(docs::Docs),
}
