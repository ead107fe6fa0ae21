//! `ff dev`: everything at once, with demo work.

use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::fixture::{Ff, Lines, Process, bare, finish, get, wait_for};

/// A running demo. Its temporary files are in a directory of the test.
pub(crate) struct Dev {
    process: Process,
    talk: Lines,
    pub(crate) url: String,
    store: String,
    ff: Ff,
}

impl Dev {
    pub(crate) fn start(args: &[&str]) -> Dev {
        let ff = Ff::nowhere();
        let mut process = Process::start(&mut command(&ff, args));
        let talk = process.stderr();
        let url = talk.after("FlowFabric is running at  ");
        let store = talk.after("its store is ");
        Dev { process, talk, ff: ff.over(&url), url, store }
    }

    /// The executions that meet `wanted`.
    pub(crate) fn listed(&self, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
        let page = self.ff.json(&["ls", "--limit", "1000"]);
        page["executions"].as_array().unwrap().iter().filter(|view| wanted(view)).cloned().collect()
    }

    fn check(&self) {
        let done = finish(&mut bare(&["check", "--store", &self.store]), b"");
        assert_eq!(done.code, Some(0), "{}", String::from_utf8_lossy(&done.stdout));
    }

    /// It ends at `signal`, cleanly.
    fn stop(&mut self, signal: Signal) {
        self.process.signal(signal);
        assert!(self.process.ended().success());
        assert_eq!(self.talk.rest().last().unwrap(), "stopping");
        assert_eq!(get(&self.url, "/healthz"), None);
    }
}

