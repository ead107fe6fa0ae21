//! `ff usage`: a program reports what it has used.

use clap::Args;
use ff_api::http::UsedView;
use ff_core::machine::ReportUsage;
use ff_core::{Dimension, IdempotencyKey};

use super::{Verdict, parse};
use crate::error::Error;
use crate::holder;
use crate::session::Session;

const INSIDE: &str = "\
For programs run by `ff worker --exec`, which passes the execution and the
server in the environment. Usage is charged to the execution's budgets, and is
counted even if it exceeds a limit.

  ff usage \"prompt-$FF_ATTEMPT\" tokens=1200";

/// `ff usage`.
#[derive(Debug, Args)]
#[command(after_help = INSIDE)]
pub(crate) struct Usage {
    /// A key for this report: the same key counts once.
    key: IdempotencyKey,

    /// How much was used.
    #[arg(value_name = "DIMENSION=AMOUNT", value_parser = parse::amount, required = true)]
    amounts: Vec<(Dimension, u64)>,

    /// Return usage that was reported before, instead of adding it.
    #[arg(long)]
    release: bool,
}

impl Usage {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let amounts = parse::distinct(self.amounts, "DIMENSION=AMOUNT")?;
        let (key, release) = (self.key, self.release);
        let report = ReportUsage { hold: holder::hold()?, key, amounts, release };
        let used = session.open().await?.report_usage(report).await?;
        session.output.answer(&UsedView { used }, |view| {
            view.used.iter().map(|(dimension, amount)| format!("{dimension}={amount}\n")).collect()
        })?;
        Ok(Verdict::Good)
    }
}
