//! Single decisions about flows.

use ff_core::bounds::{FLOW_NODES, FLOW_OPEN};
use ff_core::flow::{HeldMembers, OnFailure, Phase, Rest, member_id};
use ff_core::graph::{FlowSubmission, Join, NodeSpec};
use ff_core::machine::{
    CancelFlow, Complete, Delete, Fail, FlowSubmitted, LeaseRef, ReadFlow, ReadUpstream, Reply,
    Tick,
};
use ff_core::state::{Failure, Outcome};
use ff_core::{Category, Code, ExecutionId, Millis, Payload, PublicState};

use super::world::{World, node};
use crate::fixture::make::{id, target};

fn flow(nodes: Vec<NodeSpec>) -> FlowSubmission {
    FlowSubmission::new(id(1), nodes)
}

fn completed(world: &mut World, hold: LeaseRef) {
    world.act(Complete { hold, result: Payload::bytes("done") }).unwrap();
}

fn failed(world: &mut World, hold: LeaseRef) {
    let failure =
        Failure { category: Category::error(), retryable: false, message: "broken".into() };
    world.act(Fail { hold, failure }).unwrap();
}

fn state(world: &World, flow: ExecutionId) -> PublicState {
    world.records[&flow].public_state()
}

#[test]
fn a_graph_is_refused_as_a_whole_and_the_node_at_fault_is_named() {
    let quorum = |count| NodeSpec { join: Join::Quorum(count), ..node("b", &["a"]) };
    let circle = vec![node("x", &[]), node("a", &["c", "x"]), node("b", &["a"]), node("c", &["b"])];
    for (nodes, says) in [
        (vec![], "nodes is empty"),
        (vec![node("a", &[]), node("a", &[])], "node a, which is there twice"),
        (vec![node("a", &["b"])], "node a, which depends on b, which is no node of the flow"),
        (vec![node("a", &["a"])], "node a, which depends on itself"),
        (vec![node("a", &[]), node("b", &["a", "a"])], "node b, which depends on a node twice"),
        (vec![node("a", &[]), quorum(2)], "node b, which needs 2 of the 1 nodes"),
        (vec![node("a", &[]), quorum(0)], "node b, which needs 0 of the 1 nodes"),
        (circle, "which depends on itself, directly or through others"),
        ((0..=FLOW_NODES).map(|n| node(&format!("n{n}"), &[])).collect(), "nodes has 10001 nodes"),
    ] {
        let mut world = World::new();
        let refusal = world.submit(flow(nodes)).unwrap_err();
        assert!(refusal.to_string().contains(says), "{refusal} does not say {says}");
        assert!(world.records.is_empty());
    }
}

#[test]
fn what_only_follows_a_circle_is_not_named() {
    let nodes = vec![node("after", &["a"]), node("a", &["b"]), node("b", &["a"])];
    let said = World::new().submit(flow(nodes)).unwrap_err().to_string();
    assert!(said.contains("node a,") || said.contains("node b,"), "{said}");
}

#[test]
fn the_same_submit_again_finds_its_flow_and_another_body_is_refused() {
    let mut world = World::new();
    let nodes = vec![node("a", &[]), node("b", &["a"])];
    let mut commands = flow(nodes.clone()).into_commands(1).unwrap();
    let command = commands.remove(0);
    let submitted = |created| FlowSubmitted { flow: id(1), created, members: 2 };
    assert_eq!(world.act(command.clone()), Ok(submitted(true).into()));
    assert_eq!(world.act(command), Ok(submitted(false).into()));
    let other = flow(nodes[..1].to_vec());
    assert_eq!(world.submit(other).unwrap_err().code(), Code::IdConflict);
    let key = Some("order-1".parse().unwrap());
    let mut keyed = FlowSubmission { key, ..FlowSubmission::new(id(7), nodes.clone()) };
    world.submit(keyed.clone()).unwrap();
    keyed.id = id(8);
    let again = world.act(keyed.clone().into_commands(1).unwrap().remove(0)).unwrap();
    assert_eq!(again, FlowSubmitted { flow: id(7), created: false, members: 2 }.into());
    keyed.nodes.pop();
    assert_eq!(world.submit(keyed).unwrap_err().code(), Code::IdempotencyConflict);
}

#[test]
fn a_chain_runs_by_completions_alone_and_only_its_end_is_follow_up_work() {
    let mut world = World::new();
    let flow =
        world.submit(flow(vec![node("a", &[]), node("b", &["a"]), node("c", &["b"])])).unwrap();
    for number in 0..3 {
        let held = world.claim().unwrap();
        assert_eq!(held.execution, member_id(flow, number));
        assert!(world.claim().is_none(), "the next waits for this one");
        assert!(world.later.is_empty());
        completed(&mut world, held.hold());
    }
    assert_eq!(state(&world, flow), PublicState::WaitingChildren);
    world.follow();
    assert_eq!(state(&world, flow), PublicState::Completed);
}

