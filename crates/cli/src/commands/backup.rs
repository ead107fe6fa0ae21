//! `ff backup`: a copy of a store that is in use.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::Verdict;
use crate::error::Error;
use crate::session::Session;

/// `ff backup`.
#[derive(Debug, Args)]
#[command(
    after_help = "The copy is a consistent snapshot, checked as by `ff check`. It is a store: open it \
                  with --store sqlite:FILE. Servers and workers may keep running.\n\nA store on Valkey \
                  or in Postgres is copied by its servers; see docs/backup.md."
)]
pub(crate) struct Backup {
    /// Where to put the copy. The file must not exist.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// What was copied.
#[derive(Debug, Serialize)]
struct BackupView {
    file: String,
    bytes: u64,
    records: u64,
    entries: u64,
    violations: u64,
}

impl Backup {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let copied = ff_backends::backup(session.existing_url()?, &self.file).await?;
        let view = BackupView {
            file: self.file.display().to_string(),
            bytes: copied.bytes,
            records: copied.report.records,
            entries: copied.report.entries,
            violations: copied.report.violations.len() as u64 + copied.report.further,
        };
        session.output.answer(&view, lines)?;
        if view.violations == 0 {
            session.output.talk("the copy is sound");
            return Ok(Verdict::Good);
        }
        session
            .output
            .talk("the copy is complete, and as unsound as the store: run `ff check` on it");
        Ok(Verdict::Bad)
    }
}

fn lines(view: &BackupView) -> String {
    let BackupView { file, bytes, records, entries, violations } = view;
    format!(
        "file        {file}\nbytes       {bytes}\nrecords     {records}\nentries     {entries}\n\
         violations  {violations}\n"
    )
}
