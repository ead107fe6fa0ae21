//! Arguments that no store would send.

use ff_testkit::report;

use crate::cases::{self, Case};
use crate::faulty::Faulty;

/// How many arguments a function takes.
fn takes(verb: &str, count: usize) -> bool {
    let groups = |before: usize, each: usize| {
        count >= before + each && (count - before).is_multiple_of(each)
    };
    match verb {
        "submit" | "append" => groups(1, 2),
        "unblock" => groups(1, 1),
        "claim" => count >= 3,
        "complete" => groups(0, 2),
        // Each call in it says what it is.
        "together" | "together_freeing" => false,
        "renew" | "retire" | "sweep" => count >= 1,
        // The third of a decision is how many changes it has: one here.
        "commit" | "commit_freeing" => groups(1, 9),
        "repair" => count >= 3,
        "dump" => count >= 4,
        "dump_elements" => count == 3,
        "engine_heartbeat" => count == 2,
        "now" => count == 0,
        // Those over many partitions take their count and their names first.
        "due" => count == 2 + 7,
        "list" => count == 2 + 5,
        "ahead" | "events" | "trim_events" => count == 2 + 3,
        "blocked" => count == 2 + 4,
        "blockers" => count == 2 + 2,
        "admission_candidates" => count >= 2 + 2,
        "resources" => count == 4,
        "partitions_of_request" => count == 2 + 1,
        "backlog" => count == 2 + 3,
        "peek" => count >= 2 + 2,
        // A record takes two, a queue five and its classes.
        "load" => count.is_multiple_of(2) && count > 0,
        _ => panic!("{verb} is not known here"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_number_of_arguments_is_refused_before_anything_is_read() {
    let faulty = Faulty::new().await;
    let mut calls = 0;
    for verb in faulty.verbs() {
        for count in 0..=24 {
            if takes(&verb, count) {
                continue;
            }
            let mut args = vec![b"1".to_vec(); count];
            if verb == "load" {
                (0..count).step_by(2).for_each(|at| args[at] = b"r".to_vec());
            }
            faulty.fail(&verb, 0);
            let refused = faulty.call(&verb, &args).unwrap_err();
            assert!(refused.starts_with("FF_ARITY "), "{verb} with {count}: {refused}");
            assert_eq!(faulty.calls().to_string(), "0", "{verb} with {count} has read something");
            calls += 1;
        }
    }
    eprintln!("{} functions, {calls} calls", faulty.verbs().len());
}

/// Every function that writes, in all its cases.
fn every_scene() -> Vec<Case> {
    [
        cases::submit(),
        cases::claim_(),
        cases::complete_(),
        cases::renew_(),
        cases::retire(),
        cases::commit(),
        cases::settle(),
        cases::unblock_(),
        cases::count(),
    ]
    .concat()
}

/// Bytes in place of any others.
fn garbage(rng: &mut fastrand::Rng, instead_of: &[u8]) -> Vec<u8> {
    let mut bytes = |count: usize| (0..count).map(|_| rng.u8(..)).collect::<Vec<u8>>();
    match bytes(1)[0] % 8 {
        0 => Vec::new(),
        1 => b"nan".to_vec(),
        2 => b"-9007199254740993".to_vec(),
        3 => b"1e400".to_vec(),
        4 => bytes(4),
        5 => bytes(300),
        6 => instead_of[..instead_of.len() / 2].to_vec(),
        _ => {
            let mut changed = instead_of.to_vec();
            let at = changed.len().checked_sub(1).map(|last| rng.usize(0..=last));
            at.into_iter().for_each(|at| changed[at] = rng.u8(..));
            changed
        }
    }
}

/// How often each case is run with garbage.
const TRIES: usize = 12;

#[tokio::test(flavor = "multi_thread")]
async fn garbage_gives_no_error_after_the_first_write() {
    let seed = std::env::var("FF_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    eprintln!("FF_SEED={seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let (mut calls, mut errors) = (0, 0);
    for case in every_scene() {
        let faulty = Faulty::new().await;
        faulty.play(&case.before).await;
        drop(faulty.run(&case.act).await);
        let args = faulty.last_args(case.verb);
        for _ in 0..TRIES {
            let faulty = Faulty::new().await;
            faulty.play(&case.before).await;
            let mut args = args.clone();
            for _ in 0..rng.usize(1..=2) {
                let at = rng.usize(0..args.len());
                args[at] = garbage(&mut rng, &args[at]);
            }
            let before = faulty.everything();
            let answer = faulty.call(case.verb, &args);
            calls += 1;
            if let Err(why) = answer {
                let same = faulty.everything() == before;
                let what = format!("FF_SEED={seed} {}: {}: {why}", case.verb, case.name);
                assert!(same, "{what} after {args:?}");
                errors += 1;
            }
        }
    }
    eprintln!("{calls} calls, {errors} errors");
    report::count("garbage calls", calls);
}
