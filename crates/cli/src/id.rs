//! Ids on the command line: whole, or the first characters of one.
//!
//! An id begins with the time at which it was made. A prefix is looked up among the executions created
//! around that time; if none of those has it (the clock that made the id may be wrong), among the
//! newest. Both searches are bounded, and an id is used only when it is the only match.

use std::str::FromStr;

use ff_core::bounds::PAGE;
use ff_core::{ExecutionId, Millis, Refusal, Time};
use ff_store::ClientAndWorker;
use ff_store::listing::{Filter, ListPage, Listing};

use crate::error::Error;
use crate::session::Session;

/// The fewest characters that are looked up.
pub(crate) const SHORTEST: usize = 8;
/// How many pages one search reads.
const PAGES: usize = 10;
/// How far the clock that made an id and that of the store may be apart for the first search.
const SKEW: Millis = Millis::from_secs(5);
/// How many candidates of an ambiguous prefix are listed.
const LISTED: usize = 5;
/// The hexadecimal digits of an id that hold its time.
const TIME_DIGITS: usize = 12;

/// An id as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Id {
    /// A whole id.
    Whole(ExecutionId),
    /// Its first characters, in lower case.
    Prefix(String),
}

impl FromStr for Id {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Id, Refusal> {
        let refused = || {
            let why = "is not an execution id; give a UUIDv7 in its hyphenated form, or at least its \
                       first 8 characters";
            Refusal::invalid("id", why)
        };
        if let Ok(id) = text.parse() {
            return Ok(Id::Whole(id));
        }
        let fits = |(place, character): (usize, char)| match place {
            8 | 13 | 18 | 23 => character == '-',
            14 => character == '7',
            _ => character.is_ascii_hexdigit(),
        };
        let is_prefix = (SHORTEST..36).contains(&text.len()) && text.chars().enumerate().all(fits);
        is_prefix.then(|| Id::Prefix(text.to_lowercase())).ok_or_else(refused)
    }
}

impl Id {
    /// The execution that the id names.
    pub(crate) async fn find(
        &self,
        session: &Session<'_>,
        backend: &dyn ClientAndWorker,
    ) -> Result<ExecutionId, Error> {
        self.find_among(session, backend, Filter::default()).await
    }

    /// The flow that the id names.
    pub(crate) async fn find_flow(
        &self,
        session: &Session<'_>,
        backend: &dyn ClientAndWorker,
    ) -> Result<ExecutionId, Error> {
        self.find_among(session, backend, Filter { flows: true, ..Filter::default() }).await
    }

    async fn find_among(
        &self,
        session: &Session<'_>,
        backend: &dyn ClientAndWorker,
        newest: Filter,
    ) -> Result<ExecutionId, Error> {
        let prefix = match self {
            Id::Whole(id) => return Ok(*id),
            Id::Prefix(prefix) => prefix,
        };
        let (from, to) = times(prefix);
        let around = Filter { from: Some(from), to: Some(to), ..newest.clone() };
        for filter in [around, newest] {
            let found = search(session, backend, prefix, filter).await?;
            match (&found.ids[..], found.whole) {
                ([only], true) => return Ok(*only),
                ([], _) => {}
                (ids, whole) => return Err(ambiguous(prefix, ids, whole)),
            }
        }
        Err(Error::NoSuchId(prefix.clone()))
    }
}

/// The result of one search.
struct Found {
    ids: Vec<ExecutionId>,
    /// No page was left unread.
    whole: bool,
}

async fn search(
    session: &Session<'_>,
    backend: &dyn ClientAndWorker,
    prefix: &str,
    filter: Filter,
) -> Result<Found, Error> {
    // Among the newest, which have no end, the pages that were read are all that count.
    let bounded_by_time = filter.from.is_some();
    let mut found = Found { ids: Vec::new(), whole: true };
    let mut after = None;
    for _ in 0..PAGES {
        let namespace = session.namespace.clone();
        let listing = Listing { namespace, filter: filter.clone(), after, limit: PAGE };
        let page: ListPage = backend.list(&listing).await?;
        let listed = page.executions.iter().map(|record| record.id).chain(page.unreadable);
        found.ids.extend(listed.filter(|id| id.to_string().starts_with(prefix)));
        after = page.next;
        if after.is_none() {
            return Ok(found);
        }
    }
    found.whole = !bounded_by_time;
    Ok(found)
}

