//! How a program ends decides what becomes of its execution.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use serde_json::json;

use crate::fixture::{Ff, Lines};

#[test]
fn exit_0_completes_with_stdout_as_the_result() {
    let ff = Ff::new();
    let json = ff.submit(&["--input", "{\"n\": 2}"]);
    ff.work("printf '{\"seen\": '; cat; printf '}'");
    assert_eq!(ff.ok(&["result", &json]), b"{\"seen\": {\"n\": 2}}");
    assert_eq!(ff.show(&json)["result"]["content_type"], "application/json");
    let text = ff.submit(&[]);
    ff.work("printf hello");
    assert_eq!(ff.show(&text)["result"]["content_type"], "application/octet-stream");
}

#[test]
fn the_program_knows_what_it_works_on() {
    let ff = Ff::new();
    let id = ff.submit(&["--lane", "l", "--kind", "k", "--namespace", "n"]);
    let print = "printf '%s ' $FF_EXECUTION $FF_ATTEMPT $FF_RUN $FF_KIND $FF_LANE $FF_NAMESPACE; \
                 printf '%s ' $FF_EPOCH; printf $FF_LEASE";
    ff.ok(&["worker", "--lane", "l", "--namespace", "n", "--until-idle", "--exec", print]);
    let printed = String::from_utf8(ff.ok(&["result", &id, "--namespace", "n"])).unwrap();
    let lease = ff.json(&["attempts", &id, "--namespace", "n"])["attempts"][0]["lease"].clone();
    assert_eq!(printed, format!("{id} 0 0 k l n 1 {}", lease.as_str().unwrap()));
}

#[test]
fn other_codes_fail_the_execution_with_the_end_of_stderr() {
    let ff = Ff::new();
    let id = ff.submit(&[]);
    let report = ff.work("echo first >&2; echo 'no such order' >&2; exit 3");
    assert_eq!(report["failed"], 1);
    let view = ff.show(&id);
    assert_eq!((&view["state"], &view["attempts"]), (&"failed".into(), &1.into()));
    assert_eq!(view["reason"], "exit 3: first\nno such order");
    assert_eq!(view["failure"]["retryable"], false);
}

#[test]
fn only_the_end_of_a_long_stderr_is_kept() {
    let ff = Ff::new();
    let id = ff.submit(&[]);
    let done = ff.run(&[
        "worker", "--until-idle", "--exec",
        "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done >&2; printf '\\377' >&2; exit 3",
    ]);
    assert!(done.stderr.contains("line 0\n"), "stderr is passed on");
    let message = ff.show(&id)["reason"].as_str().unwrap().to_owned();
    assert!(message.len() <= 4_096 && message.len() > 4_000, "{}", message.len());
    assert!(message.starts_with("exit 3: "));
    assert!(message.ends_with("line 2999\n\u{fffd}"), "{message:?}");
}

#[test]
fn exit_75_is_tried_again_until_the_policy_ends_it() {
    let ff = Ff::new();
    let id = ff.submit(&["--max-attempts", "3", "--backoff", "0s"]);
    let report = ff.work("echo try $FF_ATTEMPT >&2; exit 75");
    assert_eq!((&report["retrying"], &report["failed"]), (&2.into(), &1.into()));
    let view = ff.show(&id);
    assert_eq!((&view["state"], &view["failures"]), (&"failed".into(), &3.into()));
    assert_eq!(view["reason"], "exit 75: try 2");
    let messages: Vec<_> =
        ff.attempts(&id).iter().map(|a| a["failure"]["message"].clone()).collect();
    assert_eq!(messages, ["exit 75: try 0", "exit 75: try 1", "exit 75: try 2"]);
    ff.check();
}

#[test]
fn a_retry_waits_for_its_backoff_and_then_succeeds() {
    let ff = Ff::new();
    let id = ff.submit(&["--backoff", "300ms", "--jitter", "0"]);
    let _worker = ff.worker(&["--exec", "test $FF_ATTEMPT -gt 0 || exit 75"]);
    ff.wait_for_state(&id, "completed");
    let attempts = ff.attempts(&id);
    assert_eq!(attempts.len(), 2);
    assert_eq!(attempts[0]["status"], "failed");
}

#[test]
fn a_category_that_is_not_to_be_retried_is_not() {
    let ff = Ff::new();
    let id = ff.submit(&["--retry-on", "signal", "--backoff", "0s"]);
    ff.work("test $FF_ATTEMPT -gt 0 && exit 75; kill -9 $$");
    let statuses: Vec<_> = ff
        .attempts(&id)
        .iter()
        .map(|a| (a["failure"]["category"].clone(), a["failure"]["retryable"].clone()))
        .collect();
    assert_eq!(statuses, [("signal".into(), true.into()), ("error".into(), true.into())]);
    assert_eq!(ff.show(&id)["state"], "failed");
}

#[test]
fn death_by_a_signal_is_tried_again() {
    let ff = Ff::new();
    let id = ff.submit(&["--backoff", "0s"]);
    ff.work("test $FF_ATTEMPT -gt 0 || kill -9 $$; printf survived");
    assert_eq!(ff.ok(&["result", &id]), b"survived");
    assert_eq!(ff.attempts(&id)[0]["failure"]["message"], "killed by signal 9");
}

