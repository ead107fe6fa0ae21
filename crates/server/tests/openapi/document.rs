//! The document by itself.

use std::collections::BTreeSet;
use std::process::Command;

use ff_core::view::BlockingReason;
use ff_core::{Code, PublicState, bounds};
use ff_server::status_of_failure;
use ff_store::Failure;
use serde_json::Value;

use super::tools;
use crate::fixture::Fixture;
use crate::fixture::raw::{ask, get};

/// The statuses that any route may answer with a problem: those of every code there is.
fn problems() -> BTreeSet<u16> {
    let refusals = Code::ALL.into_iter().map(|code| ff_server::status_of_code(code).as_u16());
    let failures = Failure::ALL.iter().map(|failure| status_of_failure(*failure).as_u16());
    let http = ff_server::HTTP_CODES.iter().map(|(_, status, _)| *status);
    refusals.chain(failures).chain(http).collect()
}

fn document() -> Value {
    serde_json::to_value(ff_server::openapi()).unwrap()
}

/// Every operation of the document, by method and path.
fn operations(document: &Value) -> Vec<(String, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, item)| {
        let item = item.as_object().unwrap().iter();
        item.map(move |(method, operation)| (format!("{method} {path}"), operation))
    });
    operations.collect()
}

#[test]
fn every_operation_describes_its_problems() {
    let document = document();
    for (name, operation) in operations(&document) {
        for status in problems() {
            let content = &operation["responses"][status.to_string()]["content"];
            let schema = &content["application/problem+json"]["schema"]["$ref"];
            assert_eq!(schema, "#/components/schemas/Problem", "{name} {status}");
        }
    }
}

#[test]
fn every_retryable_status_says_after_how_long() {
    let document = document();
    let failures = Failure::ALL.iter().filter(|failure| failure.is_retryable());
    let statuses: BTreeSet<_> = failures.map(|failure| status_of_failure(*failure)).collect();
    assert!(statuses.contains(&507.try_into().unwrap()));
    for (name, operation) in operations(&document) {
        for status in &statuses {
            let headers = &operation["responses"][status.as_str()]["headers"];
            assert!(headers["retry-after"].is_object(), "{name} {status}");
        }
    }
}

#[test]
fn every_operation_has_a_summary() {
    let document = document();
    for (name, operation) in operations(&document) {
        assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{name}");
    }
}

