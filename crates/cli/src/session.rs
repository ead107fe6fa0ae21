//! The context of a command: a server or a store, a namespace, an output.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ff_api::client::{HttpClient, HttpOptions};
use ff_backends::Opened;
use ff_core::machine::Target;
use ff_core::{ExecutionId, LeaseId, Namespace};
use ff_store::{ClientAndWorker, EngineBackend};

use crate::address::Address;
use crate::args::Global;
use crate::error::Error;
use crate::output::Output;

/// The default server.
const DEFAULT_URL: &str = "http://127.0.0.1:7272";

/// How long a store may take to finish pending work at the end.
const DRAIN: Duration = Duration::from_secs(5);

/// The context of a command.
pub(crate) struct Session<'a> {
    url: Address,
    store: Option<Address>,
    ca: Option<PathBuf>,
    pub(crate) token: Option<String>,
    /// The file of signing keys, if one is given.
    pub(crate) signing_keys: Option<PathBuf>,
    pub(crate) namespace: Namespace,
    /// All that were given, for commands that take several.
    pub(crate) namespaces: Vec<Namespace>,
    pub(crate) output: &'a Output,
    /// The stores that were opened.
    opened: Mutex<Vec<Arc<dyn EngineBackend>>>,
}

/// Where a command finds work.
pub(crate) enum Place {
    /// Behind a server, which runs the background services.
    Server(Arc<HttpClient>),
    /// In a store that this process opened.
    Store(Arc<dyn EngineBackend>),
}

impl Place {
    /// What both can do.
    pub(crate) fn roles(self) -> Arc<dyn ClientAndWorker> {
        match self {
            Place::Server(client) => client,
            Place::Store(backend) => backend,
        }
    }
}

