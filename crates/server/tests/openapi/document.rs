//! The document by itself.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::common::Fixture;
use crate::common::raw::{ask, get};
use crate::tools;

/// What any route may answer with a problem.
const PROBLEMS: [&str; 13] =
    ["400", "401", "404", "405", "408", "409", "413", "414", "415", "429", "431", "500", "503"];

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
        for status in PROBLEMS {
            let content = &operation["responses"][status]["content"];
            let schema = &content["application/problem+json"]["schema"]["$ref"];
            assert_eq!(schema, "#/components/schemas/Problem", "{name} {status}");
        }
    }
}

#[test]
fn every_operation_has_a_name_of_its_own_and_a_summary() {
    let document = document();
    let operations = operations(&document);
    let names: BTreeSet<_> = operations.iter().map(|(_, o)| o["operationId"].as_str()).collect();
    assert_eq!(names.len(), operations.len());
    for (name, operation) in operations {
        assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{name}");
    }
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
            let schema = document.pointer(reference.trim_start_matches('#')).unwrap();
            assert_eq!(schema["additionalProperties"], Value::Bool(false), "{name}");
        }
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
    let said = String::from_utf8_lossy(&validator.stdout);
    assert!(validator.status.success(), "{said}");
    std::fs::remove_file(file).unwrap();
}
