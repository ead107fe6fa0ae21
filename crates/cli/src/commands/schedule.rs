//! `ff schedule`: submit work at moments that are known beforehand.

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use ff_api::{SchedulePageView, ScheduleView, SubmittedView};
use ff_core::bounds::{PAGE, PRIORITY, PRIORITY_MIN, SCHEDULE_CATCH_UP, SCHEDULE_RUNS};
use ff_core::schedule::{Cadence, Cron, Overlap, Plan, ScheduleSpec, ScheduledWork, Zone};
use ff_core::{Capabilities, Kind, Lane, Millis, ResourceName, TagKey, TagValue, Time};
use ff_store::schedules::{BackfillRange, NamedSchedule};
use ff_store::{Clock, SystemClock, mint};

use super::limits::LimitFlags;
use super::policy::PolicyFlags;
use super::{Verdict, parse};
use crate::error::Error;
use crate::output::schedules;
use crate::session::Session;
use crate::{duration, input};

const CONTRACT: &str = "Every moment has at most one run, however many servers there are and whenever one dies. \
A time that a zone's clocks skip is run once, when they go on; one that they repeat is run once.";

/// `ff schedule`.
#[derive(Debug, Args)]
#[command(after_help = CONTRACT)]
pub(crate) struct Schedule {
    #[command(subcommand)]
    what: What,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
enum What {
    /// Create a schedule, or change what it does from now on.
    Set(Box<Set>),
    /// List schedules by name.
    Ls(Ls),
    /// Show a schedule, what became of its latest moments, and its next ones.
    Show(Which),
    /// Pause a schedule: nothing of it runs until it is resumed.
    Pause(Pause),
    /// Let a schedule continue with the moments from now on.
    Resume(Which),
    /// Submit a run now, and print its id.
    Run(Which),
    /// Run the moments of a range of the past, one after the other.
    Backfill(Backfill),
    /// Remove a schedule. Its runs stay.
    Rm(Which),
    /// Print the next moments of a schedule, by the clocks of its zone.
    Next(Which),
}

#[derive(Debug, Args)]
struct Which {
    /// The schedule.
    name: ResourceName,
}

#[derive(Debug, Args)]
struct Ls {
    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 50, allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<usize>(1, PAGE as u64))]
    limit: usize,

    /// Continue after this schedule.
    #[arg(long, value_name = "NAME")]
    after: Option<ResourceName>,
}

#[derive(Debug, Args)]
struct Pause {
    #[command(flatten)]
    which: Which,

    /// Why, for people.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

#[derive(Debug, Args)]
struct Backfill {
    #[command(flatten)]
    which: Which,

    /// The first moment (RFC 3339).
    #[arg(long, value_name = "TIME", value_parser = parse::moment)]
    from: Time,

    /// The last moment (RFC 3339); it must have passed.
    #[arg(long, value_name = "TIME", value_parser = parse::moment)]
    until: Time,

    /// How long it is from one run to the next.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(default_value_t = Millis::from_secs(1), allow_hyphen_values = true)]
    pace: Millis,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("cadence").required(true))]
struct Set {
    /// The schedule.
    name: ResourceName,

    /// A cron expression: minute, hour, day, month, weekday; seconds may come first.
    #[arg(long, value_name = "EXPRESSION", group = "cadence")]
    cron: Option<Cron>,

    /// Whose clocks the expression is for: an IANA name, such as Europe/Berlin [default: UTC].
    #[arg(long, value_name = "ZONE", requires = "cron")]
    zone: Option<Zone>,

    /// Once every so often, counted from --start, or else from 1970 on.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, group = "cadence")]
    #[arg(allow_hyphen_values = true)]
    every: Option<Millis>,

    /// A single moment (RFC 3339).
    #[arg(long, value_name = "TIME", value_parser = parse::moment, group = "cadence")]
    at: Option<Time>,

    /// No moment before this one (RFC 3339).
    #[arg(long, value_name = "TIME", value_parser = parse::moment)]
    start: Option<Time>,

    /// No moment after this one (RFC 3339).
    #[arg(long, value_name = "TIME", value_parser = parse::moment)]
    end: Option<Time>,

    /// What becomes of a moment while an earlier run has not ended.
    #[arg(long, value_name = "WHAT", default_value = "skip")]
    overlap: OverlapFlag,

    /// How many of the moments that were missed while no server ran are made up for, the latest ones.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<u32>(0, SCHEDULE_CATCH_UP.into()))]
    catch_up: u32,

    /// Start each run up to this much after its moment.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(default_value_t = Millis::ZERO, allow_hyphen_values = true)]
    jitter: Millis,

    /// The lane (queue) that runs join.
    #[arg(long, value_name = "NAME", default_value_t = Lane::default())]
    lane: Lane,

    /// The kind of task, which selects its handler.
    #[arg(long, value_name = "NAME", default_value_t = Kind::default())]
    kind: Kind,

    /// The input of each run: JSON, @FILE or - for stdin; stored byte for byte.
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    input: Option<String>,

    /// Higher goes first: -9000 to 9000.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    #[arg(value_parser = parse::integer::<i16>(PRIORITY_MIN.into(), PRIORITY.into()))]
    priority: i16,

    /// A label of each run; may be repeated.
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = parse::tag)]
    tags: Vec<(TagKey, TagValue)>,

    /// A capability that its worker must offer; may be repeated.
    #[arg(long, value_name = "CAPABILITY")]
    require: Vec<String>,

    #[command(flatten)]
    limits: LimitFlags,

    #[command(flatten)]
    #[command(
        next_help_heading = "Policy (if not given: the lane's default, then the built-in one)"
    )]
    policy: PolicyFlags,
}