#[test]
fn a_result_over_the_limit_fails_for_good_and_says_so() {
    let ff = Ff::new();
    let id = ff.submit(&[]);
    ff.work("yes");
    let view = ff.show(&id);
    assert_eq!((&view["state"], &view["attempts"]), (&"failed".into(), &1.into()));
    assert!(view["reason"].as_str().unwrap().contains("more than 1048576 bytes to stdout"));
    assert_eq!(view["failure"]["category"], "output_too_large");
}

#[test]
fn a_program_need_not_read_its_input() {
    let ff = Ff::new();
    std::fs::write(ff.path("large"), vec![b'x'; 1 << 20]).unwrap();
    let id = ff.submit(&["--input-raw", "@large"]);
    ff.work("true");
    assert_eq!(ff.show(&id)["state"], "completed");
}

#[test]
fn a_process_left_behind_by_a_program_delays_nothing() {
    let ff = Ff::new();
    let id = ff.submit(&[]);
    ff.work("sleep 1000 & printf done");
    assert_eq!(ff.ok(&["result", &id]), b"done");
}

#[test]
fn a_program_that_cannot_be_run_costs_no_work_and_stops_its_worker() {
    let ff = Ff::new();
    std::fs::write(ff.path("plain"), "echo never").unwrap();
    let ids = [ff.submit(&[]), ff.submit(&[])];
    for (exec, why) in [("ff-no-such-program", "exit 127: "), ("./plain", "exit 126: ")] {
        let done = ff.run(&["worker", "--concurrency", "2", "--json", "--exec", exec]);
        assert_eq!((done.code, done.stdout.len()), (Some(1), 0), "{}", done.stderr);
        let last = done.stderr.lines().last().unwrap();
        let refused: serde_json::Value = serde_json::from_str(last).unwrap();
        assert_eq!(refused["code"], "program_not_runnable");
        let message = refused["message"].as_str().unwrap();
        assert!(
            message.contains(why) && message.contains(exec.trim_start_matches("./")),
            "{message}"
        );
        for id in &ids {
            let view = ff.show(id);
            assert_eq!((&view["failures"], &view["reclaims"]), (&0.into(), &0.into()), "{view}");
        }
    }
    ff.work("true");
    for id in &ids {
        assert_eq!(ff.show(id)["state"], "completed");
    }
    ff.check();
}

/// A pipe with a name: its reader sees its end when everything that has it open for writing is gone.
fn fifo(ff: &Ff, name: &str) -> Lines {
    let made = std::process::Command::new("mkfifo").arg(ff.path(name)).status().unwrap();
    assert!(made.success());
    let path = ff.path(name);
    Lines::of(OpensLater(Some(path), None))
}

/// Opens the file when it is first read: opening a pipe with a name waits for its writer.
struct OpensLater(Option<PathBuf>, Option<File>);

impl Read for OpensLater {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        if let Some(path) = self.0.take() {
            self.1 = Some(File::open(path)?);
        }
        self.1.as_mut().map_or(Ok(0), |file| file.read(bytes))
    }
}

#[test]
fn processes_left_running_by_a_program_end_with_its_task() {
    let ff = Ff::new();
    let writers = fifo(&ff, "writers");
    let id = ff.submit(&[]);
    ff.work("exec 9> writers; echo started >&9; sleep 1000 > sleep.log 2>&1 & printf done");
    assert_eq!(ff.ok(&["result", &id]), b"done");
    assert_eq!(writers.rest(), ["started"], "nothing holds the pipe any more");
}

#[test]
fn programs_end_when_their_worker_is_killed() {
    let ff = Ff::new();
    let writers = [fifo(&ff, "0"), fifo(&ff, "1")];
    let exec = "exec 9> $(cat); trap '' TERM; echo started >&9; sleep 1000 & wait";
    let mut worker = ff.worker(&["--concurrency", "2", "--exec", exec]);
    for name in ["0", "1"] {
        ff.submit(&["--input", name]);
    }
    for writers in &writers {
        assert_eq!(writers.next().as_deref(), Some("started"));
    }
    worker.kill();
    for writers in &writers {
        assert_eq!(writers.next(), None, "nothing holds the pipe any more");
    }
}

#[test]
fn a_worker_runs_only_what_it_can() {
    let ff = Ff::new();
    let needs = ff.submit(&["--require", "gpu"]);
    let free = ff.submit(&[]);
    ff.work("true");
    assert_eq!(ff.show(&free)["state"], "completed");
    let view = ff.show(&needs);
    let reason = "waits because no live worker serves lane default; it is next in its queue";
    assert_eq!((&view["reason"], &view["requires"]), (&json!(reason), &json!(["gpu"])));
    ff.ok(&["worker", "--until-idle", "--capability", "gpu", "--exec", "true"]);
    assert_eq!(ff.show(&needs)["state"], "completed");
}

#[test]
fn once_is_one_execution() {
    let ff = Ff::new();
    ff.submit(&[]);
    ff.submit(&[]);
    let report = ff.json(&["worker", "--once", "--concurrency", "8", "--exec", "true"]);
    assert_eq!((&report["claimed"], &report["completed"]), (&1.into(), &1.into()));
    let waiting = ff.json(&["ls", "--state", "waiting"]);
    assert_eq!(waiting["executions"].as_array().unwrap().len(), 1);
}
