//! One request: send, bound in time and size, read the answer or the problem.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ff_core::payload::ContentType;
use ff_core::{Code, Payload, Refusal};
use ff_store::StoreError;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::answers::error_of;
use super::connect::{Connector, distrust, trust};
use super::workers::Workers;
use crate::ErrorView;
use crate::http::Problem;

/// Most bytes of an answer: a full page of executions or attempts with long messages.
const ANSWER: usize = 64 << 20;

/// How to reach a server.
#[derive(Clone)]
pub struct HttpOptions {
    /// The server, for example `http://127.0.0.1:7272`, or `https://work.example/flow` behind a proxy.
    pub url: String,
    /// Its token, if it requires one.
    pub token: Option<String>,
    /// The PEM file of the certificate authorities to trust; those of this machine when absent.
    pub ca: Option<PathBuf>,
    /// How long to try to connect.
    pub connect_timeout: Duration,
    /// How long an answer may take, on top of what the call itself waits for.
    pub request_timeout: Duration,
}

impl HttpOptions {
    /// A server without a token.
    pub fn new(url: impl Into<String>) -> HttpOptions {
        HttpOptions {
            url: url.into(),
            token: None,
            ca: None,
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(5),
        }
    }
}

impl std::fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpOptions").field("url", &self.url).finish_non_exhaustive()
    }
}

/// A client of one server. Cheap to clone; connections are kept and shared.
#[derive(Clone)]
pub struct HttpClient {
    client: Client<Connector, Full<Bytes>>,
    base: String,
    authorization: Option<String>,
    timeout: Duration,
    options: Arc<HttpOptions>,
    /// Whom it acts for.
    pub(super) workers: Workers,
}

