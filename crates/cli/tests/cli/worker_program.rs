//! What a program knows, may do, and never sees.

use serde_json::json;

use crate::fixture::Ff;

/// The path of the program under test, for commands inside programs.
const FF: &str = env!("CARGO_BIN_EXE_ff");

/// What the environment of a program must not have.
const SECRETS: [&str; 2] = ["hush-hush-a-token-of-many-characters", "ff.db"];

/// The lines of a program's environment that begin with `FF_`, as its result.
fn environment_of(ff: &Ff, worker: &Ff) -> String {
    let id = ff.submit(&[]);
    worker.work("env | grep ^FF_");
    String::from_utf8(ff.ok(&["result", &id])).unwrap()
}

#[test]
fn a_program_inherits_no_secret_of_its_worker() {
    let ff = Ff::new().with_token(SECRETS[0]);
    let server = ff.serve();
    let direct = Ff::new();
    let id = direct.submit(&[]);
    let mut command = direct.command(&["worker", "--until-idle", "--exec", "env | grep ^FF_"]);
    let done = crate::fixture::finish(
        command.env("FF_TOKEN", SECRETS[0]).env("FF_STORE", direct.store()).env("FF_OTHER", "x"),
        b"",
    );
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let direct = String::from_utf8(direct.ok(&["result", &id])).unwrap();
    for environment in [environment_of(&server.ff(), &server.ff()), direct] {
        for secret in SECRETS {
            assert!(!environment.contains(secret), "{environment}");
        }
        let names = environment.lines().filter_map(|line| line.split_once('='));
        let names: Vec<_> = names.map(|(name, _)| name).collect();
        assert!(!names.contains(&"FF_TOKEN") && !names.contains(&"FF_STORE"), "{environment}");
        assert!(!names.contains(&"FF_OTHER"), "{environment}");
        assert!(environment.contains("FF_URL=http://127.0.0.1:"), "{environment}");
    }
}

/// Reports progress and usage, and repeats a report that must count once.
fn report() -> String {
    format!(
        "{FF} progress 40 --message 'nearly half' && {FF} usage prompt tokens=30 > /dev/null && \
             {FF} usage prompt tokens=30 && {FF} usage --release cached tokens=10 --json"
    )
}

/// What holds directly on a store and behind a server that requires a token.
fn programs_report_what_they_do(ff: &Ff) {
    ff.ok(&["budget", "set", "team", "--limit", "tokens=100"]);
    let id = ff.submit(&["--budget", "team"]);
    ff.work(&report());
    let printed = String::from_utf8(ff.ok(&["result", &id])).unwrap();
    assert_eq!(printed, "tokens=30\n{\"used\":{\"tokens\":20}}\n");
    let progress = &ff.attempts(&id)[0]["progress"];
    assert_eq!(progress, &json!({"percent": 40, "message": "nearly half"}));
    let budget = ff.json(&["budget", "show", "team"]);
    assert_eq!(budget["dimensions"]["tokens"]["used"], 20, "{budget}");
}

#[test]
fn a_program_reports_directly_to_a_store() {
    programs_report_what_they_do(&Ff::new());
}

#[test]
fn a_program_reports_to_a_server_whose_token_it_does_not_have() {
    let ff = Ff::new().with_token(SECRETS[0]);
    let server = ff.serve();
    programs_report_what_they_do(&server.ff());
}

#[test]
fn the_endpoint_of_programs_takes_nothing_but_reports_of_what_runs() {
    let ff = Ff::new();
    let other = ff.submit(&["--lane", "other"]);
    let id = ff.submit(&[]);
    // Another execution, another lease, and calls that are no reports.
    let exec = format!(
        "FF_EXECUTION={other} {FF} progress 1; echo $? >> codes; \
         FF_LEASE=$(echo $FF_LEASE | tr 0-9 1-90) {FF} progress 2; echo $? >> codes; \
         FF_EPOCH=9 {FF} usage k tokens=1; echo $? >> codes; \
         {FF} ls; echo $? >> codes; {FF} cancel $FF_EXECUTION; echo $? >> codes; \
         {FF} progress 3; echo $? >> codes"
    );
    ff.work(&exec);
    let codes = std::fs::read_to_string(ff.path("codes")).unwrap();
    assert_eq!(codes, "1\n1\n1\n1\n1\n0\n");
    assert_eq!(ff.attempts(&id)[0]["progress"]["percent"], 3);
    assert_eq!(ff.show(&other)["state"], "waiting");
}

#[test]
fn reports_are_refused_outside_a_program() {
    let done = Ff::new().run(&["progress", "40"]);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("FF_NAMESPACE does not name"), "{}", done.stderr);
}

#[test]
fn a_program_knows_which_try_it_is_and_what_came_before() {
    let ff = Ff::new();
    ff.ok(&["budget", "set", "team", "--limit", "tokens=100"]);
    let id = ff.submit(&[
        "--budget",
        "team",
        "--priority",
        "7",
        "--max-attempts",
        "2",
        "--backoff",
        "0s",
    ]);
    let print = "echo $FF_FAILURES of $FF_MAX_ATTEMPTS, last $FF_LAST_ATTEMPT, priority \
                 $FF_PRIORITY, budgets $FF_BUDGETS, used $FF_USED";
    let exec = format!(
        "{print} >> tries; {FF} usage try-$FF_ATTEMPT tokens=5 > used; \
                        test $FF_LAST_ATTEMPT = true || exit 75"
    );
    ff.work(&exec);
    assert_eq!(ff.show(&id)["state"], "completed");
    let tries = std::fs::read_to_string(ff.path("tries")).unwrap();
    let expected = "0 of 2, last false, priority 7, budgets team, used\n\
                    1 of 2, last true, priority 7, budgets team, used tokens=5\n";
    assert_eq!(tries, expected);
}

#[test]
fn a_resumed_program_knows_what_was_last_reported() {
    let ff = Ff::new();
    let id = ff.submit(&[]);
    let exec = format!(
        "test -n \"$FF_PROGRESS\" && echo $FF_PROGRESS $FF_PROGRESS_MESSAGE && exit; \
                        {FF} progress 60 --message 'page six'; echo >> reported; sleep 1000"
    );
    let worker = ff.worker(&["--exec", &exec]);
    crate::fixture::wait_for_lines(&ff.path("reported"), 1);
    drop(worker);
    ff.work(&exec);
    assert_eq!(ff.ok(&["result", &id]), b"60 page six\n");
}
