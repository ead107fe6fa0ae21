//! `ff resume`: continue a suspended execution without what it waits for.

use clap::Args;
use ff_api::ResumedView;
use ff_core::machine;

use super::Verdict;
use crate::error::Error;
use crate::id::Id;
use crate::session::Session;

/// `ff resume`.
#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// The execution: its id, or a unique prefix of it.
    id: Id,
}

impl Resume {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let id = self.id.find(session, &*backend).await?;
        let resume = machine::Resume { target: session.target(id) };
        let view = ResumedView { id, resumed: backend.resume(resume).await? };
        session.output.answer(&view, |view| match view.resumed {
            true => "resumed\n".to_owned(),
            false => "it is not suspended\n".to_owned(),
        })?;
        session.next(format_args!("show {id}"));
        Ok(if view.resumed { Verdict::Good } else { Verdict::Bad })
    }
}