impl HttpClient {
    /// Checks the address; connects with the first call.
    pub fn new(options: HttpOptions) -> Result<HttpClient, Refusal> {
        let base = options.url.trim_end_matches('/').to_owned();
        let uri: Uri = base.parse().map_err(|_| bad_url("is not a URL"))?;
        let secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(bad_url("is neither http:// nor https://")),
        };
        if uri.authority().is_none_or(|authority| authority.as_str().contains('@')) {
            return Err(bad_url(
                "has a user or a password; give the host alone, and a token apart",
            ));
        }
        if uri.query().is_some() || base.contains('#') {
            return Err(bad_url("has more than a host and a path"));
        }
        let tls = secure.then(|| trust(options.ca.as_deref())).transpose()?;
        if options.token.as_deref().is_some_and(|t| !t.bytes().all(|b| b.is_ascii_graphic())) {
            return Err(Refusal::invalid("token", "must be visible ASCII characters"));
        }
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(options.connect_timeout));
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(5))
            .build(Connector::new(connector, tls));
        Ok(HttpClient {
            client,
            base,
            authorization: options.token.as_ref().map(|token| format!("Bearer {token}")),
            timeout: options.request_timeout,
            options: Arc::new(options),
            workers: Workers::default(),
        })
    }

    /// A client of the same server with separate connections. The runtime that sends a request
    /// drives its connection, also for later requests of others.
    pub(super) fn with_own_connections(&self) -> HttpClient {
        // The same options were accepted before.
        let client = HttpClient::new(HttpOptions::clone(&self.options));
        HttpClient { workers: self.workers.clone(), ..client.unwrap_or_else(|_| self.clone()) }
    }

    /// Gets `path`.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, StoreError> {
        self.get_in(path, Duration::ZERO).await
    }

    /// Asks for `path`, which may wait this long before it answers.
    pub(super) async fn get_in<T: DeserializeOwned>(
        &self,
        path: &str,
        wait: Duration,
    ) -> Result<T, StoreError> {
        let (_, body, _) = self.send(Method::GET, path, None, wait).await?;
        decode(&body)
    }

    /// Gets the bytes at `path`, with their content type.
    pub(super) async fn get_payload(&self, path: &str) -> Result<Payload, StoreError> {
        let (_, bytes, media) = self.send(Method::GET, path, None, Duration::ZERO).await?;
        let content_type = ContentType::new(media.as_deref().unwrap_or(""));
        Ok(Payload { content_type: content_type.unwrap_or_default(), bytes })
    }

    /// Sends `body` to `path`; an answer without content is `None`.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        wait: Duration,
    ) -> Result<Option<T>, StoreError> {
        let body = serde_json::to_vec(body).map_err(|error| broken(&error.to_string()))?;
        let (status, answer, _) = self.send(Method::POST, path, Some(body), wait).await?;
        match status {
            StatusCode::NO_CONTENT => Ok(None),
            _ => decode(&answer).map(Some),
        }
    }

    /// Patches `path` with `body`; the answer is the new state.
    pub(super) async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, StoreError> {
        self.change_with(Method::PATCH, path, body).await
    }

    /// Puts `body` at `path`; the answer is the new state.
    pub(super) async fn put<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, StoreError> {
        self.change_with(Method::PUT, path, body).await
    }

    async fn change_with<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, StoreError> {
        let body = serde_json::to_vec(body).map_err(|error| broken(&error.to_string()))?;
        let (_, answer, _) = self.send(method, path, Some(body), Duration::ZERO).await?;
        decode(&answer)
    }

    /// Deletes `path`.
    pub(super) async fn delete(&self, path: &str) -> Result<(), StoreError> {
        self.send(Method::DELETE, path, None, Duration::ZERO).await.map(drop)
    }

    /// Deletes `path`; the answer is what is left of it.
    pub(super) async fn remove<T: DeserializeOwned>(&self, path: &str) -> Result<T, StoreError> {
        let (_, answer, _) = self.send(Method::DELETE, path, None, Duration::ZERO).await?;
        decode(&answer)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
        wait: Duration,
    ) -> Result<(StatusCode, Bytes, Option<String>), StoreError> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(Full::from(body.unwrap_or_default()));
        let request = request.map_err(|error| broken(&error.to_string()))?;
        let exchange = async {
            let response = self.client.request(request).await.map_err(|e| self.failed(&e))?;
            let (head, body) = response.into_parts();
            let whole = Limited::new(body, ANSWER).collect().await;
            let whole = whole.map_err(|error| self.unanswered(causes(&*error)))?;
            let media = head.headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
            Ok::<_, StoreError>((head.status, whole.to_bytes(), media.map(str::to_owned)))
        };
        let answer = tokio::time::timeout(self.timeout + wait, exchange).await;
        let late = |_| self.unanswered("no answer in time".to_owned());
        let (status, body, media) = answer.map_err(late)??;
        match status.is_success() {
            true => Ok((status, body, media)),
            false => Err(self.problem(status, &body)),
        }
    }

    /// The refusal or failure in an answer.
    fn problem(&self, status: StatusCode, body: &[u8]) -> StoreError {
        let problem = serde_json::from_slice::<Problem>(body);
        // A signed token that is refused is none of this client's credential.
        let is_refusal = problem.as_ref().is_ok_and(|problem| problem.code.parse::<Code>().is_ok());
        if status == StatusCode::UNAUTHORIZED && !is_refusal {
            return StoreError::Unauthenticated { url: self.base.clone() };
        }
        match problem {
            Ok(problem) => {
                let Problem { code, detail: message, field, retryable, .. } = problem;
                error_of(ErrorView { code, message, field, retryable })
            }
            // Not an answer of ours: of a proxy, which may reach the server later, or of something
            // else.
            Err(_) if is_passing(status) => self.unanswered(format!("it answered {status}")),
            Err(_) => broken(&format!("it is {status} and does not say why")),
        }
    }

    fn failed(&self, error: &hyper_util::client::legacy::Error) -> StoreError {
        let url = self.base.clone();
        if let Some(why) = distrust(error) {
            return StoreError::Untrusted { url, why };
        }
        match (error.is_connect(), error.source()) {
            (true, Some(cause)) => StoreError::Unreachable { url, why: causes(cause) },
            (true, None) => StoreError::Unreachable { url, why: error.to_string() },
            (false, _) => self.unanswered(causes(error)),
        }
    }

    fn unanswered(&self, why: String) -> StoreError {
        StoreError::Unanswered { url: self.base.clone(), why }
    }
}

/// Whether a status means that a proxy could not reach the server.
fn is_passing(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::REQUEST_TIMEOUT
            | StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, StoreError> {
    serde_json::from_slice(body).map_err(|error| broken(&error.to_string()))
}

pub(super) fn broken(why: &str) -> StoreError {
    StoreError::Protocol(why.to_owned())
}

/// An error with its causes.
fn causes(error: &(dyn Error + 'static)) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        message = format!("{message}: {deeper}");
        cause = deeper.source();
    }
    message
}

fn bad_url(what: &str) -> Refusal {
    Refusal::invalid("url", format!("{what}; give the server, for example http://127.0.0.1:7272"))
}
