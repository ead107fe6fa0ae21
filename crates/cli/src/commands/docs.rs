//! `ff docs`: reference pages that the program writes about itself.

use clap::{Args, ValueEnum};

use super::Verdict;
use crate::docs;
use crate::error::Error;
use crate::session::Session;

/// `ff docs`.
#[derive(Debug, Args)]
pub(crate) struct Docs {
    /// Which page.
    topic: Topic,
}

/// A page.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Topic {
    States,
    Errors,
    Cli,
    Limits,
    Metrics,
    Keys,
    Access,
    Typescript,
}

impl Docs {
    pub(crate) fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let page = match self.topic {
            Topic::States => docs::states::page(),
            Topic::Errors => docs::errors::page(),
            Topic::Cli => docs::cli::page(),
            Topic::Limits => docs::limits::page(),
            Topic::Metrics => docs::metrics::page(),
            Topic::Keys => docs::keys::page(),
            Topic::Access => docs::access::page(),
            Topic::Typescript => docs::typescript::page(),
        };
        session.output.bytes(page.as_bytes())?;
        Ok(Verdict::Good)
    }
}
