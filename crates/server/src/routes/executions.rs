//! Submit work and read it.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::{Json as JsonBody, response::IntoResponse};
use ff_api::http::schema::{self, Bytes, Id, Name};
use ff_api::http::{BatchAnswer, SubmitAnswer, SubmitBatch, SubmitRequest, read_tags};
use ff_api::{
    AttemptsView, ExecutionView, ExplanationView, ListPageView, SubmittedView, Timestamp,
};
use ff_core::bounds::END_WAIT_MAX;
use ff_core::machine::{Submitted, Target};
use ff_core::suspension::SuspendReason;
use ff_core::{Description, Kind, Lane, Millis, Namespace, Payload, Refusal};
use ff_store::listing::{Cursor, Filter, Listing, StateFilter};
use ff_store::roles::explained;
use serde::Deserialize;
use utoipa::IntoParams;

use super::Problems;
use crate::body::{Json, PAYLOAD};
use crate::error::{self, ApiError};
use crate::flight::Waiting;
use crate::metrics;
use crate::params::{
    ExecutionPath, NamespaceQuery, Params, PathText, Repeatable, Repeated, default_page_size,
};
use crate::state::AppState;

/// Accepts work.
#[utoipa::path(post, path = "/v1/executions", tag = "executions",
    operation_id = "submit_execution", params(NamespaceQuery),
    request_body = SubmitRequest, responses(
    (status = 201, description = "Accepted.", body = SubmittedView,
     headers(("location" = String, description = "The path of the execution."))),
    (status = 200, description = "An earlier call with the same id or key made it.", body = SubmittedView),
    Problems
))]
pub(crate) async fn submit(
    State(state): State<AppState>,
    Params(scope): Params<NamespaceQuery>,
    Json(request): Json<SubmitRequest, PAYLOAD>,
) -> Result<Response, ApiError> {
    let namespace = scope.namespace;
    let submit = command(&state, namespace.clone(), request)?;
    let answers = state.backend.submit(vec![submit]).await?;
    let submitted = one(answers)?;
    let body = JsonBody(SubmittedView::from(&submitted));
    if !submitted.created {
        return Ok(body.into_response());
    }
    let path = format!("/v1/executions/{}?namespace={namespace}", submitted.execution);
    Ok((StatusCode::CREATED, [(header::LOCATION, path)], body).into_response())
}

/// Accepts several pieces of work; each gets a separate answer.
#[utoipa::path(post, path = "/v1/executions/batch", tag = "executions",
    operation_id = "submit_executions", params(NamespaceQuery),
    request_body = SubmitBatch, responses(
    (status = 200, description = "One answer per submit.", body = BatchAnswer),
    Problems
))]
pub(crate) async fn submit_batch(
    State(state): State<AppState>,
    Params(scope): Params<NamespaceQuery>,
    Json(batch): Json<SubmitBatch, { 2 * PAYLOAD }>,
) -> Result<JsonBody<BatchAnswer>, ApiError> {
    let namespace = scope.namespace;
    let commands = batch.executions.into_iter();
    let commands = commands.map(|request| command(&state, namespace.clone(), request));
    let commands = commands.collect::<Result<_, _>>()?;
    let answers = state.backend.submit(commands).await?;
    answers.iter().filter_map(|answer| answer.as_ref().err()).for_each(metrics::refused);
    let answers = answers.iter().map(|answer| SubmitAnswer {
        submitted: answer.as_ref().ok().map(SubmittedView::from),
        error: answer.as_ref().err().map(error::view),
    });
    Ok(JsonBody(BatchAnswer { answers: answers.collect() }))
}

fn command(
    state: &AppState,
    namespace: Namespace,
    request: SubmitRequest,
) -> Result<ff_core::machine::Submit, Refusal> {
    let backend = state.backend.clone();
    let tenant = namespace.clone();
    request.into_submit(namespace, move |key| backend.new_id(&tenant, key))
}

fn one(answers: Vec<Result<Submitted, ff_store::StoreError>>) -> Result<Submitted, ApiError> {
    let missing = || ff_store::StoreError::Corrupt("a command was not answered".into());
    let answer = answers.into_iter().next().unwrap_or_else(|| Err(missing()));
    answer.inspect_err(metrics::refused).map_err(ApiError::from)
}

