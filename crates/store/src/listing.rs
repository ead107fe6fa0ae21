//! Listings: filters, pages and cursors.
//!
//! A listing goes from the newest to the oldest by (created, id), which never change, so a cursor
//! neither skips nor repeats, whatever happens to the executions meanwhile. A page examines a
//! bounded number of records: it may be short, or empty, and still have a cursor to continue from.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use ff_core::bounds::{PAGE, PAGE_SCAN};
use ff_core::explain::ExplainInputs;
use ff_core::placement::Attention;
use ff_core::state::State;
use ff_core::suspension::SuspendReason;
use ff_core::view::BlockingReason;
use ff_core::{
    Description, ExecutionId, Kind, Lane, Namespace, PublicState, Refusal, TagKey, TagValue, Time,
};

use crate::error::StoreError;
use crate::store::{ListIndex, ListScan, Listed, Position, Store};

/// How many records are fetched from the store at a time.
const STRETCH: usize = 256;

/// What to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The tenant.
    pub namespace: Namespace,
    /// Which executions.
    pub filter: Filter,
    /// Where an earlier page ended.
    pub after: Option<Cursor>,
    /// How many at most.
    pub limit: usize,
}

/// Which executions; every part that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// In this lane.
    pub lane: Option<Lane>,
    /// Of this kind.
    pub kind: Option<Kind>,
    /// In one of these states; none means any.
    pub states: BTreeSet<PublicState>,
    /// Queued, while no live worker of their lane offers all that they require; in addition to
    /// `states`, if any.
    pub lacks_worker: bool,
    /// Suspended for this reason.
    pub suspended_for: Option<SuspendReason>,
    /// Flows instead of executions that are work.
    pub flows: bool,
    /// With all of these tags.
    pub tags: Vec<(TagKey, TagValue)>,
    /// Created at this moment or later.
    pub from: Option<Time>,
    /// Created before this moment.
    pub to: Option<Time>,
}

impl Filter {
    /// Whether `record` is among them, if `lacks_worker` says rightly that no live worker can run it.
    fn matches(&self, record: &Description, lacks_worker: impl FnOnce() -> bool) -> bool {
        let stands = (self.states.is_empty() && !self.lacks_worker)
            || self.states.contains(&record.public_state())
            || (self.lacks_worker && lacks_worker());
        stands && self.matches_apart_from_standing(record)
    }

    fn matches_apart_from_standing(&self, record: &Description) -> bool {
        let suspended_for = match &record.state {
            State::Suspended { suspension } => Some(suspension.reason),
            _ => None,
        };
        self.flows == record.is_flow()
            && self.suspended_for.is_none_or(|reason| suspended_for == Some(reason))
            && self.lane.as_ref().is_none_or(|lane| *lane == record.spec.lane)
            && self.kind.as_ref().is_none_or(|kind| *kind == record.spec.kind)
            && self.tags.iter().all(|(key, value)| record.tags.get(key) == Some(value))
            && self.from.is_none_or(|from| record.created >= from)
            && self.to.is_none_or(|to| record.created < to)
    }

    fn which(&self) -> ListIndex {
        if self.flows {
            return ListIndex::Attention(Attention::Flow);
        }
        if let Some(reason) = self.suspended_for {
            return ListIndex::Attention(reason.attention());
        }
        let only_failed = self.states.iter().eq([&PublicState::Failed]) && !self.lacks_worker;
        match only_failed {
            true => ListIndex::Attention(Attention::Failed),
            false => ListIndex::All,
        }
    }
}

/// One page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListPage {
    /// The executions, newest first.
    pub executions: Vec<Description>,
    /// Those that are there and cannot be read, whatever was asked for.
    pub unreadable: Vec<ExecutionId>,
    /// Those of the executions that no live worker can run.
    pub lacks_worker: BTreeSet<ExecutionId>,
    /// Where to continue; `None` when there is nothing more.
    pub next: Option<Cursor>,
}

/// Where a page ended. Opaque to callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor(Position);

const CURSOR_VERSION: &str = "1";

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = u128::from_be_bytes(self.0.id);
        write!(f, "{CURSOR_VERSION}{:012x}{id:032x}", self.0.created.as_ms())
    }
}

