//! `ff quota`: look at quotas; make, change and remove them.

use clap::{Args, Subcommand};
use ff_api::{QuotaPageView, QuotaView};
use ff_core::bounds::{PAGE, QUOTA};
use ff_core::quota::{self, QuotaLimits};
use ff_core::{Millis, ResourceName};
use ff_store::{Clock, SystemClock};

use super::{Verdict, parse};
use crate::duration;
use crate::error::Error;
use crate::output::quotas;
use crate::session::Session;

/// The default window.
const WINDOW: Millis = Millis::from_secs(60);

/// `ff quota`.
#[derive(Debug, Args)]
pub(crate) struct Quota {
    #[command(subcommand)]
    what: What,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
enum What {
    /// List quotas by name.
    Ls(Ls),
    /// Show a quota and its current counts.
    Show(Which),
    /// Create a quota, or replace its limits. Starts are kept; waiting executions are re-evaluated.
    Set(Set),
    /// Remove a quota. Executions that name it wait until it exists again.
    Rm(Which),
}

#[derive(Debug, Args)]
struct Ls {
    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 50, allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<usize>(1, PAGE as u64))]
    limit: usize,

    /// Continue after this quota.
    #[arg(long, value_name = "NAME")]
    after: Option<ResourceName>,
}

#[derive(Debug, Args)]
struct Which {
    /// The quota.
    name: ResourceName,
}

#[derive(Debug, Args)]
struct Set {
    /// The quota.
    name: ResourceName,

    /// How many may start in any window [default: any number].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<u32>(1, QUOTA.into()))]
    requests: Option<u32>,

    /// The length of the window [default: 60s].
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    window: Option<Millis>,

    /// How many may run at once [default: any number].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<u32>(1, QUOTA.into()))]
    active: Option<u32>,

    /// Add a random delay of up to this much to each wait for the rate.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    jitter: Option<Millis>,
}

impl Quota {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let namespace = &session.namespace;
        match self.what {
            What::Ls(list) => list.run(session).await,
            What::Show(Which { name }) => {
                let backend = session.open().await?;
                answer(&backend.quota(namespace, &name).await?, session)
            }
            What::Set(set) => {
                let (name, limits) = set.meant()?;
                let backend = session.open().await?;
                answer(&backend.put_quota(namespace, &name, limits).await?, session)
            }
            What::Rm(Which { name }) => {
                let backend = session.open().await?;
                backend.delete_quota(namespace, &name).await?;
                session.output.talk(format_args!("quota {name} is gone; what names it waits"));
                session.next("quota ls");
                Ok(Verdict::Good)
            }
        }
    }
}

impl Ls {
    async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let namespace = &session.namespace;
        let found = backend.quotas(namespace, self.after.as_ref(), self.limit).await?;
        let view = QuotaPageView::new(&found, self.limit);
        let style = session.output.style();
        session.output.answer(&view, |view| quotas::table(view, SystemClock.now(), style))?;
        match (&view.next, view.quotas.first()) {
            (Some(last), _) => session.next(parse::continued("quota ls", self.limit, last)),
            (None, Some(first)) => session.next(format_args!("quota show {}", first.quota)),
            (None, None) => {
                session.output.talk("there is no quota");
                session.next("quota set api --requests 60 --window 60s");
            }
        }
        Ok(Verdict::Good)
    }
}

impl Set {
    /// The quota and what it is to allow.
    fn meant(self) -> Result<(ResourceName, QuotaLimits), Error> {
        let because = "limits nothing without --requests; give both, for example --requests 60 \
                       --window 60s";
        for (flag, given) in [("--window", self.window), ("--jitter", self.jitter)] {
            if self.requests.is_none() && given.is_some() {
                return Err(Error::usage(flag, format!("{flag} {because}")));
            }
        }
        if self.requests.is_none() && self.active.is_none() {
            let why = "--requests is missing, and so is --active; give one of them, for example \
                       --requests 60 --window 60s";
            return Err(Error::usage("--requests", why));
        }
        let limits = QuotaLimits {
            max_requests: self.requests,
            window: self.window.unwrap_or(WINDOW),
            max_active: self.active,
            jitter: self.jitter.unwrap_or(Millis::ZERO),
        };
        Ok((self.name, limits))
    }
}

fn answer(found: &quota::QuotaView, session: &Session<'_>) -> Result<Verdict, Error> {
    let view = QuotaView::from(found);
    let style = session.output.style();
    session.output.answer(&view, |view| quotas::sheet(view, SystemClock.now(), style))?;
    session.next(format_args!("submit --quota {}", view.quota));
    Ok(Verdict::Good)
}
