//! `ff submit`: accept new work.

use std::sync::Arc;

use clap::Args;
use ff_api::SubmittedView;
use ff_core::bounds::{PRIORITY, PRIORITY_MIN};
use ff_core::machine;
use ff_core::payload::ContentType;
use ff_core::{
    Capabilities, ExecutionId, IdempotencyKey, Kind, Lane, Millis, Payload, TagKey, TagValue, Time,
    When,
};
use ff_store::{ClientAndWorker, StoreError};

use super::limits::LimitFlags;
use super::policy::PolicyFlags;
use super::{Verdict, parse, wait};
use crate::error::Error;
use crate::session::Session;
use crate::{duration, input};

/// `ff submit`.
#[derive(Debug, Args)]
pub(crate) struct Submit {
    /// The lane (queue) it joins.
    #[arg(long, value_name = "NAME", default_value_t = Lane::default())]
    lane: Lane,

    /// The kind of task, which selects its handler.
    #[arg(long, value_name = "NAME", default_value_t = Kind::default())]
    kind: Kind,

    /// The input: JSON, @FILE or - for stdin; stored byte for byte.
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    input: Option<String>,

    /// The input as arbitrary bytes: @FILE or - for stdin.
    #[arg(long, value_name = "@FILE", allow_hyphen_values = true, conflicts_with = "input")]
    input_raw: Option<String>,

    /// The media type of --input-raw [default: application/octet-stream].
    #[arg(long, value_name = "TYPE", requires = "input_raw", value_parser = ContentType::new)]
    content_type: Option<ContentType>,

    /// Higher goes first: -9000 to 9000.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    #[arg(value_parser = parse::integer::<i16>(PRIORITY_MIN.into(), PRIORITY.into()))]
    priority: i16,

    /// Start it after this delay.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    delay: Option<Millis>,

    /// Start it at this time (RFC 3339); a time in the past means now.
    #[arg(long, value_name = "TIME", conflicts_with = "delay", value_parser = parse::moment)]
    at: Option<Time>,

    /// Your own key for this work: the same key and body is the same execution.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<IdempotencyKey>,

    /// A label; may be repeated.
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = parse::tag)]
    tags: Vec<(TagKey, TagValue)>,

    /// A capability its worker must offer; may be repeated.
    #[arg(long, value_name = "CAPABILITY")]
    require: Vec<String>,

    /// The execution's id (a UUIDv7), so that a repeated call creates nothing twice.
    #[arg(long, value_name = "ID")]
    id: Option<ExecutionId>,

    /// Wait until it ends and print its result; exit with 1 unless it completed.
    #[arg(long)]
    wait: bool,

    /// How long to wait at most; the execution keeps running.
    #[arg(long, value_name = "DURATION", requires = "wait", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    timeout: Option<Millis>,

    #[command(flatten)]
    limits: LimitFlags,

    #[command(flatten)]
    #[command(
        next_help_heading = "Policy (if not given: the lane's default, then the built-in one)"
    )]
    policy: PolicyFlags,
}

impl Submit {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let (waits, timeout) = (self.wait, self.timeout);
        let input = self.payload()?;
        let backend = session.place().await?.roles();
        let submit = self.command(session, &backend, input)?;
        let submitted = send(session, &backend, submit).await?;
        let target = session.target(submitted.execution);
        let view = SubmittedView::from(&submitted);
        if !view.new {
            session.output.talk(format_args!("already submitted, and {}", view.state));
        }
        for warning in &view.warnings {
            session.output.talk(format_args!("warning: {}", warning.message));
        }
        if waits {
            session.output.talk(format_args!("waiting for {}", view.id));
            return wait::for_end(session, &*backend, &target, timeout).await;
        }
        session.output.answer(&view, |view| format!("{}\n", view.id))?;
        session.next(format_args!("show {}", view.id));
        Ok(Verdict::Good)
    }

    fn payload(&self) -> Result<Payload, Error> {
        match (&self.input, &self.input_raw) {
            (Some(source), _) => input::json(source),
            (None, Some(source)) => {
                input::raw(source, self.content_type.clone().unwrap_or_default())
            }
            (None, None) => Ok(Payload::default()),
        }
    }

    fn command(
        self,
        session: &Session<'_>,
        backend: &Arc<dyn ClientAndWorker>,
        input: Payload,
    ) -> Result<machine::Submit, Error> {
        let namespace = session.namespace.clone();
        let key = self.idempotency_key;
        let requires = Capabilities::new(&self.require)
            .map_err(|refusal| Error::usage("--require", format!("--require: {refusal}")))?;
        let start = match (self.delay, self.at) {
            (Some(delay), _) => When::After(delay),
            (None, Some(at)) => When::At(at),
            (None, None) => When::Now,
        };
        Ok(machine::Submit {
            id: self.id.unwrap_or_else(|| backend.new_id(&namespace, key.as_ref())),
            namespace,
            lane: self.lane,
            kind: self.kind,
            input,
            tags: parse::distinct(self.tags, "--tag")?,
            priority: self.priority,
            start,
            key,
            requires,
            limits: self.limits.limits()?,
            policy: self.policy.ask(),
        })
    }
}

/// Submits. To repeat a call that may have been carried out, the caller needs the id it was sent
/// with.
async fn send(
    session: &Session<'_>,
    backend: &Arc<dyn ClientAndWorker>,
    submit: machine::Submit,
) -> Result<machine::Submitted, Error> {
    let id = submit.id;
    let answers = backend.submit(vec![submit]).await;
    let answer = answers.and_then(|answers| {
        let none = || Err(StoreError::Corrupt("a submit was not answered".to_owned()));
        answers.into_iter().next().unwrap_or_else(none)
    });
    if answer.as_ref().is_err_and(StoreError::is_retryable) {
        let advice = format!("to repeat it safely, add --id {id}");
        session.output.talk(advice);
    }
    Ok(answer?)
}
