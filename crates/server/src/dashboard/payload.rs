//! Payloads to download: bytes that a browser saves and never opens.

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, Method, header};
use axum::response::Response;
use ff_core::Payload;
use ff_core::machine::Target;

use super::login;
use super::page::problem;
use super::visitor::Visitor;
use crate::access::namespace;
use crate::error::ApiError;
use crate::state::AppState;

/// The input of an execution.
pub(super) async fn input(state: State<AppState>, id: Path<String>, request: Request) -> Response {
    answer(state, id, request, true).await
}

/// The result of its current run.
pub(super) async fn result(state: State<AppState>, id: Path<String>, request: Request) -> Response {
    answer(state, id, request, false).await
}

async fn answer(
    State(state): State<AppState>,
    Path(id): Path<String>,
    request: Request,
    is_input: bool,
) -> Response {
    let (parts, _) = request.into_parts();
    let visitor = match Visitor::of(&state, &parts.headers).await {
        Ok(Some(visitor)) => visitor,
        Ok(None) => return login::required(&parts.uri, &parts.headers),
        Err(error) => return problem(&state, None, &parts.uri, error),
    };
    let read = async {
        let route =
            if is_input { "/v1/executions/{id}/input" } else { "/v1/executions/{id}/result" };
        visitor.check(&state, &Method::GET, route, &parts.uri)?;
        let target = Target { namespace: namespace(&parts.uri)?, execution: id.parse()? };
        let payload = match is_input {
            true => state.backend.input(&target).await?,
            false => state.backend.result(&target, None).await?,
        };
        Ok::<_, ApiError>(payload)
    };
    match read.await {
        Ok(payload) => file(payload),
        Err(error) => problem(&state, Some(&visitor), &parts.uri, error),
    }
}

fn file(payload: Payload) -> Response {
    let mut response = Response::new(Body::from(payload.bytes));
    let headers = response.headers_mut();
    let bytes = HeaderValue::from_static("application/octet-stream");
    headers.insert(header::CONTENT_TYPE, bytes);
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    response
}