/// The times at which executions were created whose ids begin with `prefix`.
fn times(prefix: &str) -> (Time, Time) {
    let digits: String = prefix.chars().filter(|c| *c != '-').take(TIME_DIGITS).collect();
    let at = |fill: &str| {
        let missing = fill.repeat(TIME_DIGITS - digits.len());
        Time::from_ms(u64::from_str_radix(&format!("{digits}{missing}"), 16).unwrap_or(0))
    };
    (at("0") - SKEW, at("f") + SKEW)
}

fn ambiguous(prefix: &str, ids: &[ExecutionId], whole: bool) -> Error {
    let named: Vec<_> = ids.iter().take(LISTED).map(|id| format!("\n  {id}")).collect();
    let count = match whole {
        true => format!("{} executions", ids.len()),
        false => format!("{} or more executions", ids.len()),
    };
    let more = if ids.len() > LISTED { "\n  ..." } else { "" };
    let named = named.concat();
    Error::AmbiguousId(format!(
        "{prefix} is the beginning of {count}; give more of it:{named}{more}"
    ))
}

/// The shortest unique prefixes of `ids`, with the whole time in each.
pub(crate) fn short(ids: &[ExecutionId]) -> Vec<String> {
    const WHOLE_TIME: usize = 13;
    let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
    let tells_apart = |length: &usize| {
        let mut beginnings: Vec<_> = ids.iter().map(|id| &id[..*length]).collect();
        beginnings.sort_unstable();
        beginnings.windows(2).all(|pair| pair[0] != pair[1])
    };
    // The characters after the time are a hyphen and the version, which distinguish nothing.
    let lengths = [WHOLE_TIME].into_iter().chain(18..36);
    let length = lengths.into_iter().find(tells_apart).unwrap_or(36);
    ids.iter().map(|id| id[..length].to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

    #[test]
    fn a_prefix_of_an_id_is_accepted() {
        assert_eq!(ID.parse::<Id>().unwrap(), Id::Whole(ID.parse().unwrap()));
        for length in SHORTEST..36 {
            let prefix = ID[..length].to_owned();
            assert_eq!(prefix.to_uppercase().parse::<Id>().unwrap(), Id::Prefix(prefix));
        }
        for bad in ["", "x", &ID[..7], "01890a5dac96", "01890a5g", "01890a5d-ac96-4", &ID.repeat(2)]
        {
            assert!(bad.parse::<Id>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_prefix_holds_the_time_at_which_its_id_was_made() {
        let made = Time::from_ms(0x0189_0a5d_ac96);
        for length in SHORTEST..36 {
            let (from, to) = times(&ID[..length]);
            assert!(from < made && made < to, "{length}");
        }
        let (from, to) = times(ID);
        assert_eq!((from, to), (made - SKEW, made + SKEW));
    }

    #[test]
    fn short_ids_are_as_long_as_they_must_be() {
        let id = |text: &str| text.parse::<ExecutionId>().unwrap();
        let (first, later) = (id(ID), id("01890a5d-ac97-774b-bcce-b302099a8057"));
        assert_eq!(short(&[first, later]), ["01890a5d-ac96", "01890a5d-ac97"]);
        let same_time = id("01890a5d-ac96-774b-bcff-b302099a8057");
        assert_eq!(
            short(&[first, same_time]),
            ["01890a5d-ac96-774b-bcc", "01890a5d-ac96-774b-bcf"]
        );
        assert_eq!(short(&[]), Vec::<String>::new());
    }
}
