//! `ff check`: audit a store.

use clap::Args;
use ff_api::{AuditView, RepairedView};
use ff_core::Millis;
use ff_store::{PartitionSet, audit};

use super::Verdict;
use crate::duration;
use crate::error::Error;
use crate::output::text;
use crate::session::Session;

/// `ff check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// First repair what a fault in the middle of a write has left. Sound records are not touched, and
    /// the store may stay in use
    #[arg(long)]
    repair: bool,
}

impl Check {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open_store().await?;
        let repaired = match self.repair {
            true => Some(RepairedView::from(&backend.repair().await?)),
            false => None,
        };
        let report = audit::audit(backend.rows().await?).await?;
        let offset = backend.due(&PartitionSet::All, None, 1).await?.offset;
        let clock_offset_ms = (offset > Millis::ZERO).then_some(offset.get());
        let view = AuditView { repaired, clock_offset_ms, ..AuditView::from(&report) };
        session.output.answer(&view, lines)?;
        if clock_offset_ms.is_some() {
            session.output.talk(format_args!(
                "the store's time is {} ahead of the system clock, which was set back; it continues \
                 from there, and comes closer by a tenth of the time that passes",
                duration::rough(offset)
            ));
        }
        match view.violations.is_empty() {
            true => {
                session.output.talk("the store is sound");
                Ok(Verdict::Good)
            }
            false => {
                session.output.talk("the store is not sound; keep a copy of it as it is");
                Ok(Verdict::Bad)
            }
        }
    }
}

fn lines(view: &AuditView) -> String {
    let found = view.violations.len() as u64 + view.further;
    let mut text = String::new();
    if let Some(repaired) = &view.repaired {
        let RepairedView { examined, unwritten, unplaced, leftover, uncounted } = repaired;
        text.push_str(&format!(
            "repaired    {} of {examined} entries: {unwritten} of no record, {unplaced} missing, \
             {leftover} left over\n",
            unwritten + unplaced + leftover
        ));
        if *uncounted > 0 {
            text.push_str(&format!("recounted   {uncounted} budgets and quotas\n"));
        }
    }
    text.push_str(&format!(
        "records     {}\nentries     {}\nviolations  {found}\n",
        view.records, view.entries
    ));
    for violation in &view.violations {
        let detail = text::lines(&violation.detail, "  ");
        text.push_str(&format!("{}: {detail}\n", violation.rule));
    }
    if view.further > 0 {
        text.push_str(&format!("and {} more\n", view.further));
    }
    text
}
