//! `ff ls`: list executions.

use std::time::Duration;

use clap::{Args, ValueEnum};
use ff_api::ListPageView;
use ff_core::bounds::PAGE;
use ff_core::suspension::SuspendReason;
use ff_core::{Kind, Lane, Millis, TagKey, TagValue, Time};
use ff_store::listing::{Cursor, Filter, ListPage, Listing, StateFilter};
use ff_store::{ClientAndWorker, Clock, SystemClock};

use super::{Verdict, parse};
use crate::duration;
use crate::error::Error;
use crate::output::{Output, listing, terminal};
use crate::session::{Session, quote};
use crate::signals::Signals;

/// `ff ls`.
#[derive(Debug, Args)]
pub(crate) struct Ls {
    /// Only in these states, separated by commas: waiting, delayed, rate_limited, waiting_children,
    /// suspended, active, resumable, completed, failed, cancelled, expired, skipped; or waiting_for_capable_worker, queued while no
    /// live worker can run it.
    #[arg(long, value_name = "STATE", value_delimiter = ',')]
    state: Vec<StateFilter>,

    /// Only suspended for this reason: signal, approval, callback, tool_result.
    #[arg(long, value_name = "REASON", value_parser = reason)]
    reason: Option<SuspendReason>,

    /// Only in this lane.
    #[arg(long, value_name = "NAME")]
    lane: Option<Lane>,

    /// Only of this kind.
    #[arg(long, value_name = "NAME")]
    kind: Option<Kind>,

    /// Only with this tag; may be repeated.
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = parse::tag)]
    tags: Vec<(TagKey, TagValue)>,

    /// Only created at this time or later (RFC 3339).
    #[arg(long, value_name = "TIME", value_parser = parse::moment)]
    from: Option<Time>,

    /// Only created before this time (RFC 3339).
    #[arg(long, value_name = "TIME", value_parser = parse::moment)]
    to: Option<Time>,

    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 50, allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<usize>(1, PAGE as u64))]
    limit: usize,

    /// Continue where an earlier page ended.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<Cursor>,

    /// How much to show on a terminal; a pipe always gets the wide form.
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = Format::Table)]
    output: Format,

    /// Refresh at this interval until Ctrl-C; a pipe gets the listing whenever it has changed.
    #[arg(long, value_name = "INTERVAL", num_args = 0..=1, default_missing_value = "2s")]
    #[arg(value_parser = interval, conflicts_with = "cursor")]
    watch: Option<Millis>,
}

/// How much of each execution is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Short ids, lines that fit the terminal
    Table,
    /// Whole ids, every column, nothing cut
    Wide,
}

/// How often a listing may be read.
const SHORTEST_INTERVAL: Millis = Millis::new(100);

fn reason(text: &str) -> Result<SuspendReason, String> {
    let all = || SuspendReason::ALL.iter().map(|reason| reason.as_str()).collect::<Vec<_>>();
    SuspendReason::parse(text).ok_or_else(|| format!("'{text}' is none of {}", all().join(", ")))
}

fn interval(text: &str) -> Result<Millis, String> {
    let interval = duration::parse(text)?;
    match interval < SHORTEST_INTERVAL {
        true => Err(format!("'{text}' is too short; give {SHORTEST_INTERVAL} or more")),
        false => Ok(interval),
    }
}

