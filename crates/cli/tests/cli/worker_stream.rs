//! What a program prints is streamed, line by line.

use crate::fixture::Ff;

/// The frames of an execution, by type and text.
fn frames(ff: &Ff, id: &str) -> Vec<(String, String)> {
    let lines = String::from_utf8(ff.ok(&["tail", id, "--json"])).unwrap();
    let read = |line: &str| {
        let frame: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = frame["text"].as_str().or(frame["base64"].as_str()).unwrap();
        (frame["type"].as_str().unwrap().to_owned(), text.to_owned())
    };
    lines.lines().map(read).collect()
}

#[test]
fn each_line_is_a_frame_and_stdout_is_the_result_too() {
    let ff = Ff::new();
    let id = ff.submit(&[]);
    ff.work("echo one; echo two; printf three");
    let of = |text: &str| ("stdout".to_owned(), text.to_owned());
    assert_eq!(frames(&ff, &id), [of("one\n"), of("two\n"), of("three")]);
    assert_eq!(ff.ok(&["result", &id]), b"one\ntwo\nthree");
    assert_eq!(ff.ok(&["tail", &id]), b"one\ntwo\nthree");
    assert_eq!(ff.ok(&["tail", &id, "--from", "2", "--follow"]), b"three");
}

#[test]
fn stderr_is_streamed_when_the_program_fails() {
    let ff = Ff::new();
    let id = ff.submit(&[]);
    ff.work("echo broken >&2; exit 3");
    assert_eq!(frames(&ff, &id), [("stderr".to_owned(), "broken\n".to_owned())]);
    let done = ff.run(&["tail", &id, "--follow"]);
    assert_eq!(done.code, Some(1), "it did not complete");
}

#[test]
fn a_long_line_and_one_that_is_no_text_come_out_as_they_were_printed() {
    let ff = Ff::new();
    let id = ff.submit(&[]);
    ff.work("head -c 200000 /dev/zero | tr '\\0' x; echo; printf '\\377\\0\\n'");
    let printed = ff.ok(&["tail", &id]);
    let expected = [&[b'x'; 200_000][..], b"\n\xff\0\n"].concat();
    assert!(printed == expected, "{} bytes", printed.len());
    let frames = frames(&ff, &id);
    assert!(frames.iter().all(|(_, text)| text.len() <= 65_536), "a frame has a bound");
    assert_eq!(frames.last().unwrap().1, "/wAK");
}
