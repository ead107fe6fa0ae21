//! Budgets and quotas: how full they are, and what waits for each.

use std::collections::BTreeMap;

use askama::Template;
use ff_api::{BudgetView, QuotaView};
use ff_core::budget::{DimensionState, OnBreach};
use ff_core::limits::Blocker;
use ff_core::state::State;
use ff_core::{Millis, PublicState, Refusal, ResourceKind, ResourceName};
use ff_store::backlog::Backlog;
use ff_store::listing::{Filter, Listing};

use super::executions::Row;
use crate::dashboard::part::Part;
use crate::dashboard::view::{Rendered, Scene};
use crate::dashboard::{charts, show};
use crate::error::ApiError;
use crate::html::Markup;
use crate::urlencoded::{Fields, encoded};

/// How many of each a page has.
const PAGE: usize = 50;
/// How many executions that wait are read to name some of them.
const WAITING: usize = 100;
/// How many of those that wait for one limit are named.
const NAMED: usize = 3;

/// After which budget and after which quota a page begins.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::dashboard) struct Pages {
    budgets: Option<ResourceName>,
    quotas: Option<ResourceName>,
}

impl Pages {
    pub(in crate::dashboard) fn read(fields: &Fields) -> Result<Pages, Refusal> {
        let name = |field: &str| fields.get(field).map(str::parse).transpose();
        Ok(Pages { budgets: name("budgets")?, quotas: name("quotas")? })
    }

    fn path(&self) -> String {
        let of = |field: &str, name: &Option<ResourceName>| {
            name.as_ref().map(|name| format!("{field}={}", encoded(name.as_str())))
        };
        let fields = [of("budgets", &self.budgets), of("quotas", &self.quotas)];
        let query = fields.into_iter().flatten().collect::<Vec<_>>().join("&");
        if query.is_empty() { "/limits".to_owned() } else { format!("/limits?{query}") }
    }
}

#[derive(Template)]
#[template(path = "limits.html")]
struct Limits<'a> {
    budgets: Vec<BudgetCard>,
    quotas: Vec<QuotaCard>,
    budget_pages: Turns,
    quota_pages: Turns,
    operate: bool,
    /// All that waits for a limit.
    waiting: String,
    proof: &'a str,
}

/// The first page and the next one, if this is neither.
struct Turns {
    first: Option<String>,
    next: Option<String>,
}

struct BudgetCard {
    name: String,
    act: String,
    dimensions: Vec<DimensionBar>,
    resets: Option<Markup>,
    cancels: bool,
    waiting: u64,
    /// Some of what waits.
    who: Vec<Row>,
}

struct DimensionBar {
    name: String,
    used: String,
    reserved: String,
    soft: Option<String>,
    hard: Option<String>,
    percent: Option<u64>,
    state: DimensionState,
    bar: Markup,
}

struct QuotaCard {
    name: String,
    lane: Option<String>,
    active: Option<QuotaBar>,
    starts: Option<QuotaBar>,
    running: u32,
    window: String,
    next: Option<Markup>,
    waiting: u64,
    who: Vec<Row>,
}

struct QuotaBar {
    used: String,
    most: String,
    full: bool,
    bar: Markup,
}

pub(in crate::dashboard) async fn render(
    scene: &Scene<'_>,
    pages: &Pages,
) -> Result<Rendered, ApiError> {
    let (state, namespace) = (scene.state, &scene.view.namespace);
    let budgets = state.backend.budgets(namespace, pages.budgets.as_ref(), PAGE).await?;
    let quotas = state.backend.quotas(namespace, pages.quotas.as_ref(), PAGE).await?;
    let backlog = state.dashboard.backlog.get(&state.backend).await?;
    let mut waiting = Waiting { backlog: &backlog, named: named(scene, &backlog).await? };
    let after = |name: Option<&ResourceName>, count| name.filter(|_| count == PAGE).cloned();
    let last_budget = after(budgets.last().map(|view| &view.name), budgets.len());
    let last_quota = after(quotas.last().map(|view| &view.name), quotas.len());
    let link = |budgets, quotas| scene.link(&Pages { budgets, quotas }.path());
    let limits = Limits {
        budget_pages: Turns {
            first: pages.budgets.as_ref().map(|_| link(None, pages.quotas.clone())),
            next: last_budget.map(|last| link(Some(last), pages.quotas.clone())),
        },
        quota_pages: Turns {
            first: pages.quotas.as_ref().map(|_| link(pages.budgets.clone(), None)),
            next: last_quota.map(|last| link(pages.budgets.clone(), Some(last))),
        },
        budgets: budgets
            .iter()
            .map(|view| budget(scene, &mut waiting, &BudgetView::from(view)))
            .collect(),
        quotas: quotas
            .iter()
            .map(|view| quota(scene, &mut waiting, &QuotaView::from(view)))
            .collect(),
        operate: scene.view.can.operate,
        waiting: scene.link("/executions?state=rate_limited"),
        proof: &state.dashboard.mark,
    };
    let parts = vec![Part::new("limits", &limits)];
    Ok(Rendered { title: "Budgets and quotas".to_owned(), parts })
}

