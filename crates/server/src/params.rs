//! What the path and the query say.

use std::error::Error;

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::StatusCode;
use axum::http::request::Parts;
use ff_api::http::schema::Name;
use ff_core::machine::Target;
use ff_core::{Lane, Namespace, Refusal, ResourceName, WorkerId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use crate::complaint;
use crate::error::ApiError;
use crate::state::AppState;

/// The query of most routes.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Scope {
    /// The tenant; `default` when absent.
    #[serde(default)]
    #[param(value_type = Option<Name>)]
    pub(crate) namespace: Namespace,
}

/// How long a page is when nothing is said.
pub(crate) fn hundred() -> usize {
    100
}

/// A query, refused with what is wrong.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<AppState> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ApiError> {
        match Query::<T>::try_from_uri(&parts.uri) {
            Ok(Query(value)) => Ok(Params(value)),
            Err(rejection) => {
                let (field, detail) = wrong(&rejection);
                let error = ApiError::http(StatusCode::BAD_REQUEST, "invalid_query", detail);
                Err(ApiError { field, ..error })
            }
        }
    }
}

/// What goes wrong in a query, with the parameter where it does.
type QueryError = serde_path_to_error::Error<serde::de::value::Error>;

/// Which parameter is wrong, if it is one, and why.
fn wrong(rejection: &QueryRejection) -> (Option<String>, String) {
    let mut cause = rejection.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<QueryError>() {
            let (path, why) = (error.path(), error.inner().to_string());
            if path.iter().next().is_none() {
                return (None, complaint::anywhere(&why));
            }
            let (field, detail) = complaint::at(&path.to_string(), &why);
            return (Some(field), detail);
        }
        cause = error.source();
    }
    (None, "the query cannot be read".to_owned())
}

/// Which of those that have a name.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Page {
    /// The tenant; `default` when absent.
    #[serde(default)]
    #[param(value_type = Option<Name>)]
    pub(crate) namespace: Namespace,
    /// Where an earlier page ended: a name.
    #[param(value_type = Option<Name>)]
    pub(crate) after: Option<ResourceName>,
    /// How many at most; 100 when absent.
    #[serde(default = "hundred")]
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: usize,
}

/// The text in the path.
pub(crate) struct Named(pub(crate) String);

impl FromRequestParts<AppState> for Named {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(text)) => Ok(Named(text)),
            Err(_) => Err(Refusal::invalid("path", "is not readable text; check the URL").into()),
        }
    }
}

/// The execution in the path and the namespace in the query.
pub(crate) struct At(pub(crate) Target);

impl FromRequestParts<AppState> for At {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let Params(scope) = Params::<Scope>::from_request_parts(parts, state).await?;
        let Named(execution) = Named::from_request_parts(parts, state).await?;
        Ok(At(Target { namespace: scope.namespace, execution: execution.parse()? }))
    }
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
        let Named(worker) = Named::from_request_parts(parts, state).await?;
        Ok(As { worker: WorkerId::new(worker)?, namespace: scope.namespace })
    }
}

/// The lane in the path and the namespace in the query.
pub(crate) struct In {
    pub(crate) lane: Lane,
    pub(crate) namespace: Namespace,
}

impl FromRequestParts<AppState> for In {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let Params(scope) = Params::<Scope>::from_request_parts(parts, state).await?;
        let Named(lane) = Named::from_request_parts(parts, state).await?;
        Ok(In { lane: Lane::new(lane)?, namespace: scope.namespace })
    }
}

/// The budget or quota in the path and the namespace in the query.
pub(crate) struct Of {
    pub(crate) name: ResourceName,
    pub(crate) namespace: Namespace,
}

impl FromRequestParts<AppState> for Of {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let Params(scope) = Params::<Scope>::from_request_parts(parts, state).await?;
        let Named(name) = Named::from_request_parts(parts, state).await?;
        Ok(Of { name: ResourceName::new(name)?, namespace: scope.namespace })
    }
}
