//! The handlers: read the request, call the backend, write the answer. They decide nothing.

pub(crate) mod bulk;
pub(crate) mod claim;
pub(crate) mod events;
pub(crate) mod executions;
pub(crate) mod flows;
pub(crate) mod holder;
pub(crate) mod lanes;
pub(crate) mod limits;
pub(crate) mod meta;
pub(crate) mod named_tokens;
pub(crate) mod operator;
pub(crate) mod registry;
pub(crate) mod schedules;
pub(crate) mod steps;
pub(crate) mod stops;
pub(crate) mod streams;
pub(crate) mod suspend;
pub(crate) mod tokens;
pub(crate) mod webhooks;
pub(crate) mod workers;

use ff_api::http::Problem;
use utoipa::IntoResponses;

/// The problems that any route may answer with.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "a description, never made")]
pub(crate) enum Problems {
    /// An argument, the query or the body is not acceptable.
    #[response(status = 400, content_type = "application/problem+json")]
    Invalid(Problem),
    /// No token, or none that is accepted.
    #[response(status = 401, content_type = "application/problem+json")]
    Unauthenticated(Problem),
    /// The role of the token may not do this; or a server without a token is addressed by a foreign
    /// name, or by a web page.
    #[response(status = 403, content_type = "application/problem+json")]
    Forbidden(Problem),
    /// No such execution in this namespace, no such path, or a namespace that the token does not reach.
    #[response(status = 404, content_type = "application/problem+json")]
    NotFound(Problem),
    /// The path does not take this method.
    #[response(status = 405, content_type = "application/problem+json")]
    Method(Problem),
    /// The body did not arrive in time.
    #[response(
        status = 408, content_type = "application/problem+json",
        headers(("retry-after" = u64, description = "After how many seconds to try again."))
    )]
    Timeout(Problem),
    /// The current state does not allow it.
    #[response(status = 409, content_type = "application/problem+json")]
    Conflict(Problem),
    /// What was named is closed for ever, or no longer kept.
    #[response(status = 410, content_type = "application/problem+json")]
    Gone(Problem),
    /// The body, or something in it, is too large.
    #[response(status = 413, content_type = "application/problem+json")]
    TooLarge(Problem),
    /// The path and query are too long.
    #[response(status = 414, content_type = "application/problem+json")]
    UriTooLong(Problem),
    /// The body is not plain JSON.
    #[response(status = 415, content_type = "application/problem+json")]
    MediaType(Problem),
    /// Too many claims wait, or too many requests come.
    #[response(
        status = 429, content_type = "application/problem+json",
        headers(("retry-after" = u64, description = "After how many seconds to try again."))
    )]
    Overloaded(Problem),
    /// The headers are too many or too long.
    #[response(status = 431, content_type = "application/problem+json")]
    HeadersTooLarge(Problem),
    /// The store holds something unreadable, or the server has a fault.
    #[response(status = 500, content_type = "application/problem+json")]
    Internal(Problem),
    /// The store does not answer.
    #[response(
        status = 503, content_type = "application/problem+json",
        headers(("retry-after" = u64, description = "After how many seconds to try again."))
    )]
    Unavailable(Problem),
    /// The store has no room for more.
    #[response(
        status = 507, content_type = "application/problem+json",
        headers(("retry-after" = u64, description = "After how many seconds to try again."))
    )]
    Full(Problem),
}
