//! `ff progress`: a program reports how far it is.

use clap::Args;
use ff_core::machine::ReportProgress;
use ff_core::record;

use super::{Verdict, parse};
use crate::error::Error;
use crate::holder;
use crate::session::Session;

const INSIDE: &str = "\
For programs run by `ff worker --exec`, which passes the execution and the
server in the environment. A program that is resumed finds the last report in
FF_PROGRESS and FF_PROGRESS_MESSAGE.";

/// `ff progress`.
#[derive(Debug, Args)]
#[command(after_help = INSIDE)]
#[command(group = clap::ArgGroup::new("report").required(true).multiple(true))]
pub(crate) struct Progress {
    /// Percent done: 0 to 100.
    #[arg(value_parser = parse::number::<u8>(0, 100), group = "report")]
    percent: Option<u8>,

    /// What it is doing, shown to people.
    #[arg(long, value_name = "TEXT", group = "report")]
    message: Option<String>,
}

impl Progress {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let message = self.message.map(Into::into);
        let progress = record::Progress { percent: self.percent, message };
        let report = ReportProgress { hold: holder::hold()?, progress };
        session.open().await?.progress(report).await?;
        Ok(Verdict::Good)
    }
}
