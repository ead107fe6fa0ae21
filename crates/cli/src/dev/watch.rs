//! A live view on one screen: how many executions are in each state, a budget, and the newest
//! executions. Every line fits 80 columns.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use ff_api::ListPageView;
use ff_core::bounds::PAGE;
use ff_core::budget::BudgetView;
use ff_core::{Namespace, PublicState, ResourceName};
use ff_sdk::Client;
use ff_store::listing::{Filter, ListPage, Listing};
use ff_store::{Clock, StoreError, SystemClock};
use tokio::time::Instant;

use super::trickle::{BUDGET, TOKENS};
use crate::output::amount::grouped;
use crate::output::style::Style;
use crate::output::{Output, listing, terminal, when};

/// How many executions are shown.
const SHOWN: usize = 8;
/// How wide the picture is at most.
const WIDEST: usize = 80;
/// How wide the bar of the budget is.
const BAR: u64 = 20;
/// How often the picture is drawn on a terminal, and how often a line is printed elsewhere.
const DRAWN: Duration = Duration::from_secs(1);
const PRINTED: Duration = Duration::from_secs(5);
/// Counting takes one part in this many of the time.
const SHARE: u32 = 10;

/// How many executions are in each state.
type Counts = BTreeMap<PublicState, u64>;

/// Shows the view until it is dropped. On a terminal it is drawn in place; elsewhere it
/// is one line now and then.
pub(crate) async fn run(client: &Client, output: &Output) {
    let counts = Mutex::new(None);
    tokio::select! {
        () = keep_counting(client, &counts) => {}
        () = keep_drawing(client, output, &counts) => {}
    }
}

/// Counts every execution periodically: all of them, so that the numbers are true after days too.
async fn keep_counting(client: &Client, counts: &Mutex<Option<Counts>>) {
    loop {
        let started = Instant::now();
        if let Ok(counted) = count(client).await
            && let Ok(mut counts) = counts.lock()
        {
            *counts = Some(counted);
        }
        tokio::time::sleep((started.elapsed() * SHARE).max(DRAWN / 2)).await;
    }
}

async fn count(client: &Client) -> Result<Counts, StoreError> {
    let (mut counts, mut after) = (Counts::new(), None);
    loop {
        let listing = Listing { after, ..newest(PAGE) };
        let page = client.backend().list(&listing).await?;
        for execution in &page.executions {
            *counts.entry(execution.public_state()).or_default() += 1;
        }
        after = page.next;
        if after.is_none() {
            return Ok(counts);
        }
    }
}

async fn keep_drawing(client: &Client, output: &Output, counts: &Mutex<Option<Counts>>) {
    let mut drawn = 0;
    loop {
        let size = terminal::of_stderr();
        tokio::time::sleep(if size.is_some() { DRAWN } else { PRINTED }).await;
        let Some(counted) = counts.lock().ok().and_then(|counts| counts.clone()) else { continue };
        let Some(size) = size else {
            output.talk(summary(&counted));
            continue;
        };
        let Ok(page) = client.backend().list(&newest(SHOWN)).await else { continue };
        let budget = ResourceName::new(BUDGET).ok();
        let budget = match budget {
            Some(name) => client.backend().budget(&Namespace::default(), &name).await.ok(),
            None => None,
        };
        let columns = size.columns.min(WIDEST);
        let mut text = picture(&counted, budget.as_ref(), &page, columns);
        let lines = text.lines().count();
        if drawn > 0 {
            // Back to the top of the view, and clear it.
            text.insert_str(0, &format!("\x1b[{drawn}A\x1b[J"));
        }
        drawn = lines;
        output.talk(text.trim_end());
    }
}

fn newest(limit: usize) -> Listing {
    Listing { namespace: Namespace::default(), filter: Filter::default(), after: None, limit }
}

fn picture(
    counts: &Counts,
    budget: Option<&BudgetView>,
    page: &ListPage,
    columns: usize,
) -> String {
    let (now, style) = (SystemClock.now(), Style::of_stderr());
    let mut text = format!("{}\n", summary(counts));
    if let Some(budget) = budget {
        text.push_str(&format!("{}\n", spent(budget)));
    }
    let view = ListPageView::from(page);
    text.push_str(&format!("\n{}\n", listing::fitted(&view, now, style, columns)));
    for (state, does) in [
        (PublicState::Failed, "attempts"),
        (PublicState::RateLimited, "explain"),
        (PublicState::Completed, "show"),
    ] {
        if let Some(one) = view.executions.iter().find(|view| view.state == state) {
            let command = format!("ff {does} {}", one.id);
            text.push_str(&format!("{command:<50}{}\n", style.dim(&format!("# {state}"))));
        }
    }
    text
}

/// `120 completed   4 failed   1 active`.
fn summary(counts: &Counts) -> String {
    let words = counts.iter().map(|(state, count)| format!("{} {state}", grouped(*count)));
    words.collect::<Vec<_>>().join("   ")
}

/// What is left of the demo's budget.
fn spent(budget: &BudgetView) -> String {
    let of = |amounts: &ff_core::limits::Amounts| {
        let amounts = amounts.iter().filter(|(dimension, _)| dimension.as_str() == TOKENS);
        amounts.map(|(_, amount)| *amount).sum::<u64>()
    };
    let taken = of(&budget.used) + of(&budget.reserved);
    let limits = budget.limits.dimensions.iter();
    let hard = limits.filter(|(dimension, _)| dimension.as_str() == TOKENS);
    let hard = hard.filter_map(|(_, limits)| limits.hard).sum::<u64>();
    let full = (taken.min(hard) * BAR).checked_div(hard).unwrap_or(0);
    let bar: String = (0..BAR).map(|cell| if cell < full { '#' } else { '.' }).collect();
    let resets = budget.resets_at().map(|at| when::ahead(at.into(), SystemClock.now()));
    let resets = resets.map(|at| format!(", refilled {at}")).unwrap_or_default();
    format!("budget {BUDGET} [{bar}] {} of {} {TOKENS}{resets}", grouped(taken), grouped(hard))
}