impl Ls {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        if let Some(interval) = self.watch {
            let mut signals = Signals::listen().map_err(Error::Runtime)?;
            return tokio::select! {
                () = signals.next() => Ok(Verdict::Good),
                failed = self.watch(session, &*backend, interval) => failed,
            };
        }
        let view = ListPageView::from(&self.page(session, &*backend, self.limit).await?);
        session.output.answer(&view, |view| self.table(view, session.output))?;
        for id in &view.unreadable {
            session.output.talk(format_args!("{id} cannot be read; run `ff check`"));
        }
        match (&view.next, view.executions.first()) {
            (Some(cursor), _) => session.next(self.continued(cursor)),
            (None, Some(newest)) => session.next(format_args!("show {}", newest.id)),
            (None, None) => {
                session.output.talk("nothing found");
                session.next("submit --input '{\"hello\": \"world\"}'");
            }
        }
        Ok(Verdict::Good)
    }

    fn table(&self, view: &ListPageView, output: &Output) -> String {
        let (now, style) = (SystemClock.now(), output.style());
        match (terminal::of_stdout(), self.output) {
            (Some(size), Format::Table) => listing::fitted(view, now, style, size.columns),
            _ => listing::wide(view, now, style),
        }
    }

    /// Draws the listing over itself on a terminal; elsewhere prints it when it has changed. Ends
    /// only by an error that a retry cannot fix.
    async fn watch(
        &self,
        session: &Session<'_>,
        backend: &dyn ClientAndWorker,
        interval: Millis,
    ) -> Result<Verdict, Error> {
        // A line is left for the title, and one for the cursor.
        let rows = terminal::of_stdout().map(|size| size.rows.saturating_sub(4).max(1));
        let limit = rows.map_or(self.limit, |rows| self.limit.min(rows));
        let mut last = None;
        loop {
            match self.page(session, backend, limit).await {
                Ok(page) if rows.is_some() && !session.output.is_json() => {
                    let view = ListPageView::from(&page);
                    let title = format!("every {interval}; Ctrl-C ends it\n\n");
                    let table = match view.executions.is_empty() {
                        true => "nothing found\n".to_owned(),
                        false => self.table(&view, session.output),
                    };
                    let title = session.output.style().dim(&title);
                    // To the upper left, and clear the screen.
                    session.output.bytes(format!("\x1b[H\x1b[2J{title}{table}").as_bytes())?;
                }
                Ok(page) if last.as_ref() != Some(&page) => {
                    let view = ListPageView::from(&page);
                    session.output.answer(&view, |view| self.table(view, session.output))?;
                    last = Some(page);
                }
                Ok(_) => {}
                Err(error) if error.view().retryable => session.output.talk(error),
                Err(error) => return Err(error),
            }
            tokio::time::sleep(Duration::from_millis(interval.get())).await;
        }
    }

    /// A full page, or all that is left. The store examines a bounded number of records for each
    /// of its pages, which may leave them short.
    async fn page(
        &self,
        session: &Session<'_>,
        backend: &dyn ClientAndWorker,
        limit: usize,
    ) -> Result<ListPage, Error> {
        let mut page = ListPage { next: self.cursor, ..ListPage::default() };
        loop {
            let listing = Listing {
                namespace: session.namespace.clone(),
                filter: self.filter(),
                after: page.next,
                limit: limit - page.executions.len() - page.unreadable.len(),
            };
            let more = backend.list(&listing).await?;
            page.executions.extend(more.executions);
            page.lacks_worker.extend(more.lacks_worker);
            page.unreadable.extend(more.unreadable);
            page.next = more.next;
            if page.next.is_none() || page.executions.len() + page.unreadable.len() >= limit {
                return Ok(page);
            }
        }
    }

    fn filter(&self) -> Filter {
        Filter {
            suspended_for: self.reason,
            lane: self.lane.clone(),
            kind: self.kind.clone(),
            tags: self.tags.clone(),
            from: self.from,
            to: self.to,
            ..Filter::default()
        }
        .in_states(self.state.iter().copied())
    }

    /// The command for the next page.
    fn continued(&self, cursor: &str) -> String {
        let mut command = "ls".to_owned();
        let states: Vec<_> = self.state.iter().map(ToString::to_string).collect();
        let mut flag = |name: &str, value: String| {
            command.push_str(&format!(" --{name} {}", quote(&value)));
        };
        let time = |time: Time| ff_api::Timestamp(time).to_string();
        for (name, value) in [
            ("state", (!self.state.is_empty()).then(|| states.join(","))),
            ("reason", self.reason.map(|reason| reason.to_string())),
            ("lane", self.lane.as_ref().map(Lane::to_string)),
            ("kind", self.kind.as_ref().map(Kind::to_string)),
            ("from", self.from.map(time)),
            ("to", self.to.map(time)),
            ("output", (self.output == Format::Wide).then(|| "wide".to_owned())),
            ("limit", (self.limit != 50).then(|| self.limit.to_string())),
        ] {
            if let Some(value) = value {
                flag(name, value);
            }
        }
        for (key, value) in &self.tags {
            flag("tag", format!("{key}={value}"));
        }
        flag("cursor", cursor.to_owned());
        command
    }
}
