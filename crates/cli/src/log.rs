//! Logs: to stderr, as text or as one JSON object a line.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::ValueEnum;
use ff_api::Timestamp;
use ff_core::Time;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use crate::output::style;

/// The variables that select the logged lines; the first that is set counts.
const FILTERS: [&str; 2] = ["FF_LOG", "RUST_LOG"];

/// The default filter.
const DEFAULT: LevelFilter = LevelFilter::WARN;

/// How a line is written: for people, or as one JSON object with time, level, target, message and
/// fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    // Documentation comments here would be printed by every command's help.
    Text,
    Json,
}

/// Logs from now on.
pub(crate) fn start(format: Format) {
    let chosen = FILTERS.iter().find_map(|name| {
        // An empty part would be a target: that of every line.
        let text = std::env::var(name).ok()?;
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let parts: Vec<_> = parts.collect();
        (!parts.is_empty()).then(|| (name, parts.join(",").parse::<Targets>()))
    });
    let default = || Targets::new().with_default(DEFAULT);
    let (filter, wrong) = match chosen {
        Some((_, Ok(filter))) => (filter, None),
        Some((name, Err(error))) => (default(), Some((name, error))),
        None => (default(), None),
    };
    let logs = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(std::io::stderr)
        .log_internal_errors(false);
    match format {
        Format::Text => {
            logs.with_ansi(style::stderr_is_coloured()).finish().with(filter).init();
        }
        Format::Json => {
            logs.with_ansi(false).event_format(JsonLines).finish().with(filter).init();
        }
    }
    if let Some((name, error)) = wrong {
        tracing::warn!(%error, "{name} is not a filter; give for example info, or ff_engine=debug");
    }
}

/// One JSON object a line.
struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = Line(Map::new());
        event.record(&mut line);
        let metadata = event.metadata();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = Timestamp(Time::from_ms(now.as_millis() as u64));
        line.put("time", serde_json::to_value(now).unwrap_or(Value::Null));
        line.put("level", metadata.level().as_str().to_lowercase().into());
        line.put("target", metadata.target().into());
        writeln!(writer, "{}", Value::Object(line.0))
    }
}

/// The fields of an event.
struct Line(Map<String, Value>);

impl Line {
    fn put(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }
}

impl Visit for Line {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field.name(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field.name(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field.name(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field.name(), value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field.name(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field.name(), format!("{value:?}").into());
    }
}
