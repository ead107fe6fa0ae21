//! `ff migrate`: the tables of a store in Postgres.

use clap::Args;
use serde::Serialize;

use super::Verdict;
use crate::error::Error;
use crate::session::Session;

/// `ff migrate`.
#[derive(Debug, Args)]
#[command(
    after_help = "Run it as a user that may create tables. Servers and workers then need no such user: \
                  name theirs with --grant. Several may run at once, and running it again changes \
                  nothing.\n\nStores in SQLite and on Valkey need none of this."
)]
pub(crate) struct Migrate {
    /// Let this role read and write the tables, and change nothing about them.
    #[arg(long, value_name = "ROLE")]
    grant: Option<String>,
}

/// What was done.
#[derive(Debug, Serialize)]
struct MigrateView {
    from: Option<usize>,
    to: usize,
}

impl Migrate {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let done = ff_backends::migrate(session.store_url()?, self.grant.as_deref()).await?;
        let view = MigrateView { from: done.from, to: done.to };
        session.output.answer(&view, lines)?;
        Ok(Verdict::Good)
    }
}

fn lines(view: &MigrateView) -> String {
    match view {
        MigrateView { from: None, to } => format!("made the tables, number {to}\n"),
        MigrateView { from: Some(from), to } if from == to => {
            format!("the tables are up to date, number {to}\n")
        }
        MigrateView { from: Some(from), to } => {
            format!("brought the tables from number {from} to {to}\n")
        }
    }
}
