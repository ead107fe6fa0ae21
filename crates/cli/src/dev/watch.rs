//! What happens, on one screen: how many executions stand where, and the newest of them.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Duration;

use ff_api::ExecutionView;
use ff_core::Namespace;
use ff_sdk::Client;
use ff_store::listing::{Filter, ListPage, Listing};

use crate::output::style::Style;
use crate::output::table::Table;
use crate::output::{Output, text};

/// How many executions are counted, the newest first.
const COUNTED: usize = 500;
/// How many of them are shown.
const SHOWN: usize = 10;
const REASON_WIDTH: usize = 36;

/// Shows the newest executions until it is dropped. On a terminal the picture is drawn in place;
/// elsewhere it is one line now and then.
pub(crate) async fn run(client: &Client, output: &Output) {
    let terminal = std::io::stderr().is_terminal();
    let pause = Duration::from_secs(if terminal { 1 } else { 5 });
    let mut drawn = 0;
    loop {
        tokio::time::sleep(pause).await;
        let newest = Listing {
            namespace: Namespace::default(),
            filter: Filter::default(),
            after: None,
            limit: COUNTED,
        };
        let Ok(page) = client.backend().list(&newest).await else { continue };
        let mut text = format!("{}\n", counts(&page));
        if terminal {
            text.push_str(&newest_of(&page));
            if drawn > 0 {
                // Back to the top of the picture, and away with it.
                text.insert_str(0, &format!("\x1b[{drawn}A\x1b[J"));
            }
            drawn = text.lines().count();
        }
        output.talk(text.trim_end());
    }
}

/// The newest executions, in lines that fit the narrowest terminal.
fn newest_of(page: &ListPage) -> String {
    let mut table = Table::new(["STATE", "LANE", "KIND", "ATTEMPTS", "REASON"], 0);
    for execution in page.executions.iter().take(SHOWN) {
        let view = ExecutionView::from(execution);
        let reason = view.reason.as_deref().unwrap_or_default();
        table.row([
            view.state.clone(),
            view.lane.to_string(),
            view.kind.to_string(),
            view.attempts.to_string(),
            text::one_line(reason, REASON_WIDTH),
        ]);
    }
    table.show(Style::of_stderr())
}

fn counts(page: &ListPage) -> String {
    let mut counts = BTreeMap::new();
    for execution in &page.executions {
        *counts.entry(execution.public_state()).or_insert(0) += 1;
    }
    let words = counts.iter().map(|(state, count)| format!("{count} {state}"));
    words.collect::<Vec<_>>().join("   ")
}
