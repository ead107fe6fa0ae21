//! The endpoint through which a worker's programs reach the store: they report progress and usage of
//! the execution they run, keep and read its steps, read the results that it depends on, and can do
//! nothing else.
//!
//! It is an HTTP endpoint on a free port of loopback, whatever the worker itself works with. A call
//! must carry the fence of an execution that runs here now, which is random and given to its program
//! alone, so no token is needed. The worker passes the call on; its programs never see the token of a
//! server or the URL of a store.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use ff_api::http::{
    Problem, ProgressRequest, RecordedStepView, StepRequest, UsageRequest, UsedView,
};
use ff_api::{ErrorView, StepsView};
use ff_core::bounds::PAGE;
use ff_core::machine::{LeaseRef, RecordedStep};
use ff_core::refusal::Stale;
use ff_core::{ExecutionId, Payload, Refusal};
use ff_store::{ClientAndWorker, StoreError};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

/// Most connections at once; more wait in the listener's queue.
const CONNECTIONS: usize = 256;
/// Most bytes of a body: the longest result of a step, in base64.
const BODY: usize = 2 << 20;
/// Where the results of nodes are read.
const UPSTREAMS: &str = "upstreams/";
/// How long a caller may take to send a request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The endpoint. Dropping it closes it.
pub(super) struct Relay {
    address: SocketAddr,
    held: Arc<Held>,
    task: AbortHandle,
}

/// The executions whose programs run now.
#[derive(Default)]
struct Held(Mutex<HashMap<ExecutionId, LeaseRef>>);

/// The permission of one program, until it is dropped.
pub(super) struct Pass {
    held: Arc<Held>,
    hold: LeaseRef,
}

impl Relay {
    /// Listens, and passes calls on to `backend`.
    pub(super) async fn start(backend: Arc<dyn ClientAndWorker>) -> io::Result<Relay> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let (address, held) = (listener.local_addr()?, Arc::<Held>::default());
        let calls = Arc::new(Calls { backend, held: held.clone() });
        let task = tokio::spawn(serve(listener, calls)).abort_handle();
        Ok(Relay { address, held, task })
    }

    /// The URL that programs call.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Accepts calls of the program that runs under `hold`.
    pub(super) fn admit(&self, hold: LeaseRef) -> Pass {
        self.held.all().insert(hold.target.execution, hold.clone());
        Pass { held: self.held.clone(), hold }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut held = self.held.all();
        // A later lease of the same execution may already run here.
        if held.get(&self.hold.target.execution) == Some(&self.hold) {
            held.remove(&self.hold.target.execution);
        }
    }
}

impl Held {
    fn all(&self) -> MutexGuard<'_, HashMap<ExecutionId, LeaseRef>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn serve(listener: TcpListener, calls: Arc<Calls>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let calls = calls.clone();
        tokio::spawn(async move {
            let answer = service_fn(|request| {
                let calls = calls.clone();
                async move { Ok::<_, Infallible>(calls.answer(request).await) }
            });
            let mut connection = http1::Builder::new();
            connection.timer(TokioTimer::new()).header_read_timeout(TIMEOUT);
            // How a program closes its connection does not matter.
            let _ = connection.serve_connection(TokioIo::new(stream), answer).await;
            drop(place);
        });
    }
}

struct Calls {
    backend: Arc<dyn ClientAndWorker>,
    held: Arc<Held>,
}