/// The names of the operations in generated clients; a name never changes.
const OPERATIONS: &str = "
    delete /v1/budgets/{name}                delete_budget
    delete /v1/executions/{id}               delete_execution
    delete /v1/quotas/{name}                 delete_quota
    delete /v1/schedules/{name}              delete_schedule
    delete /v1/tokens/{name}                 revoke_token
    delete /v1/webhooks/{name}               delete_webhook
    get    /errors/{code}                    get_error_page
    get    /healthz                          get_health
    get    /livez                            get_liveness
    get    /metrics                          get_metrics
    get    /openapi.json                     get_openapi
    get    /readyz                           get_readiness
    get    /v1/budgets                       list_budgets
    get    /v1/budgets/{name}                get_budget
    get    /v1/events                        read_events
    get    /v1/executions                    list_executions
    get    /v1/executions/{id}               get_execution
    get    /v1/executions/{id}/attempts      list_execution_attempts
    get    /v1/executions/{id}/explain       explain_execution
    get    /v1/executions/{id}/input         get_execution_input
    get    /v1/executions/{id}/result        get_execution_result
    get    /v1/executions/{id}/signals       list_signals
    get    /v1/executions/{id}/steps         list_execution_steps
    get    /v1/executions/{id}/stream        read_stream
    get    /v1/executions/{id}/summary       get_summary
    get    /v1/executions/{id}/waitpoints    get_waitpoints
    get    /v1/executions/{id}/upstreams/{node} get_upstream_result
    get    /v1/feed                          get_feed
    get    /v1/flows                         list_flows
    get    /v1/flows/{id}                    get_flow
    get    /v1/lanes                         list_lanes
    get    /v1/lanes/{lane}                  get_lane
    get    /v1/quotas                        list_quotas
    get    /v1/quotas/{name}                 get_quota
    get    /v1/schedules                     list_schedules
    get    /v1/schedules/{name}              get_schedule
    get    /v1/stops                         wait_for_stops
    get    /v1/tokens                        list_tokens
    get    /v1/webhooks                      get_webhooks
    get    /v1/webhooks/{name}               get_webhook
    get    /v1/workers                       list_workers
    patch  /v1/feed                          update_feed
    patch  /v1/lanes/{lane}                  update_lane
    post   /v1/budgets/{name}/reset          reset_budget
    post   /v1/executions                    submit_execution
    post   /v1/executions/batch              submit_executions
    post   /v1/executions/bulk               bulk_executions
    post   /v1/executions/{id}/cancel        cancel_execution
    post   /v1/executions/{id}/cancel-held   cancel_held_execution
    post   /v1/executions/{id}/complete      complete_execution
    post   /v1/executions/{id}/delay         delay_execution
    post   /v1/executions/{id}/fail          fail_execution
    post   /v1/executions/{id}/frames        append_frames
    post   /v1/executions/{id}/priority      set_execution_priority
    post   /v1/executions/{id}/progress      report_progress
    post   /v1/executions/{id}/replay        replay_execution
    post   /v1/executions/{id}/resume        resume_execution
    post   /v1/executions/{id}/revoke        revoke_lease
    post   /v1/executions/{id}/signals       signal_execution
    post   /v1/executions/{id}/steps         record_step
    post   /v1/executions/{id}/summary       patch_summary
    post   /v1/executions/{id}/suspend       suspend_execution
    post   /v1/executions/{id}/tags          set_execution_tags
    post   /v1/executions/{id}/usage         report_usage
    post   /v1/executions/{id}/waitpoints    open_waitpoint
    post   /v1/executions/{id}/waitpoints/{key}/close close_waitpoint
    post   /v1/executions/{id}/waitpoints/{key}/token create_waitpoint_token
    post   /v1/flows                         submit_flow
    post   /v1/flows/{id}/cancel             cancel_flow
    post   /v1/flows/{id}/replay             replay_flow
    post   /v1/tokens                        create_token
    post   /v1/schedules/{name}/backfill     backfill_schedule
    post   /v1/schedules/{name}/pause        pause_schedule
    post   /v1/schedules/{name}/resume       resume_schedule
    post   /v1/schedules/{name}/run          run_schedule
    post   /v1/signals                       signal_by_token
    post   /v1/workers/{id}/claim            claim_executions
    post   /v1/workers/{id}/claim-granted    claim_granted_execution
    post   /v1/workers/{id}/complete         complete_executions
    post   /v1/workers/{id}/disconnect       disconnect_worker
    post   /v1/workers/{id}/grant            grant_execution
    post   /v1/workers/{id}/heartbeat        send_heartbeat
    post   /v1/workers/{id}/register         register_worker
    put    /v1/budgets/{name}                put_budget
    put    /v1/quotas/{name}                 put_quota
    put    /v1/schedules/{name}              put_schedule
    put    /v1/webhooks/{name}               put_webhook
";

#[test]
fn the_names_of_operations_are_stable_and_unique() {
    let document = document();
    let operations = operations(&document);
    let found: BTreeSet<_> = operations
        .iter()
        .map(|(name, operation)| format!("{name} {}", operation["operationId"].as_str().unwrap()))
        .collect();
    let lines =
        OPERATIONS.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    assert_eq!(found, lines.filter(|line| !line.is_empty()).collect());
    let names: BTreeSet<_> = operations.iter().map(|(_, o)| o["operationId"].as_str()).collect();
    assert_eq!(names.len(), operations.len());
}

