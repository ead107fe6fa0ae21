//! The command line.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand};
use ff_core::Namespace;

use crate::address::Address;
use crate::commands::{
    approve, attempts, backup, bench, budget, cancel, check, completions, delete, dev, docs,
    events, explain, feed, flow, keys, lane, link, ls, man, migrate, payload, priority, progress,
    quota, replay, resume, revoke, schedule, serve, show, signal, step, steps, submit, tags, tail,
    token, upstream, usage, version, wait, waitpoints, webhook, worker, workers,
};
use crate::log::Format;

/// Durable execution from the shell: submit work, run it, inspect it, control it.
#[derive(Debug, Parser)]
#[command(
    name = "ff",
    version,
    after_help = "Durations are a whole number and a unit: 500ms, 5s, 2m, 1h, 7d.\n\
                  Warnings are logged to stderr. FF_LOG (or RUST_LOG) selects more, for example:\n\
                  FF_LOG=info, FF_LOG=ff_engine=debug.\n\
                  \n\
                  Exit codes: 0 done, 1 refused, 2 wrong usage, 3 unreachable, 4 busy,\n\
                  5 full, 6 unauthenticated, 7 denied, 8 corrupt, 9 incompatible,\n\
                  10 unknown failure, 11 store not found."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// The second namespace that was given to a command that takes one.
    pub(crate) fn extra_namespace(&self) -> Option<&Namespace> {
        let takes_more = matches!(&self.command, Command::Token(token) if token.takes_namespaces());
        self.global.namespaces.get(1).filter(|_| !takes_more)
    }
}

/// What every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// The server to call: http:// or https://, a host, and a path prefix if there is one.
    #[arg(long, global = true, value_name = "URL", env = "FF_URL", hide_env_values = true)]
    #[arg(default_value = "http://127.0.0.1:7272")]
    pub(crate) url: Address,

    /// Open a store directly instead of calling a server: sqlite:PATH, valkey://HOST:PORT or
    /// postgres://HOST/DATABASE.
    #[arg(long, global = true, value_name = "URL", env = "FF_STORE", hide_env_values = true)]
    pub(crate) store: Option<Address>,

    /// Trust the certificate authorities in this PEM file instead of the system's (https only).
    #[arg(long, global = true, value_name = "FILE", env = "FF_CA", hide_env_values = true)]
    pub(crate) ca: Option<PathBuf>,

    /// Open a store even if its server may lose data: a Valkey that may evict keys or keeps no append-only
    /// file, a Postgres with fsync off.
    #[arg(long, global = true)]
    pub(crate) accept_data_loss: bool,

    /// The file of the keys that sign tokens; a store in a SQLite file has its own beside it.
    #[arg(long, global = true, value_name = "FILE")]
    #[arg(env = "FF_SIGNING_KEYS_FILE", hide_env_values = true)]
    pub(crate) signing_keys: Option<PathBuf>,

    /// The token of the server. It is read from the environment alone, so that it
    /// is visible in no process list.
    #[arg(skip = std::env::var("FF_TOKEN").ok().filter(|token| !token.is_empty()))]
    pub(crate) token: Option<String>,

    /// The namespace (tenant); others are not visible.
    #[arg(long = "namespace", global = true, value_name = "NAME", env = "FF_NAMESPACE")]
    #[arg(hide_env_values = true)]
    #[arg(default_value = "default", action = ArgAction::Append)]
    pub(crate) namespaces: Vec<Namespace>,

    /// Print JSON on stdout, and errors as JSON on stderr.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Write logs as text, or as one JSON object per line.
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

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a server, a worker and demo work on a fresh file.
    Dev(dev::Dev),
    /// Serve a store over HTTP and run its background services.
    Serve(serve::Serve),
    /// Submit work and print its id.
    Submit(Box<submit::Submit>),
    /// List executions, newest first.
    Ls(ls::Ls),
    /// Show everything known about an execution.
    Show(show::Show),
    /// Explain why an execution is in its state and what it waits for.
    Explain(explain::Explain),
    /// Wait for an execution to end and print its result.
    Wait(wait::Wait),
    /// List the attempts of an execution, oldest first.
    Attempts(attempts::Attempts),
    /// Show the journal of an execution: its steps, sleeps and waits.
    Steps(steps::Steps),
    /// Print what an execution streams.
    Tail(tail::Tail),
    /// Print the result of an execution.
    Result(payload::Result),
    /// Print the input of an execution.
    Input(payload::Input),
    /// Cancel an execution, or all that match a filter, at once or with a grace period.
    Cancel(cancel::Cancel),
    /// Run a finished execution again, or all that match a filter.
    Replay(replay::Replay),
    /// Remove a finished execution, or all that match a filter, before its retention ends.
    Delete(delete::Delete),
    /// Change the priority of an execution that is not finished.
    Priority(priority::Priority),
    /// Change the tags of an execution that is not finished.
    Tags(tags::Tags),
    /// End an execution's lease and put it back in its queue.
    Revoke(revoke::Revoke),
    /// Approve what an execution asks.
    Approve(approve::Approve),
    /// Reject what an execution asks.
    Reject(approve::Reject),
    /// Print a link on which one person approves or rejects.
    Link(link::Link),
    /// Deliver a signal to a waitpoint of an execution.
    Signal(signal::Signal),
    /// List the open waitpoints of an execution, where signals arrive.
    Waitpoints(waitpoints::Waitpoints),
    /// Continue a suspended execution without what it waits for.
    Resume(resume::Resume),
    /// Manage flows: submit graphs of executions, show, list, cancel and replay them.
    Flow(flow::Flow),
    /// Inside a program: print the result of a node that its execution depends on.
    Upstream(upstream::Upstream),
    /// Run a program for every execution of one or more lanes.
    Worker(worker::Worker),
    /// Report progress from a program run by `ff worker`.
    Progress(progress::Progress),
    /// Report usage from a program run by `ff worker`.
    Usage(usage::Usage),
    /// Inside a program: run a command once, and keep its output.
    Step(step::Step),
    /// List the registered workers.
    Workers(workers::Workers),
    /// Manage the keys that sign tokens of waitpoints: list, add, rotate, retire.
    Keys(keys::Keys),
    /// Manage lanes: list, pause, drain, resume, limit, set defaults.
    Lane(lane::Lane),
    /// Manage schedules: submit work by cron, at intervals or at one moment.
    Schedule(schedule::Schedule),
    /// Print what happened in a namespace, or follow it as it happens.
    Events(events::Events),
    /// Show or change whether the events of a namespace are logged, and for how long.
    Feed(feed::Feed),
    /// Manage webhooks: send events to an address outside.
    Webhook(webhook::Webhook),
    /// Manage budgets: limit how much may be used in total.
    Budget(budget::Budget),
    /// Manage quotas: limit how many start per window or run at once.
    Quota(quota::Quota),
    /// Manage named tokens: give others access to a server, and take it away.
    Token(token::Token),
    /// Audit every record of a store against its indexes and invariants.
    Check(check::Check),
    /// Copy a SQLite store while it is in use, and check the copy.
    Backup(backup::Backup),
    /// Make the tables of a store in Postgres, or bring them up to date.
    Migrate(migrate::Migrate),
    /// Benchmark a store against its own upper bound.
    Bench(bench::Bench),
    /// Print a shell completion script.
    Completions(completions::Completions),
    /// Print the manual page of ff or of one command.
    Man(man::Man),
    /// Print the version.
    Version(version::Version),
    /// Print a reference page.
    #[command(hide = true)]
    Docs(docs::Docs),
}
