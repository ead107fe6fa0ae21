//! The API as types of TypeScript, which the client in `clients/typescript` is checked against.
//!
//! Every schema of the document is a type of its name, and every call an entry of `Calls`, by method and
//! path. What the document says in a way that has no type here stops the program, so that no type is wrong
//! in silence.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

const HEAD: &str = "\
// The calls of the API and what they take and answer, by `/openapi.json` of the server.
// Printed by `ff docs typescript`; refresh with `cargo xtask codegen`.
";

/// Keywords that bound values and change no type.
const BOUNDS: &[&str] = &[
    "default",
    "description",
    "discriminator",
    "example",
    "examples",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "pattern",
    "propertyNames",
    "required",
    "title",
    "uniqueItems",
];

/// The module.
pub(crate) fn page() -> String {
    let document = serde_json::to_value(ff_server::openapi()).unwrap_or_default();
    module(&document)
}

/// The module for a document.
fn module(document: &Value) -> String {
    let mut text = HEAD.to_owned();
    for (name, schema) in object(&document["components"]["schemas"]) {
        text.push('\n');
        text.push_str(&comment(&schema["description"], ""));
        let of = type_of(schema, "");
        let is_interface = of.starts_with('{') && of.ends_with('}');
        text.push_str(&match is_interface && !schema["properties"].is_null() {
            true => format!("export interface {name} {of}\n"),
            false => format!("export type {name} = {of};\n"),
        });
    }
    text.push_str("\n/** Every call, by its method and path. */\nexport interface Calls {\n");
    for (path, item) in object(&document["paths"]) {
        for (method, operation) in object(item) {
            text.push_str(&comment(&operation["summary"], "  "));
            text.push_str(&format!("  {:?}: {{\n", format!("{} {path}", method.to_uppercase())));
            for place in ["path", "query"] {
                text.push_str(&format!("    {place}: {};\n", parameters(operation, place)));
            }
            text.push_str(&format!("    body: {};\n", body(&operation["requestBody"])));
            text.push_str(&format!("    answer: {};\n  }};\n", answer(&operation["responses"])));
        }
    }
    text.push_str("}\n");
    text
}

/// The members of an object, in their order.
fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A description as a comment.
fn comment(description: &Value, indent: &str) -> String {
    let Some(text) = description.as_str() else { return String::new() };
    let text = text.replace("*/", "*\u{200b}/");
    let lines: Vec<_> = text.trim().lines().map(str::trim).collect();
    match lines.as_slice() {
        [] => String::new(),
        [line] => format!("{indent}/** {line} */\n"),
        lines => {
            let lines =
                lines.iter().map(|line| format!("{indent} * {line}").trim_end().to_owned() + "\n");
            format!("{indent}/**\n{}{indent} */\n", lines.collect::<String>())
        }
    }
}

/// The parameters of a call in its path or its query.
fn parameters(operation: &Value, place: &str) -> String {
    let parameters = list(&operation["parameters"]).iter().filter(|one| one["in"] == place);
    let fields = parameters.map(|one| {
        let optional = if one["required"] == true { "" } else { "?" };
        let name = one["name"].as_str().unwrap_or_default();
        format!("{}{optional}: {}", key(name), type_of(&one["schema"], "    "))
    });
    let fields: Vec<_> = fields.collect();
    if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join("; ")) }
}

/// What a call sends: JSON, or nothing.
fn body(request: &Value) -> String {
    match &request["content"]["application/json"]["schema"] {
        Value::Null => "undefined".to_owned(),
        schema => type_of(schema, "    "),
    }
}

/// What a call answers when it succeeds: JSON, bytes, or nothing.
fn answer(responses: &Value) -> String {
    let good = object(responses).filter(|(status, _)| status.starts_with('2'));
    let types = good.map(|(_, response)| {
        let content = &response["content"];
        match &content["application/json"]["schema"] {
            Value::Null if object(content).next().is_some() => "Uint8Array".to_owned(),
            Value::Null => "undefined".to_owned(),
            schema => type_of(schema, "    "),
        }
    });
    union(types)
}

/// The type of a schema. Lines after the first have this indentation.
fn type_of(schema: &Value, indent: &str) -> String {
    let Some(map) = schema.as_object() else {
        return if schema == false { "never" } else { "unknown" }.to_owned();
    };
    if let Some(name) = schema["$ref"].as_str() {
        return name.rsplit('/').next().unwrap_or_default().to_owned();
    }
    for (word, joint) in [("oneOf", " | "), ("anyOf", " | "), ("allOf", " & ")] {
        if let Some(of) = map.get(word) {
            let parts = list(of).iter().map(|one| type_of(one, indent));
            let joined = if joint == " | " { union(parts) } else { intersection(parts) };
            return match map.contains_key("properties") {
                true => format!("{} & {}", fields(map, indent), parenthesized(&joined)),
                false => joined,
            };
        }
    }
    if let Some(values) = map.get("enum") {
        return union(list(values).iter().map(Value::to_string));
    }
    if let Some(value) = map.get("const") {
        return value.to_string();
    }
    match &schema["type"] {
        Value::Array(types) => union(types.iter().map(|one| primitive(one, map, indent))),
        Value::Null => untyped(map, indent),
        one => primitive(one, map, indent),
    }
}

