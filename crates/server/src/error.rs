//! From a refusal to an HTTP answer: one table of statuses, one shape of body.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ff_api::ErrorView;
use ff_core::{Code, Refusal};
use ff_store::{ErrorKind, Failure, StoreError, outage};

/// A request that failed. It travels as an extension of the response, and the
/// outermost layer writes the body, because only that layer knows the request's id.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) detail: String,
    pub(crate) field: Option<String>,
    pub(crate) retryable: bool,
}

/// Codes of HTTP itself, their status and what they mean, for the reference page.
pub const HTTP_CODES: &[(&str, u16, &str)] = &[
    (
        "invalid_json",
        400,
        "The body is not the JSON that the route accepts; the message says where.",
    ),
    ("invalid_query", 400, "The query string is invalid; the message says what is wrong."),
    (Failure::Unauthenticated.code(), 401, Failure::Unauthenticated.help()),
    (Failure::Forbidden.code(), 403, Failure::Forbidden.help()),
    (
        "host_not_allowed",
        403,
        "A server without a token answers only to loopback names in `Host`: localhost, 127.0.0.0/8 \
         and [::1].",
    ),
    (
        "origin_not_allowed",
        403,
        "A server without a token accepts nothing from web pages of other origins.",
    ),
    ("no_such_route", 404, "The server has no such path."),
    ("method_not_allowed", 405, "The path exists, but not with this method; see `Allow`."),
    ("request_timeout", 408, "The body did not arrive in time."),
    ("uri_too_long", 414, "The path and query are longer than the server accepts."),
    ("unsupported_media_type", 415, "The route accepts uncompressed `application/json` only."),
    (Failure::Overloaded.code(), 429, Failure::Overloaded.help()),
    (Failure::RateLimited.code(), 429, Failure::RateLimited.help()),
    ("headers_too_large", 431, "The headers are larger than the server accepts; send fewer."),
    (Failure::Internal.code(), 500, Failure::Internal.help()),
];

impl ApiError {
    pub(crate) fn http(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        let retryable = matches!(status.as_u16(), 408 | 429 | 503);
        ApiError { status, code, detail: detail.into(), field: None, retryable }
    }

    pub(crate) fn too_large(most: usize) -> Self {
        let detail = format!("the body is over {most} bytes; send less");
        ApiError::http(StatusCode::PAYLOAD_TOO_LARGE, Code::TooLarge.as_str(), detail)
    }
}

/// What a code of any layer means.
pub(crate) fn help(code: &str) -> Option<&'static str> {
    let machine = Code::ALL.iter().find(|known| known.as_str() == code).map(|known| known.help());
    let store = code.parse::<Failure>().ok().map(Failure::help);
    let http = HTTP_CODES.iter().find(|(known, ..)| *known == code).map(|(.., help)| *help);
    machine.or(store).or(http)
}

/// The HTTP status of an error.
pub fn status_of(error: &StoreError) -> StatusCode {
    match error.kind() {
        ErrorKind::Refused(code) => status_of_code(code),
        ErrorKind::Failed(failure) => status_of_failure(failure),
    }
}

