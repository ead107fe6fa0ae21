//! How a store or a server is opened.

use std::path::PathBuf;

use ff_core::{Namespace, Refusal};
use ff_sdk::Heartbeats;

use crate::Error;
use crate::connect::connect;
use crate::flowfabric::FlowFabric;

/// Describes what to open. Made by [`FlowFabric::builder`]; checked by [`Builder::open`].
#[derive(Clone, Default)]
#[must_use = "nothing is opened before `open()`"]
pub struct Builder {
    pub(crate) url: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) token: Option<String>,
    pub(crate) ca: Option<PathBuf>,
    pub(crate) signing_keys: Option<PathBuf>,
}

impl Builder {
    /// The store or the server: see [`FlowFabric::open`].
    pub fn url(mut self, url: impl Into<String>) -> Builder {
        self.url = Some(url.into());
        self
    }

    /// The tenant of the tasks; by default `default`. Nothing of one namespace is visible
    /// from another.
    pub fn namespace(mut self, namespace: &str) -> Builder {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// The bearer token of a server.
    pub fn token(mut self, token: impl Into<String>) -> Builder {
        self.token = Some(token.into());
        self
    }

    /// The PEM file of the certificate authorities to trust for `https://`; by default those of this
    /// machine.
    pub fn ca(mut self, file: impl Into<PathBuf>) -> Builder {
        self.ca = Some(file.into());
        self
    }

    /// The file of the keys that sign tokens of waitpoints. A store in a SQLite file has its own beside
    /// it, and one in memory makes a key; a store that several machines share needs this to make
    /// tokens. See `docs/keys.md`.
    pub fn signing_keys(mut self, file: impl Into<PathBuf>) -> Builder {
        self.signing_keys = Some(file.into());
        self
    }

    /// Opens it. A missing file is created. A server is first called by a later method, not here.
    pub async fn open(self) -> Result<FlowFabric, Error> {
        let namespace = match &self.namespace {
            Some(namespace) => Namespace::new(namespace.as_str())?,
            None => Namespace::default(),
        };
        let url = self.url.as_deref().ok_or_else(|| {
            Refusal::invalid("url", "is missing; give a store, for example sqlite:work.ff")
        })?;
        let connected = connect(url, &self).await?;
        Ok(FlowFabric::new(connected, namespace, Heartbeats::default()))
    }
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The URL can hold a password, and the token is a secret.
        f.debug_struct("Builder").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}
