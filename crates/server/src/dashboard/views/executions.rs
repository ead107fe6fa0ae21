//! The list of executions, by state, lane, kind, tag and time.

use askama::Template;
use ff_api::Timestamp;
use ff_api::http::{read_tags, write_tags};
use ff_core::phrase::short_reason;
use ff_core::suspension::SuspendReason;
use ff_core::{Description, Kind, Lane, Millis, PublicState, Refusal, TagKey, TagValue, Time};
use ff_store::listing::{Cursor, Filter, Listing, StateFilter};

use crate::dashboard::part::Part;
use crate::dashboard::show::{self, Badge};
use crate::dashboard::view::{Rendered, Scene};
use crate::error::ApiError;
use crate::html::Markup;
use crate::urlencoded::{Fields, encoded};

/// How many executions a page has.
const PAGE: usize = 50;
/// How many tags of an execution a row shows.
const TAGS: usize = 3;
/// How many characters of a reason a row shows.
const REASON: usize = 160;

/// The spans that a person can choose, and how they are called.
const SPANS: [(&str, &str, Millis); 4] = [
    ("15m", "last 15 minutes", Millis::from_secs(900)),
    ("1h", "last hour", Millis::from_hours(1)),
    ("24h", "last 24 hours", Millis::from_hours(24)),
    ("7d", "last 7 days", Millis::from_days(7)),
];

/// Which executions, as the address of the page says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::dashboard) struct Chosen {
    states: Vec<StateFilter>,
    lane: Option<Lane>,
    kind: Option<Kind>,
    reason: Option<SuspendReason>,
    tags: Vec<(TagKey, TagValue)>,
    within: Option<Millis>,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    after: Option<Cursor>,
}

impl Chosen {
    pub(in crate::dashboard) fn read(fields: &Fields) -> Result<Chosen, Refusal> {
        let states = fields.all("state").flat_map(|states| states.split(','));
        let reason = fields.get("reason").map(|word| {
            let unknown = || Refusal::invalid("reason", "is not a reason for a suspension");
            SuspendReason::parse(word).ok_or_else(unknown)
        });
        let within = fields.get("within").map(|word| {
            let known = SPANS.iter().find(|(known, ..)| *known == word);
            let unknown = || Refusal::invalid("within", "is not one of 15m, 1h, 24h and 7d");
            known.map(|(_, _, span)| *span).ok_or_else(unknown)
        });
        Ok(Chosen {
            states: states.map(str::parse).collect::<Result<_, _>>()?,
            lane: fields.get("lane").map(str::parse).transpose()?,
            kind: fields.get("kind").map(str::parse).transpose()?,
            reason: reason.transpose()?,
            tags: fields.get("tags").map(read_tags).transpose()?.unwrap_or_default(),
            within: within.transpose()?,
            from: fields.get("from").map(str::parse).transpose()?,
            to: fields.get("to").map(str::parse).transpose()?,
            after: fields.get("cursor").map(str::parse).transpose()?,
        })
    }

    /// The same for a store, at `now`.
    pub(in crate::dashboard) fn filter(&self, now: Time) -> Filter {
        let since = self.within.map(|span| now - span);
        let filter = Filter {
            lane: self.lane.clone(),
            kind: self.kind.clone(),
            suspended_for: self.reason,
            tags: self.tags.clone(),
            from: self.from.map(|at| at.0).max(since),
            to: self.to.map(|at| at.0),
            ..Filter::default()
        };
        filter.in_states(self.states.iter().copied())
    }

    /// Where an earlier page ended.
    pub(in crate::dashboard) fn after(&self) -> Option<Cursor> {
        self.after
    }

    /// Whether it names anything.
    pub(in crate::dashboard) fn is_all(&self) -> bool {
        *self == Chosen { after: self.after, ..Chosen::default() }
    }

