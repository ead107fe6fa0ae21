//! `ff link`: let one person, or one program, answer what an execution waits for.

use clap::Args;
use ff_api::http::TokenView;
use ff_core::{Millis, Subject, WaitpointKey, When};
use ff_store::ring::Purpose;
use ff_store::roles::NewToken;

use super::Verdict;
use super::approve::awaited;
use crate::duration;
use crate::error::Error;
use crate::id::Id;
use crate::session::Session;

/// `ff link`.
#[derive(Debug, Args)]
#[command(
    after_help = "Whoever has the link decides as NAME, so give it to nobody else. It is stored \
                  nowhere: the same command prints the same link. It works while the waitpoint \
                  is open, on the server of --url."
)]
pub(crate) struct Link {
    /// The execution: its id, or a unique prefix of it.
    id: Id,

    /// The key of the waitpoint; needed only if the execution waits at several.
    #[arg(value_name = "WAITPOINT")]
    waitpoint: Option<WaitpointKey>,

    /// Whom it is for: the decision is kept under this name, and one name counts once.
    #[arg(long = "for", value_name = "NAME")]
    subject: Subject,

    /// Refuse it after this long [default: when the waitpoint closes].
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    expires: Option<Millis>,

    /// Print a token for POST /v1/signals instead, for a program. Name the waitpoint.
    #[arg(long, requires = "waitpoint")]
    token: bool,
}

impl Link {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let target = session.target(self.id.find(session, &*backend).await?);
        let waitpoint = match self.waitpoint {
            Some(key) => key,
            None => awaited(&*backend, &target).await?,
        };
        let purpose = if self.token { Purpose::Signal } else { Purpose::ApprovalLink };
        let expires = self.expires.map(When::After);
        let new = NewToken { target, waitpoint, purpose, subject: Some(self.subject), expires };
        let view = TokenView::new(&backend.waitpoint_token(new).await?, purpose);
        session.output.answer(&view, |view| match &view.path {
            Some(path) => format!("{}{path}\n", session.server_url().trim_end_matches('/')),
            None => format!("{}\n", view.token),
        })?;
        Ok(Verdict::Good)
    }
}
