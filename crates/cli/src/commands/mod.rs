//! One file per command: its arguments, and what it does with them.

pub(crate) mod approve;
pub(crate) mod attempts;
pub(crate) mod backup;
pub(crate) mod bench;
pub(crate) mod budget;
mod bulk;
pub(crate) mod cancel;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod delete;
pub(crate) mod dev;
pub(crate) mod docs;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod feed;
pub(crate) mod flow;
pub(crate) mod keys;
pub(crate) mod lane;
mod limits;
pub(crate) mod link;
pub(crate) mod ls;
pub(crate) mod man;
pub(crate) mod migrate;
pub(crate) mod parse;
pub(crate) mod payload;
pub(crate) mod policy;
pub(crate) mod priority;
pub(crate) mod progress;
pub(crate) mod quota;
pub(crate) mod replay;
pub(crate) mod resume;
pub(crate) mod revoke;
pub(crate) mod schedule;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod signal;
pub(crate) mod step;
pub(crate) mod steps;
pub(crate) mod submit;
pub(crate) mod tags;
pub(crate) mod tail;
pub(crate) mod token;
pub(crate) mod upstream;
pub(crate) mod usage;
pub(crate) mod version;
pub(crate) mod wait;
pub(crate) mod waitpoints;
pub(crate) mod webhook;
pub(crate) mod worker;
pub(crate) mod workers;

use std::process::ExitCode;

use crate::args::{Cli, Command};
use crate::error::Error;
use crate::exit::Exit;
use crate::output::Output;
use crate::session::Session;

/// The result of a command that was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Success.
    Good,
    /// An execution that was waited for did not complete, or a store is not sound.
    Bad,
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> ExitCode {
        match verdict {
            Verdict::Good => Exit::Done.into(),
            Verdict::Bad => Exit::No.into(),
        }
    }
}

/// Runs the command of the command line.
pub(crate) async fn run(cli: Cli, output: &Output) -> Result<Verdict, Error> {
    if let Some(extra) = cli.extra_namespace() {
        let why = format!("--namespace {extra} is one too many; give it once");
        return Err(Error::usage("--namespace", why));
    }
    let session = Session::new(cli.global, output);
    let verdict = carry_out(cli.command, &session).await;
    session.drain().await;
    verdict
}

async fn carry_out(command: Command, session: &Session<'_>) -> Result<Verdict, Error> {
    match command {
        Command::Dev(command) => command.run(session).await,
        Command::Serve(command) => command.run(session).await,
        Command::Submit(command) => command.run(session).await,
        Command::Ls(command) => command.run(session).await,
        Command::Show(command) => command.run(session).await,
        Command::Explain(command) => command.run(session).await,
        Command::Wait(command) => command.run(session).await,
        Command::Attempts(command) => command.run(session).await,
        Command::Steps(command) => command.run(session).await,
        Command::Tail(command) => command.run(session).await,
        Command::Result(command) => command.run(session).await,
        Command::Input(command) => command.run(session).await,
        Command::Cancel(command) => command.run(session).await,
        Command::Replay(command) => command.run(session).await,
        Command::Delete(command) => command.run(session).await,
        Command::Priority(command) => command.run(session).await,
        Command::Tags(command) => command.run(session).await,
        Command::Revoke(command) => command.run(session).await,
        Command::Approve(command) => command.run(session).await,
        Command::Reject(command) => command.run(session).await,
        Command::Link(command) => command.run(session).await,
        Command::Signal(command) => command.run(session).await,
        Command::Waitpoints(command) => command.run(session).await,
        Command::Resume(command) => command.run(session).await,
        Command::Flow(command) => command.run(session).await,
        Command::Upstream(command) => command.run(session).await,
        Command::Worker(command) => command.run(session).await,
        Command::Progress(command) => command.run(session).await,
        Command::Usage(command) => command.run(session).await,
        Command::Step(command) => command.run(session).await,
        Command::Workers(command) => command.run(session).await,
        Command::Keys(command) => command.run(session).await,
        Command::Lane(command) => command.run(session).await,
        Command::Schedule(command) => command.run(session).await,
        Command::Webhook(command) => command.run(session).await,
        Command::Events(command) => command.run(session).await,
        Command::Feed(command) => command.run(session).await,
        Command::Budget(command) => command.run(session).await,
        Command::Quota(command) => command.run(session).await,
        Command::Token(command) => command.run(session).await,
        Command::Check(command) => command.run(session).await,
        Command::Backup(command) => command.run(session).await,
        Command::Migrate(command) => command.run(session).await,
        Command::Bench(command) => command.run(session).await,
        Command::Completions(command) => command.run(session),
        Command::Man(command) => command.run(session),
        Command::Version(command) => command.run(session),
        Command::Docs(command) => command.run(session),
    }
}
