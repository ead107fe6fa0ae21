//! Tables that are made apart from opening a store, by another user.

use ff_backend_postgres::Migrated;
use ff_core::Refusal;
use ff_store::StoreError;

use crate::StoreUrl;

/// Makes the tables of the store that `url` names or brings them up to date, and lets the role `runtime` use
/// them. Other stores do that when they are opened, and are refused.
pub async fn migrate(url: &str, runtime: Option<&str>) -> Result<Migrated, StoreError> {
    match url.parse::<StoreUrl>()? {
        StoreUrl::Postgres(options) => ff_backend_postgres::migrate(&options, runtime).await,
        _ => {
            let why =
                "is brought up to date when it is opened; only postgres:// has tables to migrate";
            Err(Refusal::invalid("store", why).into())
        }
    }
}
