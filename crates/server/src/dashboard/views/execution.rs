//! One execution: why it is where it is, its timeline, attempts, journal, input and result.

use askama::Template;
use ff_core::journal::Recorded;
use ff_core::machine::Target;
use ff_core::record::{Attempt, Description};
use ff_core::state::{Outcome, State};
use ff_core::suspension::SuspendReason;
use ff_core::view::AttemptStatus;
use ff_core::{Millis, PublicState, Refusal, Time};
use ff_store::StoreError;
use ff_store::journal::{JournalEntry, JournalPage};

use super::executions::cut;
use super::output;
use crate::dashboard::part::Part;
use crate::dashboard::show::{self, Badge, Preview};
use crate::dashboard::timeline::Timeline;
use crate::dashboard::view::{Rendered, Scene};
use crate::error::ApiError;
use crate::html::Markup;
use crate::urlencoded::{Fields, encoded};

/// How many attempts, entries and signals a page has.
const PAGE: usize = 50;
/// How many characters of a result in the journal are shown.
const RESULT: usize = 120;
/// How many earlier runs are shown.
const RUNS: usize = 10;

/// Where the pages of its attempts and of its journal begin.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::dashboard) struct Pages {
    attempts: Option<u32>,
    entries: u64,
    frames: u64,
}

impl Pages {
    pub(in crate::dashboard) fn read(fields: &Fields) -> Result<Pages, Refusal> {
        let bad = |field| move |_| Refusal::invalid(field, "is not a number");
        let attempts = fields.get("attempts").map(str::parse).transpose();
        let entries = fields.get("entries").map(str::parse).transpose();
        let frames = fields.get("frames").map(str::parse).transpose();
        Ok(Pages {
            attempts: attempts.map_err(bad("attempts"))?,
            entries: entries.map_err(bad("entries"))?.unwrap_or(0),
            frames: frames.map_err(bad("frames"))?.unwrap_or(0),
        })
    }
}

#[derive(Template)]
#[template(path = "execution_head.html")]
struct Head {
    id: String,
    state: Badge,
    sentence: String,
    progress: Option<(u8, String)>,
    message: Option<String>,
}

#[derive(Template)]
#[template(path = "execution_actions.html")]
struct Actions<'a> {
    act: String,
    decide: Option<String>,
    may_cancel: bool,
    is_held: bool,
    lease: Option<String>,
    may_replay: bool,
    may_resume: bool,
    may_delete: bool,
    run: u32,
    proof: &'a str,
}

#[derive(Template)]
#[template(path = "execution_timeline.html")]
struct Drawn {
    drawing: Markup,
    span: String,
    attempts: u32,
    shown: Option<(u32, u32)>,
}

#[derive(Template)]
#[template(path = "execution_facts.html")]
struct Facts {
    flow: Option<(String, String)>,
    lane: (String, String),
    priority: i16,
    tags: Vec<(String, String, String)>,
    created: Markup,
    ended: Option<Markup>,
    expires: Option<Markup>,
    deadline: Option<Markup>,
    next: Option<Markup>,
    run: u32,
    failures: u32,
    max_attempts: u32,
    reclaims: u32,
    holder: Option<(String, Markup)>,
    requires: Vec<String>,
    key: Option<String>,
    limits: Vec<String>,
    estimate: String,
    used: String,
    runs: Vec<PastRun>,
}

struct PastRun {
    number: usize,
    state: Badge,
    took: String,
    ended: Markup,
}

#[derive(Template)]
#[template(path = "execution_attempts.html")]
struct Attempts {
    attempts: Vec<AttemptRow>,
    total: u32,
    older: Option<String>,
    newer: Option<String>,
}

struct AttemptRow {
    number: u32,
    run: u32,
    state: Badge,
    worker: String,
    started: Markup,
    took: String,
    message: String,
}

#[derive(Template)]
#[template(path = "execution_journal.html")]
struct Journal {
    entries: Vec<EntryRow>,
    next: Option<String>,
    first: Option<String>,
}