impl<'a> Session<'a> {
    pub(crate) fn new(global: Global, output: &'a Output) -> Session<'a> {
        Session {
            url: global.url,
            store: global
                .store
                .filter(|url| !url.reveal().is_empty())
                .map(|url| lossy(url, global.accept_data_loss)),
            ca: global.ca.filter(|path| !path.as_os_str().is_empty()),
            token: global.token,
            signing_keys: global.signing_keys.filter(|path| !path.as_os_str().is_empty()),
            namespace: global.namespaces.first().cloned().unwrap_or_default(),
            namespaces: global.namespaces,
            output,
            opened: Mutex::default(),
        }
    }

    /// The store, if one is given, else the server. A missing store is created, for commands that
    /// submit work or run it.
    pub(crate) async fn place(&self) -> Result<Place, Error> {
        match self.store {
            Some(_) => Ok(Place::Store(self.with_keys(self.make_store().await?).await?)),
            None => self.server(),
        }
    }

    /// The store of this session, which signs and verifies tokens with its signing keys from now on.
    async fn with_keys(
        &self,
        backend: Arc<dyn EngineBackend>,
    ) -> Result<Arc<dyn EngineBackend>, Error> {
        let keys = self.signing_keys.clone();
        ff_backends::use_keys(&*backend, self.store_url()?, keys).await?;
        Ok(backend)
    }

    /// The URL of the server, also where a store is given.
    pub(crate) fn server_url(&self) -> &str {
        self.url.reveal()
    }

    fn server(&self) -> Result<Place, Error> {
        self.server_with(self.token.clone())
    }

    fn server_with(&self, token: Option<String>) -> Result<Place, Error> {
        let ca = self.ca.clone();
        let options = HttpOptions { token, ca, ..HttpOptions::new(self.url.reveal()) };
        Ok(Place::Server(Arc::new(HttpClient::new(options)?)))
    }

    /// The same; a store must exist.
    pub(crate) async fn existing_place(&self) -> Result<Place, Error> {
        match self.store {
            Some(_) => Ok(Place::Store(self.with_keys(self.open_store().await?).await?)),
            None => self.server(),
        }
    }

    /// The server or the store, which must exist.
    pub(crate) async fn open(&self) -> Result<Arc<dyn ClientAndWorker>, Error> {
        Ok(self.existing_place().await?.roles())
    }

    /// The same for a program of a worker, which shows the lease of what it runs where it has no token.
    pub(crate) async fn open_as_holder(
        &self,
        lease: LeaseId,
    ) -> Result<Arc<dyn ClientAndWorker>, Error> {
        match self.store {
            Some(_) => self.open().await,
            None => {
                let token = self.token.clone().unwrap_or_else(|| lease.to_string());
                Ok(self.server_with(Some(token))?.roles())
            }
        }
    }

    /// The URL of the store, which must be given.
    pub(crate) fn store_url(&self) -> Result<&str, Error> {
        self.store.as_ref().map(Address::reveal).ok_or_else(|| {
            let why = "no store is given; give --store sqlite:PATH, or set FF_STORE to it";
            Error::usage("--store", why)
        })
    }

    /// The URL of the store, which must be given and exist.
    pub(crate) fn existing_url(&self) -> Result<&str, Error> {
        let url = self.store_url()?;
        match ff_backends::missing(url)? {
            Some(path) => Err(Error::NoStore(path)),
            None => Ok(url),
        }
    }

    /// The store, which must be given and exist: for commands that a server does not
    /// offer.
    pub(crate) async fn open_store(&self) -> Result<Arc<dyn EngineBackend>, Error> {
        Ok(self.opened(ff_backends::open_existing(self.existing_url()?).await?))
    }

    /// The store, which must be given. If it is missing it is created, with a message.
    pub(crate) async fn make_store(&self) -> Result<Arc<dyn EngineBackend>, Error> {
        let url = self.store_url()?;
        let Opened { backend, new } = ff_backends::open_or_make(url).await?;
        if new {
            let shown = Address::from(url.to_owned());
            self.output.talk(format_args!("created a new store, {shown}"));
        }
        Ok(self.opened(backend))
    }

    /// Registers a store to drain at the end.
    fn opened(&self, backend: Arc<dyn EngineBackend>) -> Arc<dyn EngineBackend> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).push(backend.clone());
        backend
    }

    /// Waits until the opened stores have finished pending work.
    pub(crate) async fn drain(&self) {
        let opened =
            std::mem::take(&mut *self.opened.lock().unwrap_or_else(PoisonError::into_inner));
        for backend in opened {
            if tokio::time::timeout(DRAIN, backend.drain()).await.is_err() {
                self.output.talk("the store did not take back the last claims in time");
            }
        }
    }

    /// The execution, in this namespace.
    pub(crate) fn target(&self, execution: ExecutionId) -> Target {
        Target { namespace: self.namespace.clone(), execution }
    }

    /// Prints the next useful command, ready to be copied.
    pub(crate) fn next(&self, command: impl std::fmt::Display) {
        let mut line = format!("next: ff {command}");
        // A store from the environment applies to the next command too.
        if let Some(url) = &self.store
            && std::env::var("FF_STORE").as_deref() != Ok(url.reveal())
        {
            line.push_str(&format!(" --store {}", quote(&url.to_string())));
        }
        if self.store.is_none()
            && self.url.reveal() != DEFAULT_URL
            && std::env::var("FF_URL").as_deref() != Ok(self.url.reveal())
        {
            line.push_str(&format!(" --url {}", quote(&self.url.to_string())));
        }
        let from_environment = std::env::var("FF_NAMESPACE").ok();
        let implied =
            from_environment.as_deref().unwrap_or(Namespace::default().as_str()).to_owned();
        if self.namespace.as_str() != implied {
            line.push_str(&format!(" --namespace {}", self.namespace));
        }
        self.output.hint(line);
    }
}

/// `text` as one word of a shell command.
pub(crate) fn quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// The URL of a store that may lose data, if that is accepted.
fn lossy(address: Address, accept: bool) -> Address {
    let url = address.reveal();
    let separator = if url.contains('?') { '&' } else { '?' };
    match accept && !url.starts_with("sqlite:") && !url.starts_with("memory:") {
        true => format!("{url}{separator}accept_data_loss=true").into(),
        false => address,
    }
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn a_word_that_a_shell_would_take_apart_is_quoted() {
        assert_eq!(quote("sqlite:dir/ff.db"), "sqlite:dir/ff.db");
        assert_eq!(quote("sqlite:my dir/x.db"), "'sqlite:my dir/x.db'");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote(""), "''");
    }
}
