//! The page of states: the diagram and the tables, drawn from the transition table and from the one
//! function that derives the public words.

use ff_core::condition::Condition;
use ff_core::limits::Blocker;
use ff_core::machine::{Command, Loaded, Step, Submit, apply};
use ff_core::record::Attempt;
use ff_core::state::{DelayReason, Failure, Grant, Intent, Lease, Outcome, State, Worker};
use ff_core::suspension::{OnTimeout, SuspendReason, Suspension};
use ff_core::table::{ARROWS, Arrow, FLOW_ARROWS, Node};
use ff_core::{
    Category, Description, ExecutionId, Lane, LeaseId, NodeName, Partition, Payload, PublicState,
    Refusal, RequestId, ResourceKind, Time, WorkerId, WorkerInstanceId,
};

use super::{code, heading, table};

pub(crate) fn page() -> String {
    let mut page = heading("States", "states");
    page.push_str(
        "An execution makes exactly the moves below, and no other. A move that leaves the state as \
         it is (renew, progress, a change of priority or tags) is in the table only.\n\n",
    );
    page.push_str(&diagram());
    page.push_str("\n## Moves\n\n");
    page.push_str(&moves(ARROWS));
    page.push_str("\n## Moves of flows\n\n");
    page.push_str(
        "A flow is an execution that waits for its members and never runs itself. What another's end, or \
         the end of the flow, does to a member is called `follow`; what follow-up work does to the flow is \
         called `cascade`.\n\n",
    );
    page.push_str(&moves(FLOW_ARROWS));
    page.push_str("\n## How a state is shown\n\n");
    page.push_str(
        "`state` is the public word; the six columns after it are the `state_vector`. All are \
         derived from the stored state in one function.\n\n",
    );
    page.push_str(&views().unwrap_or_else(|refusal| format!("{refusal}\n")));
    page.push_str("\n## Public states\n\n");
    let words = PublicState::ALL.iter().map(code).collect::<Vec<_>>().join(", ");
    page.push_str(&format!("{words}.\n"));
    page
}

fn moves(arrows: &[Arrow]) -> String {
    let rows = arrows
        .iter()
        .map(|(from, verb, to)| [code(from.as_str()), verb.to_string(), code(to.as_str())]);
    table(["from", "by", "to"], rows)
}

fn diagram() -> String {
    let mut edges: Vec<((Node, Node), Vec<String>)> = Vec::new();
    for (from, verb, to) in ARROWS.iter().filter(|(from, _, to)| from != to) {
        let verb = verb.to_string();
        match edges.iter_mut().find(|(edge, _)| *edge == (*from, *to)) {
            Some((_, verbs)) => verbs.push(verb),
            None => edges.push(((*from, *to), vec![verb])),
        }
    }
    let name = |node: Node| match node {
        Node::Absent => "[*]",
        node => node.as_str(),
    };
    let lines = edges.iter().map(|((from, to), verbs)| {
        format!("    {} --> {}: {}\n", name(*from), name(*to), verbs.join(", "))
    });
    format!("```mermaid\nstateDiagram-v2\n{}```\n", lines.collect::<String>())
}

/// One row for every state that reads differently.
fn views() -> Result<String, Refusal> {
    let heading = [
        "stored state",
        "state",
        "lifecycle_phase",
        "ownership_state",
        "eligibility_state",
        "blocking_reason",
        "terminal_outcome",
        "attempt_state",
    ];
    let rows = records()?.into_iter().map(|(name, record)| {
        let vector = record.state_vector();
        [
            name.to_owned(),
            code(record.public_state()),
            code(vector.lifecycle_phase),
            code(vector.ownership_state),
            code(vector.eligibility_state),
            code(vector.blocking_reason),
            code(vector.terminal_outcome),
            code(vector.attempt_state),
        ]
    });
    Ok(table(heading, rows))
}

const QUEUED: [(&str, Intent); 7] = [
    ("queued, first attempt", Intent::Fresh),
    ("queued, after a failure", Intent::Retry),
    ("queued, after a lost lease", Intent::Reclaim),
    ("queued, replayed", Intent::Replay),
    ("queued, after its holder's delay or suspension", Intent::Resume),
    ("queued, handed back", Intent::HandBack),
    ("queued, lease revoked", Intent::Revoke),
];

const DELAYED: [(&str, DelayReason); 3] = [
    ("delayed, start asked for", DelayReason::Start),
    ("delayed, retry backoff", DelayReason::Backoff),
    ("delayed, asked for by its holder", DelayReason::Hold),
];