#[test]
fn a_page_is_continued_by_its_cursor_in_every_listing() {
    let document = document();
    for (name, operation) in operations(&document) {
        let listing = operation["operationId"].as_str().unwrap().starts_with("list_");
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let names: Vec<_> = parameters.filter_map(|parameter| parameter["name"].as_str()).collect();
        // The log of events has no last page, and a flow is shown with a page of its nodes.
        let others = ["read_events", "get_flow"];
        let continues = listing || others.iter().any(|name| operation["operationId"] == *name);
        assert_eq!(names.contains(&"cursor"), continues, "{name}");
        if listing {
            let page = &operation["responses"]["200"]["content"]["application/json"]["schema"];
            let page = page["$ref"].as_str().unwrap().trim_start_matches('#');
            assert!(document.pointer(page).unwrap()["properties"]["next"].is_object(), "{name}");
        }
    }
}

#[test]
fn inputs_and_results_are_bytes() {
    let document = document();
    assert_eq!(document["components"]["schemas"]["Bytes"]["format"], "binary");
    for part in ["input", "result"] {
        let operation = &document["paths"][format!("/v1/executions/{{id}}/{part}")]["get"];
        let content = operation["responses"]["200"]["content"].as_object().unwrap();
        assert_eq!(content.keys().collect::<Vec<_>>(), ["*/*", "application/octet-stream"]);
        for body in content.values() {
            assert_eq!(body["schema"]["$ref"], "#/components/schemas/Bytes");
        }
    }
}

#[test]
fn words_are_enums() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    let words = |of: &[&str]| Value::from(of.to_vec());
    for (name, expected) in [
        ("PublicState", PublicState::ALL.iter().map(|word| word.as_str()).collect::<Vec<_>>()),
        ("BlockingReason", BlockingReason::ALL.iter().map(|word| word.as_str()).collect()),
        ("Growth", vec!["fixed", "exponential"]),
        ("OnBreach", vec!["block", "cancel"]),
        ("BulkVerb", vec!["cancel", "replay", "delete"]),
    ] {
        assert_eq!(schemas[name]["enum"], words(&expected), "{name}");
    }
    let state = &schemas["ExecutionView"]["properties"]["state"];
    assert!(state.to_string().contains("#/components/schemas/PublicState"), "{state}");
}

#[test]
fn reasons_are_distinguished_by_a_field() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    let reason = &schemas["ReasonView"];
    assert_eq!(reason["discriminator"]["propertyName"], "reason");
    let mapping = reason["discriminator"]["mapping"].as_object().unwrap();
    assert_eq!(mapping.len(), reason["oneOf"].as_array().unwrap().len());
    for (word, place) in mapping {
        let form = document.pointer(place.as_str().unwrap().trim_start_matches('#')).unwrap();
        assert_eq!(form["properties"]["reason"]["enum"], serde_json::json!([word]));
    }
    assert_eq!(mapping["lane_paused"], "#/components/schemas/ReasonLanePaused");
}

#[test]
fn every_reference_leads_somewhere() {
    fn check(document: &Value, part: &Value) {
        match part {
            Value::Object(fields) => {
                if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                    let there = document.pointer(reference.trim_start_matches('#'));
                    assert!(there.is_some(), "{reference}");
                }
                fields.values().for_each(|field| check(document, field));
            }
            Value::Array(entries) => entries.iter().for_each(|entry| check(document, entry)),
            _ => {}
        }
    }
    let document = document();
    check(&document, &document);
}

#[test]
fn requests_refuse_fields_that_they_do_not_know() {
    let document = document();
    for (name, operation) in operations(&document) {
        let body = &operation["requestBody"]["content"]["application/json"]["schema"]["$ref"];
        if let Some(reference) = body.as_str() {
            for schema in forms(&document, reference) {
                assert_eq!(schema["additionalProperties"], Value::Bool(false), "{name}");
            }
        }
    }
}

/// The schemas that a body may have: the schema itself, or each of those it names.
fn forms<'a>(document: &'a Value, reference: &str) -> Vec<&'a Value> {
    let schema = document.pointer(reference.trim_start_matches('#')).unwrap();
    let Some(forms) = schema["oneOf"].as_array() else { return vec![schema] };
    let forms = forms.iter().map(|form| form["$ref"].as_str().unwrap());
    forms.map(|form| document.pointer(form.trim_start_matches('#')).unwrap()).collect()
}

