//! `ff step`: a program does something once.

use std::process::{Command, Stdio};

use clap::Args;
use ff_core::bounds::PAGE;
use ff_core::journal::{Entry, Recorded, idempotency_key};
use ff_core::machine::{RecordStep, Target};
use ff_core::{Payload, Refusal, StepName};
use ff_store::ClientAndWorker;

use super::Verdict;
use crate::error::Error;
use crate::holder;
use crate::session::Session;

const INSIDE: &str = "\
For programs run by `ff worker --exec`, which passes the execution and the
server in the environment. The output of the command is kept in the journal of
the execution, and printed in every later attempt instead of running it again.
The command finds a key in FF_STEP_KEY that is the same in every attempt, for
services that can tell a repeated call. A command that fails is not kept.

  ff step charge -- ./charge.sh";

/// `ff step`.
#[derive(Debug, Args)]
#[command(after_help = INSIDE)]
pub(crate) struct Step {
    /// The name of the step: the same name runs once.
    name: StepName,

    /// What to run.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Step {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let (hold, generation) = (holder::hold()?, holder::generation()?);
        let backend = session.open_as_holder(hold.fence.lease).await?;
        if let Some(entry) = found(&*backend, &hold.target, &self.name).await? {
            let Recorded::Step(result) = entry.what else {
                return Err(Refusal::StepConflict.into());
            };
            session.output.bytes(&result.bytes)?;
            return Ok(Verdict::Good);
        }
        let key = idempotency_key(hold.target.execution, generation, &self.name);
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).env("FF_STEP_KEY", key.as_str()).stdout(Stdio::piped());
        let ran = command.spawn().and_then(|child| child.wait_with_output());
        let ran = ran.map_err(|error| {
            Error::usage("COMMAND", format!("{} cannot be run: {error}", self.command[0]))
        })?;
        session.output.bytes(&ran.stdout)?;
        if !ran.status.success() {
            session.output.talk(format_args!("step {} is not kept: {}", self.name, ran.status));
            return Ok(Verdict::Bad);
        }
        let result = Payload::bytes(ran.stdout);
        backend.record_step(RecordStep { hold, name: self.name, result }).await?;
        Ok(Verdict::Good)
    }
}

/// The entry of this name that attempts find.
async fn found(
    backend: &dyn ClientAndWorker,
    target: &Target,
    name: &StepName,
) -> Result<Option<Entry>, Error> {
    let mut from = Some(0);
    while let Some(number) = from {
        let page = backend.journal(target, number, PAGE).await?;
        let mut entries = page.entries.into_iter().map(|it| it.entry);
        if let Some(entry) = entries.find(|entry| entry.name == *name) {
            return Ok(Some(entry));
        }
        from = page.next;
    }
    Ok(None)
}
