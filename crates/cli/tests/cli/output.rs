//! What people read.

use std::process::Stdio;

use crate::fixture::{Ff, bare, finish};

#[test]
fn ids_go_to_stdout_and_advice_to_stderr() {
    let ff = Ff::new();
    let done = ff.run(&["submit"]);
    let id = String::from_utf8(done.stdout).unwrap();
    assert_eq!((id.len(), id.lines().count()), (37, 1));
    let expected = format!("next: ff show {} --store {}\n", id.trim(), ff.store());
    assert_eq!(done.stderr, expected);
}

#[test]
fn the_next_command_can_be_copied() {
    let ff = Ff::new();
    for _ in 0..2 {
        ff.submit(&["--namespace", "a", "--tag", "k=x y"]);
    }
    let args = ["ls", "--namespace", "a", "--limit", "1", "--tag", "k=x y"];
    let done = ff.run(&args);
    let next = done.stderr.trim().strip_prefix("next: ff ").unwrap();
    assert!(next.contains("--tag 'k=x y' --cursor 1"), "{next}");
    let again = std::process::Command::new("sh")
        .args(["-c", &format!("exec {} {next}", env!("CARGO_BIN_EXE_ff"))])
        .output()
        .unwrap();
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    assert_ne!(again.stdout, done.stdout);
    assert_eq!(String::from_utf8(again.stdout).unwrap().lines().count(), 2);
}

#[test]
fn a_listing_is_aligned_and_without_colour_in_a_pipe() {
    let ff = Ff::new();
    ff.submit(&["--lane", "a-long-lane"]);
    ff.submit(&["--kind", "b", "--delay", "1h"]);
    let text = String::from_utf8(ff.ok(&["ls"])).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 3);
    let column = lines[0].find("KIND").unwrap();
    assert_eq!(&lines[1][column..column + 2], "b ");
    assert_eq!(&lines[2][column..column + 4], "task");
    assert!(!text.contains('\x1b'), "{text}");
    assert!(lines[1].ends_with("waits to start"), "{text}");
}

#[test]
fn the_output_of_a_program_cannot_move_the_cursor_of_a_terminal() {
    let ff = Ff::new();
    let id = ff.submit(&[]);
    ff.work("printf 'a\\033[2Jb\\nc\\rd' >&2; exit 1");
    let shown = String::from_utf8(ff.ok(&["show", &id])).unwrap();
    assert!(!shown.contains(['\x1b', '\r']), "{shown:?}");
    let failure = &ff.show(&id)["failure"]["message"];
    assert_eq!(failure, "exit 1: a\u{1b}[2Jb\nc\rd");
}

#[test]
fn a_closed_stdout_is_no_error() {
    let ff = Ff::new();
    for _ in 0..3 {
        ff.submit(&[]);
    }
    let mut child =
        ff.command(&["ls"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(output.stderr, b"");
}

#[test]
fn help_and_version_are_data() {
    for args in [&["--help"][..], &["submit", "--help"], &["--version"]] {
        let done = finish(&mut bare(args), b"");
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{args:?}");
        assert!(!done.stdout.is_empty());
    }
}
