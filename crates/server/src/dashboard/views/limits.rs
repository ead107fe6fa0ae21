//! Budgets and quotas: how full they are, and how much waits for each.

use askama::Template;
use ff_api::{BudgetView, QuotaView};
use ff_core::budget::{DimensionState, OnBreach};
use ff_core::limits::Blocker;
use ff_core::{Millis, ResourceKind, ResourceName};
use ff_store::backlog::Backlog;

use crate::dashboard::part::Part;
use crate::dashboard::view::{Rendered, Scene};
use crate::dashboard::{charts, show};
use crate::error::ApiError;
use crate::html::Markup;
use crate::urlencoded::encoded;

/// How many of each a page has; `ff budget ls` and `ff quota ls` list more.
const PAGE: usize = 100;

#[derive(Template)]
#[template(path = "limits.html")]
struct Limits<'a> {
    budgets: Vec<BudgetCard>,
    quotas: Vec<QuotaCard>,
    more: bool,
    operate: bool,
    waiting: String,
    proof: &'a str,
}

struct BudgetCard {
    name: String,
    act: String,
    dimensions: Vec<DimensionBar>,
    resets: Option<Markup>,
    cancels: bool,
    waiting: u64,
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
}

struct QuotaBar {
    used: String,
    most: String,
    full: bool,
    bar: Markup,
}

pub(in crate::dashboard) async fn render(scene: &Scene<'_>) -> Result<Rendered, ApiError> {
    let (state, namespace) = (scene.state, &scene.view.namespace);
    let budgets = state.backend.budgets(namespace, None, PAGE).await?;
    let quotas = state.backend.quotas(namespace, None, PAGE).await?;
    let backlog = state.dashboard.backlog.get(&state.backend).await?;
    let budget = |view| budget(scene, &backlog, &BudgetView::from(view));
    let quota = |view| quota(scene, &backlog, &QuotaView::from(view));
    let limits = Limits {
        budgets: budgets.iter().map(budget).collect(),
        quotas: quotas.iter().map(quota).collect(),
        more: budgets.len() == PAGE || quotas.len() == PAGE,
        operate: scene.view.can.operate,
        waiting: scene.link("/executions?state=rate_limited"),
        proof: &state.dashboard.mark,
    };
    let parts = vec![Part::new("limits", &limits)];
    Ok(Rendered { title: "Budgets and quotas".to_owned(), parts })
}

/// How many wait for a limit.
fn waiting(scene: &Scene<'_>, backlog: &Backlog, kind: ResourceKind, name: &ResourceName) -> u64 {
    let on = Blocker { kind, name: name.clone() };
    backlog.blocked.get(&(scene.view.namespace.clone(), on)).copied().unwrap_or(0)
}

fn budget(scene: &Scene<'_>, backlog: &Backlog, view: &BudgetView) -> BudgetCard {
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
    BudgetCard {
        name: view.budget.to_string(),
        act: scene.link(&format!("/limits/{}/reset", encoded(view.budget.as_str()))),
        dimensions: dimensions.collect(),
        resets: view.resets.map(|at| show::moment(at.0, scene.now)),
        cancels: view.on_breach == OnBreach::Cancel,
        waiting: waiting(scene, backlog, ResourceKind::Budget, &view.budget),
    }
}

fn quota(scene: &Scene<'_>, backlog: &Backlog, view: &QuotaView) -> QuotaCard {
    let bar = |used: u64, most: u32| QuotaBar {
        used: show::count(used),
        most: show::count(most.into()),
        full: used >= u64::from(most),
        bar: {
            let share = used as f64 / f64::from(most.max(1));
            charts::gauge(if share >= 1.0 { "full" } else { "" }, share, 0.0, None)
        },
    };
    QuotaCard {
        lane: view.quota.lane().map(|lane| lane.to_string()),
        name: view.quota.to_string(),
        active: view.max_active.map(|most| bar(view.active.into(), most)),
        starts: view.max_requests.map(|most| bar(view.admitted, most)),
        running: view.active,
        window: Millis::new(view.window_ms).to_string(),
        next: (view.next.0 > scene.now).then(|| show::moment(view.next.0, scene.now)),
        waiting: waiting(scene, backlog, ResourceKind::Quota, &view.quota),
    }
}
