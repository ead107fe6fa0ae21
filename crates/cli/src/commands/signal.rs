//! `ff signal`: deliver a signal to a waitpoint of an execution.

use clap::Args;
use ff_api::SignalledView;
use ff_core::machine::{self, WaitpointRef};
use ff_core::payload::ContentType;
use ff_core::{Category, IdempotencyKey, Payload, SignalName, Source, WaitpointKey};

use super::Verdict;
use crate::error::Error;
use crate::id::Id;
use crate::input;
use crate::session::Session;

/// `ff signal`.
#[derive(Debug, Args)]
#[command(
    after_help = "The source of the signal is the credential of the caller: FF_TOKEN, or this \
                        machine. `ff waitpoints` lists where signals arrive."
)]
pub(crate) struct Signal {
    /// The execution: its id, or a unique prefix of it.
    id: Id,

    /// The key of the waitpoint, which must be open.
    #[arg(value_name = "WAITPOINT")]
    waitpoint: WaitpointKey,

    /// The name of the signal, by which a condition may choose.
    #[arg(long, value_name = "NAME")]
    name: Option<SignalName>,

    /// What it carries: JSON, @FILE or - for stdin; stored byte for byte.
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    input: Option<String>,

    /// The same as arbitrary bytes: @FILE or - for stdin.
    #[arg(long, value_name = "@FILE", allow_hyphen_values = true, conflicts_with = "input")]
    input_raw: Option<String>,

    /// The media type of --input-raw [default: application/octet-stream].
    #[arg(long, value_name = "TYPE", requires = "input_raw", value_parser = ContentType::new)]
    content_type: Option<ContentType>,

    /// The kind of signal, in your own words.
    #[arg(long, value_name = "NAME")]
    category: Option<Category>,

    /// Your own key for this signal: the same key at the same waitpoint counts once [default: all that
    /// the signal carries].
    #[arg(long, value_name = "KEY")]
    key: Option<IdempotencyKey>,
}

impl Signal {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let payload = match (&self.input, &self.input_raw) {
            (Some(json), _) => input::json(json)?,
            (None, Some(raw)) => input::raw(raw, self.content_type.unwrap_or_default())?,
            (None, None) => Payload::json("null"),
        };
        let backend = session.open().await?;
        let id = self.id.find(session, &*backend).await?;
        let signal = machine::Signal {
            target: session.target(id),
            waitpoint: WaitpointRef::ByKey(self.waitpoint),
            key: self.key,
            name: self.name,
            category: self.category,
            source: Source::new("local")?,
            payload,
        };
        let view = SignalledView::new(id, backend.signal(signal).await?);
        session.output.answer(&view, |view| format!("{}\n", view.effect))?;
        session.next(format_args!("show {id}"));
        Ok(Verdict::Good)
    }
}
