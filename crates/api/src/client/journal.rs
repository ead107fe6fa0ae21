//! Reads of a journal over HTTP.

use ff_core::machine::Target;
use ff_store::StoreError;
use ff_store::journal::JournalPage;

use super::transport::{HttpClient, broken};
use crate::StepsView;

impl HttpClient {
    /// One page of a journal; `which` is the rest of the query.
    pub(super) async fn journal_page(
        &self,
        target: &Target,
        from: u64,
        limit: usize,
        which: &str,
    ) -> Result<JournalPage, StoreError> {
        let path = HttpClient::execution(target, "/steps");
        let path = format!("{path}&cursor={from}&limit={limit}{which}");
        let view: StepsView = self.get(&path).await?;
        JournalPage::try_from(view).map_err(|error| broken(&error.0))
    }
}
