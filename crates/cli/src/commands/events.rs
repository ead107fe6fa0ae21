//! `ff events`: follow what happens in a namespace.

use clap::Args;
use ff_api::EventView;
use ff_core::bounds::EVENTS_PAGE;
use ff_core::event::EventName;
use ff_core::{Kind, Lane, Millis, TagKey, TagValue};
use ff_store::events::{Cursor, EventFilter, EventsRequest, StartAt, Subscription};

use super::{Verdict, parse};
use crate::error::Error;
use crate::id::Id;
use crate::output::events;
use crate::session::Session;
use crate::signals::Signals;

const CONTRACT: &str = "The first reader switches the log of the namespace on; what happened before is not in it. \
From a cursor on nothing is skipped, and an event may come again, with the same id.";

/// `ff events`.
#[derive(Debug, Args)]
#[command(after_help = CONTRACT)]
pub(crate) struct Events {
    /// Keep printing events as they happen, until Ctrl-C.
    #[arg(long, short)]
    follow: bool,

    /// Only these events, separated by commas, such as completed,failed.
    #[arg(long, value_name = "EVENT", value_delimiter = ',', value_parser = name)]
    on: Vec<EventName>,

    /// Only of executions in this lane.
    #[arg(long, value_name = "NAME")]
    lane: Option<Lane>,

    /// Only of executions of this kind.
    #[arg(long, value_name = "NAME")]
    kind: Option<Kind>,

    /// Only of this execution: its id, or a unique prefix of it.
    #[arg(long, value_name = "ID")]
    execution: Option<Id>,

    /// Only of executions with this tag; may be repeated.
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = parse::tag)]
    tags: Vec<(TagKey, TagValue)>,

    /// With --follow, begin with the oldest event that is kept.
    #[arg(long)]
    all: bool,

    /// Begin with the latest events that are kept instead of the oldest.
    #[arg(long, conflicts_with = "all")]
    latest: bool,

    /// Continue where an earlier call ended.
    #[arg(long, value_name = "CURSOR", conflicts_with_all = ["all", "latest"])]
    cursor: Option<Cursor>,

    /// How many at most, without --follow.
    #[arg(long, value_name = "N", default_value_t = 50, allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<usize>(1, EVENTS_PAGE as u64))]
    limit: usize,
}

pub(super) fn name(text: &str) -> Result<EventName, String> {
    EventName::parse(text).ok_or_else(|| {
        let all: Vec<_> = EventName::ALL.iter().map(|name| name.as_str()).collect();
        format!("give some of {}", all.join(", "))
    })
}

impl Events {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let execution = match &self.execution {
            Some(id) => Some(id.find(session, &*backend).await?),
            None => None,
        };
        let filter = EventFilter {
            names: self.on.into_iter().collect(),
            lane: self.lane,
            kind: self.kind,
            execution,
            tags: self.tags,
        };
        let begin = match (self.latest, self.follow && !self.all) {
            (true, _) => StartAt::Latest,
            (false, true) => StartAt::Now,
            (false, false) => StartAt::Oldest,
        };
        let from = self.cursor.map_or(begin, StartAt::After);
        let namespace = session.namespace.clone();
        if self.follow {
            let subscription = Subscription::new(backend, namespace, filter, from);
            return follow(subscription, session).await;
        }
        let (limit, wait) = (self.limit, Millis::ZERO);
        let request = EventsRequest { namespace, from, filter, limit, wait };
        let page = backend.events(request).await?;
        for event in &page.events {
            print(&EventView::from(event), session)?;
        }
        if page.events.is_empty() {
            session.output.talk("no events are kept; they are logged from now on");
        }
        session.next(format_args!("events --follow --cursor {}", page.cursor));
        Ok(Verdict::Good)
    }
}

async fn follow<B: ff_store::EventsBackend + ?Sized>(
    mut subscription: Subscription<B>,
    session: &Session<'_>,
) -> Result<Verdict, Error> {
    let mut signals = Signals::listen().map_err(Error::Output)?;
    subscription.begin().await?;
    session.output.talk("following; Ctrl-C to stop");
    loop {
        tokio::select! {
            event = subscription.next() => print(&EventView::from(&event?), session)?,
            () = signals.next() => break,
        }
    }
    if let Some(cursor) = subscription.cursor() {
        session.next(format_args!("events --follow --cursor {cursor}"));
    }
    Ok(Verdict::Good)
}

fn print(view: &EventView, session: &Session<'_>) -> Result<(), Error> {
    session.output.answer(view, |view| events::line(view, session.output.style()))
}