    /// The query of the first page.
    pub(in crate::dashboard) fn query(&self) -> String {
        let mut pairs = Vec::new();
        let mut add = |name: &str, value: String| pairs.push(format!("{name}={}", encoded(&value)));
        self.states.iter().for_each(|state| add("state", state.to_string()));
        self.lane.iter().for_each(|lane| add("lane", lane.to_string()));
        self.kind.iter().for_each(|kind| add("kind", kind.to_string()));
        self.reason.iter().for_each(|reason| add("reason", reason.to_string()));
        if !self.tags.is_empty() {
            add("tags", write_tags(&self.tags));
        }
        self.span().iter().for_each(|word| add("within", (*word).to_owned()));
        self.from.iter().for_each(|at| add("from", at.to_string()));
        self.to.iter().for_each(|at| add("to", at.to_string()));
        pairs.join("&")
    }

    fn span(&self) -> Option<&'static str> {
        SPANS.iter().find(|(.., span)| Some(*span) == self.within).map(|(word, ..)| *word)
    }
}

#[derive(Template)]
#[template(path = "filter.html")]
struct FilterForm<'a> {
    namespace: &'a str,
    states: Vec<StateOption>,
    lane: String,
    kind: String,
    tags: String,
    reason: String,
    spans: Vec<(&'static str, &'static str, bool)>,
    from: String,
    to: String,
    lanes: Vec<String>,
    is_all: bool,
    clear: String,
    /// The bulk form, for those who may.
    operate: bool,
    bulk: String,
    query: String,
    proof: &'a str,
}

struct StateOption {
    word: String,
    text: String,
    checked: bool,
}

#[derive(Template)]
#[template(path = "rows.html")]
struct Rows {
    rows: Vec<Row>,
    /// Whether rows can be selected.
    operate: bool,
    unreadable: usize,
    next: Option<String>,
    /// The address of the first page, if this is a later one.
    first: Option<String>,
    is_all: bool,
}

/// One execution in a list.
pub(in crate::dashboard) struct Row {
    pub(in crate::dashboard) id: String,
    pub(in crate::dashboard) short: String,
    pub(in crate::dashboard) link: String,
    pub(in crate::dashboard) state: Badge,
    pub(in crate::dashboard) kind: String,
    pub(in crate::dashboard) lane: String,
    pub(in crate::dashboard) tags: Vec<String>,
    pub(in crate::dashboard) more_tags: usize,
    pub(in crate::dashboard) attempts: u32,
    pub(in crate::dashboard) created: Markup,
    pub(in crate::dashboard) reason: String,
}

impl Row {
    pub(in crate::dashboard) fn of(scene: &Scene<'_>, record: &Description, lacks: bool) -> Row {
        let id = record.id.to_string();
        let tags = record.tags.iter().take(TAGS).map(|(key, value)| format!("{key}={value}"));
        let reason = match lacks {
            true => format!("waits because no live worker offers {}", record.spec.requires),
            false => short_reason(record).unwrap_or_default(),
        };
        Row {
            link: scene.link(&format!("/executions/{id}")),
            short: show::short(record.id),
            id,
            state: match lacks {
                true => Badge { class: "bad", text: "no worker".to_owned() },
                false => record.public_state().into(),
            },
            kind: record.spec.kind.to_string(),
            lane: record.spec.lane.to_string(),
            tags: tags.collect(),
            more_tags: record.tags.len().saturating_sub(TAGS),
            attempts: record.attempt.as_ref().map_or(0, |attempt| attempt.number + 1),
            created: show::moment(record.created, scene.now),
            reason: cut(&reason, REASON),
        }
    }
}

