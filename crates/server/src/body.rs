//! Bodies: bounded in size and time, JSON only, refused with the place that is wrong.

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use ff_api::http::Object;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use crate::error::ApiError;
use crate::parse_error;
use crate::state::AppState;
use crate::whole::Whole;

/// Most bytes of a body that carries one payload, in JSON or base64.
pub(crate) const PAYLOAD: usize = 2 << 20;
/// Most bytes of a body that carries no payload.
pub(crate) const SMALL: usize = 256 << 10;

/// A JSON body of at most `MOST` bytes.
pub(crate) struct Json<T, const MOST: usize>(pub(crate) T);

impl<T: DeserializeOwned, const MOST: usize> FromRequest<AppState> for Json<T, MOST> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, ApiError> {
        check_headers(request.headers(), MOST)?;
        let bytes = collect(request.into_body(), MOST, state).await?;
        parse(&bytes).map(Json)
    }
}

fn check_headers(headers: &HeaderMap, most: usize) -> Result<(), ApiError> {
    let text =
        |name| headers.get(name).and_then(|value: &axum::http::HeaderValue| value.to_str().ok());
    let media = text(header::CONTENT_TYPE).unwrap_or("");
    let media = media.split(';').next().unwrap_or("").trim();
    let plain = text(header::CONTENT_ENCODING).is_none_or(|coding| coding == "identity");
    if !media.eq_ignore_ascii_case("application/json") || !plain {
        return Err(ApiError::http(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            "send the body as `content-type: application/json`, not compressed",
        ));
    }
    let length = text(header::CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    if length.is_some_and(|length| length > most as u64) {
        return Err(ApiError::too_large(most));
    }
    Ok(())
}

/// The whole of a body of at most `most` bytes.
pub(crate) async fn collect(body: Body, most: usize, state: &AppState) -> Result<Bytes, ApiError> {
    let whole = Limited::new(body, most).collect();
    match tokio::time::timeout(state.config.body_timeout, whole).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(ApiError::too_large(most)),
        Ok(Err(_)) => Err(invalid("the body broke off".into())),
        Err(_) => Err(ApiError::http(
            StatusCode::REQUEST_TIMEOUT,
            "request_timeout",
            "the body did not arrive in time; send it faster",
        )),
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let read = serde_path_to_error::deserialize(Whole(&mut json));
    let Object(value) = read.map_err(|error| {
        let path = error.path().to_string();
        let why = error.into_inner().to_string();
        if path == "." {
            return invalid(parse_error::anywhere(&why));
        }
        let (field, detail) = parse_error::at(&path, &why);
        ApiError { field: Some(field), ..invalid(detail) }
    })?;
    json.end().map_err(|error| invalid(error.to_string()))?;
    Ok(value)
}

fn invalid(detail: String) -> ApiError {
    ApiError::http(StatusCode::BAD_REQUEST, "invalid_json", detail)
}
