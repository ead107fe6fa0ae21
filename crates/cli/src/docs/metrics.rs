//! The page of every metric.

use super::{code, heading, table};

pub(crate) fn page() -> String {
    let mut page = heading("Metrics", "metrics");
    page.push_str("What `GET /metrics` counts, in Prometheus's text format.\n\n");
    let rows = ff_server::metrics().map(|metric| {
        let (labels, what) = (metric.labels.to_owned(), metric.what.to_owned());
        [code(metric.name), metric.type_name().to_owned(), labels, what]
    });
    page.push_str(&table(["metric", "type", "labels", "what"], rows));
    page
}
