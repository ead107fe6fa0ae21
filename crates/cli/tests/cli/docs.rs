//! The reference pages that the program writes about itself.

use crate::fixture::{bare, finish};

fn page(topic: &str) -> String {
    let done = finish(&mut bare(&["docs", topic]), b"");
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{topic}");
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn pages_are_the_same_whatever_the_environment() {
    for topic in ["states", "errors", "cli", "limits", "keys"] {
        let mut command = bare(&["docs", topic]);
        command.env("FF_STORE", "sqlite:elsewhere").env("COLUMNS", "40").env("TERM", "dumb");
        let elsewhere = finish(&mut command, b"");
        assert_eq!(page(topic).into_bytes(), elsewhere.stdout, "{topic}");
    }
}

#[test]
fn pages_name_what_they_are_about() {
    assert!(page("states").contains("stateDiagram-v2\n    [*] --> queued: submit\n"));
    let errors = page("errors");
    for code in ["invalid_argument", "stale_lease", "store_busy", "wait_timeout"] {
        assert!(errors.contains(&format!("\n### {code}\n")), "{code}");
    }
    let cli = page("cli");
    for command in ["submit", "ls", "show", "attempts", "result", "worker", "check"] {
        assert!(cli.contains(&format!("\n## ff {command}\n")), "{command}");
    }
    assert!(!cli.contains("ff docs TOPIC") && !cli.contains("## ff docs"));
    assert!(
        page("limits").contains("| input, or result of an execution or a step | 1048576 bytes |")
    );
}

#[test]
fn the_types_of_the_typescript_client_are_those_of_the_api() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/typescript/src/api.ts");
    let stored = std::fs::read_to_string(file).unwrap();
    let fresh = page("typescript");
    assert!(fresh.contains("\n  \"POST /v1/executions\": {\n"), "{fresh}");
    assert!(stored == fresh, "api.ts is stale; refresh with `cargo xtask codegen`");
}

#[test]
fn the_pages_in_the_repository_are_fresh() {
    let reference = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference");
    for topic in ["states", "errors", "cli", "limits", "metrics", "keys"] {
        let stored = std::fs::read_to_string(format!("{reference}/{topic}.md")).unwrap();
        assert!(stored == page(topic), "{topic}.md is stale; refresh with `cargo xtask codegen`");
    }
}
