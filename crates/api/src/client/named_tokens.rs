//! Named tokens, over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use ff_core::credential::TokenView;
use ff_core::{Actor, TokenName};
use ff_store::named_token::TokenText;
use ff_store::roles::{CreateToken, CreatedToken};
use ff_store::{NamedTokensBackend, StoreError};

use super::transport::{HttpClient, broken};
use crate::http::NamedTokenRequest;
use crate::named_token::{CreatedTokenView, NamedTokenPageView};

#[async_trait]
impl NamedTokensBackend for HttpClient {
    async fn create_token(&self, create: CreateToken) -> Result<CreatedToken, StoreError> {
        let request = NamedTokenRequest::from(&create);
        let made: Option<CreatedTokenView> =
            self.post("/v1/tokens", &request, Duration::ZERO).await?;
        let made = made.ok_or_else(|| broken("no content"))?;
        Ok(CreatedToken { text: TokenText::new(made.secret), token: made.token.to_domain() })
    }

    async fn tokens(
        &self,
        after: Option<&TokenName>,
        limit: usize,
    ) -> Result<Vec<TokenView>, StoreError> {
        let cursor = after.map(|after| format!("&cursor={after}")).unwrap_or_default();
        let page: NamedTokenPageView =
            self.get(&format!("/v1/tokens?limit={limit}{cursor}")).await?;
        Ok(page.tokens.iter().map(crate::NamedTokenView::to_domain).collect())
    }

    /// The server puts in who asks.
    async fn revoke_token(
        &self,
        name: &TokenName,
        number: Option<u32>,
        _: Actor,
    ) -> Result<TokenView, StoreError> {
        let number = number.map(|number| format!("?number={number}")).unwrap_or_default();
        let view: crate::NamedTokenView =
            self.remove(&format!("/v1/tokens/{name}{number}")).await?;
        Ok(view.to_domain())
    }
}
