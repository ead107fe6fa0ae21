//! `ff lane`: look at lanes; pause, drain, resume and limit them; give them defaults.

use clap::{Args, Subcommand};
use ff_api::{LanePageView, LaneView};
use ff_core::bounds::{PAGE, QUOTA};
use ff_core::{Lane as Name, Patch, PolicyOverrides};
use ff_store::roles::LaneUpdate;
use ff_store::{Clock, SystemClock};

use super::policy::PolicyFlags;
use super::{Verdict, parse};
use crate::error::Error;
use crate::output::{lanes, terminal};
use crate::session::{Place, Session};

/// `ff lane`.
#[derive(Debug, Args)]
pub(crate) struct Lane {
    #[command(subcommand)]
    what: What,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
enum What {
    /// List lanes with settings or work, and how much waits and runs in each.
    Ls(Ls),
    /// Show a lane's settings.
    Show(Which),
    /// Pause a lane: nothing is claimed. Running work continues and new work is accepted.
    Pause(Closing),
    /// Drain a lane: new work is refused. Queued work is still run.
    Drain(Closing),
    /// Resume a lane that is paused or draining.
    Resume(Which),
    /// Limit how many executions of a lane run at once. Those that already run are not counted.
    Limit(Limit),
    /// Set a lane's default policy, as a whole: options not given return to the built-in default.
    /// Executions that were already submitted keep their policy.
    Defaults(Defaults),
}

#[derive(Debug, Args)]
struct Ls {
    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 50, allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<usize>(1, PAGE as u64))]
    limit: usize,

    /// Continue after this lane.
    #[arg(long, value_name = "LANE")]
    after: Option<Name>,
}

#[derive(Debug, Args)]
struct Which {
    /// The lane.
    lane: Name,
}

#[derive(Debug, Args)]
struct Closing {
    /// The lane.
    lane: Name,

    /// The reason, shown to people.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
}

#[derive(Debug, Args)]
struct Limit {
    /// The lane.
    lane: Name,

    /// How many may run at once; `none` removes the limit.
    #[arg(value_name = "N", allow_negative_numbers = true, value_parser = limit)]
    most: Patch<u32>,
}

#[derive(Debug, Args)]
struct Defaults {
    /// The lane.
    lane: Name,

    /// Remove all defaults of the lane.
    #[arg(long)]
    none: bool,

    #[command(flatten)]
    #[command(next_help_heading = "Policy")]
    policy: PolicyFlags,
}

impl Defaults {
    fn order(none: bool, ask: PolicyOverrides) -> Result<Patch<Box<PolicyOverrides>>, Error> {
        match (none, ask.is_empty()) {
            (true, true) => Ok(Patch::Clear),
            (false, false) => Ok(Patch::Set(Box::new(ask))),
            (true, false) => {
                Err(Error::usage("--none", "--none removes all that was said; give it alone"))
            }
            (false, true) => {
                let why = "no default is given; give some, as in --max-attempts 5 --deadline 1h, or \
                           --none to remove all that was said";
                Err(Error::usage("--none", why))
            }
        }
    }
}

fn limit(text: &str) -> Result<Patch<u32>, String> {
    let refused = || format!("give 1 to {QUOTA}, or none");
    match text {
        "none" => Ok(Patch::Clear),
        _ => {
            let most: u32 = text.parse().map_err(|_| refused())?;
            (1..=QUOTA).contains(&most).then_some(Patch::Set(most)).ok_or_else(refused)
        }
    }
}

impl Lane {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let order = |lane: Name| LaneUpdate {
            namespace: session.namespace.clone(),
            lane,
            ..LaneUpdate::default()
        };
        let closing = |closing: Closing| LaneUpdate {
            reason: closing.reason.map(String::into_boxed_str),
            ..order(closing.lane)
        };
        match self.what {
            What::Ls(list) => list.run(session).await,
            What::Show(which) => which.run(session).await,
            What::Pause(what) => {
                say(LaneUpdate { paused: Some(true), ..closing(what) }, session).await
            }
            What::Drain(what) => {
                say(LaneUpdate { draining: Some(true), ..closing(what) }, session).await
            }
            What::Resume(which) => {
                let (paused, draining) = (Some(false), Some(false));
                say(LaneUpdate { paused, draining, ..order(which.lane) }, session).await
            }
            What::Limit(limit) => {
                say(LaneUpdate { max_active: limit.most, ..order(limit.lane) }, session).await
            }
            What::Defaults(Defaults { lane, none, policy }) => {
                let defaults = Defaults::order(none, policy.ask())?;
                say(LaneUpdate { defaults, ..order(lane) }, session).await
            }
        }
    }
}

impl Ls {
    async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let view = self.page(session).await?;
        let style = session.output.style();
        let columns = terminal::of_stdout().map(|size| size.columns);
        session
            .output
            .answer(&view, |view| lanes::table(view, SystemClock.now(), style, columns))?;
        match (&view.next, view.lanes.first()) {
            (Some(last), _) => session.next(parse::continued("lane ls", self.limit, last)),
            (None, Some(first)) => session.next(format_args!("lane show {}", first.lane)),
            (None, None) => {
                session.output.talk("nothing waits or runs in a lane, and no lane has settings");
            }
        }
        Ok(Verdict::Good)
    }

    async fn page(&self, session: &Session<'_>) -> Result<LanePageView, Error> {
        let (namespace, after) = (&session.namespace, self.after.as_ref());
        Ok(match session.existing_place().await? {
            Place::Server(client) => client.lane_page(namespace, after, self.limit).await?,
            Place::Store(backend) => {
                let found = backend.lanes(namespace, after, self.limit).await?;
                let backlog = backend.backlog().await?;
                LanePageView::with_work(&found, &backlog, namespace, after, self.limit)
            }
        })
    }
}

impl Which {
    async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let said = backend.lane(&session.namespace, &self.lane).await?;
        answer(&LaneView::new(self.lane, &said), session)
    }
}

async fn say(order: LaneUpdate, session: &Session<'_>) -> Result<Verdict, Error> {
    let backend = session.open().await?;
    let lane = order.lane.clone();
    let said = backend.update_lane(order).await?;
    answer(&LaneView::new(lane, &said), session)
}

fn answer(view: &LaneView, session: &Session<'_>) -> Result<Verdict, Error> {
    let style = session.output.style();
    session.output.answer(view, |view| lanes::sheet(view, SystemClock.now(), style))?;
    session.next(match view.paused || view.draining {
        true => format!("lane resume {}", view.lane),
        false => format!("ls --lane {}", view.lane),
    });
    Ok(Verdict::Good)
}