/// How long to wait for the end.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct WaitQuery {
    /// The tenant; `default` when absent.
    #[serde(default)]
    #[param(value_type = Option<Name>)]
    namespace: Namespace,
    /// How long to wait for the end of the execution; 0 when absent. The answer is the execution as it
    /// is once it has ended, or after this long. A server that stops answers sooner.
    #[serde(default)]
    #[param(maximum = 30000)]
    wait_ms: u64,
}

/// One execution, at once or when it has ended. One that no live worker can run says so.
#[utoipa::path(get, path = "/v1/executions/{id}", tag = "executions", operation_id = "get_execution",
    params(("id" = Id, Path, description = "The execution."), WaitQuery), responses(
    (status = 200, description = "The execution.", body = ExecutionView),
    Problems
))]
pub(crate) async fn describe(
    State(state): State<AppState>,
    PathText(id): PathText,
    Params(query): Params<WaitQuery>,
    waiting: Waiting,
) -> Result<JsonBody<ExecutionView>, ApiError> {
    let target = Target { namespace: query.namespace, execution: id.parse()? };
    let wait = Millis::new(query.wait_ms).within("wait_ms", Millis::ZERO, END_WAIT_MAX)?;
    let record = match wait.min(state.config.longest_wait) {
        Millis::ZERO => state.backend.describe(&target).await?,
        wait => {
            let _permit = waiting.begin(&state.waiting_clients, "clients")?;
            ended(&state, &target, wait).await?
        }
    };
    let explanation = explained(&*state.backend, &target, &record).await?;
    Ok(JsonBody(ExecutionView::new(&record, explanation.as_ref())))
}

/// The execution once it has ended, or as it is after `wait` or when the server stops.
async fn ended(state: &AppState, target: &Target, wait: Millis) -> Result<Description, ApiError> {
    let waiting = state.backend.wait(target, wait);
    match state.stopping.run_until_cancelled(waiting).await {
        Some(record) => Ok(record?),
        None => Ok(state.backend.describe(target).await?),
    }
}

/// Why an execution is in its state, and what it waits for.
#[utoipa::path(get, path = "/v1/executions/{id}/explain", tag = "executions",
    operation_id = "explain_execution",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery), responses(
    (status = 200, description = "In a sentence, and as a list.", body = ExplanationView),
    Problems
))]
pub(crate) async fn explain(
    State(state): State<AppState>,
    ExecutionPath(target): ExecutionPath,
) -> Result<JsonBody<ExplanationView>, ApiError> {
    let explanation = state.backend.explain(&target).await?;
    Ok(JsonBody(ExplanationView::new(target.execution, &explanation)))
}

/// What an execution was submitted with, byte for byte.
#[utoipa::path(get, path = "/v1/executions/{id}/input", tag = "executions",
    operation_id = "get_execution_input",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery), responses(
    (status = 200, description = "The bytes, with their own content type.",
     content((Bytes = "application/octet-stream"), (Bytes = "*/*"))),
    Problems
))]
pub(crate) async fn input(
    State(state): State<AppState>,
    ExecutionPath(target): ExecutionPath,
) -> Result<Response, ApiError> {
    Ok(bytes(state.backend.input(&target).await?))
}

/// Which result.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ResultQuery {
    /// The tenant; `default` when absent.
    #[serde(default)]
    #[param(value_type = Option<Name>)]
    namespace: Namespace,
    /// The run; the current one when absent.
    run: Option<u32>,
}

/// What an execution completed with, byte for byte.
#[utoipa::path(get, path = "/v1/executions/{id}/result", tag = "executions",
    operation_id = "get_execution_result",
    params(("id" = Id, Path, description = "The execution."), ResultQuery), responses(
    (status = 200, description = "The bytes, with their own content type.",
     content((Bytes = "application/octet-stream"), (Bytes = "*/*"))),
    Problems
))]
pub(crate) async fn result(
    State(state): State<AppState>,
    PathText(id): PathText,
    Params(query): Params<ResultQuery>,
) -> Result<Response, ApiError> {
    let target = Target { namespace: query.namespace, execution: id.parse()? };
    Ok(bytes(state.backend.result(&target, query.run).await?))
}

