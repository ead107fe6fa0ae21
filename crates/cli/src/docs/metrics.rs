//! The page of every metric.

use super::{code, heading, table};

pub(crate) fn page() -> String {
    let mut page = heading("Metrics", "metrics");
    page.push_str("What `GET /metrics` counts, in Prometheus's text format.\n\n");
    let rows = ff_server::METRICS
        .iter()
        .map(|(name, labels, what)| [code(name), (*labels).to_owned(), (*what).to_owned()]);
    page.push_str(&table(["metric", "labels", "what"], rows));
    page
}
