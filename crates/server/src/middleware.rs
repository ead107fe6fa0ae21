//! The outermost layer: names the request, writes problems, counts, and sets safe headers.

use std::time::Instant;

use axum::Json;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use ff_api::http::Problem;

use crate::error::ApiError;
use crate::html::Written;
use crate::state::AppState;
use crate::{bounds, browser};

/// Finishes a request.
pub(crate) async fn finish(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let id = uuid::Uuid::new_v4().to_string();
    let started = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let route = route.unwrap_or_else(|| "none".to_owned());
    let mut response = problem(answer(&state, request, next).await, &id);
    let status = response.status();
    crate::metrics::request(&method, &route, status, started.elapsed());
    tracing::debug!(request = %id, %method, route, status = status.as_u16(), "request");
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert("x-request-id", id);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Only what never changes says otherwise.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if response.extensions().get::<Written>().is_none() {
        // A payload may claim to be a page; a browser that opens it must not execute it.
        let policy = "default-src 'none'; frame-ancestors 'none'; sandbox";
        let policy = HeaderValue::from_static(policy);
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

async fn answer(state: &AppState, request: Request, next: Next) -> Response {
    let welcome = match state.config.token {
        Some(_) => bounds::check(&request),
        None => bounds::check(&request).and_then(|()| browser::check(&request)),
    };
    let welcome = welcome.and_then(|()| match request.uri().path() {
        // Who watches the server must see it while it is busy.
        "/livez" | "/readyz" | "/healthz" => Ok(()),
        _ => state.rates.take(),
    });
    if let Err(error) = welcome {
        return error.into_response();
    }
    match tokio::time::timeout(state.config.request_timeout, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let detail = "the store did not answer in time; repeat the request as it was sent";
            ApiError::http(StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", detail)
                .into_response()
        }
    }
}

/// Writes the body of a refused request; other answers pass.
fn problem(mut response: Response, id: &str) -> Response {
    let status = response.status();
    let error = match response.extensions_mut().remove::<ApiError>() {
        Some(error) => error,
        None if response.extensions().get::<Written>().is_some() => return response,
        None if status == StatusCode::METHOD_NOT_ALLOWED => {
            let detail = "the path does not take this method; see the Allow header";
            ApiError::http(status, "method_not_allowed", detail)
        }
        None if status.is_client_error() || status.is_server_error() => {
            ApiError::http(status, "internal", "the server could not answer")
        }
        None => return response,
    };
    let body = Problem {
        r#type: format!("/errors/{}", error.code),
        title: error.code.replace('_', " "),
        status: error.status.as_u16(),
        detail: error.detail,
        code: error.code.to_owned(),
        field: error.field,
        retryable: error.retryable,
        request_id: id.to_owned(),
    };
    let allow = response.headers().get(header::ALLOW).cloned();
    let mut problem = (error.status, Json(body)).into_response();
    let headers = problem.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    if let Some(allow) = allow {
        headers.insert(header::ALLOW, allow);
    }
    if error.retryable {
        // An operator frees or adds space, or work ends.
        let seconds = if error.status == StatusCode::INSUFFICIENT_STORAGE { "10" } else { "1" };
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static(seconds));
    }
    match error.status {
        StatusCode::UNAUTHORIZED => {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // The unread rest of a body cannot be distinguished from the next request.
        StatusCode::PAYLOAD_TOO_LARGE
        | StatusCode::REQUEST_TIMEOUT
        | StatusCode::URI_TOO_LONG
        | StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        _ => {}
    }
    problem
}

#[cfg(test)]
mod tests {
    use super::*;
    use ff_store::{Failure, StoreError};

    #[test]
    fn a_retryable_problem_says_when() {
        let text = String::new;
        for (error, status, after) in [
            (StoreError::Busy(text()), 503, Some("1")),
            (StoreError::Unavailable(text()), 503, Some("1")),
            (StoreError::Full(text()), 507, Some("10")),
            (StoreError::Denied(text()), 500, None),
            (StoreError::Corrupt(text()), 500, None),
            (StoreError::Failed(text()), 500, None),
        ] {
            let failure = error.failure();
            let answer = problem(ApiError::from(error).into_response(), "id");
            assert_eq!(answer.status().as_u16(), status, "{failure:?}");
            let header = answer.headers().get(header::RETRY_AFTER);
            assert_eq!(header.map(|value| value.to_str().unwrap()), after, "{failure:?}");
            assert_eq!(failure.is_some_and(Failure::is_retryable), after.is_some());
        }
    }
}