const SUSPENDED: [(&str, SuspendReason); 4] = [
    ("suspended, for a signal", SuspendReason::Signal),
    ("suspended, for an approval", SuspendReason::Approval),
    ("suspended, for a callback", SuspendReason::Callback),
    ("suspended, for the result of a tool", SuspendReason::ToolResult),
];

const BLOCKED: [(&str, ResourceKind); 2] =
    [("blocked by a budget", ResourceKind::Budget), ("blocked by a quota", ResourceKind::Quota)];

fn records() -> Result<Vec<(&'static str, Description)>, Refusal> {
    let (at, request) = (Time::EPOCH, RequestId::new(0));
    let worker = Worker { id: WorkerId::new("w")?, instance: WorkerInstanceId::new("w-1")? };
    let id = LeaseId { request, index: 0 };
    let grant = Grant { request, to: worker.clone(), until: at };
    let attempt = Attempt {
        number: 0,
        run: 0,
        started: at,
        lease: id,
        worker: worker.clone(),
        progress: None,
        end: None,
    };
    let lease = Lease { id, epoch: 1, worker, until: at, timeout_at: None };
    let failure = Failure { category: Category::error(), retryable: false, message: "".into() };
    let success = Outcome::Success { result: Payload::default().shape() };
    let finished = |outcome| State::Finished { outcome, at };

    let unstarted = submitted()?;
    let before = |state| Description { state, ..unstarted.clone() };
    let after = |state| Description { attempt: Some(attempt.clone()), ..before(state) };
    let mut records = Vec::new();
    records.extend(QUEUED.map(|(name, why)| (name, after(State::Queued { why }))));
    records.extend(
        DELAYED.map(|(name, why)| (name, after(State::Delayed { until: at, why, step: None }))),
    );
    records.extend(BLOCKED.map(|(name, kind)| {
        let on = Blocker { kind, name: (&Lane::default()).into() };
        (name, before(State::Blocked { on, why: Intent::Fresh, detail: "".into() }))
    }));
    records.extend(SUSPENDED.map(|(name, reason)| {
        let suspension = Box::new(suspension(reason, at));
        (name, after(State::Suspended { suspension }))
    }));
    records.extend([
        ("granted (as queued)", before(State::Granted { grant, why: Intent::Fresh })),
        ("active", after(State::Active { lease, cancel: None })),
        ("completed", after(finished(success))),
        ("failed", after(finished(Outcome::Failed { failure }))),
        ("cancelled", after(finished(Outcome::Cancelled { reason: None }))),
        ("expired", after(finished(Outcome::Expired))),
        ("awaiting others", before(State::Awaiting { why: Intent::Fresh })),
        ("skipped", before(finished(Outcome::Skipped { because: NodeName::new("a")? }))),
        ("cancelled before an attempt", before(finished(Outcome::Cancelled { reason: None }))),
        ("expired before an attempt", before(finished(Outcome::Expired))),
    ]);
    Ok(records)
}

/// A suspension for this reason.
fn suspension(reason: SuspendReason, since: Time) -> Suspension {
    Suspension {
        number: 0,
        step: None,
        reason,
        message: None,
        condition: Condition::Any(Vec::new()),
        counted: Vec::new(),
        since,
        until: None,
        on_timeout: OnTimeout::Resume,
    }
}

/// A record, as a submit makes it.
fn submitted() -> Result<Description, Refusal> {
    let id = ExecutionId::mint(Time::EPOCH, Partition::ONLY, 0, 0);
    let command = Command { entropy: 0, by: None, action: Submit::new(id).into() };
    let Step::Done(transition) = apply(&command, &Loaded::at(Time::EPOCH))? else {
        return Err(Refusal::NotFound);
    };
    let writes = transition.items.into_iter().filter_map(|item| item.write);
    let mut records = writes.flat_map(|write| write.changes).filter_map(|change| change.after);
    records.next().map(|record| record.description).ok_or(Refusal::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_shows_every_move_and_every_public_state() {
        let page = page();
        for (from, verb, to) in ARROWS.iter().chain(FLOW_ARROWS) {
            let row = format!("| `{}` | {verb} | `{}` |", from.as_str(), to.as_str());
            assert!(page.contains(&row), "{row}");
        }
        for state in PublicState::ALL {
            assert!(page.contains(&format!("| `{state}` |")), "{state}");
        }
        assert_eq!(page, super::page());
    }
}