#[test]
fn a_failure_skips_what_depends_on_it_and_the_flow_fails() {
    let mut world = World::new();
    let flow =
        world.submit(flow(vec![node("a", &[]), node("b", &["a"]), node("c", &["b"])])).unwrap();
    let held = world.claim().unwrap();
    failed(&mut world, held.hold());
    world.follow();
    let because = |number| match world.node(flow, number).outcome() {
        Some((Outcome::Skipped { because }, _)) => because.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!((because(1), because(2)), ("a".into(), "b".into()));
    assert_eq!(state(&world, flow), PublicState::Failed);
}

#[test]
fn losers_of_a_race_are_cancelled_but_not_what_another_node_needs() {
    let mut world = World::new();
    let first = NodeSpec { join: Join::Any, rest: Rest::Cancel, ..node("first", &["a", "b", "c"]) };
    let nodes = vec![
        node("before-c", &[]),
        node("a", &[]),
        node("b", &[]),
        node("c", &["before-c"]),
        first,
        node("also", &["b"]),
    ];
    let flow = world.submit(flow(nodes)).unwrap();
    let holds: Vec<_> = (0..3).map(|_| world.claim().unwrap()).collect();
    let a = holds.iter().find(|held| held.execution == member_id(flow, 1)).unwrap();
    completed(&mut world, a.hold());
    world.follow();
    let states: Vec<_> = (0..6).map(|number| world.node(flow, number).public_state()).collect();
    use PublicState::{Active, Cancelled, Completed, Waiting, WaitingChildren};
    assert_eq!(states, [Cancelled, Completed, Active, Cancelled, Waiting, WaitingChildren]);
}

#[test]
fn a_cancelled_flow_starts_nothing_and_ends_when_its_members_have() {
    for held in [HeldMembers::Cancel, HeldMembers::Finish, HeldMembers::Grace(Millis::new(50))] {
        let mut world = World::new();
        let flow =
            world.submit(flow(vec![node("a", &[]), node("b", &[]), node("c", &["a"])])).unwrap();
        let a = world.claim().unwrap();
        let cancel = CancelFlow { target: target(flow), held, reason: Some("enough".into()) };
        world.act(cancel.clone()).unwrap();
        assert!(world.claim().is_none(), "b is not claimed after the acknowledgement");
        world.follow();
        match held {
            HeldMembers::Cancel => {}
            HeldMembers::Finish => {
                completed(&mut world, a.hold());
                world.follow();
                assert_eq!(world.node(flow, 0).public_state(), PublicState::Completed);
            }
            HeldMembers::Grace(_) => {
                assert_eq!(state(&world, flow), PublicState::WaitingChildren);
                world.now = world.now + Millis::new(50);
                world.act(Tick { execution: a.execution }).unwrap();
                world.follow();
            }
        }
        assert_eq!(world.node(flow, 2).public_state(), PublicState::Cancelled, "{held:?}");
        assert_eq!(state(&world, flow), PublicState::Cancelled, "{held:?}");
        assert!(world.act(cancel).is_ok(), "the same again");
    }
}

#[test]
fn a_retry_of_a_member_whose_flow_lets_it_finish_is_cancelled() {
    let mut world = World::new();
    let flow = world.submit(flow(vec![node("a", &[])])).unwrap();
    let a = world.claim().unwrap();
    let (held, reason) = (HeldMembers::Finish, None);
    world.act(CancelFlow { target: target(flow), held, reason }).unwrap();
    world.follow();
    let failure = Failure { category: Category::error(), retryable: true, message: "again".into() };
    world.act(Fail { hold: a.hold(), failure }).unwrap();
    world.follow();
    assert_eq!(state(&world, flow), PublicState::Cancelled);
}

#[test]
fn a_node_that_fails_its_flow_ends_all_of_it() {
    let mut world = World::new();
    let fatal = NodeSpec { on_failure: OnFailure::FailFlow, ..node("c", &["a"]) };
    let flow = world.submit(flow(vec![node("a", &[]), node("b", &[]), fatal])).unwrap();
    let a = world.claim().unwrap();
    failed(&mut world, a.hold());
    world.follow();
    assert_eq!(world.node(flow, 1).public_state(), PublicState::Cancelled);
    let said = world.records[&flow].outcome().unwrap().0.reason().unwrap();
    assert_eq!(said, "node a did not succeed, and node c needs it");
}

#[test]
fn a_flow_past_its_deadline_expires_with_its_members() {
    let mut world = World::new();
    let deadline = Some(Millis::new(100));
    let flow = FlowSubmission { deadline, ..flow(vec![node("a", &[]), node("b", &["a"])]) };
    let flow = world.submit(flow).unwrap();
    let _held = world.claim().unwrap();
    world.now = world.now + Millis::new(100);
    world.act(Tick { execution: flow }).unwrap();
    world.follow();
    assert_eq!(state(&world, flow), PublicState::Expired);
    assert_eq!(world.node(flow, 0).public_state(), PublicState::Cancelled);
}

#[test]
fn a_graph_in_slices_runs_once_it_is_whole() {
    let mut world = World::new();
    let nodes = |count: usize| {
        let leaves = (0..count).map(|n| format!("leaf{n}"));
        let names: Vec<_> = leaves.collect();
        let refs: Vec<_> = names.iter().map(String::as_str).collect();
        let all = names.iter().map(|name| node(name, &[]));
        all.chain([node("end", &refs)]).collect::<Vec<_>>()
    };
    let commands = flow(nodes(250)).into_commands(1).unwrap();
    assert_eq!(commands.len(), 3);
    for command in &commands[..2] {
        world.act(command.clone()).unwrap();
        world.act(command.clone()).unwrap();
        world.follow();
        assert!(world.claim().is_none(), "nothing of an open flow runs");
    }
    // One of them ends before anything depends on it.
    let early = member_id(id(1), 7);
    let cancel = ff_core::machine::Cancel { target: target(early), grace: None, reason: None };
    world.act(cancel).unwrap();
    world.follow();
    world.act(commands[2].clone()).unwrap();
    world.follow();
    for _ in 0..249 {
        let held = world.claim().unwrap();
        completed(&mut world, held.hold());
    }
    world.follow();
    assert_eq!(world.node(id(1), 250).public_state(), PublicState::Skipped);
    assert_eq!(state(&world, id(1)), PublicState::Failed);
}

#[test]
fn an_abandoned_open_flow_is_taken_down_by_time() {
    let mut world = World::new();
    let nodes = (0..150).map(|n| node(&format!("n{n}"), &[])).collect();
    let commands = flow(nodes).into_commands(1).unwrap();
    world.act(commands[0].clone()).unwrap();
    world.now = world.now + FLOW_OPEN;
    world.act(Tick { execution: id(1) }).unwrap();
    world.follow();
    assert_eq!(state(&world, id(1)), PublicState::Cancelled);
    let late = world.act(commands[1].clone()).unwrap();
    assert_eq!(late, FlowSubmitted { flow: id(1), created: false, members: 100 }.into());
}

#[test]
fn a_flow_is_removed_with_all_it_names() {
    for by_delete in [false, true] {
        let mut world = World::new();
        let nodes = (0..150).map(|n| node(&format!("n{n}"), &[])).collect();
        let flow = world.submit(flow(nodes)).unwrap();
        let cancel = CancelFlow { target: target(flow), held: HeldMembers::Cancel, reason: None };
        world.follow();
        world.act(cancel).unwrap();
        world.follow();
        let member = target(member_id(flow, 3));
        assert!(world.records[&member.execution].placed.timer.is_none());
        assert_eq!(world.act(Delete { target: member }).unwrap_err().code(), Code::InvalidArgument);
        match by_delete {
            true => _ = world.act(Delete { target: target(flow) }).unwrap(),
            false => {
                world.now = world.records[&flow].placed.timer.unwrap();
                world.act(Tick { execution: flow }).unwrap();
            }
        }
        assert_eq!(world.records[&flow].flow.as_ref().unwrap().phase, Phase::Retiring);
        world.follow();
        assert!(world.records.is_empty() && world.elements.is_empty() && world.tallies.is_empty());
    }
}

#[test]
fn a_member_reads_the_results_of_its_upstreams_by_name() {
    let mut world = World::new();
    let nodes = vec![node("a", &[]), node("x", &[]), node("b", &["a"])];
    let flow = world.submit(flow(nodes)).unwrap();
    let read = |upstream: &str| ReadUpstream {
        target: target(member_id(flow, 2)),
        upstream: upstream.parse().unwrap(),
    };
    assert_eq!(world.act(read("a")).unwrap_err().code(), Code::WrongState);
    for _ in 0..2 {
        let held = world.claim().unwrap();
        completed(&mut world, held.hold());
    }
    assert_eq!(world.act(read("a")), Ok(Reply::Payload(Payload::bytes("done"))));
    for other in ["x", "b", "none"] {
        assert_eq!(world.act(read(other)).unwrap_err().code(), Code::NotFound, "{other}");
    }
}

#[test]
fn a_flow_is_read_page_by_page_with_edges_and_counts() {
    let mut world = World::new();
    let flow = world.submit(flow(vec![node("a", &[]), node("b", &["a"]), node("c", &["a", "b"])]));
    let flow = flow.unwrap();
    let held = world.claim().unwrap();
    completed(&mut world, held.hold());
    let mut read = |from| match world.act(ReadFlow { target: target(flow), from, limit: 2 }) {
        Ok(Reply::FlowPage(page)) => *page,
        other => panic!("{other:?}"),
    };
    let (one, two) = (read(0), read(2));
    assert_eq!((one.next, two.next), (Some(2), None));
    assert_eq!((one.counts.left, one.counts.completed), (2, 1));
    let all: Vec<_> = one.members.iter().chain(&two.members).collect();
    let names: Vec<_> = all.iter().map(|member| member.name.as_str()).collect();
    let after: Vec<_> = all.iter().map(|member| member.after.clone()).collect();
    assert_eq!((names, after), (vec!["a", "b", "c"], vec![vec![], vec![0], vec![0, 1]]));
    assert_eq!(all[1].execution.as_ref().unwrap().public_state(), PublicState::Waiting);
}
