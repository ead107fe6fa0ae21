//! Workers that are killed with -9, as real processes on one SQLite file: between two steps each paid
//! call is made once; inside a call it is made twice, with the same key.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use flowfabric::prelude::*;

const STEPS: u32 = 4;

/// Where a process stops, and what it then prints.
const STOP: &str = "KILLED_TEST_STOP";
/// The folder of the store and of the calls that were made.
const FOLDER: &str = "KILLED_TEST_FOLDER";

/// Prints a line that this test reads, and waits to be killed.
async fn wait_to_be_killed() {
    let mut out = std::io::stdout();
    out.write_all(b"ready\n").and_then(|()| out.flush()).unwrap();
    std::future::pending().await
}

fn stops_at(place: &str) -> bool {
    std::env::var(STOP).is_ok_and(|stop| stop == place)
}

/// Pays in several steps. Each call is written down, with its key.
async fn order(task: TaskContext, (): ()) -> Result<u32, TaskError> {
    let mut sum = 0;
    for number in 0..STEPS {
        let pay = |key: String| async move {
            let calls = Path::new(&std::env::var(FOLDER)?).join("calls");
            let mut calls = File::options().append(true).create(true).open(calls)?;
            writeln!(calls, "{number} {key}")?;
            calls.sync_all()?;
            if stops_at(&format!("inside {number}")) {
                wait_to_be_killed().await;
            }
            Ok::<_, TaskError>(number)
        };
        sum += task.step(&format!("pay {number}"), pay).await?;
        if stops_at(&format!("after {number}")) {
            wait_to_be_killed().await;
        }
    }
    Ok(sum)
}

/// The worker of a killed process: not a test of its own.
#[tokio::test]
async fn a_worker_to_be_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let store = FlowFabric::open(&format!("sqlite:{folder}/work.ff")).await.unwrap();
    store.worker().on("order", order).start().await.unwrap();
    std::future::pending().await
}

/// Starts a process that works until it stops at this place.
fn start(folder: &Path, stop: &str) -> Child {
    let program = std::env::current_exe().unwrap();
    Command::new(program)
        .args(["--exact", "killed::a_worker_to_be_killed", "--nocapture"])
        .envs([(FOLDER, folder.to_str().unwrap()), (STOP, stop)])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until the process has stopped at its place, and kills it with -9.
fn kill(mut child: Child) {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let stopped = lines.map_while(Result::ok).any(|line| line.ends_with("ready"));
    assert!(stopped, "the process ended before it came to its place");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Kills a worker at each of these places, lets another finish, and answers the calls that were made.
async fn calls(places: &[String]) -> Vec<(u32, String)> {
    let folder = tempfile::tempdir().unwrap();
    let store = FlowFabric::open(&format!("sqlite:{}/work.ff", folder.path().display())).await;
    let store = store.unwrap();
    let task = store.task("order", &()).lease_ttl(Duration::from_millis(500));
    let task = task.send().await.unwrap();
    for place in places {
        let (child, folder) = (start(folder.path(), place), folder.path().to_owned());
        tokio::task::spawn_blocking(move || kill(child)).await.unwrap();
        assert!(folder.join("calls").exists());
    }
    let mut last = start(folder.path(), "nowhere");
    assert_eq!(task.result::<u32>().await.unwrap(), 6);
    last.kill().unwrap();
    last.wait().unwrap();
    store.close().await;
    let calls = fs::read_to_string(folder.path().join("calls")).unwrap();
    let call = |line: &str| {
        let (number, key) = line.split_once(' ').unwrap();
        (number.parse().unwrap(), key.to_owned())
    };
    calls.lines().map(call).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_between_two_steps_each_call_is_made_once() {
    let places: Vec<_> = (0..STEPS).map(|number| format!("after {number}")).collect();
    let numbers: Vec<_> = calls(&places).await.into_iter().map(|(number, _)| number).collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_inside_a_call_it_is_made_twice_with_the_same_key() {
    let calls = calls(&["inside 1".to_owned(), "inside 3".to_owned()]).await;
    let numbers: Vec<_> = calls.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [0, 1, 1, 2, 3, 3]);
    let keys: Vec<_> = calls.into_iter().map(|(_, key)| key).collect();
    assert_eq!((&keys[1], &keys[4]), (&keys[2], &keys[5]));
    let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
    assert_eq!(distinct.len(), 4);
}
