//! `ff feed`: whether the events of a namespace are logged, and for how long.

use clap::{Args, ValueEnum};
use ff_api::FeedView;
use ff_core::Millis;
use ff_core::bounds::EVENTS_KEPT_MAX;
use ff_store::events::FeedUpdate;

use super::{Verdict, parse};
use crate::duration;
use crate::error::Error;
use crate::session::Session;

/// `ff feed`.
#[derive(Debug, Args)]
pub(crate) struct Feed {
    /// Log events whoever reads them, or stop until somebody reads again.
    switch: Option<Switch>,

    /// How long events are kept.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    retention: Option<Millis>,

    /// How many events are kept at most.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<u64>(1, EVENTS_KEPT_MAX))]
    most: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    /// Log events, whoever reads them
    On,
    /// Log nothing until somebody reads
    Off,
}

impl Feed {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let namespace = session.namespace.clone();
        let Feed { switch, retention, most } = self;
        let feed = match (switch, retention, most) {
            (None, None, None) => backend.feed(&namespace).await?,
            _ => {
                let on = switch.map(|switch| switch == Switch::On);
                backend.set_feed(FeedUpdate { namespace, on, retention, most }).await?
            }
        };
        session.output.answer(&FeedView::from(&feed), line)?;
        session.next("events --follow");
        Ok(Verdict::Good)
    }
}

fn line(view: &FeedView) -> String {
    let state = match (view.on, view.pinned) {
        (true, true) => "on",
        (true, false) => "on while somebody reads",
        (false, _) => "off until somebody reads",
    };
    let retention = Millis::new(view.retention_ms);
    format!("{state}; events are kept for {retention}, at most {}\n", view.most)
}
