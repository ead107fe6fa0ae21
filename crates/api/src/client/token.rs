//! Tokens of waitpoints, over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use ff_core::ExecutionId;
use ff_core::machine::Signalled;
use ff_store::StoreError;
use ff_store::ring::SignedToken;
use ff_store::roles::{MadeToken, NewToken, TokenBackend, TokenSignal};

use super::transport::{HttpClient, broken};
use crate::SignalledView;
use crate::http::{TokenRequest, TokenSignalRequest, TokenView};

#[async_trait]
impl TokenBackend for HttpClient {
    async fn waitpoint_token(&self, new: NewToken) -> Result<MadeToken, StoreError> {
        let path = format!("/waitpoints/{}/token", new.waitpoint);
        let view: TokenView = self.steer(&new.target, &path, &TokenRequest::from(&new)).await?;
        Ok(view.made())
    }

    async fn signal_by_token(
        &self,
        token: &SignedToken,
        signal: TokenSignal,
    ) -> Result<(ExecutionId, Signalled), StoreError> {
        let mut body = TokenSignalRequest::new(&signal);
        body.token = Some(token.reveal().to_owned());
        let view: Option<SignalledView> = self.post("/v1/signals", &body, Duration::ZERO).await?;
        let view = view.ok_or_else(|| broken("no content"))?;
        Ok((view.id, view.signalled()))
    }
}
