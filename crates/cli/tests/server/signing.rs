//! Signing keys: made with a store, checked at every start, rotated while servers run, never printed.

use std::fs;
use std::process::Stdio;

use ff_testkit::valkey::{Config, Server as Valkey};

use crate::fixture::{Done, Ff, Process, bare, finish};

/// The secrets of a file of keys.
fn secrets(ff: &Ff, name: &str) -> Vec<String> {
    let text = fs::read_to_string(ff.path(name)).unwrap();
    let keys = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    keys.map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
}

fn states(ff: &Ff) -> Vec<String> {
    let view = ff.json(&["keys", "ls"]);
    let keys = view["keys"].as_array().unwrap();
    keys.iter().map(|key| key["state"].as_str().unwrap().to_owned()).collect()
}

fn serve(store: &str, more: &[&str]) -> Done {
    let command = &mut bare(&["serve", "--listen", "127.0.0.1:0", "--store", store]);
    finish(command.args(more), b"")
}

#[test]
fn the_first_server_on_a_file_makes_its_key_and_the_next_one_uses_it() {
    let ff = Ff::new();
    assert_eq!(states(&ff), [""; 0], "only a server makes keys");
    let mut server = ff.serve();
    let [secret] = &secrets(&ff, "ff.db.keys")[..] else { panic!("one key") };
    assert_eq!(states(&ff), ["current"]);
    server.kill();
    server.restart();
    assert_eq!(secrets(&ff, "ff.db.keys"), std::slice::from_ref(secret));
    assert_eq!(states(&ff), ["current"]);
}

#[test]
fn a_server_without_the_keys_of_its_store_does_not_start() {
    let ff = Ff::new();
    ff.serve().kill();
    let key = ff.json(&["keys", "ls"])["keys"][0]["key"].as_str().unwrap().to_owned();
    fs::rename(ff.path("ff.db.keys"), ff.path("mislaid")).unwrap();
    let done = serve(&ff.store(), &[]);
    assert_eq!((done.code, done.stdout.len()), (Some(9), 0), "{}", done.stderr);
    for words in [&*format!("key {key}"), "ff.db.keys does not have it", "ff keys retire"] {
        assert!(done.stderr.contains(words), "{words}: {}", done.stderr);
    }
    assert!(!ff.path("ff.db.keys").exists(), "no other key takes its place");
    // If the key is lost for good, its tokens are given up by name.
    ff.ok(&["keys", "rotate"]);
    assert_eq!(serve(&ff.store(), &[]).code, Some(9));
    ff.ok(&["keys", "retire", &key]);
    assert_eq!(states(&ff), ["retired", "current"]);
    drop(ff.serve());
}

#[test]
fn the_second_of_two_servers_with_different_keys_does_not_start() {
    let valkey = Valkey::start(Config::default().with("appendfsync", "no"));
    let (one, other) = (Ff::on(&valkey.url()), Ff::on(&valkey.url()));
    let file = |ff: &Ff| ff.path("ring").display().to_string();
    for ff in [&one, &other] {
        // The store is made by the first command that may.
        ff.submit(&[]);
        ff.ok(&["keys", "add", "--signing-keys", &file(ff)]);
    }
    let args = ["serve", "--listen", "127.0.0.1:0", "--store", &valkey.url()];
    let mut command = bare(&[&args[..], &["--signing-keys", &file(&one)]].concat());
    let mut first = Process::start(command.stdin(Stdio::null()).stdout(Stdio::piped()));
    first.stdout().next().expect("the first server starts");
    for (more, why) in [
        (&["--signing-keys", &file(&other)][..], "ring does not have it"),
        (&[], "this server has no signing keys"),
    ] {
        let done = serve(&valkey.url(), more);
        assert_eq!((done.code, done.stdout.len()), (Some(9), 0), "{}", done.stderr);
        assert!(done.stderr.contains(why), "{}", done.stderr);
        assert!(done.stderr.contains("tokens are signed with key"), "{}", done.stderr);
        for secret in [&one, &other].map(|ff| secrets(ff, "ring").remove(0)) {
            assert!(!done.stderr.contains(&secret));
        }
    }
    fs::copy(one.path("ring"), other.path("ring")).unwrap();
    let mut command = bare(&[&args[..], &["--signing-keys", &file(&other)]].concat());
    let mut second = Process::start(command.stdin(Stdio::null()).stdout(Stdio::piped()));
    second.stdout().next().expect("with the same keys it starts");
}

