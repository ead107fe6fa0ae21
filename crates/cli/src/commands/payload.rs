//! `ff result` and `ff input`: the bytes that came out of an execution, and those that went in.

use clap::Args;
use ff_api::PayloadView;
use ff_core::Payload;

use super::{Verdict, parse};
use crate::error::Error;
use crate::id::Id;
use crate::session::Session;

/// `ff result`.
#[derive(Debug, Args)]
pub(crate) struct Result {
    /// The execution: its id, or a unique prefix of it.
    id: Id,

    /// The result of this run instead of the current one.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<u32>(0, u32::MAX.into()))]
    run: Option<u32>,
}

/// `ff input`.
#[derive(Debug, Args)]
pub(crate) struct Input {
    /// The execution: its id, or a unique prefix of it.
    id: Id,
}

impl Result {
    pub(crate) async fn run(self, session: &Session<'_>) -> std::result::Result<Verdict, Error> {
        let backend = session.open().await?;
        let id = self.id.find(session, &*backend).await?;
        let result = backend.result(&session.target(id), self.run).await?;
        print(session, &result)
    }
}

impl Input {
    pub(crate) async fn run(self, session: &Session<'_>) -> std::result::Result<Verdict, Error> {
        let backend = session.open().await?;
        let id = self.id.find(session, &*backend).await?;
        let input = backend.input(&session.target(id)).await?;
        print(session, &input)
    }
}

/// The bytes and nothing else, or a view of them as JSON.
fn print(session: &Session<'_>, payload: &Payload) -> std::result::Result<Verdict, Error> {
    match session.output.is_json() {
        true => session.output.answer(&PayloadView::from(payload), |_| String::new())?,
        false => session.output.bytes(&payload.bytes)?,
    }
    Ok(Verdict::Good)
}