struct EntryRow {
    number: u64,
    name: String,
    kind: &'static str,
    visible: bool,
    attempt: u32,
    at: Markup,
    result: String,
}

#[derive(Template)]
#[template(path = "execution_payloads.html")]
struct Payloads {
    blocks: Vec<Block>,
}

struct Block {
    title: &'static str,
    preview: Option<Preview>,
    download: String,
    /// What there is instead.
    instead: String,
}

pub(in crate::dashboard) async fn render(
    scene: &Scene<'_>,
    target: &Target,
    pages: &Pages,
) -> Result<Rendered, ApiError> {
    let backend = &scene.state.backend;
    let record = backend.describe(target).await?;
    let explanation = backend.explain(target).await?;
    let attempts = attempts_of(scene, target, &record, pages).await?;
    let journal = match record.attempt {
        Some(_) => backend.steps(target, pages.entries, PAGE).await?,
        None => JournalPage { entries: Vec::new(), next: None },
    };
    let signals = match record.attempt {
        Some(_) => backend.signals(target, 0, PAGE).await?,
        None => Vec::new(),
    };
    let timeline = Timeline {
        record: &record,
        attempts: &attempts,
        entries: &journal.entries,
        signals: &signals,
        now: scene.now,
    };
    let parts = vec![
        Part::new("head", &head(&record, explanation.sentence)),
        Part::new("actions", &actions(scene, target, &record)),
        Part::new("timeline", &drawn(&timeline)),
        Part::still("output", &output::stream(scene, target, &record, pages.frames).await?),
        Part::new("summary", &output::summary(scene, target, &record).await?),
        Part::new("payloads", &payloads(scene, target, &record).await?),
        Part::new("facts", &facts(scene, &record)),
        Part::new("attempts", &attempt_table(scene, target, &record, &attempts, pages)),
        Part::new("journal", &journal_table(scene, target, &journal, pages)),
    ];
    let title = format!("{} {}", record.spec.kind, show::short(record.id));
    Ok(Rendered { title, parts })
}

/// The page of attempts; by default the newest.
async fn attempts_of(
    scene: &Scene<'_>,
    target: &Target,
    record: &Description,
    pages: &Pages,
) -> Result<Vec<Attempt>, StoreError> {
    let Some(newest) = &record.attempt else { return Ok(Vec::new()) };
    let from = pages.attempts.unwrap_or_else(|| (newest.number + 1).saturating_sub(PAGE as u32));
    scene.state.backend.attempts(target, from, PAGE).await
}

fn head(record: &Description, sentence: String) -> Head {
    let progress = record.attempt.as_ref().and_then(|attempt| attempt.progress.as_ref());
    let message = match &record.state {
        State::Suspended { suspension } => suspension.message.as_deref().map(str::to_owned),
        State::Finished { outcome: Outcome::Failed { failure }, .. } => {
            Some(failure.message.to_string())
        }
        _ => None,
    };
    let is_held = matches!(record.state, State::Active { .. });
    Head {
        id: record.id.to_string(),
        state: record.public_state().into(),
        sentence: match &message {
            Some(message) => without(&sentence, message),
            None => sentence,
        },
        progress: progress.filter(|_| is_held).map(|progress| {
            let message = progress.message.as_deref().unwrap_or_default();
            (progress.percent.unwrap_or(0), message.to_owned())
        }),
        message,
    }
}

/// The sentence without the message that is shown below it.
fn without(sentence: &str, message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    match sentence.split_once(&format!(": {first}")) {
        Some((before, _)) if !first.is_empty() => format!("{before}:"),
        _ => sentence.to_owned(),
    }
}

fn actions<'a>(scene: &Scene<'a>, target: &Target, record: &Description) -> Actions<'a> {
    let (can, path) = (scene.view.can, format!("/executions/{}", target.execution));
    let state = record.public_state();
    let asks = matches!(&record.state, State::Suspended { suspension } if suspension.reason == SuspendReason::Approval);
    Actions {
        act: scene.link(&format!("{path}/act")),
        decide: (can.decide && asks).then(|| scene.link(&format!("{path}/decide"))),
        may_cancel: can.produce && !state.is_finished(),
        is_held: state == PublicState::Active,
        lease: record.lease().filter(|_| can.operate).map(|lease| lease.id.to_string()),
        may_replay: can.produce && state.is_finished(),
        may_resume: can.operate && state == PublicState::Suspended,
        may_delete: can.operate && state.is_finished(),
        run: record.run.number,
        proof: &scene.state.dashboard.mark,
    }
}