pub(super) fn bytes(payload: Payload) -> Response {
    let mut response = Response::new(Body::from(payload.bytes));
    let headers = response.headers_mut();
    if let Ok(media) = payload.content_type.as_str().parse() {
        headers.insert(header::CONTENT_TYPE, media);
    }
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    response
}

/// Which attempts.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AttemptsQuery {
    /// The tenant; `default` when absent.
    #[serde(default)]
    #[param(value_type = Option<Name>)]
    namespace: Namespace,
    /// Where an earlier page ended; the first attempt when absent.
    #[serde(default)]
    #[param(value_type = Option<String>, pattern = "^[0-9]{1,9}$")]
    cursor: u32,
    /// How many at most; 100 when absent.
    #[serde(default = "default_page_size")]
    #[param(minimum = 1, maximum = 1000)]
    limit: usize,
}

/// The attempts of an execution, oldest first.
#[utoipa::path(get, path = "/v1/executions/{id}/attempts", tag = "executions",
    operation_id = "list_execution_attempts",
    params(("id" = Id, Path, description = "The execution."), AttemptsQuery), responses(
    (status = 200, description = "The attempts.", body = AttemptsView),
    Problems
))]
pub(crate) async fn attempts(
    State(state): State<AppState>,
    PathText(id): PathText,
    Params(query): Params<AttemptsQuery>,
) -> Result<JsonBody<AttemptsView>, ApiError> {
    let target = Target { namespace: query.namespace, execution: id.parse()? };
    let attempts = state.backend.attempts(&target, query.cursor, query.limit).await?;
    Ok(JsonBody(AttemptsView::new(&attempts, query.limit)))
}

/// Which executions; every part that is given must hold.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// The tenant; `default` when absent.
    #[serde(default)]
    #[param(value_type = Option<Name>)]
    namespace: Namespace,
    /// In this lane.
    #[param(value_type = Option<Name>)]
    lane: Option<Lane>,
    /// Of this kind.
    #[param(value_type = Option<Name>)]
    kind: Option<Kind>,
    /// In one of these states: `state=waiting&state=active`, or `state=waiting,active`.
    #[param(value_type = Option<Vec<schema::StateFilter>>)]
    state: Option<String>,
    /// Suspended for this reason.
    #[param(value_type = Option<schema::SuspendReason>)]
    reason: Option<SuspendReason>,
    /// With these tags: `key=value`, several separated by commas; `\\` before a comma in a value.
    tags: Option<String>,
    /// Created at this moment or later.
    from: Option<Timestamp>,
    /// Created before this moment.
    to: Option<Timestamp>,
    /// Where an earlier page ended.
    cursor: Option<String>,
    /// How many at most; 100 when absent.
    #[serde(default = "default_page_size")]
    #[param(minimum = 1, maximum = 1000)]
    limit: usize,
}

impl Repeatable for ListQuery {
    const NAME: &'static str = "state";
}

impl ListQuery {
    pub(super) fn listing(self) -> Result<Listing, Refusal> {
        let tags = self.tags.as_deref().map(read_tags).transpose()?;
        Ok(Listing {
            namespace: self.namespace,
            filter: Filter {
                lane: self.lane,
                kind: self.kind,
                suspended_for: self.reason,
                tags: tags.unwrap_or_default(),
                from: self.from.map(|at| at.0),
                to: self.to.map(|at| at.0),
                ..Filter::default()
            }
            .in_states(
                self.state.as_deref().map(StateFilter::list).transpose()?.unwrap_or_default(),
            ),
            after: self.cursor.as_deref().map(str::parse::<Cursor>).transpose()?,
            limit: self.limit,
        })
    }
}

/// Executions, newest first. A page may be short, or empty, and still have a `next`.
#[utoipa::path(get, path = "/v1/executions", tag = "executions",
    operation_id = "list_executions", params(ListQuery), responses(
    (status = 200, description = "One page.", body = ListPageView),
    Problems
))]
pub(crate) async fn list(
    State(state): State<AppState>,
    Repeated(query): Repeated<ListQuery>,
) -> Result<JsonBody<ListPageView>, ApiError> {
    let page = state.backend.list(&query.listing()?).await?;
    Ok(JsonBody(ListPageView::from(&page)))
}
