//! Events, and whether a namespace logs them.

use ff_core::event::{Event, EventKind, EventName};
use ff_core::feed::FeedState;
use ff_core::record::Tags;
use ff_core::suspension::SuspendReason;
use ff_core::{ExecutionId, Kind, Lane, Millis, Namespace, Refusal, Source};
use ff_store::events::EventsPage;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::schema;
use crate::timestamp::Timestamp;

/// Something that happened to an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventView {
    /// Its name, the same however often it is read: to recognise an event that came again.
    #[schema(value_type = schema::EventId)]
    pub id: String,
    /// What happened.
    #[schema(value_type = schema::EventName)]
    pub event: EventName,
    /// When, by the store's clock.
    pub at: Timestamp,
    /// The tenant.
    #[schema(value_type = schema::Name)]
    pub namespace: Namespace,
    /// To which execution.
    #[schema(value_type = schema::Id)]
    pub execution: ExecutionId,
    /// The lane of the execution.
    #[schema(value_type = schema::Name)]
    pub lane: Lane,
    /// The kind of its work.
    #[schema(value_type = schema::Name)]
    pub kind: Kind,
    /// Its tags then.
    #[schema(value_type = std::collections::BTreeMap<String, schema::TagText>)]
    pub tags: Tags,
    /// The run it happened in.
    pub run: u32,
    /// The newest attempt then; null if there was none.
    pub attempt: Option<u32>,
    /// Of `submitted`, `retrying` and `delayed`: from when on it may be claimed; null is at once.
    pub not_before: Option<Timestamp>,
    /// Of `suspended`: what kind of answer it waits for.
    #[schema(value_type = Option<schema::SuspendReason>)]
    pub reason: Option<SuspendReason>,
    /// Of `woken` and `unblocked`: whether it continues an attempt.
    pub resumes: Option<bool>,
    /// Of `resumed`: whether its time was over.
    pub timed_out: Option<bool>,
    /// Who did it: whose cancel, replay, resume, revoke, delete or signal it was; null if nobody did.
    #[schema(value_type = Option<schema::StepText>)]
    pub by: Option<Source>,
}

impl From<&Event> for EventView {
    fn from(event: &Event) -> EventView {
        let mut view = EventView {
            id: event.id.to_string(),
            event: event.what.name(),
            at: event.at.into(),
            namespace: event.namespace.clone(),
            execution: event.execution(),
            lane: event.lane.clone(),
            kind: event.kind.clone(),
            tags: event.tags.clone(),
            run: event.run,
            attempt: event.attempt,
            not_before: None,
            reason: None,
            resumes: None,
            timed_out: None,
            by: event.by.clone(),
        };
        match event.what {
            EventKind::Submitted { from: at }
            | EventKind::Retrying { from: at }
            | EventKind::Delayed { until: at } => view.not_before = at.map(Into::into),
            EventKind::Woken { resumes } | EventKind::Unblocked { resumes } => {
                view.resumes = Some(resumes);
            }
            EventKind::Released { from, resumes } => {
                view.not_before = from.map(Into::into);
                view.resumes = Some(resumes);
            }
            EventKind::Resumed { timed_out } => view.timed_out = Some(timed_out),
            EventKind::Suspended { reason } => view.reason = Some(reason),
            _ => {}
        }
        view
    }
}

impl TryFrom<EventView> for Event {
    type Error = Refusal;

    fn try_from(view: EventView) -> Result<Event, Refusal> {
        let wrong = || Refusal::invalid("event", "says less than its kind has to");
        let (at, resumes) = (view.not_before.map(|at| at.0), view.resumes);
        let what = match view.event {
            EventName::Submitted => EventKind::Submitted { from: at },
            EventName::Retrying => EventKind::Retrying { from: at },
            EventName::Delayed => EventKind::Delayed { until: at },
            EventName::Woken => EventKind::Woken { resumes: resumes.ok_or_else(wrong)? },
            EventName::Unblocked => EventKind::Unblocked { resumes: resumes.ok_or_else(wrong)? },
            EventName::Released => {
                EventKind::Released { from: at, resumes: resumes.ok_or_else(wrong)? }
            }
            EventName::Resumed => {
                EventKind::Resumed { timed_out: view.timed_out.ok_or_else(wrong)? }
            }
            EventName::Suspended => EventKind::Suspended { reason: view.reason.ok_or_else(wrong)? },
            EventName::Claimed => EventKind::Claimed { attempt: view.attempt.ok_or_else(wrong)? },
            plain => EventKind::from_stored(plain.number(), 0).ok_or_else(wrong)?,
        };
        Ok(Event {
            id: view.id.parse()?,
            namespace: view.namespace,
            at: view.at.0,
            what,
            run: view.run,
            attempt: view.attempt,
            lane: view.lane,
            kind: view.kind,
            tags: view.tags,
            by: view.by,
        })
    }
}

/// Some events, in the order of each execution and about in that of time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventsView {
    /// The events; there may be none.
    pub events: Vec<EventView>,
    /// Where to continue.
    pub cursor: String,
    /// Whether there is more to read at once.
    pub more: bool,
}

impl From<&EventsPage> for EventsView {
    fn from(page: &EventsPage) -> EventsView {
        EventsView {
            events: page.events.iter().map(EventView::from).collect(),
            cursor: page.cursor.to_string(),
            more: page.more,
        }
    }
}

impl TryFrom<EventsView> for EventsPage {
    type Error = Refusal;

    fn try_from(view: EventsView) -> Result<EventsPage, Refusal> {
        let events = view.events.into_iter().map(Event::try_from).collect::<Result<_, _>>()?;
        Ok(EventsPage { events, cursor: view.cursor.parse()?, more: view.more })
    }
}

/// Whether a namespace logs its events, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FeedView {
    /// Events are logged.
    pub on: bool,
    /// An operator has switched it on: it stays on while nobody reads.
    pub pinned: bool,
    /// How long an event is kept.
    pub retention_ms: u64,
    /// How many are kept at most.
    pub most: u64,
    /// Since when it is on, or off; null if it never was on.
    pub since: Option<Timestamp>,
    /// Which time it is on: cursors of an earlier one have expired.
    pub epoch: u64,
    /// When it was last read, about; null if it never was.
    pub last_read: Option<Timestamp>,
}

impl From<&FeedState> for FeedView {
    fn from(feed: &FeedState) -> FeedView {
        let ever = |at: ff_core::Time| (feed.epoch > 0).then(|| at.into());
        FeedView {
            on: feed.on,
            pinned: feed.pinned,
            retention_ms: feed.retention.get(),
            most: feed.most,
            since: ever(feed.since),
            epoch: feed.epoch,
            last_read: ever(feed.last_read),
        }
    }
}

impl From<FeedView> for FeedState {
    fn from(view: FeedView) -> FeedState {
        let time = |at: Option<Timestamp>| at.map_or(ff_core::Time::EPOCH, |at| at.0);
        FeedState {
            on: view.on,
            pinned: view.pinned,
            retention: Millis::new(view.retention_ms),
            most: view.most,
            since: time(view.since),
            epoch: view.epoch,
            last_read: time(view.last_read),
            ..FeedState::default()
        }
    }
}