#[test]
fn a_rotation_keeps_what_verified_and_prints_no_secret() {
    let ff = Ff::new();
    let server = ff.serve();
    let mut printed = Vec::new();
    for args in [
        &["keys", "rotate"][..],
        &["keys", "rotate", "--grace", "30d", "--json"],
        &["keys", "add"],
        &["keys", "ls"],
        &["keys", "ls", "--json"],
    ] {
        let done = ff.run(args);
        assert_eq!(done.code, Some(0), "{args:?}: {}", done.stderr);
        printed.push(String::from_utf8(done.stdout).unwrap() + &done.stderr);
    }
    assert_eq!(states(&ff), ["verifies", "verifies", "current", "added"]);
    let view = ff.json(&["keys", "ls"]);
    let current = view["keys"][2]["key"].as_str().unwrap();
    // The same rotation again is none.
    ff.ok(&["keys", "rotate", "--to", current, "--grace", "0s"]);
    assert_eq!(ff.json(&["keys", "ls"]), view);
    let secrets = secrets(&ff, "ff.db.keys");
    assert_eq!(secrets.len(), 4);
    for secret in &secrets {
        assert!(printed.iter().all(|text| !text.contains(secret)), "{printed:?}");
    }
    drop(server);
}

#[test]
fn bad_input_of_keys_is_refused_and_says_what_to_do() {
    let ff = Ff::new();
    ff.serve().kill();
    let first = ff.json(&["keys", "ls"])["keys"][0]["key"].as_str().unwrap().to_owned();
    let code = |args: &[&str], exit| ff.failure(exit, args)["code"].clone();
    assert_eq!(code(&["keys", "retire", &first], 1), "key_conflict");
    assert_eq!(code(&["keys", "retire", "nobody"], 1), "not_found");
    assert_eq!(code(&["keys", "rotate", "--grace", "3651d"], 1), "invalid_argument");
    for grace in ["1e309", "-1s", "7", "inf"] {
        assert_eq!(code(&["keys", "rotate", "--grace", grace], 2), "invalid_argument", "{grace}");
    }
    assert_eq!(code(&["keys", "rotate", "--to", "nobody"], 2), "invalid_argument");
    assert_eq!(states(&ff), ["current", "added"], "a refused rotation leaves its key in the file");
    // A file that was damaged stops the next start, and its content is not printed.
    let path = ff.path("ff.db.keys");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.len() - 10]).unwrap();
    let done = serve(&ff.store(), &[]);
    assert_eq!(done.code, Some(9));
    assert!(
        done.stderr.contains("has 55 characters; give 64 hexadecimal digits"),
        "{}",
        done.stderr
    );
    assert!(!done.stderr.contains(&text[text.len() - 40..text.len() - 20]), "{}", done.stderr);
}

#[test]
fn a_running_server_says_which_key_it_lacks() {
    let ff = Ff::new();
    ff.serve().kill();
    let (own, complete) = (ff.path("own"), ff.path("complete"));
    for copy in [&own, &complete] {
        fs::copy(ff.path("ff.db.keys"), copy).unwrap();
    }
    let mut command = bare(&["serve", "--listen", "127.0.0.1:0", "--store", &ff.store()]);
    let command = command.arg("--signing-keys").arg(&own).stdin(Stdio::null());
    let mut server = Process::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    server.stdout().next().expect("it starts");
    let complete = complete.display().to_string();
    ff.ok(&["keys", "add", "--signing-keys", &complete]);
    ff.ok(&["keys", "rotate", "--signing-keys", &complete]);
    let view = ff.json(&["keys", "ls", "--signing-keys", &complete]);
    let current = view["keys"][1]["key"].as_str().unwrap();
    let line = server.stderr().after("this process lacks a signing key");
    assert!(line.contains(current), "{line}");
}
