//! `ff tags`: change the tags of an execution.

use clap::Args;
use ff_api::ExecutionView;
use ff_core::{TagKey, TagValue, machine};

use super::{Verdict, parse};
use crate::error::Error;
use crate::id::Id;
use crate::session::Session;

/// `ff tags`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("change").required(true).multiple(true))]
pub(crate) struct Tags {
    /// The execution: its id, or a unique prefix of it.
    id: Id,

    /// Tags to set.
    #[arg(value_name = "KEY=VALUE", value_parser = parse::tag, group = "change")]
    set: Vec<(TagKey, TagValue)>,

    /// A tag to remove; may be repeated.
    #[arg(long, value_name = "KEY", group = "change")]
    remove: Vec<TagKey>,
}

impl Tags {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let set = parse::distinct(self.set, "KEY=VALUE")?;
        if let Some(both) = self.remove.iter().find(|key| set.contains_key(*key)) {
            let message = format!("--remove names {both}, which is set too; do one of both");
            return Err(Error::usage("--remove", message));
        }
        let backend = session.open().await?;
        let id = self.id.find(session, &*backend).await?;
        let target = session.target(id);
        backend
            .set_tags(machine::SetTags { target: target.clone(), set, remove: self.remove })
            .await?;
        let view = ExecutionView::from(&backend.describe(&target).await?);
        session.output.answer(&view, lines)?;
        session.next(format_args!("show {}", id));
        Ok(Verdict::Good)
    }
}

fn lines(view: &ExecutionView) -> String {
    view.tags.iter().map(|(key, value)| format!("{key}={value}\n")).collect()
}
