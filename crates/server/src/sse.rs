//! Server-sent events: one task makes them, and the answer's body takes them as fast as its client does.
//!
//! A comment every [`SILENCE`] keeps the connection from looking dead. The answer ends when its client
//! goes away, its token is no longer accepted, or the server stops; a client resumes with the id of the
//! last event that it got.

use std::fmt::Write;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use ff_store::StoreError;
use hyper::body::Frame;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::auth::Shown;
use crate::callers::TRUST;
use crate::state::AppState;

/// How long a client hears nothing at most: proxies end a connection that is silent for longer.
pub(crate) const SILENCE: Duration = Duration::from_secs(15);

/// How long one wait for something to send is: so often the token is looked at.
pub(crate) const WAIT: Duration = TRUST;

const EVENTS: &str = "text/event-stream";

/// How many messages wait for a client.
const MESSAGES: usize = 4;

/// One event. Its data is a line of JSON.
pub(crate) struct Event<'a> {
    /// Its type; a plain message when absent.
    pub(crate) kind: Option<&'a str>,
    /// By which a client resumes.
    pub(crate) id: Option<String>,
    /// A line of JSON.
    pub(crate) data: String,
}

/// Sends events to one client.
pub(crate) struct Sender {
    messages: mpsc::Sender<Bytes>,
    state: AppState,
    shown: Shown,
    /// When something was last sent.
    sent: Instant,
    /// When the token was last looked at.
    looked: Instant,
}

impl Sender {
    /// Sends events together; answers whether the client is to get more.
    pub(crate) async fn send(&mut self, events: &[Event<'_>]) -> bool {
        let mut text = String::new();
        for event in events {
            if let Some(kind) = event.kind {
                let _ = writeln!(text, "event: {kind}");
            }
            if let Some(id) = &event.id {
                let _ = writeln!(text, "id: {id}");
            }
            let _ = writeln!(text, "data: {}\n", event.data);
        }
        self.message(text).await
    }

    /// Says where a client resumes that has got nothing meanwhile; answers whether it is to get more.
    pub(crate) async fn mark(&mut self, id: &str) -> bool {
        self.message(format!("id: {id}\n\n")).await
    }

    /// Says that it is there, if it has said nothing for long; answers whether the client is to get
    /// more.
    pub(crate) async fn rest(&mut self) -> bool {
        match self.sent.elapsed() >= SILENCE {
            true => self.message(":\n\n".to_owned()).await,
            false => self.is_wanted().await,
        }
    }

    async fn message(&mut self, text: String) -> bool {
        if !text.is_empty() && self.messages.send(text.into()).await.is_err() {
            return false;
        }
        self.sent = Instant::now();
        self.is_wanted().await
    }

    async fn is_wanted(&mut self) -> bool {
        if self.looked.elapsed() >= TRUST {
            self.looked = Instant::now();
            if !self.shown.is_accepted(&self.state).await {
                return false;
            }
        }
        !self.messages.is_closed()
    }
}

/// Whether a client asks for events.
pub(crate) fn wants_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accepted.is_some_and(|accepted| {
        accepted.split(',').any(|one| one.split(';').next().unwrap_or("").trim() == EVENTS)
    })
}

/// Why there are no more events.
pub(crate) fn failed(error: &StoreError) -> Event<'static> {
    let data = json!({ "code": error.code(), "retryable": error.is_retryable() }).to_string();
    Event { kind: Some("error"), id: None, data }
}

/// An answer whose events `make` sends. It is dropped when the client goes away or the server stops.
pub(crate) fn answer<F: Future<Output = ()> + Send + 'static>(
    state: &AppState,
    shown: Shown,
    make: impl FnOnce(Sender) -> F,
) -> Response {
    let (messages, receiver) = mpsc::channel(MESSAGES);
    let (closed, stopping) = (messages.clone(), state.stopping.clone());
    let now = Instant::now();
    let sender = Sender { messages, state: state.clone(), shown, sent: now, looked: now };
    let making = make(sender);
    state.tasks.spawn(async move {
        tokio::select! {
            () = making => {}
            () = closed.closed() => {}
            () = stopping.cancelled() => {}
        }
    });
    let mut response = Response::new(Body::new(Events(receiver)));
    let kind = HeaderValue::from_static(EVENTS);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    // Some proxies collect an answer before they pass it on.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// The body of an answer.
struct Events(mpsc::Receiver<Bytes>);

impl hyper::body::Body for Events {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(context).map(|message| message.map(|bytes| Ok(Frame::data(bytes))))
    }
}