fn drawn(timeline: &Timeline<'_>) -> Drawn {
    let record = timeline.record;
    let end = record.outcome().map_or(timeline.now, |(_, at)| at);
    let total = record.attempt.as_ref().map_or(0, |attempt| attempt.number + 1);
    let shown = timeline.attempts.first().zip(timeline.attempts.last());
    let part = shown.filter(|_| (timeline.attempts.len() as u32) < total);
    Drawn {
        drawing: timeline.draw(),
        span: show::span(end.since(record.created)),
        attempts: total,
        shown: part.map(|(first, last)| (first.number, last.number)),
    }
}

fn facts(scene: &Scene<'_>, record: &Description) -> Facts {
    let moment = |at: Time| show::moment(at, scene.now);
    let (spec, run) = (&record.spec, &record.run);
    let lane = spec.lane.as_str();
    let amounts = |amounts: &ff_core::limits::Amounts| {
        let each = amounts.iter().map(|(name, amount)| format!("{} {name}", show::count(*amount)));
        each.collect::<Vec<_>>().join(", ")
    };
    let tag = |(key, value): (&ff_core::TagKey, &ff_core::TagValue)| {
        let tag = ff_api::http::write_tags(&[(key.clone(), value.clone())]);
        let link = scene.link(&format!("/executions?tags={}", encoded(&tag)));
        (key.to_string(), value.to_string(), link)
    };
    let budgets = spec.limits.budgets.iter().map(|name| format!("budget {name}"));
    let quotas = spec.limits.quotas.iter().map(|name| format!("quota {name}"));
    let first = record.past_runs.len().saturating_sub(RUNS);
    let runs = record.past_runs.iter().enumerate().skip(first).map(|(number, past)| PastRun {
        number,
        state: past.outcome.public().into(),
        took: show::span(past.ended.since(past.started)),
        ended: moment(past.ended),
    });
    let flow = match (record.is_flow(), &record.member) {
        (true, _) => Some((record.id, "its graph".to_owned())),
        (false, Some(member)) => {
            let text = format!("node {} of {}", member.name, show::short(member.flow));
            Some((member.flow, text))
        }
        (false, None) => None,
    };
    Facts {
        flow: flow.map(|(id, text)| (text, scene.link(&format!("/flows/{id}")))),
        lane: (lane.to_owned(), scene.link(&format!("/executions?lane={}", encoded(lane)))),
        priority: record.priority,
        tags: record.tags.iter().map(tag).collect(),
        created: moment(record.created),
        ended: record.outcome().map(|(_, at)| moment(at)),
        expires: record.retired_at().map(moment),
        deadline: run.deadline.map(moment),
        next: match record.state {
            State::Delayed { until, .. } => Some(moment(until)),
            _ => None,
        },
        run: run.number,
        failures: run.failures,
        max_attempts: spec.policy.retry.max_attempts,
        reclaims: run.reclaims,
        holder: record
            .lease()
            .map(|lease| (lease.worker.instance.to_string(), moment(lease.until))),
        requires: spec.requires.tokens().map(str::to_owned).collect(),
        key: spec.key.as_ref().map(ToString::to_string),
        limits: budgets.chain(quotas).collect(),
        estimate: amounts(&spec.limits.estimate),
        used: amounts(&record.used),
        runs: runs.collect(),
    }
}

