//! `ff usage`: a program tells what it has used.

use clap::Args;
use ff_api::http::UsedView;
use ff_core::machine::ReportUsage;
use ff_core::{Dimension, IdempotencyKey};

use super::{Verdict, parse};
use crate::error::Error;
use crate::holder;
use crate::session::Session;

const INSIDE: &str = "\
It is for programs that `ff worker --exec` runs: which execution is meant, and where it is reported,
stands in their environment. What was used is charged to the budgets of the execution, and is counted
also when a limit is passed by it.

  ff usage \"prompt-$FF_ATTEMPT\" tokens=1200";

/// `ff usage`.
#[derive(Debug, Args)]
#[command(after_help = INSIDE)]
pub(crate) struct Usage {
    /// The program's own name for this usage: the same one again counts once.
    key: IdempotencyKey,

    /// How much was used.
    #[arg(value_name = "DIMENSION=AMOUNT", value_parser = parse::amount, required = true)]
    amounts: Vec<(Dimension, u64)>,

    /// Take it back from what was reported, instead of adding it.
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
