#![allow(clippy::unwrap_used)]

use super::*;

fn patched(document: &str, patch: &str) -> String {
    String::from_utf8(merge(Some(document.as_bytes()), patch.as_bytes()).unwrap().to_vec()).unwrap()
}

/// Every vector of RFC 7396: the example of section 3, and appendix A.
#[test]
fn every_vector_of_the_rfc_holds() {
    for (document, patch, result) in [
        (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"a":null}"#, r#"{}"#),
        (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
        (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
        (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
        (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
        (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
        (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
        (r#"{"a":"foo"}"#, r#"null"#, r#"null"#),
        (r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#),
        (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"a":1,"e":null}"#),
        (r#"[1,2]"#, r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
        (r#"{}"#, r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
        (
            r#"{"title":"Goodbye!","author":{"givenName":"John","familyName":"Doe"},"tags":["example","sample"],"content":"This will be unchanged"}"#,
            r#"{"title":"Hello!","phoneNumber":"+01-123-456-7890","author":{"familyName":null},"tags":["example"]}"#,
            r#"{"author":{"givenName":"John"},"content":"This will be unchanged","phoneNumber":"+01-123-456-7890","tags":["example"],"title":"Hello!"}"#,
        ),
    ] {
        assert_eq!(patched(document, patch), result, "{document} patched by {patch}");
    }
}

#[test]
fn the_first_patch_makes_the_document() {
    let first = merge(None, br#" { "a" : { "b" : null , "c" : [ ] } } "#).unwrap();
    assert_eq!(&first[..], br#"{"a":{"c":[ ]}}"#);
}

#[test]
fn numbers_keep_all_their_digits() {
    for number in
        ["9007199254740993", "1e400", "-0", "0.10", "3.14159265358979323846264338327950288"]
    {
        let patch = format!(r#"{{"n":{number}}}"#);
        assert_eq!(patched("{}", &patch), patch);
        assert_eq!(patched(&patch, r#"{"m":1}"#), format!(r#"{{"m":1,"n":{number}}}"#));
    }
}

#[test]
fn names_are_compared_as_text_and_the_last_of_one_name_counts() {
    assert_eq!(patched(r#"{"a":1}"#, r#"{"\u0061":2}"#), r#"{"a":2}"#);
    assert_eq!(patched("{}", r#"{"a":1,"a":{"b":2}}"#), r#"{"a":{"b":2}}"#);
    assert_eq!(patched("{}", r#"{"":"\u0000\"\\"}"#), r#"{"":"\u0000\"\\"}"#);
}

#[test]
fn a_document_has_a_bound_in_bytes_and_in_levels() {
    let text = |bytes: usize| format!(r#""{}""#, "x".repeat(bytes - 2));
    assert_eq!(check(text(SUMMARY_BYTES).as_bytes()), Ok(()));
    assert!(check(text(SUMMARY_BYTES + 1).as_bytes()).is_err());
    let half = format!(r#"{{"a":{}}}"#, text(SUMMARY_BYTES / 2));
    let other = half.replace('a', "b");
    let both = merge(Some(half.as_bytes()), other.as_bytes());
    assert_eq!(both.unwrap_err().field(), Some("summary"), "each fits, and both do not");
    let nested = |levels: usize| format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
    assert_eq!(check(nested(SUMMARY_DEPTH).as_bytes()), Ok(()));
    assert!(check(nested(SUMMARY_DEPTH + 1).as_bytes()).is_err());
    assert_eq!(check(br#""[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[""#), Ok(()), "a text has no levels");
    assert!(check("[".repeat(100_000).as_bytes()).is_err());
}

#[test]
fn what_is_no_json_is_refused() {
    for patch in ["", "{", "{\"a\":1,}", "nul", "1 2", "\u{feff}{}", "{\"a\":\u{1}}"] {
        assert!(check(patch.as_bytes()).is_err(), "{patch:?}");
    }
    assert!(check(b"\"\xff\"").is_err());
}
