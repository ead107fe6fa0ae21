//! What the path and the query say.

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::StatusCode;
use axum::http::request::Parts;
use ff_core::machine::Target;
use ff_core::{ExecutionId, Namespace, Refusal, WorkerId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::state::AppState;

/// The query of most routes.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Scope {
    /// The tenant; `default` when absent.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    pub(crate) namespace: Namespace,
}

/// A query, refused with what is wrong.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<AppState> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ApiError> {
        match Query::<T>::try_from_uri(&parts.uri) {
            Ok(Query(value)) => Ok(Params(value)),
            Err(rejection) => {
                let detail: String = rejection.body_text().chars().take(300).collect();
                Err(ApiError::http(StatusCode::BAD_REQUEST, "invalid_query", detail))
            }
        }
    }
}

/// The execution in the path and the namespace in the query.
pub(crate) struct At(pub(crate) Target);

impl FromRequestParts<AppState> for At {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let Params(scope) = Params::<Scope>::from_request_parts(parts, state).await?;
        let execution = path_id(parts, state).await?;
        Ok(At(Target { namespace: scope.namespace, execution }))
    }
}

/// The execution in the path.
pub(crate) async fn path_id(parts: &mut Parts, state: &AppState) -> Result<ExecutionId, ApiError> {
    let text = path_text(parts, state).await?;
    Ok(text.parse::<ExecutionId>()?)
}

/// The worker in the path and the namespace in the query.
pub(crate) struct As {
    pub(crate) worker: WorkerId,
    pub(crate) namespace: Namespace,
}

impl FromRequestParts<AppState> for As {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let Params(scope) = Params::<Scope>::from_request_parts(parts, state).await?;
        let worker = WorkerId::new(path_text(parts, state).await?)?;
        Ok(As { worker, namespace: scope.namespace })
    }
}

async fn path_text(parts: &mut Parts, state: &AppState) -> Result<String, ApiError> {
    match Path::<String>::from_request_parts(parts, state).await {
        Ok(Path(text)) => Ok(text),
        Err(_) => Err(Refusal::invalid("id", "is not readable text; check the path").into()),
    }
}
