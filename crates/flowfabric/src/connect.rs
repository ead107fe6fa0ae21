//! From a URL to its store in this process, or its server.

use std::sync::Arc;

use ff_core::Refusal;
use ff_store::{ClientAndWorker, EngineBackend};

use crate::Error;
use crate::builder::Builder;

/// The target of a URL.
pub(crate) enum Connected {
    /// A store, whose engine runs in this process.
    Store(Arc<dyn EngineBackend>),
    /// A server, which runs the engine.
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only servers are this"))]
    Server(Arc<dyn ClientAndWorker>),
}

pub(crate) async fn connect(url: &str, options: &Builder) -> Result<Connected, Error> {
    if url.starts_with("http://") || url.starts_with("https://") {
        return server(url, options);
    }
    let given = [("token", options.token.is_some()), ("ca", options.ca.is_some())];
    if let Some((field, _)) = given.into_iter().find(|(_, given)| *given) {
        let why = "is for servers, and the URL names a store; leave it out";
        return Err(Refusal::invalid(field, why).into());
    }
    let store = ff_backends::open(url).await?;
    ff_backends::serve_keys(&*store, url, options.signing_keys.clone()).await?;
    Ok(Connected::Store(store))
}

#[cfg(feature = "http")]
fn server(url: &str, options: &Builder) -> Result<Connected, Error> {
    use ff_api::client::{HttpClient, HttpOptions};
    let options = HttpOptions {
        token: options.token.clone(),
        ca: options.ca.clone(),
        ..HttpOptions::new(url)
    };
    Ok(Connected::Server(Arc::new(HttpClient::new(options)?)))
}

#[cfg(not(feature = "http"))]
fn server(_url: &str, _options: &Builder) -> Result<Connected, Error> {
    let why = "needs the feature `http`, which this program was built without";
    Err(Refusal::invalid("url", why).into())
}
