//! Bounds on a request, checked before anything else.

use axum::extract::Request;
use axum::http::StatusCode;

use crate::error::ApiError;

/// Most bytes of a request's path and query.
const URI_BYTES: usize = 16 << 10;
/// Most bytes of a request's headers.
const HEADER_BYTES: usize = 32 << 10;
/// Most headers of a request.
const HEADERS: usize = 64;

/// Past this many bytes of request line and headers the connection ends with a bare status: there
/// is no request yet to answer with a problem.
pub(crate) const HARD_HEADER_BYTES: usize = 64 << 10;
/// The same for the number of headers.
pub(crate) const HARD_HEADERS: usize = 128;

/// Refuses a request with too long a path or too many headers.
pub(crate) fn check(request: &Request) -> Result<(), ApiError> {
    let uri = request.uri().path_and_query().map_or(0, |part| part.as_str().len());
    if uri > URI_BYTES {
        let detail = format!("the path and query are over {URI_BYTES} bytes; ask for less");
        return Err(ApiError::http(StatusCode::URI_TOO_LONG, "uri_too_long", detail));
    }
    let headers = request.headers();
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if bytes > HEADER_BYTES || headers.len() > HEADERS {
        let detail = format!(
            "the headers are over {HEADER_BYTES} bytes, or more than {HEADERS}; send fewer"
        );
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        return Err(ApiError::http(status, "headers_too_large", detail));
    }
    Ok(())
}
