//! The latest events of a log, which is read forwards only.
//!
//! A log is read from a place a little before its end, and from earlier ones while that gives too few. What
//! a place counts is the store's affair: events, milliseconds or transactions. So a look may be too short, which
//! costs another one, or too long, which ends the search with what an earlier look has found.

use std::collections::VecDeque;

use ff_core::bounds::EVENTS_PAGE;
use ff_core::event::Event;

use super::SCANNED;
use super::cursor::Cursor;
use super::follow::{EventsPage, Reading};
use super::log::Positions;
use crate::error::StoreError;

/// How many places before the end the first look begins.
const FIRST: u64 = 256;
/// How many times as far back each further look begins.
const FURTHER: u64 = 16;
/// How many looks there are at most. The last one goes back over weeks of milliseconds.
const LOOKS: u32 = 7;

/// What a look has found.
struct Look {
    /// The latest that are wanted.
    events: VecDeque<Event>,
    at: Positions,
    /// It was read up to the end.
    is_whole: bool,
    /// Nothing is kept before it.
    is_first: bool,
}

impl Reading<'_> {
    /// The latest events that are wanted, of a log that ends there; what comes after them is behind the
    /// cursor.
    pub(super) async fn latest(&self, end: &Positions) -> Result<EventsPage, StoreError> {
        let mut found: Option<Look> = None;
        for number in 0..LOOKS {
            let look = self.look(end.before(FIRST * FURTHER.pow(number))).await?;
            let is_over = look.is_first || !look.is_whole || look.events.len() >= self.limit;
            // One that does not reach the end may miss what is later.
            if look.is_whole || found.is_none() {
                found = Some(look);
            }
            if is_over {
                break;
            }
        }
        let (events, at, more) = match found {
            Some(look) => (look.events.into(), look.at, !look.is_whole),
            None => (Vec::new(), end.clone(), true),
        };
        Ok(EventsPage { events, cursor: Cursor::new(&self.namespace, self.epoch, at), more })
    }

    /// Reads from `begin` to the end, as far as one call examines.
    async fn look(&self, begin: Positions) -> Result<Look, StoreError> {
        let is_first = begin == Positions::default();
        let mut look = Look { events: VecDeque::new(), at: begin, is_whole: false, is_first };
        let mut examined = 0;
        while examined < SCANNED {
            let page = self.read(&look.at, EVENTS_PAGE).await?;
            examined += page.events.len();
            look.is_first |= page.expired;
            look.at = page.positions;
            let wanted = page.events.into_iter().map(|logged| logged.event);
            look.events.extend(wanted.filter(|event| self.wants(event)));
            let over = look.events.len().saturating_sub(self.limit);
            look.events.drain(..over);
            if !page.more {
                look.is_whole = true;
                break;
            }
        }
        Ok(look)
    }
}
