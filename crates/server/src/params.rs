//! Parameters in the path and the query.

use std::error::Error;
use std::str::FromStr;

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri};
use ff_api::http::schema::Name;
use ff_core::machine::Target;
use ff_core::{Namespace, NodeName, Refusal, ResourceName, WaitpointKey};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::parse_error;
use crate::state::AppState;

/// The query of most routes.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct NamespaceQuery {
    /// The tenant; `default` when absent.
    #[serde(default)]
    #[param(value_type = Option<Name>)]
    pub(crate) namespace: Namespace,
}

/// The length of a page when none is given.
pub(crate) fn default_page_size() -> usize {
    100
}

/// A query, refused with what is wrong.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<AppState> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ApiError> {
        read(&parts.uri).map(Params)
    }
}

/// A query of which one parameter may be given several times.
pub(crate) trait Repeatable {
    /// The parameter; it takes several values separated by commas.
    const NAME: &'static str;
}

/// A query as [`Params`] reads it, after the values of its repeated parameter are joined by commas:
/// generated clients write a list as `state=a&state=b`.
pub(crate) struct Repeated<T>(pub(crate) T);

impl<T: DeserializeOwned + Repeatable> FromRequestParts<AppState> for Repeated<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ApiError> {
        let query = joined(parts.uri.query().unwrap_or_default(), T::NAME);
        // The joined text consists of characters of the query; if it were refused, the original query
        // would be read, which refuses the repetition.
        let uri = Uri::builder().path_and_query(format!("/?{query}")).build();
        read(uri.as_ref().unwrap_or(&parts.uri)).map(Repeated)
    }
}

/// The query with every value of a parameter at its beginning, joined by commas.
fn joined(query: &str, name: &str) -> String {
    let of_name = |pair: &&str| pair.split_once('=').is_some_and(|(key, _)| key == name);
    let (given, others): (Vec<_>, Vec<_>) = query.split('&').partition(of_name);
    let given = given.join("&").replace(&format!("&{name}="), ",");
    [&[given.as_str()], &others[..]].concat().join("&")
}

/// Reads the query of `uri`.
pub(crate) fn read<T: DeserializeOwned>(uri: &Uri) -> Result<T, ApiError> {
    match Query::<T>::try_from_uri(uri) {
        Ok(Query(value)) => Ok(value),
        Err(rejection) => {
            let (field, detail) = wrong(&rejection);
            let error = ApiError::http(StatusCode::BAD_REQUEST, "invalid_query", detail);
            Err(ApiError { field, ..error })
        }
    }
}

/// An error in a query, with the parameter at fault.
type QueryError = serde_path_to_error::Error<serde::de::value::Error>;

/// Which parameter is wrong, if one is, and why.
fn wrong(rejection: &QueryRejection) -> (Option<String>, String) {
    let mut cause = rejection.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<QueryError>() {
            let (path, why) = (error.path(), error.inner().to_string());
            if path.iter().next().is_none() {
                return (None, parse_error::anywhere(&why));
            }
            let (field, detail) = parse_error::at(&path.to_string(), &why);
            return (Some(field), detail);
        }
        cause = error.source();
    }
    (None, "the query cannot be read".to_owned())
}

/// Which page of a listing by name.
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
    pub(crate) cursor: Option<ResourceName>,
    /// How many at most; 100 when absent.
    #[serde(default = "default_page_size")]
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: usize,
}

/// The text in the path.
pub(crate) struct PathText(pub(crate) String);

impl FromRequestParts<AppState> for PathText {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(text)) => Ok(PathText(text)),
            Err(_) => Err(Refusal::invalid("path", "is not readable text; check the URL").into()),
        }
    }
}

/// The execution in the path and the namespace in the query.
pub(crate) struct ExecutionPath(pub(crate) Target);

impl FromRequestParts<AppState> for ExecutionPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let Params(scope) = Params::<NamespaceQuery>::from_request_parts(parts, state).await?;
        let PathText(execution) = PathText::from_request_parts(parts, state).await?;
        Ok(ExecutionPath(Target { namespace: scope.namespace, execution: execution.parse()? }))
    }
}

/// The execution and the waitpoint in the path, and the namespace in the query.
pub(crate) struct WaitpointPath {
    pub(crate) target: Target,
    pub(crate) key: WaitpointKey,
}

impl FromRequestParts<AppState> for WaitpointPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let Params(scope) = Params::<NamespaceQuery>::from_request_parts(parts, state).await?;
        let path = Path::<(String, String)>::from_request_parts(parts, state).await;
        let Ok(Path((execution, key))) = path else {
            return Err(Refusal::invalid("path", "is not readable text; check the URL").into());
        };
        let target = Target { namespace: scope.namespace, execution: execution.parse()? };
        Ok(WaitpointPath { target, key: key.parse()? })
    }
}

/// The member and the node in the path, and the namespace in the query.
pub(crate) struct UpstreamPath {
    pub(crate) target: Target,
    pub(crate) node: NodeName,
}

impl FromRequestParts<AppState> for UpstreamPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let Params(scope) = Params::<NamespaceQuery>::from_request_parts(parts, state).await?;
        let path = Path::<(String, String)>::from_request_parts(parts, state).await;
        let Ok(Path((execution, node))) = path else {
            return Err(Refusal::invalid("path", "is not readable text; check the URL").into());
        };
        let target = Target { namespace: scope.namespace, execution: execution.parse()? };
        Ok(UpstreamPath { target, node: node.parse()? })
    }
}

/// A name in the path and the namespace in the query.
pub(crate) struct InPath<T> {
    pub(crate) name: T,
    pub(crate) namespace: Namespace,
}

impl<T: FromStr<Err = Refusal>> FromRequestParts<AppState> for InPath<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let Params(scope) = Params::<NamespaceQuery>::from_request_parts(parts, state).await?;
        let PathText(name) = PathText::from_request_parts(parts, state).await?;
        Ok(InPath { name: name.parse()?, namespace: scope.namespace })
    }
}