/// A schema that names no type: of an object if it has members, else of anything.
fn untyped(map: &Map<String, Value>, indent: &str) -> String {
    let unknown = map.keys().find(|word| !BOUNDS.contains(&word.as_str()) && *word != "properties");
    assert!(unknown.is_none(), "a schema has the keyword {unknown:?}, which has no type here");
    if map.contains_key("properties") { fields(map, indent) } else { "unknown".to_owned() }
}

fn primitive(name: &Value, map: &Map<String, Value>, indent: &str) -> String {
    match name.as_str() {
        Some("string") => "string".to_owned(),
        Some("integer" | "number") => "number".to_owned(),
        Some("boolean") => "boolean".to_owned(),
        Some("null") => "null".to_owned(),
        Some("array") => match map.get("prefixItems") {
            Some(items) => {
                let items: Vec<_> = list(items).iter().map(|one| type_of(one, indent)).collect();
                format!("[{}]", items.join(", "))
            }
            None => {
                let items = map.get("items").unwrap_or(&Value::Null);
                format!("{}[]", parenthesized(&type_of(items, indent)))
            }
        },
        Some("object") if map.contains_key("properties") => fields(map, indent),
        Some("object") => match map.get("additionalProperties") {
            Some(Value::Bool(false)) => "Record<string, never>".to_owned(),
            Some(values) => format!("Record<string, {}>", type_of(values, indent)),
            None => "Record<string, unknown>".to_owned(),
        },
        _ => panic!("a schema has the type {name}, which has none here"),
    }
}

/// The members of an object, one a line.
fn fields(map: &Map<String, Value>, indent: &str) -> String {
    let inner = format!("{indent}  ");
    let required: BTreeSet<_> =
        map.get("required").map_or(&[][..], list).iter().filter_map(Value::as_str).collect();
    let mut text = "{\n".to_owned();
    for (name, schema) in map.get("properties").into_iter().flat_map(object) {
        let optional = if required.contains(name.as_str()) { "" } else { "?" };
        text.push_str(&comment(&schema["description"], &inner));
        text.push_str(&format!("{inner}{}{optional}: {};\n", key(name), type_of(schema, &inner)));
    }
    format!("{text}{indent}}}")
}

/// A name as a key of an object.
fn key(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_plain { name.to_owned() } else { format!("{name:?}") }
}

fn union(types: impl Iterator<Item = String>) -> String {
    distinct(types).join(" | ")
}

fn intersection(types: impl Iterator<Item = String>) -> String {
    distinct(types.map(|one| parenthesized(&one))).join(" & ")
}

fn distinct(types: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = Vec::new();
    for one in types {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    // `null` reads best at the end.
    seen.sort_by_key(|one| one == "null");
    seen
}

/// A type as part of another one.
fn parenthesized(of: &str) -> String {
    let is_one = of.starts_with('{') || of.starts_with("Record<") || !of.contains(' ');
    if is_one { of.to_owned() } else { format!("({of})") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_are_types() {
        let cases = [
            (json!({"type": "string", "maxLength": 3}), "string"),
            (json!({"type": ["integer", "null"]}), "number | null"),
            (
                json!({"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Id"}]}),
                "Id | null",
            ),
            (json!({"enum": ["a", "b"], "type": "string"}), "\"a\" | \"b\""),
            (json!({"type": "array", "items": {"enum": [1, 2]}}), "(1 | 2)[]"),
            (
                json!({"type": "object", "additionalProperties": {"type": "integer"}}),
                "Record<string, number>",
            ),
            (json!({}), "unknown"),
            (
                json!({"type": "object", "required": ["a"], "properties": {"a": {}, "b-c": {"type": "boolean"}}}),
                "{\n  a: unknown;\n  \"b-c\"?: boolean;\n}",
            ),
        ];
        for (schema, of) in cases {
            assert_eq!(type_of(&schema, ""), of, "{schema}");
        }
    }

    #[test]
    #[should_panic(expected = "has no type here")]
    fn a_keyword_without_a_type_is_not_passed_by() {
        type_of(&json!({"not": {"type": "string"}}), "");
    }

    #[test]
    fn a_call_has_its_parameters_its_body_and_its_answer() {
        let parameters = json!([
            {"in": "path", "name": "id", "required": true, "schema": {"type": "string"}},
            {"in": "query", "name": "limit", "schema": {"type": "integer"}},
        ]);
        let body = json!({"content": {"application/json": {"schema": {"type": "boolean"}}}});
        let responses = json!({"200": {"content": {"*/*": {}}}, "204": {}, "400": {}});
        let call = json!({"parameters": parameters, "requestBody": body, "responses": responses});
        let text = module(&json!({"paths": {"/v1/it/{id}": {"post": call}}}));
        let entry = "  \"POST /v1/it/{id}\": {\n    path: { id: string };\n    query: { limit?: number };\n    \
                     body: boolean;\n    answer: Uint8Array | undefined;\n  };\n";
        assert!(text.contains(entry), "{text}");
    }
}
