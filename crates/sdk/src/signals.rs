//! Signals from outside: to what tasks wait for, as this caller or by token.

use ff_core::machine::{Signal, Signalled, WaitpointRef};
use ff_core::suspension::Waitpoint;
use ff_core::{ExecutionId, SignalName, Source, Subject, WaitpointKey};
use ff_store::ring::{Purpose, SignedToken};
use ff_store::roles::{NewToken, TokenSignal};

use crate::client::Client;
use crate::error::SdkError;
use crate::payload::ToPayload;

/// Who signals in process. A server names the caller by its credential instead.
const LOCAL: &str = "local";

impl Client {
    /// Sends a signal of this name to a waitpoint of an execution, as this caller. The same signal again
    /// changes nothing.
    pub async fn signal(
        &self,
        execution: ExecutionId,
        waitpoint: &str,
        name: &str,
        payload: &(impl ToPayload + ?Sized),
    ) -> Result<Signalled, SdkError> {
        let signal = Signal {
            target: self.target(execution),
            waitpoint: WaitpointRef::ByKey(WaitpointKey::new(waitpoint)?),
            key: None,
            name: Some(SignalName::new(name)?),
            category: None,
            source: Source::new(LOCAL)?,
            payload: payload.to_payload()?,
        };
        Ok(self.backend().signal(signal).await?)
    }

    /// A token for the open waitpoint of an execution, made for `subject`: whoever has it signals as
    /// that one, and needs nothing else. Two who must both answer get two tokens.
    pub async fn waitpoint_token(
        &self,
        execution: ExecutionId,
        waitpoint: &str,
        subject: &str,
    ) -> Result<SignedToken, SdkError> {
        self.token_of(Purpose::Signal, execution, waitpoint, subject).await
    }

    /// The path of a page, on the server, on which `subject` approves or rejects what an execution asks at
    /// an open waitpoint.
    pub async fn approval_link(
        &self,
        execution: ExecutionId,
        waitpoint: &str,
        subject: &str,
    ) -> Result<String, SdkError> {
        let token = self.token_of(Purpose::ApprovalLink, execution, waitpoint, subject).await?;
        Ok(token.approval_path())
    }

    async fn token_of(
        &self,
        purpose: Purpose,
        execution: ExecutionId,
        waitpoint: &str,
        subject: &str,
    ) -> Result<SignedToken, SdkError> {
        let new = NewToken {
            target: self.target(execution),
            waitpoint: WaitpointKey::new(waitpoint)?,
            purpose,
            subject: Some(Subject::new(subject)?),
            expires: None,
        };
        Ok(self.backend().waitpoint_token(new).await?.token)
    }

    /// Sends a signal of this name by token, as the one whom the token was made for.
    pub async fn deliver_signal(
        &self,
        token: &SignedToken,
        name: &str,
        payload: &(impl ToPayload + ?Sized),
    ) -> Result<Signalled, SdkError> {
        let signal = TokenSignal {
            name: Some(SignalName::new(name)?),
            payload: payload.to_payload()?,
            ..TokenSignal::default()
        };
        Ok(self.backend().signal_by_token(token, signal).await?.1)
    }

    /// The open waitpoints of an execution.
    pub async fn waitpoints(&self, execution: ExecutionId) -> Result<Vec<Waitpoint>, SdkError> {
        Ok(self.backend().waitpoints(&self.target(execution)).await?)
    }
}
