//! A page that is wrong is caught: pages made here, each with one thing that does not hold.

use std::time::Duration;

use super::page::Page;
use super::run::{Report, run};
use super::{TIMEOUT, root, table};

fn report(text: &str, timeout: Duration) -> Report {
    // Its commands need no server, so it is named like a page that starts one.
    run(&root(), &Page::parse("docs/server.md", text), timeout)
}

/// The lines of the faults of a page.
fn faults(text: &str) -> Vec<usize> {
    report(text, TIMEOUT).faults.iter().map(|(line, _)| *line).collect()
}

#[test]
fn a_page_that_holds_is_accepted() {
    let page = "\
# A page

```sh
# One shell for all blocks.
name=world
echo \"hello, $name\"     # hello, world
sleep 60 &
ls missing 2>/dev/null || echo 'error: no such file' && false   # error: ...
```

```sh
echo $name; kill %1
printf '{\"at\": \"2026-11-17T05:52:36.159Z\", \"n\": 1}\\n'
```

```json
{\"at\": \"2025-01-01T00:00:00Z\"}
```

```sh
ff version; echo at http://127.0.0.1:7272
```

```text
ff ...
at http://127.0.0.1:7272
```

```sh not-run:it-needs-a-moon
launch
```
";
    let report = report(page, TIMEOUT);
    assert!(report.faults.is_empty(), "{:?}", report.faults);
    let table = table(&[report]);
    assert!(table.contains("1 json, 3 sh, 1 text"), "{table}");
    assert!(table.contains("line 29, sh, not run: it needs a moon"), "{table}");
}

/// A page on which a server runs, and is then sent this.
fn request(path: &str) -> String {
    format!(
        "```sh\nff serve --store sqlite:work.ff &\n\
         curl -s --retry 9 --retry-connrefused http://127.0.0.1:7272/readyz\n\
         curl -s http://127.0.0.1:7272{path}\n```\n"
    )
}

#[test]
fn a_request_that_is_refused_is_caught() {
    assert_eq!(faults(&request("/v1/lanes")), [0; 0]);
    assert_eq!(faults(&request("/v1/lanes/a%20b")), [4]);
}

#[test]
fn what_does_not_hold_is_caught_at_its_line() {
    for (what, page, lines) in [
        ("an exit code", "```sh\ntrue\nfalse\ntrue\n```\n", &[3][..]),
        ("a comment", "```sh\necho a b   # a c\n```\n", &[2]),
        ("a failure that does not come", "```sh\necho error: x   # error: x\n```\n", &[2]),
        ("a command that ff does not have", "```sh\nff frobnicate\n```\n", &[2]),
        ("a variable never set", "```sh\necho \"it is $second\"  # it is 2\n```\n", &[2]),
        ("text", "```sh\necho a\n```\n\n```text\nb\n```\n", &[5]),
        ("text that nothing prints", "```text\nb\n```\n", &[1]),
        ("text after words", "```sh\necho b\n```\nThat is\n```text\nb\n```\n", &[5]),
        ("json that is printed", "```sh\necho '{\"a\": 1}'\n```\n```json\n{\"a\": 2}\n```\n", &[4]),
        ("json", "```sh\necho '{}'\n```\n```json\n{a}\n```\n", &[4]),
        ("a kind that nothing runs", "```cobol\nSTOP RUN.\n```\n", &[1]),
        ("no kind", "```\nls\n```\n", &[1]),
        ("rust that no crate includes", "```rust\nfn main() {}\n```\n", &[1]),
        ("no reason", "```sh not-run:\nlaunch\n```\n", &[1]),
        ("an end of the shell", "```sh\nexit 0\n```\n", &[2]),
    ] {
        assert_eq!(faults(page), lines, "{what}");
    }
}

#[test]
fn a_command_that_does_not_end_is_caught_and_ended() {
    let page = "```sh\nsleep 600\necho never   # ever\n```\n";
    let faults = report(page, Duration::from_millis(200)).faults;
    assert_eq!(faults, [(2, "`sleep 600` does not end, or ends the shell".to_owned())]);
}

#[test]
fn a_page_that_is_not_compiled_by_a_doctest_is_caught() {
    let of = |name: &str, fence: &str| {
        let page = Page::parse(name, &format!("```{fence}\nfn main() {{}}\n```\n"));
        run(&root(), &page, TIMEOUT).faults.len()
    };
    assert_eq!(of("docs/embedding.md", "rust"), 0);
    assert_eq!(of("docs/embedding.md", "rust,no_run"), 0);
    assert_eq!(of("docs/embedding.md", "rust,ignore"), 1);
    assert_eq!(of("docs/nowhere.md", "rust"), 1);
}

#[test]
fn a_program_that_no_command_runs_is_caught() {
    let page = "\
```python file:greet.py
print('hello')
```

```sh
python3 greet.py   # hello
```

```python
print('who saves this?')
```

```python file:other.py
print('who runs this?')
```

```ts file:greet.ts
console.log(1);
```
";
    assert_eq!(faults(page), [9, 13, 17]);
}
