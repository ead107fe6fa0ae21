//! `ff ls`: list executions.

use clap::Args;
use ff_api::ListPageView;
use ff_core::limits::PAGE;
use ff_core::{Kind, Lane, TagKey, TagValue, Time};
use ff_store::listing::{Cursor, Filter, ListPage, Listing, Standing};
use ff_store::{Clock, Roles, SystemClock};

use super::{Verdict, parse};
use crate::error::Error;
use crate::output::listing;
use crate::session::{Session, quote};

/// `ff ls`.
#[derive(Debug, Args)]
pub(crate) struct Ls {
    /// Only in this state: waiting, delayed, rate_limited, active, resumable, completed, failed,
    /// cancelled or expired; or waiting_for_capable_worker, queued while no live worker can run it.
    #[arg(long, value_name = "STATE")]
    state: Option<Standing>,

    /// Only in this lane.
    #[arg(long, value_name = "NAME")]
    lane: Option<Lane>,

    /// Only of this kind.
    #[arg(long, value_name = "NAME")]
    kind: Option<Kind>,

    /// Only with this tag; may be repeated.
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = parse::tag)]
    tags: Vec<(TagKey, TagValue)>,

    /// Only created at this moment or later (RFC 3339).
    #[arg(long, value_name = "TIME", value_parser = parse::moment)]
    from: Option<Time>,

    /// Only created before this moment (RFC 3339).
    #[arg(long, value_name = "TIME", value_parser = parse::moment)]
    to: Option<Time>,

    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 50, allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<usize>(1, PAGE as u64))]
    limit: usize,

    /// Go on where an earlier page ended.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<Cursor>,
}

impl Ls {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let page = self.page(session, &*backend).await?;
        let view = ListPageView::from(&page);
        let style = session.output.style();
        session.output.answer(&view, |view| listing::table(view, SystemClock.now(), style))?;
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

    /// A full page, or all that is left. The store examines a bounded number of records for each
    /// of its pages, which may leave them short.
    async fn page(&self, session: &Session<'_>, backend: &dyn Roles) -> Result<ListPage, Error> {
        let mut page = ListPage { next: self.cursor, ..ListPage::default() };
        loop {
            let listing = Listing {
                namespace: session.namespace.clone(),
                filter: self.filter(),
                after: page.next,
                limit: self.limit - page.executions.len() - page.unreadable.len(),
            };
            let more = backend.list(&listing).await?;
            page.executions.extend(more.executions);
            page.lacks_worker.extend(more.lacks_worker);
            page.unreadable.extend(more.unreadable);
            page.next = more.next;
            if page.next.is_none() || page.executions.len() + page.unreadable.len() >= self.limit {
                return Ok(page);
            }
        }
    }

    fn filter(&self) -> Filter {
        Filter {
            lane: self.lane.clone(),
            kind: self.kind.clone(),
            tags: self.tags.clone(),
            from: self.from,
            to: self.to,
            ..Filter::default()
        }
        .standing(self.state)
    }

    /// The command for the next page.
    fn continued(&self, cursor: &str) -> String {
        let mut command = "ls".to_owned();
        let mut flag = |name: &str, value: String| {
            command.push_str(&format!(" --{name} {}", quote(&value)));
        };
        let time = |time: Time| ff_api::Timestamp(time).to_string();
        for (name, value) in [
            ("state", self.state.map(|state| state.to_string())),
            ("lane", self.lane.as_ref().map(Lane::to_string)),
            ("kind", self.kind.as_ref().map(Kind::to_string)),
            ("from", self.from.map(time)),
            ("to", self.to.map(time)),
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
