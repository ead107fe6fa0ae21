//! Every call of a sort, for facts that hold for each of them.

use ff_core::machine::{
    Action, Cancel, CancelHeld, ClaimGranted, Complete, Delay, Fail, HandBack, Hold, Renew, Replay,
    ReportProgress, Revoke, SetPriority, SetTags, Target,
};
use ff_core::record::{Progress, Tags};
use ff_core::{LeaseId, Payload, RequestId, When};

use super::{failure, ms, tag, worker};

/// A call and what a person would call it.
pub(crate) type Call = (&'static str, Action);

/// Each call that needs a lease.
pub(crate) fn holder_calls(hold: &Hold) -> Vec<Call> {
    let progress = Progress { percent: Some(50), message: Some("half".into()) };
    let mut calls = vec![
        ("renew", Action::from(Renew { hold: hold.clone() })),
        ("progress", ReportProgress { hold: hold.clone(), progress }.into()),
    ];
    calls.extend(exit_calls(hold));
    calls
}

/// Each call by which a holder ends its lease.
pub(crate) fn exit_calls(hold: &Hold) -> Vec<Call> {
    let hold = || hold.clone();
    vec![
        ("complete", Complete { hold: hold(), result: Payload::bytes("done") }.into()),
        ("fail", Fail { hold: hold(), failure: failure("broken") }.into()),
        ("delay", Delay { hold: hold(), until: When::After(ms(700)) }.into()),
        ("cancel held", CancelHeld { hold: hold(), reason: None }.into()),
        ("hand back", HandBack { hold: hold() }.into()),
    ]
}

/// Each call that names an execution without holding it.
pub(crate) fn steering_calls(target: &Target) -> Vec<Call> {
    let target = || target.clone();
    let request = RequestId::new(7);
    let lease = LeaseId { request, index: 0 };
    let set = Tags::from([tag("team", "blue")]);
    vec![
        ("claim granted", ClaimGranted { target: target(), request, worker: worker("ada") }.into()),
        ("cancel", Cancel { target: target(), grace: None, reason: None }.into()),
        ("revoke", Revoke { target: target(), lease }.into()),
        ("set priority", SetPriority { target: target(), priority: 7 }.into()),
        ("set tags", SetTags { target: target(), set, remove: Vec::new() }.into()),
        ("replay", Replay { target: target(), run: 0 }.into()),
    ]
}