impl Calls {
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        match self.call(request).await {
            Ok(answer) => answer,
            Err(error) => problem(&error),
        }
    }

    async fn call(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, StoreError> {
        let (head, body) = request.into_parts();
        let mut path = head.uri.path().trim_start_matches("/v1/executions/").splitn(2, '/');
        let (id, call) = (path.next().unwrap_or(""), path.next().unwrap_or(""));
        let is_served = match head.method {
            Method::POST => matches!(call, "progress" | "usage" | "steps"),
            Method::GET => call == "steps" || call.starts_with(UPSTREAMS),
            _ => false,
        };
        if !is_served {
            let why = "is not served to programs; POST /v1/executions/ID/progress, .../usage or \
                       .../steps, or GET .../steps or .../upstreams/NODE";
            return Err(Refusal::invalid("path", why).into());
        }
        let hold = self.held.all().get(&id.parse::<ExecutionId>()?).cloned();
        let hold = hold.ok_or_else(not_here)?;
        let target = hold.target.clone();
        if head.method == Method::GET {
            shown(&head, &hold)?;
            if let Some(node) = call.strip_prefix(UPSTREAMS) {
                let result = self.backend.upstream(&target, &node.parse()?).await?;
                return Ok(payload(result));
            }
            let page = self.backend.journal(&target, cursor(&head)?, PAGE).await?;
            return Ok(json(StatusCode::OK, &StepsView::from(&page)));
        }
        match call {
            "progress" => {
                let report = read::<ProgressRequest>(body).await?.command(target)?;
                checked(&report.hold, &hold)?;
                self.backend.progress(report).await?;
                Ok(plain(StatusCode::NO_CONTENT, Bytes::new()))
            }
            "steps" => {
                let record = read::<StepRequest>(body).await?.command(target)?;
                checked(&record.hold, &hold)?;
                let RecordedStep { number } = self.backend.record_step(record).await?;
                Ok(json(StatusCode::OK, &RecordedStepView { number }))
            }
            _ => {
                let report = read::<UsageRequest>(body).await?.command(target)?;
                checked(&report.hold, &hold)?;
                let used = self.backend.report_usage(report).await?;
                Ok(json(StatusCode::OK, &UsedView { used }))
            }
        }
    }
}

/// Refuses a fence that is not the one of the program that runs.
fn checked(shown: &LeaseRef, held: &LeaseRef) -> Result<(), Refusal> {
    if shown == held { Ok(()) } else { Err(not_here()) }
}

/// Refuses a read without the lease of the program that runs, which it shows as its token.
fn shown(head: &Parts, held: &LeaseRef) -> Result<(), Refusal> {
    let token = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let lease = token.and_then(|token| token.strip_prefix("Bearer "));
    if lease == Some(&held.fence.lease.to_string()) { Ok(()) } else { Err(not_here()) }
}

/// Where a read of the journal begins; the first entry when its query does not say.
fn cursor(head: &Parts) -> Result<u64, Refusal> {
    let query = head.uri.query().unwrap_or_default();
    let cursor = query.split('&').find_map(|part| part.strip_prefix("cursor="));
    let bad = |_| Refusal::invalid("cursor", "is not a whole number; give the one of a page");
    cursor.map_or(Ok(0), |cursor| cursor.parse().map_err(bad))
}

fn not_here() -> Refusal {
    Refusal::StaleLease { why: Stale::Replaced }
}

async fn read<T: DeserializeOwned>(body: Incoming) -> Result<T, Refusal> {
    let whole = tokio::time::timeout(TIMEOUT, Limited::new(body, BODY).collect()).await;
    let bytes = match whole {
        Ok(Ok(whole)) => whole.to_bytes(),
        _ => return Err(Refusal::invalid("body", format!("must come whole, within {BODY} bytes"))),
    };
    serde_json::from_slice(&bytes)
        .map_err(|error| Refusal::invalid("body", format!("is not understood: {error}")))
}

fn problem(error: &StoreError) -> Response<Full<Bytes>> {
    let (status, view) = (ff_server::status_of(error), ErrorView::from(error));
    let problem = Problem {
        r#type: "about:blank".to_owned(),
        title: view.code.replace('_', " "),
        status: status.as_u16(),
        detail: view.message,
        code: view.code,
        field: view.field,
        retryable: view.retryable,
        request_id: String::new(),
    };
    json(status, &problem)
}

fn json(status: StatusCode, body: &impl Serialize) -> Response<Full<Bytes>> {
    let mut response = plain(status, serde_json::to_vec(body).unwrap_or_default().into());
    response
        .headers_mut()
        .insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static("application/json"));
    response
}

/// The bytes of a payload, with its media type.
fn payload(payload: Payload) -> Response<Full<Bytes>> {
    let mut response = plain(StatusCode::OK, payload.bytes);
    if let Ok(media) = payload.content_type.as_str().parse() {
        response.headers_mut().insert(CONTENT_TYPE, media);
    }
    response
}

fn plain(status: StatusCode, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response
}