/// `ff dev` on a free port, with its temporary directories next to the store of `ff`.
fn command(ff: &Ff, args: &[&str]) -> Command {
    let mut command = bare(&[&["dev", "--listen", "127.0.0.1:0"], args].concat());
    command.env("TMPDIR", ff.path("")).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn is_empty(directory: &Path) -> bool {
    std::fs::read_dir(directory).unwrap().next().is_none()
}

#[test]
fn it_shows_every_kind_of_end() {
    let mut dev = Dev::start(&[]);
    assert_eq!(get(&dev.url, "/healthz").unwrap().0, 200);
    let demo = |scenario: &'static str, state: &'static str, attempts: u64| {
        move |view: &Value| {
            view["tags"]["demo"] == scenario
                && view["state"] == state
                && view["attempts"].as_u64().unwrap() >= attempts
        }
    };
    for (scenario, state, attempts) in [
        ("success", "completed", 1),
        ("failure", "failed", 1),
        ("retry", "completed", 2),
        ("delay", "completed", 1),
        ("lost-worker", "completed", 2),
        ("budget", "completed", 1),
    ] {
        let seen = wait_for(&format!("{scenario} to be {state}"), || {
            dev.listed(demo(scenario, state, attempts)).pop()
        });
        let attempts = dev.ff.attempts(seen["id"].as_str().unwrap());
        let first = match scenario {
            "retry" | "failure" => "failed",
            "lost-worker" => "lease_lost",
            _ => "completed",
        };
        assert_eq!(attempts[0]["status"], first, "{scenario}");
    }
    dev.check();
    let used = dev.ff.json(&["budget", "show", "demo"])["dimensions"]["tokens"].clone();
    assert!(used["hard"].as_u64().unwrap() > 0, "{used}");

    assert!(!is_empty(&dev.ff.path("")));
    dev.stop(Signal::INT);
    assert!(is_empty(&dev.ff.path("")), "the temporary directory is gone");
}

#[test]
fn a_given_directory_keeps_the_file() {
    let home = Ff::nowhere();
    let directory = home.path("not/there/yet");
    let mut dev = Dev::start(&["--dir", directory.to_str().unwrap()]);
    wait_for("a completed execution", || dev.listed(|view| view["state"] == "completed").pop());
    dev.stop(Signal::TERM);
    dev.check();
    assert_eq!(dev.store, format!("sqlite:{}", directory.join("work.ff").display()));
    let again = finish(&mut bare(&["ls", "--state", "completed", "--store", &dev.store]), b"");
    assert!(again.stdout.starts_with(b"ID "), "{}", again.stderr);
    assert!(is_empty(&dev.ff.path("")), "nothing is left anywhere else");
}

#[test]
fn quiet_means_no_demo_work_and_json_has_the_address() {
    let ff = Ff::nowhere();
    let mut process = Process::start(&mut command(&ff, &["--quiet", "--json"]));
    let started: Value = serde_json::from_str(&process.stdout().next().unwrap()).unwrap();
    let over_http = ff.over(started["url"].as_str().unwrap());
    let id = over_http.submit(&["--input", "1"]);
    let page = over_http.json(&["ls"]);
    assert_eq!(page["executions"].as_array().unwrap().len(), 1);
    let on_store = ["show", &id, "--json", "--store", started["store"].as_str().unwrap()];
    assert_eq!(finish(&mut bare(&on_store), b"").code, Some(0));
    process.signal(Signal::INT);
    assert!(process.ended().success());
    assert_eq!(process.stderr().rest(), Vec::<String>::new());
    assert!(is_empty(&ff.path("")));
}

#[test]
fn the_demo_takes_nothing_from_other_lanes() {
    let dev = Dev::start(&[]);
    let mine = ["default", "mine"].map(|lane| dev.ff.submit(&["--lane", lane, "--kind", "greet"]));
    wait_for("demo work to complete", || dev.listed(|view| view["state"] == "completed").pop());
    for id in mine {
        let view = dev.ff.show(&id);
        assert_eq!((&view["state"], &view["attempts"]), (&"waiting".into(), &0.into()));
    }
    let lanes = dev.ff.json(&["lane", "ls"]);
    let waiting = lanes["lanes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|view| view["lane"] == "default" || view["lane"] == "mine");
    assert!(waiting.clone().count() == 2, "{lanes}");
    assert!(waiting.clone().all(|view| view["work"]["waiting"] == 1), "{lanes}");
}

#[test]
fn the_commands_that_it_suggests_work() {
    let dev = Dev::start(&[]);
    let suggested: Vec<_> = std::iter::from_fn(|| dev.talk.next())
        .skip_while(|line| !line.starts_with("  export "))
        .take_while(|line| !line.is_empty())
        .map(|line| line.trim().to_owned())
        .collect();
    let [export, ls, greet, worker, submit, curl] = &suggested[..] else { panic!("{suggested:?}") };
    assert_eq!(*export, format!("export FF_URL={}", dev.url));
    let shell = |line: &str| {
        let mut command = shell(line);
        command.env("FF_URL", &dev.url);
        command
    };
    wait_for("the first executions to be listed", || {
        let listed = finish(&mut shell(ls), b"");
        assert_eq!(listed.code, Some(0), "{}", listed.stderr);
        listed.stdout.starts_with(b"ID ").then_some(())
    });
    let greeted = finish(&mut shell(greet), b"");
    assert_eq!(greeted.stdout, b"\"hello, world\"", "{}", greeted.stderr);
    let background = worker.strip_suffix(" &").unwrap();
    let _worker = Process::start(shell(background).stderr(Stdio::null()));
    let shouted = finish(&mut shell(submit), b"");
    assert_eq!(shouted.stdout, b"\"QUIETLY\"", "{}", shouted.stderr);
    let answered = finish(&mut shell(curl), b"");
    assert_eq!(answered.code, Some(0), "{}", answered.stderr);
    let page: Value = serde_json::from_slice(&answered.stdout).unwrap();
    assert_eq!(page["executions"].as_array().unwrap().len(), 1, "{page}");
}

/// A line as a person types it, with the built `ff` on the PATH.
fn shell(line: &str) -> Command {
    let directory = Path::new(env!("CARGO_BIN_EXE_ff")).parent().unwrap();
    let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec {line}")]).env("PATH", path);
    for name in ["FF_STORE", "FF_URL", "FF_TOKEN", "FF_NAMESPACE"] {
        command.env_remove(name);
    }
    command
}