/// What waits for each limit.
struct Waiting<'a> {
    backlog: &'a Backlog,
    named: BTreeMap<Blocker, Vec<Row>>,
}

impl Waiting<'_> {
    /// How many wait for a limit, and some of them.
    fn for_limit(
        &mut self,
        scene: &Scene<'_>,
        kind: ResourceKind,
        name: &ResourceName,
    ) -> (u64, Vec<Row>) {
        let on = Blocker { kind, name: name.clone() };
        let named = self.named.remove(&on).unwrap_or_default();
        let counted = self.backlog.blocked.get(&(scene.view.namespace.clone(), on));
        // The count may be a moment older than the names.
        (counted.copied().unwrap_or(0).max(named.len() as u64), named)
    }
}

/// Some of what waits, by the limit that it waits for.
async fn named(
    scene: &Scene<'_>,
    backlog: &Backlog,
) -> Result<BTreeMap<Blocker, Vec<Row>>, ApiError> {
    let namespace = scene.view.namespace.clone();
    let mut named = BTreeMap::<_, Vec<_>>::new();
    if !backlog.blocked.keys().any(|(of, _)| *of == namespace) {
        return Ok(named);
    }
    let filter = Filter { states: [PublicState::RateLimited].into(), ..Filter::default() };
    let listing = Listing { namespace, filter, after: None, limit: WAITING };
    for record in &scene.state.backend.list(&listing).await?.executions {
        let State::Blocked { on, .. } = &record.state else { continue };
        let rows = named.entry(on.clone()).or_default();
        if rows.len() < NAMED {
            rows.push(Row::of(scene, record, false));
        }
    }
    Ok(named)
}

fn budget(scene: &Scene<'_>, waiting: &mut Waiting<'_>, view: &BudgetView) -> BudgetCard {
    let dimensions = view.dimensions.iter().map(|(name, of)| {
        let hard = of.hard.filter(|hard| *hard > 0);
        let share = |amount: u64| hard.map_or(0.0, |hard| amount as f64 / hard as f64);
        let class = match of.state {
            DimensionState::Full => "full",
            DimensionState::Warned => "warned",
            DimensionState::Open => "",
        };
        let soft = of.soft.filter(|soft| *soft > 0);
        DimensionBar {
            name: name.to_string(),
            used: show::count(of.used),
            reserved: show::count(of.reserved),
            soft: soft.map(show::count),
            hard: hard.map(show::count),
            percent: hard.map(|_| (share(of.used.saturating_add(of.reserved)) * 100.0) as u64),
            state: of.state,
            bar: charts::gauge(
                class,
                share(of.used),
                share(of.reserved),
                soft.zip(hard).map(|(soft, _)| share(soft)),
            ),
        }
    });
    let (waiting, who) = waiting.for_limit(scene, ResourceKind::Budget, &view.budget);
    BudgetCard {
        name: view.budget.to_string(),
        act: scene.link(&format!("/limits/{}/reset", encoded(view.budget.as_str()))),
        dimensions: dimensions.collect(),
        resets: view.resets.map(|at| show::moment(at.0, scene.now)),
        cancels: view.on_breach == OnBreach::Cancel,
        waiting,
        who,
    }
}

fn quota(scene: &Scene<'_>, waiting: &mut Waiting<'_>, view: &QuotaView) -> QuotaCard {
    let bar = |used: u64, most: u32| QuotaBar {
        used: show::count(used),
        most: show::count(most.into()),
        full: used >= u64::from(most),
        bar: {
            let share = used as f64 / f64::from(most.max(1));
            charts::gauge(if share >= 1.0 { "full" } else { "" }, share, 0.0, None)
        },
    };
    let (waiting, who) = waiting.for_limit(scene, ResourceKind::Quota, &view.quota);
    QuotaCard {
        lane: view.quota.lane().map(|lane| lane.to_string()),
        name: view.quota.to_string(),
        active: view.max_active.map(|most| bar(view.active.into(), most)),
        starts: view.max_requests.map(|most| bar(view.admitted, most)),
        running: view.active,
        window: Millis::new(view.window_ms).to_string(),
        next: (view.next.0 > scene.now).then(|| show::moment(view.next.0, scene.now)),
        waiting,
        who,
    }
}