fn attempt_table(
    scene: &Scene<'_>,
    target: &Target,
    record: &Description,
    attempts: &[Attempt],
    pages: &Pages,
) -> Attempts {
    let total = record.attempt.as_ref().map_or(0, |newest| newest.number + 1);
    let page = |from: u32| {
        let path =
            format!("/executions/{}?attempts={from}&entries={}", target.execution, pages.entries);
        scene.link(&path)
    };
    let row = |attempt: &Attempt| {
        let status = attempt.status();
        let class = match status {
            AttemptStatus::Completed => "good",
            AttemptStatus::Open => "live",
            AttemptStatus::Cancelled => "calm",
            AttemptStatus::LeaseLost | AttemptStatus::TimedOut => "warn",
            AttemptStatus::Failed | AttemptStatus::Expired => "bad",
        };
        let end = attempt.end.as_ref();
        AttemptRow {
            number: attempt.number,
            run: attempt.run,
            state: Badge { class, text: show::words(status.as_str()) },
            worker: attempt.worker.instance.to_string(),
            started: show::moment(attempt.started, scene.now),
            took: end
                .map_or_else(|| "…".to_owned(), |end| show::span(end.at.since(attempt.started))),
            message: match end.map(|end| &end.reason) {
                Some(ff_core::record::EndReason::Failed(failure)) => {
                    format!("{}: {}", failure.category, cut(&failure.message, 400))
                }
                _ => String::new(),
            },
        }
    };
    let first = attempts.first().map_or(0, |first| first.number);
    let after = attempts.last().map_or(0, |last| last.number + 1);
    Attempts {
        attempts: attempts.iter().rev().map(row).collect(),
        total,
        older: (first > 0).then(|| page(first.saturating_sub(PAGE as u32))),
        newer: (after < total && !attempts.is_empty()).then(|| page(after)),
    }
}

fn journal_table(
    scene: &Scene<'_>,
    target: &Target,
    journal: &JournalPage,
    pages: &Pages,
) -> Journal {
    let page = |from: u64| {
        let attempts = pages.attempts.map_or_else(String::new, |from| format!("&attempts={from}"));
        scene.link(&format!("/executions/{}?entries={from}{attempts}", target.execution))
    };
    let row = |JournalEntry { entry, visible }: &JournalEntry| EntryRow {
        number: entry.number,
        name: entry.name.to_string(),
        kind: entry.what.kind().as_str(),
        visible: *visible,
        attempt: entry.attempt,
        at: show::moment(entry.at, scene.now),
        result: match &entry.what {
            Recorded::Step(result) => cut(&Preview::beginning(result), RESULT),
            Recorded::Sleep => "woke up".to_owned(),
            Recorded::Wait { timed_out: true, .. } => "its time was over".to_owned(),
            Recorded::Wait { signals, .. } => match signals.len() {
                1 => "1 signal".to_owned(),
                count => format!("{count} signals"),
            },
        },
    };
    Journal {
        entries: journal.entries.iter().map(row).collect(),
        next: journal.next.map(page),
        first: (pages.entries > 0).then(|| page(0)),
    }
}

async fn payloads(
    scene: &Scene<'_>,
    target: &Target,
    record: &Description,
) -> Result<Payloads, ApiError> {
    let (backend, path) = (&scene.state.backend, format!("/executions/{}", target.execution));
    let block = |title, preview, download: &str, instead: String| Block {
        title,
        preview,
        download: scene.link(&format!("{path}/{download}")),
        instead,
    };
    let input = match record.spec.input.len {
        0 => None,
        _ => Some(Preview::of(&backend.input(target).await?)),
    };
    let (result, instead) = match record.outcome() {
        Some((Outcome::Success { result }, _)) if result.len > 0 => {
            (Some(Preview::of(&backend.result(target, None).await?)), String::new())
        }
        Some((Outcome::Success { .. }, _)) => (None, "It completed without a result.".to_owned()),
        Some((outcome, at)) => {
            let why = outcome.reason().unwrap_or_default();
            let after = show::span(at.since(record.created).max(Millis::new(1)));
            (None, format!("It {} after {after}: {why}", show::words(outcome.public().as_str())))
        }
        None => (None, "There is none yet.".to_owned()),
    };
    Ok(Payloads {
        blocks: vec![
            block("Input", input, "input", "It was submitted without input.".to_owned()),
            block("Result", result, "result", instead),
        ],
    })
}
