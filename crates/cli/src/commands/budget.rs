//! `ff budget`: look at budgets; make, change, reset and remove them.

use clap::{Args, Subcommand, ValueEnum};
use ff_api::{BudgetPageView, BudgetView};
use ff_core::bounds::PAGE;
use ff_core::budget::{self, BudgetLimits, DimensionLimits, OnBreach};
use ff_core::{Dimension, Millis, ResourceName};
use ff_store::{Clock, SystemClock};

use super::{Verdict, parse};
use crate::duration;
use crate::error::Error;
use crate::output::budgets;
use crate::session::Session;

/// `ff budget`.
#[derive(Debug, Args)]
pub(crate) struct Budget {
    #[command(subcommand)]
    what: What,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
enum What {
    /// List budgets by name, one line per dimension.
    Ls(Ls),
    /// Show a budget and its usage.
    Show(Which),
    /// Create a budget, or replace its limits. Usage is kept; waiting executions are re-evaluated.
    Set(Set),
    /// Set a budget's usage to zero and begin a new period; waiting executions are re-evaluated.
    Reset(Which),
    /// Remove a budget. Executions that name it wait until it exists again.
    Rm(Which),
}

#[derive(Debug, Args)]
struct Ls {
    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 50, allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<usize>(1, PAGE as u64))]
    limit: usize,

    /// Continue after this budget.
    #[arg(long, value_name = "NAME")]
    after: Option<ResourceName>,
}

#[derive(Debug, Args)]
struct Which {
    /// The budget.
    name: ResourceName,
}

#[derive(Debug, Args)]
struct Set {
    /// The budget.
    name: ResourceName,

    /// The hard limit: nothing is admitted beyond it; may be repeated.
    #[arg(long = "limit", value_name = "DIMENSION=AMOUNT", value_parser = parse::amount)]
    #[arg(allow_hyphen_values = true)]
    limits: Vec<(Dimension, u64)>,

    /// A soft limit: reaching it is logged and counted; may be repeated.
    #[arg(long, value_name = "DIMENSION=AMOUNT", value_parser = parse::amount)]
    #[arg(allow_hyphen_values = true)]
    soft: Vec<(Dimension, u64)>,

    /// Set usage to zero at this interval [default: never].
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    period: Option<Millis>,

    /// What happens to running executions when a hard limit is reached.
    #[arg(long, value_name = "WHAT", default_value = "block")]
    on_breach: Breach,
}

/// What happens to what runs when a limit is reached.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Breach {
    /// It continues.
    Block,
    /// It is cancelled.
    Cancel,
}

impl Budget {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let namespace = &session.namespace;
        match self.what {
            What::Ls(list) => list.run(session).await,
            What::Show(Which { name }) => {
                let backend = session.open().await?;
                answer(&backend.budget(namespace, &name).await?, session)
            }
            What::Set(set) => {
                let (name, limits) = set.meant()?;
                let backend = session.open().await?;
                answer(&backend.put_budget(namespace, &name, limits).await?, session)
            }
            What::Reset(Which { name }) => {
                let backend = session.open().await?;
                answer(&backend.reset_budget(namespace, &name).await?, session)
            }
            What::Rm(Which { name }) => {
                let backend = session.open().await?;
                backend.delete_budget(namespace, &name).await?;
                session.output.talk(format_args!("budget {name} is gone; what names it waits"));
                session.next("budget ls");
                Ok(Verdict::Good)
            }
        }
    }
}

impl Ls {
    async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let namespace = &session.namespace;
        let found = backend.budgets(namespace, self.after.as_ref(), self.limit).await?;
        let view = BudgetPageView::new(&found, self.limit);
        let style = session.output.style();
        session.output.answer(&view, |view| budgets::table(view, SystemClock.now(), style))?;
        match (&view.next, view.budgets.first()) {
            (Some(last), _) => session.next(parse::continued("budget ls", self.limit, last)),
            (None, Some(first)) => session.next(format_args!("budget show {}", first.budget)),
            (None, None) => {
                session.output.talk("there is no budget");
                session.next("budget set team --limit tokens=100000");
            }
        }
        Ok(Verdict::Good)
    }
}

impl Set {
    /// The budget and what it is to allow.
    fn meant(self) -> Result<(ResourceName, BudgetLimits), Error> {
        let hard = parse::distinct(self.limits, "--limit")?;
        let soft = parse::distinct(self.soft, "--soft")?;
        if hard.is_empty() && soft.is_empty() {
            let why =
                "--limit is missing; give what may be used, for example --limit tokens=100000";
            return Err(Error::usage("--limit", why));
        }
        let mut limits = BudgetLimits {
            dimensions: Default::default(),
            period: self.period,
            on_breach: match self.on_breach {
                Breach::Block => OnBreach::Block,
                Breach::Cancel => OnBreach::Cancel,
            },
        };
        for (dimension, amount) in hard {
            let limit = DimensionLimits { hard: Some(amount), soft: None };
            limits.dimensions.insert(dimension, limit);
        }
        for (dimension, amount) in soft {
            let limit = limits.dimensions.entry(dimension.clone()).or_default();
            if let Some(hard) = limit.hard.filter(|hard| amount > *hard) {
                let why = format!(
                    "--soft {dimension}={amount} is over --limit {dimension}={hard}, so it would \
                     never be told in time; give at most that"
                );
                return Err(Error::usage("--soft", why));
            }
            limit.soft = Some(amount);
        }
        Ok((self.name, limits))
    }
}

fn answer(found: &budget::BudgetView, session: &Session<'_>) -> Result<Verdict, Error> {
    let view = BudgetView::from(found);
    let style = session.output.style();
    session.output.answer(&view, |view| budgets::sheet(view, SystemClock.now(), style))?;
    session.next(match budgets::is_full(&view) {
        true => "ls --state rate_limited".to_owned(),
        false => format!("submit --budget {}", view.budget),
    });
    Ok(Verdict::Good)
}