impl FromStr for Cursor {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Cursor, Refusal> {
        let bad =
            || Refusal::invalid("cursor", "is not a cursor; repeat the one the last page gave");
        let rest = text.strip_prefix(CURSOR_VERSION).ok_or_else(bad)?;
        let lower_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if rest.len() != 44 || !rest.bytes().all(lower_hex) {
            return Err(bad());
        }
        let created = u64::from_str_radix(&rest[..12], 16).map_err(|_| bad())?;
        let id = u128::from_str_radix(&rest[12..], 16).map_err(|_| bad())?.to_be_bytes();
        ExecutionId::from_bytes(&id).map_err(|_| bad())?;
        if created > Time::MAX.as_ms() {
            return Err(bad());
        }
        Ok(Cursor(Position { created: Time::from_ms(created), id }))
    }
}

/// The state of an execution, as a listing can filter by it: a public state, or the lack of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateFilter {
    /// In this state.
    State(PublicState),
    /// Queued, while no live worker can run it.
    LacksWorker,
}

impl FromStr for StateFilter {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<StateFilter, Refusal> {
        match text == BlockingReason::WaitingForCapableWorker.as_str() {
            true => Ok(StateFilter::LacksWorker),
            false => text.parse().map(StateFilter::State),
        }
    }
}

impl StateFilter {
    /// Reads one or several, separated by commas.
    pub fn list(text: &str) -> Result<Vec<StateFilter>, Refusal> {
        text.split(',').map(str::parse).collect()
    }
}

impl fmt::Display for StateFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StateFilter::State(state) => state.fmt(f),
            StateFilter::LacksWorker => {
                f.write_str(BlockingReason::WaitingForCapableWorker.as_str())
            }
        }
    }
}

impl Filter {
    /// The same, of those in one of these states; none means any.
    pub fn in_states(mut self, states: impl IntoIterator<Item = StateFilter>) -> Filter {
        for state in states {
            match state {
                StateFilter::State(state) => drop(self.states.insert(state)),
                StateFilter::LacksWorker => self.lacks_worker = true,
            }
        }
        self
    }

    /// The states that it filters by; empty for any.
    pub fn state_filters(&self) -> Vec<StateFilter> {
        let states = self.states.iter().copied().map(StateFilter::State);
        states.chain(self.lacks_worker.then_some(StateFilter::LacksWorker)).collect()
    }
}

/// Reads one page. Only `around` knows what lacks a worker; without it, nothing does.
pub(crate) async fn page(
    store: &dyn Store,
    listing: &Listing,
    around: Option<&ExplainInputs>,
) -> Result<ListPage, StoreError> {
    if listing.limit == 0 || listing.limit > PAGE {
        let why = format!("is {}; give 1 to {PAGE}", listing.limit);
        return Err(Refusal::invalid("limit", why).into());
    }
    let filter = &listing.filter;
    let to = filter.to.map(|to| Position { created: to, id: [0; 16] });
    let cursor = listing.after.map(|Cursor(position)| position);
    let mut after = match (cursor, to) {
        (Some(cursor), Some(to)) => Some(cursor.min(to)),
        (cursor, to) => cursor.or(to),
    };
    let mut page = ListPage::default();
    let mut examined = 0;
    loop {
        let stretch = ListScan {
            namespace: listing.namespace.clone(),
            which: filter.which(),
            after,
            limit: STRETCH,
        };
        let found = store.list(stretch).await?;
        let last = found.len() < STRETCH;
        for listed in found {
            let position = listed.position();
            if filter.from.is_some_and(|from| position.created < from) {
                return Ok(page);
            }
            after = Some(position);
            examined += 1;
            match listed {
                Listed::Record(record) => {
                    let lacks = || around.is_some_and(|around| around.lacks_worker_for(&record));
                    if filter.matches(&record, lacks) {
                        page.executions.push(record.description);
                    }
                }
                Listed::Unreadable(Position { id, .. }) => {
                    page.unreadable.extend(ExecutionId::from_bytes(&id));
                }
                Listed::Removed(_) => {}
            }
            let entries = page.executions.len() + page.unreadable.len();
            if entries == listing.limit || examined == PAGE_SCAN {
                page.next = Some(Cursor(position));
                return Ok(page);
            }
        }
        if last {
            return Ok(page);
        }
    }
}
