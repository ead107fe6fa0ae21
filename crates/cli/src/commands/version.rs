//! `ff version`: which release this is.

use clap::Args;
use serde::Serialize;

use super::Verdict;
use crate::error::Error;
use crate::session::Session;

/// `ff version`.
#[derive(Debug, Args)]
pub(crate) struct Version {}

#[derive(Serialize)]
struct VersionView {
    version: &'static str,
}

impl Version {
    pub(crate) fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let view = VersionView { version: env!("CARGO_PKG_VERSION") };
        session.output.answer(&view, |view| format!("ff {}\n", view.version))?;
        Ok(Verdict::Good)
    }
}
