//! The flags for the budgets and quotas of an execution.

use clap::Args;
use ff_core::limits::ExecutionLimits;
use ff_core::{Dimension, ResourceName};

use super::parse;
use crate::error::Error;

/// The budgets that an execution is charged to, and the quotas that must admit it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitFlags {
    /// A budget to charge its usage to; may be repeated.
    #[arg(long = "budget", value_name = "NAME")]
    budgets: Vec<ResourceName>,

    /// A quota that must admit it; may be repeated.
    #[arg(long = "quota", value_name = "NAME")]
    quotas: Vec<ResourceName>,

    /// Its expected usage, reserved in its budgets before it starts; may be repeated.
    #[arg(long, value_name = "DIMENSION=AMOUNT", value_parser = parse::amount)]
    #[arg(allow_hyphen_values = true)]
    estimate: Vec<(Dimension, u64)>,
}

impl LimitFlags {
    /// What was given, every name once.
    pub(crate) fn limits(self) -> Result<ExecutionLimits, Error> {
        if self.budgets.is_empty() && !self.estimate.is_empty() {
            let why = "--estimate needs a budget to be reserved in; give --budget NAME too";
            return Err(Error::usage("--estimate", why));
        }
        Ok(ExecutionLimits {
            budgets: parse::names(self.budgets, "--budget")?,
            quotas: parse::names(self.quotas, "--quota")?,
            estimate: parse::distinct(self.estimate, "--estimate")?,
        })
    }
}