/// The first characters of `text`, in one line.
pub(in crate::dashboard) fn cut(text: &str, most: usize) -> String {
    let mut characters = text.chars().map(|one| if one == '\n' { ' ' } else { one });
    let mut shown: String = characters.by_ref().take(most).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

pub(in crate::dashboard) async fn render(
    scene: &Scene<'_>,
    chosen: &Chosen,
) -> Result<Rendered, ApiError> {
    let (state, view) = (scene.state, scene.view);
    let listing = Listing {
        namespace: view.namespace.clone(),
        filter: chosen.filter(scene.now),
        after: chosen.after,
        limit: PAGE,
    };
    let page = state.backend.list(&listing).await?;
    let query = chosen.query();
    let address = |more: &str| {
        let query = [query.as_str(), more].into_iter().filter(|part| !part.is_empty());
        let query = query.collect::<Vec<_>>().join("&");
        let path = if query.is_empty() {
            "/executions".to_owned()
        } else {
            format!("/executions?{query}")
        };
        scene.link(&path)
    };
    let row = |record| Row::of(scene, record, page.lacks_worker.contains(&record.id));
    let rows = Rows {
        rows: page.executions.iter().map(row).collect(),
        operate: view.can.operate,
        unreadable: page.unreadable.len(),
        next: page.next.map(|cursor| address(&format!("cursor={cursor}"))),
        first: chosen.after.map(|_| address("")),
        is_all: chosen.is_all(),
    };
    let form = filter_form(scene, chosen, query.clone()).await;
    let parts = vec![Part::still("filter", &form), Part::new("rows", &rows)];
    Ok(Rendered { title: "Executions".to_owned(), parts })
}

/// The names of lanes that have work. They are a help: without them a page is the same.
pub(super) async fn lane_names(scene: &Scene<'_>) -> Vec<String> {
    let backlog = scene.state.dashboard.backlog.get(&scene.state.backend).await.unwrap_or_default();
    let of_queues = backlog.queues.keys().chain(backlog.active.keys());
    let mut lanes: Vec<_> = of_queues
        .filter(|(namespace, _)| *namespace == scene.view.namespace)
        .map(|(_, lane)| lane.to_string())
        .collect();
    lanes.sort_unstable();
    lanes.dedup();
    lanes.truncate(PAGE);
    lanes
}

async fn filter_form<'a>(scene: &Scene<'a>, chosen: &Chosen, query: String) -> FilterForm<'a> {
    let text = |value: Option<&dyn ToString>| value.map(ToString::to_string).unwrap_or_default();
    let words = PublicState::ALL.iter().map(|state| StateFilter::State(*state));
    let states = words.chain([StateFilter::LacksWorker]).map(|state| {
        let text = match state {
            StateFilter::State(state) => show::words(state.as_str()),
            StateFilter::LacksWorker => "no worker".to_owned(),
        };
        StateOption { word: state.to_string(), text, checked: chosen.states.contains(&state) }
    });
    let lanes = lane_names(scene).await;
    let span = chosen.span();
    FilterForm {
        namespace: scene.view.namespace.as_str(),
        states: states.collect(),
        lane: text(chosen.lane.as_ref().map(|lane| lane as _)),
        kind: text(chosen.kind.as_ref().map(|kind| kind as _)),
        tags: write_tags(&chosen.tags),
        reason: text(chosen.reason.as_ref().map(|reason| reason as _)),
        spans: SPANS.iter().map(|(word, text, _)| (*word, *text, span == Some(*word))).collect(),
        from: text(chosen.from.as_ref().map(|at| at as _)),
        to: text(chosen.to.as_ref().map(|at| at as _)),
        lanes,
        is_all: chosen.is_all(),
        clear: scene.link("/executions"),
        operate: scene.view.can.operate,
        bulk: scene.link("/bulk"),
        query,
        proof: &scene.state.dashboard.mark,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_reads_back_from_its_address() {
        let query = "state=failed&state=waiting_for_capable_worker&lane=a&kind=k&reason=approval\
                     &tags=a%3Db%5C%2Cc&within=1h&from=2026-03-01T12%3A00%3A00.000Z";
        let chosen = Chosen::read(&Fields::parse(query.as_bytes()).unwrap()).unwrap();
        assert_eq!(chosen.query(), query);
        assert!(!chosen.is_all());
        assert!(Chosen::read(&Fields::default()).unwrap().is_all());
        for bad in
            ["state=nonsense", "lane=%20", "tags=x", "within=9h", "from=x", "cursor=x", "reason=x"]
        {
            assert!(Chosen::read(&Fields::parse(bad.as_bytes()).unwrap()).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_later_of_two_beginnings_counts() {
        let now = Time::from_ms(1_800_000_000_000);
        let chosen = Chosen { within: Some(Millis::from_hours(1)), ..Chosen::default() };
        assert_eq!(chosen.filter(now).from, Some(now - Millis::from_hours(1)));
        let later = Timestamp(now - Millis::from_secs(5));
        assert_eq!(Chosen { from: Some(later), ..chosen }.filter(now).from, Some(later.0));
    }

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        assert_eq!(cut("ü\nx", 5), "ü x");
        assert_eq!(cut("üüü", 2), "üü…");
    }
}