#[test]
fn the_bounds_are_those_of_the_engine() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    let field = |schema: &str, field: &str| &schemas[schema]["properties"][field];
    let of_execution = &document["paths"]["/v1/executions/{id}"]["get"]["parameters"];
    let is_wait = |parameter: &&Value| parameter["name"] == "wait_ms";
    let wait = of_execution.as_array().unwrap().iter().find(is_wait).unwrap();
    assert_eq!(wait["required"], false);
    for (bounded, keyword, bound) in [
        (&wait["schema"], "maximum", bounds::END_WAIT_MAX.get()),
        (&schemas["Name"], "maxLength", bounds::NAME_BYTES as u64),
        (&schemas["Key"], "maxLength", bounds::IDEMPOTENCY_KEY_BYTES as u64),
        (&schemas["TagText"], "maxLength", bounds::TAG_VALUE_BYTES as u64),
        (&schemas["MediaType"], "maxLength", bounds::CONTENT_TYPE_BYTES as u64),
        (&schemas["Message"], "maxLength", bounds::MESSAGE_BYTES as u64),
        (&schemas["Base64"], "maxLength", (bounds::PAYLOAD_BYTES as u64).div_ceil(3) * 4),
        (field("SubmitBatch", "executions"), "maxItems", bounds::BATCH as u64),
        (field("BatchComplete", "completions"), "maxItems", bounds::BATCH as u64),
        (field("LeasesBody", "leases"), "maxItems", bounds::BATCH as u64),
        (field("SubmitRequest", "priority"), "maximum", bounds::PRIORITY as u64),
        (field("PriorityRequest", "priority"), "maximum", bounds::PRIORITY as u64),
        (field("SubmitRequest", "delay_ms"), "maximum", bounds::DELAY.get()),
        (field("DelayRequest", "delay_ms"), "maximum", bounds::DELAY.get()),
        (field("PolicyRequest", "max_attempts"), "maximum", bounds::ATTEMPTS.into()),
        (field("PolicyRequest", "max_reclaims"), "maximum", bounds::RECLAIMS.into()),
        (field("PolicyRequest", "lease_ttl_ms"), "minimum", bounds::LEASE_TTL_MIN.get()),
        (field("PolicyRequest", "lease_ttl_ms"), "maximum", bounds::LEASE_TTL_MAX.get()),
        (field("PolicyRequest", "retention_ms"), "maximum", bounds::RETENTION_MAX.get()),
        (field("PolicyRequest", "retry_on"), "maxItems", bounds::CATEGORIES as u64),
        (field("CancelRequest", "grace_ms"), "maximum", bounds::GRACE_MAX.get()),
        (field("ClaimRequest", "max"), "maximum", bounds::CLAIM as u64),
        (field("ClaimRequest", "wait_ms"), "maximum", bounds::CLAIM_WAIT_MAX.get()),
        (field("GrantRequest", "ttl_ms"), "maximum", bounds::GRANT_TTL_MAX.get()),
        (field("RegisterRequest", "lanes"), "maxItems", bounds::WORKER_LANES as u64),
        (field("RegisterRequest", "ttl_ms"), "minimum", bounds::WORKER_TTL_MIN.get()),
        (field("RegisterRequest", "ttl_ms"), "maximum", bounds::WORKER_TTL_MAX.get()),
        (&schemas["Amount"], "maximum", bounds::AMOUNT),
        (field("LimitsRequest", "budgets"), "maxItems", bounds::BUDGETS as u64),
        (field("LimitsRequest", "quotas"), "maxItems", bounds::QUOTAS as u64),
        (field("BudgetRequest", "period_ms"), "minimum", bounds::PERIOD_MIN.get()),
        (field("BudgetRequest", "period_ms"), "maximum", bounds::WINDOW_MAX.get()),
        (field("DimensionRequest", "soft"), "maximum", bounds::AMOUNT),
        (field("DimensionRequest", "hard"), "maximum", bounds::AMOUNT),
        (field("NamedTokenRequest", "namespaces"), "maxItems", bounds::TOKEN_NAMESPACES as u64),
        (field("NamedTokenRequest", "expires_ms"), "minimum", bounds::TOKEN_TTL_MIN.get()),
        (field("NamedTokenRequest", "expires_ms"), "maximum", bounds::TOKEN_TTL_MAX.get()),
        (field("QuotaRequest", "max_requests"), "maximum", bounds::QUOTA.into()),
        (field("QuotaRequest", "max_active"), "maximum", bounds::QUOTA.into()),
        (field("QuotaRequest", "window_ms"), "minimum", bounds::WINDOW_MIN.get()),
        (field("QuotaRequest", "window_ms"), "maximum", bounds::WINDOW_MAX.get()),
        (field("QuotaRequest", "jitter_ms"), "maximum", bounds::JITTER_MAX.get()),
    ] {
        assert_eq!(bounded[keyword].as_u64(), Some(bound), "{keyword} of {bounded}");
    }
}

