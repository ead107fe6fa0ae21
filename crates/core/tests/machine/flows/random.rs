//! Random graphs with random ends settle exactly as a naive evaluator says.

use ff_core::flow::{OnFailure, Rest};
use ff_core::graph::{FlowSubmission, Join, NodeSpec};
use ff_core::machine::{Cancel, Complete, Fail, ReadFlow, ReopenMembers, ReplayFlow, Reply};
use ff_core::reopen::reopened;
use ff_core::state::{Failure, Outcome};
use ff_core::table::{FLOW_ARROWS, Node};
use ff_core::{Category, ExecutionId, Payload, PublicState};

use super::world::{World, node};
use crate::fixture::make::{id, target};
use crate::fixture::report;

/// How many graphs, unless `FF_HISTORIES` says another number.
const GRAPHS: u64 = 10_000;

/// How a node ends if it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Completes,
    Fails,
    IsCancelled,
}

#[derive(Debug)]
struct Plan {
    nodes: Vec<NodeSpec>,
    fates: Vec<Fate>,
    after: Vec<Vec<usize>>,
}

fn plan(rng: &mut fastrand::Rng) -> Plan {
    let count = rng.usize(1..=9);
    let timed = rng.u8(0..4) == 0;
    let mut plan = Plan { nodes: Vec::new(), fates: Vec::new(), after: Vec::new() };
    for number in 0..count {
        let after: Vec<_> = (0..number).filter(|_| rng.u8(0..3) == 0).collect();
        let names: Vec<_> = after.iter().map(|number| format!("n{number}")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let join = match (after.len(), rng.u8(0..4)) {
            (0, _) | (_, 0 | 1) => Join::All,
            (_, 2) => Join::Any,
            (of, _) => Join::Quorum(rng.u32(1..=of as u32)),
        };
        let on_failure = match rng.u8(0..6) {
            0 => OnFailure::Continue,
            1 if timed => OnFailure::FailFlow,
            _ => OnFailure::Skip,
        };
        let rest = if timed && rng.bool() { Rest::Cancel } else { Rest::Finish };
        plan.nodes.push(NodeSpec { join, on_failure, rest, ..node(&format!("n{number}"), &names) });
        plan.after.push(after);
        plan.fates.push(match rng.u8(0..8) {
            0 | 1 => Fate::Fails,
            2 => Fate::IsCancelled,
            _ => Fate::Completes,
        });
    }
    plan
}

impl Plan {
    /// Whether the ends of a flow do not depend on who is first.
    fn is_timeless(&self) -> bool {
        let plain =
            |node: &NodeSpec| node.rest == Rest::Finish && node.on_failure != OnFailure::FailFlow;
        self.nodes.iter().all(plain)
    }

    fn needs(&self, number: usize) -> usize {
        match self.nodes[number].join {
            Join::All => self.after[number].len(),
            Join::Any => usize::from(!self.after[number].is_empty()),
            Join::Quorum(count) => count as usize,
        }
    }

    /// Whether a node runs, by how its upstreams have ended.
    fn runs(&self, number: usize, ends: &[PublicState]) -> bool {
        let counts = |upstream: &&usize| {
            ends[**upstream] == PublicState::Completed
                || self.nodes[number].on_failure == OnFailure::Continue
        };
        self.after[number].iter().filter(counts).count() >= self.needs(number)
    }

    /// How every node ends.
    fn expected(&self) -> Vec<PublicState> {
        let mut ends = Vec::new();
        for (number, fate) in self.fates.iter().enumerate() {
            ends.push(match (self.runs(number, &ends), fate) {
                (false, _) => PublicState::Skipped,
                (true, Fate::Completes) => PublicState::Completed,
                (true, Fate::Fails) => PublicState::Failed,
                (true, Fate::IsCancelled) => PublicState::Cancelled,
            });
        }
        ends
    }

    fn is_sink(&self, number: usize) -> bool {
        !self.after.iter().any(|after| after.contains(&number))
    }
}

/// Runs a flow to its end, whatever comes first; `hurry` leaves follow-up work behind.
fn run(world: &mut World, plan: &Plan, rng: &mut fastrand::Rng, hurry: bool) {
    let flow = id(1);
    let mut held = Vec::new();
    loop {
        if hurry && world.records[&flow].outcome().is_some() {
            return;
        }
        match rng.u8(0..4) {
            0 if !world.later.is_empty() => {
                let place = rng.usize(..world.later.len());
                world.slice(place);
            }
            1 | 2 if !world.queue.is_empty() => held.extend(world.claim()),
            _ if !held.is_empty() => {
                let at = held.swap_remove(rng.usize(..held.len()));
                let number = world.records[&at.execution].member.as_ref().unwrap().node;
                let hold = at.hold();
                let ended = match plan.fates[number as usize] {
                    Fate::Completes => {
                        world.act(Complete { hold, result: Payload::bytes("done") }).map(drop)
                    }
                    Fate::Fails => {
                        let (category, message) = (Category::error(), "no".into());
                        let failure = Failure { category, retryable: false, message };
                        world.act(Fail { hold, failure }).map(drop)
                    }
                    Fate::IsCancelled => {
                        let target = target(at.execution);
                        world.act(Cancel { target, grace: None, reason: None }).map(drop)
                    }
                };
                // Its flow may have ended it before.
                let is_over = world.records[&at.execution].outcome().is_some();
                assert!(ended.is_ok() || is_over, "{ended:?}");
            }
            _ => {}
        }
        if world.later.is_empty() && world.queue.is_empty() && held.is_empty() {
            return;
        }
    }
}

/// Replays a flow that did not complete; this time every node completes.
fn replay(world: &mut World, plan: &Plan, rng: &mut fastrand::Rng, flow: ExecutionId) {
    let before: Vec<_> = (0..plan.nodes.len() as u32)
        .map(|number| world.node(flow, number).public_state() == PublicState::Completed)
        .collect();
    world.act(ReplayFlow { target: target(flow), run: 0 }).unwrap();
    if rng.bool() {
        while !world.later.is_empty() && rng.u8(0..4) > 0 {
            world.slice(rng.usize(..world.later.len()));
        }
    }
    let read = ReadFlow { target: target(flow), from: 0, limit: 100 };
    let Ok(Reply::FlowPage(page)) = world.act(read) else { panic!("it is read") };
    let members = reopened(&page.members);
    let reopen = ReopenMembers { target: target(flow), run: 1, members, is_last: true };
    world.act(reopen).unwrap();
    let completes = vec![Fate::Completes; plan.nodes.len()];
    let plan = Plan { fates: completes, nodes: plan.nodes.clone(), after: plan.after.clone() };
    run(world, &plan, rng, false);
    assert_eq!(world.records[&flow].public_state(), PublicState::Completed, "{plan:?}");
    for (number, had_completed) in before.into_iter().enumerate() {
        let node = world.node(flow, number as u32);
        assert!(node.outcome().is_some());
        assert!(!had_completed || node.run.number == 0, "node {number} of {plan:?}");
    }
}

fn check(world: &World, plan: &Plan, flow: ExecutionId) {
    let count = plan.nodes.len();
    let record = &world.records[&flow];
    let ends: Vec<_> =
        (0..count).map(|number| world.node(flow, number as u32).public_state()).collect();
    assert!(ends.iter().all(|end| end.is_finished()), "{ends:?} of {plan:?}");
    if plan.is_timeless() {
        assert_eq!(ends, plan.expected(), "{plan:?}");
    }
    let was_ended = record.public_state() == PublicState::Failed
        && plan.nodes.iter().any(|node| node.on_failure == OnFailure::FailFlow);
    for number in 0..count {
        let member = world.node(flow, number as u32);
        let is_skipped = ends[number] == PublicState::Skipped;
        if is_skipped || member.attempt.is_some() {
            let runs = plan.runs(number, &ends);
            let says = format!("node {number} of {plan:?} with {ends:?}");
            assert!(was_ended || runs != is_skipped, "{says}");
        }
        let succeeded =
            plan.after[number].iter().filter(|n| ends[**n] == PublicState::Completed).count();
        let counts = match plan.nodes[number].on_failure {
            OnFailure::Continue => plan.after[number].len(),
            _ => succeeded,
        };
        let place = member.member.as_ref().unwrap();
        assert_eq!(place.needs, plan.needs(number) as i32 - counts as i32, "{plan:?}");
        let others = plan.after[number].len() - counts;
        let spare = plan.after[number].len() - plan.needs(number);
        assert_eq!(place.spare, spare as i32 - others as i32, "{plan:?}");
    }
    let sinks = (0..count).filter(|number| plan.is_sink(*number));
    let all_good = sinks.map(|number| ends[number]).all(|end| end == PublicState::Completed);
    let expected = if all_good { PublicState::Completed } else { PublicState::Failed };
    let state = record.public_state();
    assert!(
        state == expected || (was_ended && state == PublicState::Failed),
        "{state} of {plan:?}"
    );
    if let Some((Outcome::Failed { failure }, _)) = record.outcome() {
        assert!(!failure.message.is_empty());
    }
}

#[test]
fn random_graphs_settle_as_a_naive_evaluator_says() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let graphs = number("FF_HISTORIES").unwrap_or(GRAPHS);
    let (from, graphs) = number("FF_SEED").map_or((0, graphs), |seed| (seed, 1));
    let mut arrows = std::collections::BTreeMap::new();
    let (mut skipped, mut replayed) = (0, 0);
    for seed in from..from + graphs {
        let mut rng = fastrand::Rng::with_seed(seed);
        let plan = plan(&mut rng);
        let mut world = World::new();
        let flow = world.submit(FlowSubmission::new(id(1), plan.nodes.clone())).unwrap();
        let hurry = rng.u8(0..4) == 0;
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            run(&mut world, &plan, &mut rng, hurry);
            if !hurry {
                check(&world, &plan, flow);
            }
            if world.records[&flow].public_state() != PublicState::Completed {
                replayed += 1;
                replay(&mut world, &plan, &mut rng, flow);
            }
        }));
        assert!(checked.is_ok(), "FF_SEED={seed}");
        skipped += world.arrows.keys().filter(|(_, _, to)| *to == Node::Skipped).count();
        for (arrow, count) in world.arrows {
            *arrows.entry(arrow).or_insert(0) += count;
        }
    }
    let known = |arrow: &&ff_core::table::Arrow| {
        FLOW_ARROWS.contains(arrow) || ff_core::table::ARROWS.contains(arrow)
    };
    let unknown: Vec<_> = arrows.keys().filter(|arrow| !known(arrow)).collect();
    assert_eq!(unknown, [] as [&ff_core::table::Arrow; 0]);
    assert!((skipped > 0 && replayed > 0) || graphs == 1);
    report::counts("random graphs", &[("graphs", graphs), ("replayed", replayed)]);
}