/// The HTTP status of a failure.
pub fn status_of_failure(failure: Failure) -> StatusCode {
    match failure {
        Failure::Busy
        | Failure::Contention
        | Failure::Unavailable
        | Failure::Unreachable
        | Failure::Unanswered => StatusCode::SERVICE_UNAVAILABLE,
        Failure::Full => StatusCode::INSUFFICIENT_STORAGE,
        Failure::Overloaded | Failure::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        Failure::Unauthenticated => StatusCode::UNAUTHORIZED,
        Failure::Forbidden => StatusCode::FORBIDDEN,
        Failure::Denied
        | Failure::Corrupt
        | Failure::Incompatible
        | Failure::Failed
        | Failure::Internal
        | Failure::Untrusted
        | Failure::Protocol => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The HTTP status of a refusal.
pub fn status_of_code(code: Code) -> StatusCode {
    match code {
        Code::InvalidArgument | Code::TargetRefused => StatusCode::BAD_REQUEST,
        Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::InvalidToken => StatusCode::UNAUTHORIZED,
        Code::WaitpointClosed | Code::CursorExpired => StatusCode::GONE,
        Code::IdConflict
        | Code::IdempotencyConflict
        | Code::StaleLease
        | Code::Cancelled
        | Code::ExitConflict
        | Code::StaleGrant
        | Code::WrongWorker
        | Code::WrongState
        | Code::RunMismatch
        | Code::WorkerAlive
        | Code::NotRegistered
        | Code::LanePaused
        | Code::LaneDraining
        | Code::LimitReached
        | Code::StepConflict
        | Code::FrameGap
        | Code::NoSigningKey
        | Code::KeyConflict => StatusCode::CONFLICT,
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> ApiError {
        let status = status_of(&error);
        let detail = match error.kind() {
            ErrorKind::Refused(_) => error.to_string(),
            ErrorKind::Failed(failure) => client_text(failure).to_owned(),
        };
        if status.is_server_error() {
            outage::failed(&error, "a request was not answered");
        }
        ApiError {
            status,
            code: error.code(),
            detail,
            field: error.field().map(str::to_owned),
            retryable: error.is_retryable(),
        }
    }
}

/// What clients read about a failure: the text of the store is for the log.
fn client_text(failure: Failure) -> &'static str {
    match failure {
        Failure::Busy => "the store is busy; try again",
        Failure::Full => "the store is full; an operator should free or add space",
        Failure::Contention => "other clients keep changing the same execution; try again",
        Failure::Unavailable | Failure::Unreachable | Failure::Unanswered => {
            "the store did not answer; repeat the request as it was sent"
        }
        Failure::Denied => {
            "the store denies the server what it needs; an operator should read its log"
        }
        Failure::Corrupt => {
            "the store holds something unreadable; an operator should run `ff check`"
        }
        Failure::Incompatible | Failure::Untrusted | Failure::Protocol => {
            "the store is not one of this release; an operator should read the server's log"
        }
        Failure::Failed => {
            "the store answered with an unknown error; an operator should read the server's log"
        }
        Failure::Overloaded => "too many claims are waiting; try again after a pause",
        Failure::RateLimited => "too many requests; try again after a pause",
        Failure::Internal => "the server could not answer; its log has the request's id",
        Failure::Unauthenticated => "the server is not authenticated to its store",
        Failure::Forbidden => "the server may not do this to its store",
    }
}

/// The problem of one entry of a batch.
pub(crate) fn view(error: &StoreError) -> ErrorView {
    let ApiError { code, detail, field, retryable, .. } = error.clone().into();
    ErrorView { code: code.to_owned(), message: detail, field, retryable }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> ApiError {
        StoreError::from(refusal).into()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_store_error_stays_in_the_log() {
        let secret = || "cannot open /srv/secret.db".to_owned();
        for error in [
            StoreError::Busy(secret()),
            StoreError::Full(secret()),
            StoreError::Unavailable(secret()),
            StoreError::Corrupt(secret()),
            StoreError::Incompatible(secret()),
            StoreError::Denied(secret()),
            StoreError::Failed(secret()),
            StoreError::Protocol(secret()),
        ] {
            let view = view(&error);
            assert_eq!((view.code.as_str(), view.retryable), (error.code(), error.is_retryable()));
            assert!(!view.message.contains("secret"), "{}", view.message);
            assert!(!ApiError::from(error).detail.contains("secret"));
        }
    }

    #[test]
    fn a_refusal_keeps_its_text() {
        let refusal = Refusal::invalid("priority", "is 9001; give -9000 to 9000");
        let view = view(&refusal.clone().into());
        assert_eq!((view.message, view.field.as_deref()), (refusal.to_string(), Some("priority")));
    }

    #[test]
    fn every_code_has_its_help() {
        for (code, ..) in HTTP_CODES {
            assert!(help(code).is_some());
        }
        assert_eq!(help("nonsense"), None);
    }
}