#[test]
fn the_states_to_list_by_are_those_of_the_engine() {
    let document = document();
    let mut words: Vec<_> = PublicState::ALL.iter().map(|state| state.as_str()).collect();
    words.push(BlockingReason::WaitingForCapableWorker.as_str());
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["StateFilter"]["enum"], Value::from(words));
    let schema = "#/components/schemas/StateFilter";
    let parameters = document["paths"]["/v1/executions"]["get"]["parameters"].as_array().unwrap();
    let state = parameters.iter().find(|parameter| parameter["name"] == "state").unwrap();
    let of_bulk = &schemas["BulkFilter"]["properties"]["state"];
    assert_eq!(
        (&state["schema"]["items"]["$ref"], &of_bulk["items"]["$ref"]),
        (&schema.into(), &schema.into())
    );
    // A client generated from the document repeats `state=` for each, which the server accepts.
    assert_ne!(state["explode"], false);
}

#[test]
fn the_id_of_an_answer_is_that_of_a_path() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let ids = schemas.iter().filter(|(name, _)| name.ends_with("View"));
    let ids: Vec<_> =
        ids.filter_map(|(name, schema)| Some((name, schema["properties"].get("id")?))).collect();
    assert!(ids.iter().any(|(name, _)| *name == "ExecutionView"));
    for (name, id) in ids {
        let of = match name.as_str() {
            "LeaseView" => "LeaseName",
            "WaitpointView" => "Call",
            "EventView" | "DeadLetterView" => "EventId",
            _ => "Id",
        };
        assert_eq!(id["$ref"], format!("#/components/schemas/{of}"), "{name}");
    }
}

/// In generated code, a variable for the one would shadow the variable for the other.
#[test]
fn no_schema_has_a_field_of_its_own_name() {
    let document = document();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let fields = schema["properties"].as_object().into_iter().flatten();
        for (field, _) in fields {
            assert!(!field.replace('_', "").eq_ignore_ascii_case(name), "{name}");
        }
    }
}

#[test]
fn no_description_is_written_in_rust() {
    let document = document().to_string();
    for rust in ["```", "ff_api::", "ff_core::", "[`"] {
        assert!(!document.contains(rust), "{rust}");
    }
}

#[tokio::test]
async fn the_served_document_is_the_whole_document() {
    let server = Fixture::start().await;
    let answer = ask(server.address, get("/openapi.json")).await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(serde_json::from_slice::<Value>(&answer.body).unwrap(), document());
}

#[test]
fn the_document_is_valid_openapi_3_1() {
    let document = document();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1."));
    let file = tools::scratch("openapi.json");
    std::fs::write(&file, document.to_string()).unwrap();
    let validator =
        Command::new(tools::python()).args(["-m", "openapi_spec_validator"]).arg(&file).output();
    let validator = validator.unwrap();
    let output = String::from_utf8_lossy(&validator.stdout);
    assert!(validator.status.success(), "{output}");
    std::fs::remove_file(file).unwrap();
}
