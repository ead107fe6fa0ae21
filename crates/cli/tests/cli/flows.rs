//! Flows at a terminal: graphs in YAML, drawn, watched and listed.

use serde_json::Value;

use crate::fixture::Ff;

const YAML: &str = "\
nodes:
  - name: fetch
  - name: words
    after: [fetch]
    policy: &once {max_attempts: 1}
  - {name: images, after: [fetch], policy: *once}
  - {name: publish, after: [words, images], on_failure: continue}
";

fn submitted(ff: &Ff, graph: &str) -> String {
    let file = ff.path("graph.yaml");
    std::fs::write(&file, graph).unwrap();
    let id = ff.ok(&["flow", "submit", file.to_str().unwrap()]);
    String::from_utf8(id).unwrap().trim().to_owned()
}

fn text(ff: &Ff, args: &[&str]) -> String {
    String::from_utf8(ff.ok(args)).unwrap()
}

#[test]
fn a_graph_in_yaml_is_the_same_flow_as_in_json() {
    let ff = Ff::new();
    let json = r#"{"idempotency_key": "k", "nodes": [{"name": "a", "input": {"n":[1,2.5,null]}}, {"name": "b", "after": ["a"]}]}"#;
    let yaml = "idempotency_key: k\nnodes:\n- name: a\n  input:\n    n:\n    - 1\n    - 2.5\n    - ~\n- name: b\n  after: [a]\n";
    let one = ff.run_with_stdin(&["flow", "submit", "-"], json.as_bytes());
    let other = ff.run_with_stdin(&["flow", "submit", "-"], yaml.as_bytes());
    assert_eq!(one.stdout, other.stdout, "{}{}", one.stderr, other.stderr);
    let wrong = ff.run_with_stdin(&["flow", "submit", "-"], b"nodes:\n- name: a\n  aftr: [b]\n");
    assert!(
        wrong.stderr.contains("unknown field `aftr`") && wrong.stderr.contains("at line 3;"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn a_flow_is_drawn_as_a_tree_as_svg_and_as_dot() {
    let ff = Ff::new();
    let id = submitted(&ff, YAML);
    ff.ok(&["worker", "--once", "--exec", "echo 1"]);
    let shown = text(&ff, &["flow", "show", &id]);
    let line = |name: &str| shown.lines().find(|line| line.contains(name)).unwrap();
    assert!(
        line("fetch").starts_with("* fetch ") && line("fetch").contains("completed"),
        "{shown}"
    );
    assert!(line("├─ words").contains("waiting "), "{shown}");
    assert!(line("└─ publish").ends_with("words, images"), "{shown}");
    assert!(text(&ff, &["flow", "ls"]).contains("running"));
    let dot = text(&ff, &["flow", "show", &id, "--dot"]);
    assert!(dot.starts_with("digraph flow {") && dot.contains("n2 -> n3;"), "{dot}");
    let svg = text(&ff, &["flow", "show", &id, "--svg"]);
    assert!(svg.starts_with("<svg xmlns=") && svg.contains(">publish<"), "{svg}");
    assert_eq!(svg.matches("<path class=\"edge").count(), 4);
}

#[test]
fn a_flow_is_watched_until_it_ends() {
    let ff = Ff::new();
    let id = submitted(&ff, YAML);
    let _worker = ff.worker(&["--exec", "echo 1"]);
    let watched = text(&ff, &["flow", "show", &id, "--watch"]);
    assert!(watched.contains("publish completed\n"), "{watched}");
    assert!(watched.contains("state    completed"), "{watched}");
    let lines = text(&ff, &["flow", "show", &id, "--watch", "--json"]);
    let changes: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(changes.len(), 4, "{lines}");
    assert!(changes.iter().all(|change| change["state"] == "completed"), "{lines}");
}

#[test]
fn nodes_that_are_alike_share_a_line() {
    let ff = Ff::new();
    let mut graph = "nodes:\n- name: split\n".to_owned();
    (0..150).for_each(|n| graph.push_str(&format!("- {{name: map-{n}, after: [split]}}\n")));
    let id = submitted(&ff, &graph);
    let shown = text(&ff, &["flow", "show", &id]);
    assert!(shown.contains("└─ map-* (150 nodes)") && shown.lines().count() < 10, "{shown}");
    let all = text(&ff, &["flow", "show", &id, "--all"]);
    assert!(all.contains("├─ map-149") || all.contains("└─ map-149"), "{all}");
}
