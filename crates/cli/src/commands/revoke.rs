//! `ff revoke`: end the lease of an execution.

use clap::Args;
use ff_api::RevokedView;
use ff_core::machine::{self, Target};
use ff_core::{LeaseId, Refusal};
use ff_store::ClientAndWorker;

use super::Verdict;
use crate::error::Error;
use crate::id::Id;
use crate::session::Session;

/// `ff revoke`.
#[derive(Debug, Args)]
pub(crate) struct Revoke {
    /// The execution: its id, or a unique prefix of it.
    id: Id,

    /// The lease to end, so that a repeated call does not end a later one [default: the current lease].
    #[arg(long, value_name = "LEASE")]
    lease: Option<LeaseId>,
}

impl Revoke {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let id = self.id.find(session, &*backend).await?;
        let target = session.target(id);
        let lease = match self.lease {
            Some(lease) => lease,
            None => present_lease(&*backend, &target).await?,
        };
        let exited = backend.revoke(machine::Revoke { target, lease }).await?;
        let view = RevokedView::new(id, lease, exited);
        session.output.answer(&view, |view| format!("{}\n", view.status))?;
        session.next(format_args!("show {}", id));
        Ok(Verdict::Good)
    }
}

async fn present_lease(backend: &dyn ClientAndWorker, target: &Target) -> Result<LeaseId, Error> {
    let record = backend.describe(target).await?;
    let lease = record.lease().map(|lease| lease.id);
    lease.ok_or_else(|| {
        let state = record.public_state();
        Refusal::WrongState { command: "revoke", state, needs: "active" }.into()
    })
}
