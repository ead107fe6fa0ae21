//! `ff delete`: remove finished executions before their retention is over.

use clap::Args;
use ff_core::machine;
use ff_store::roles::BulkAction;
use serde::Serialize;

use super::Verdict;
use super::bulk::BulkFlags;
use crate::error::Error;
use crate::id::Id;
use crate::session::Session;

/// `ff delete`.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// The execution: its id, or a unique prefix of it. To remove many, give a filter instead.
    id: Option<Id>,

    #[command(flatten)]
    #[command(next_help_heading = "Many at once")]
    many: BulkFlags,
}

/// What is printed with `--json`.
#[derive(Serialize)]
struct Deleted {
    id: ff_core::ExecutionId,
}

impl Delete {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let Some(id) = self.many.one(self.id)? else {
            return self.many.run(BulkAction::Delete, session).await;
        };
        let backend = session.open().await?;
        let id = id.find(session, &*backend).await?;
        backend.delete(machine::Delete { target: session.target(id) }).await?;
        session.output.answer(&Deleted { id }, |_| "deleted\n".to_owned())?;
        Ok(Verdict::Good)
    }
}