/// What becomes of a moment while an earlier run has not ended.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum OverlapFlag {
    /// It has no run.
    Skip,
    /// Its run waits until the earlier ones have ended.
    Queue,
    /// The earlier runs are cancelled.
    Cancel,
    /// Both run.
    Allow,
}

impl From<OverlapFlag> for Overlap {
    fn from(flag: OverlapFlag) -> Overlap {
        match flag {
            OverlapFlag::Skip => Overlap::Skip,
            OverlapFlag::Queue => Overlap::Queue,
            OverlapFlag::Cancel => Overlap::Cancel,
            OverlapFlag::Allow => Overlap::Allow,
        }
    }
}

impl Schedule {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let namespace = &session.namespace;
        match self.what {
            What::Set(set) => {
                let (name, spec) = set.meant()?;
                let backend = session.open().await?;
                let set = backend.set_schedule(namespace, &name, spec).await?;
                answer(&set, session)
            }
            What::Ls(list) => list.run(session).await,
            What::Show(Which { name }) => {
                let backend = session.open().await?;
                answer(&backend.schedule(namespace, &name).await?, session)
            }
            What::Pause(Pause { which, reason }) => {
                let (backend, reason) = (session.open().await?, reason.map(Into::into));
                let set = backend.pause_schedule(namespace, &which.name, true, reason).await?;
                answer(&set, session)
            }
            What::Resume(Which { name }) => {
                let backend = session.open().await?;
                answer(&backend.pause_schedule(namespace, &name, false, None).await?, session)
            }
            What::Run(Which { name }) => {
                let backend = session.open().await?;
                let run = backend.run_schedule(namespace, &name, mint::request_id()).await?;
                let view = SubmittedView::from(&run);
                session.output.answer(&view, |view| format!("{}\n", view.id))?;
                session.next(format_args!("show {}", view.id));
                Ok(Verdict::Good)
            }
            What::Backfill(Backfill { which, from, until, pace }) => {
                let (backend, range) = (session.open().await?, BackfillRange { from, until, pace });
                let set = backend.backfill_schedule(namespace, &which.name, range).await?;
                answer(&set, session)
            }
            What::Rm(Which { name }) => {
                session.open().await?.delete_schedule(namespace, &name).await?;
                session.output.talk(format_args!("schedule {name} is gone"));
                session.next("schedule ls");
                Ok(Verdict::Good)
            }
            What::Next(Which { name }) => {
                let found = session.open().await?.schedule(namespace, &name).await?;
                let zone = match &found.schedule.spec.plan.cadence {
                    Cadence::Cron { zone, .. } => zone.clone(),
                    _ => Zone::utc(),
                };
                let moments: Vec<_> = found.next.iter().take(SCHEDULE_RUNS).collect();
                let shown: Vec<_> = moments.iter().map(|at| zone.show(**at)).collect();
                session.output.answer(&shown, |shown| {
                    shown.iter().map(|line| format!("{line}\n")).collect::<String>()
                })?;
                if shown.is_empty() {
                    session.output.talk(format_args!("schedule {name} has no moment from now on"));
                }
                Ok(Verdict::Good)
            }
        }
    }
}

impl Ls {
    async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let namespace = &session.namespace;
        let found = backend.schedules(namespace, self.after.as_ref(), self.limit).await?;
        let view = SchedulePageView::new(&found, self.limit);
        let style = session.output.style();
        session.output.answer(&view, |view| schedules::table(view, SystemClock.now(), style))?;
        match (&view.next, view.schedules.first()) {
            (Some(last), _) => session.next(parse::continued("schedule ls", self.limit, last)),
            (None, Some(first)) => session.next(format_args!("schedule show {}", first.schedule)),
            (None, None) => {
                session.output.talk("there is no schedule");
                session.next("schedule set nightly --cron '0 2 * * *' --kind report");
            }
        }
        Ok(Verdict::Good)
    }
}

impl Set {
    /// The schedule and what it is to do.
    fn meant(self) -> Result<(ResourceName, ScheduleSpec), Error> {
        let cadence = match (self.cron, self.every, self.at) {
            (Some(cron), ..) => Cadence::Cron { cron, zone: self.zone.unwrap_or_default() },
            (None, Some(every), _) => {
                Cadence::Every { every, from: self.start.unwrap_or(Time::EPOCH) }
            }
            (None, None, Some(at)) => Cadence::At(at),
            (None, None, None) => {
                let why = "--cron, --every or --at is missing; give one of them";
                return Err(Error::usage("--cron", why));
            }
        };
        let requires = Capabilities::new(&self.require)
            .map_err(|refusal| Error::usage("--require", format!("--require: {refusal}")))?;
        let payload = self.input.as_deref().map(input::json).transpose()?.unwrap_or_default();
        let spec = ScheduleSpec {
            plan: Plan { cadence, start: self.start, end: self.end },
            overlap: self.overlap.into(),
            catch_up: self.catch_up,
            jitter: self.jitter,
            work: ScheduledWork {
                lane: self.lane,
                kind: self.kind,
                content_type: payload.content_type,
                input: payload.bytes,
                tags: parse::distinct(self.tags, "--tag")?,
                priority: self.priority,
                requires,
                limits: self.limits.limits()?,
                policy: self.policy.ask(),
            },
        };
        Ok((self.name, spec))
    }
}

fn answer(found: &NamedSchedule, session: &Session<'_>) -> Result<Verdict, Error> {
    let (view, style) = (ScheduleView::from(found), session.output.style());
    session.output.answer(&view, |view| schedules::sheet(view, SystemClock.now(), style))?;
    Ok(Verdict::Good)
}
