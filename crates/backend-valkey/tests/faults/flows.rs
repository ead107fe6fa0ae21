//! Faults in writes that concern flows: each leaves a flow that waits at the worst, never one that runs or
//! ends early, and repair lets it go on as if nothing had happened.

use std::collections::{BTreeMap, BTreeSet};

use ff_core::flow::{HeldMembers, OnFailure, Rest};
use ff_core::graph::{FlowSubmission, Join, NodeSpec};
use ff_core::machine::{
    CancelFlow, Command, Continue, FlowMember, FlowPage, ReadFlow, ReopenMembers, ReplayFlow, Reply,
};
use ff_core::reopen::reopened;
use ff_core::{Capabilities, Millis, Payload, PublicState};
use ff_store::Store;
use ff_testkit::report;

use crate::faulty::{Faulty, Step};
use crate::words::{claim, command, complete, fail, id, namespace, target, tick, work};

/// No write makes more calls than this.
const MOST_CALLS: usize = 200;

fn node(name: &str, after: &[&str]) -> NodeSpec {
    NodeSpec {
        name: name.parse().unwrap(),
        work: work(1),
        after: after.iter().map(|name| name.parse().unwrap()).collect(),
        join: Join::All,
        on_failure: OnFailure::Skip,
        rest: Rest::Finish,
    }
}

/// The commands that submit a flow, in slices of this many nodes.
fn submitted(nodes: Vec<NodeSpec>, slice: usize) -> Vec<Command> {
    let retention = Some(Millis::from_days(1));
    let flow = FlowSubmission {
        namespace: namespace("acme"),
        retention,
        ..FlowSubmission::new(id(1), nodes)
    };
    flow.into_slices(1, slice).unwrap().into_iter().map(command).collect()
}

/// A store in which a flow runs, and all that was done in it.
struct Scene {
    faulty: Faulty,
    script: Vec<Step>,
    claims: u128,
    fails: BTreeSet<&'static str>,
}

/// What has become of a flow and its members: states, runs and attempts.
type Ends = Vec<(String, PublicState, u32, Option<u32>)>;

impl Scene {
    async fn new(fails: &[&'static str]) -> Scene {
        let fails = fails.iter().copied().collect();
        Scene { faulty: Faulty::new().await, script: Vec::new(), claims: 100, fails }
    }

    async fn run(&mut self, command: Command) -> Reply {
        self.script.push(Step::Run(Box::new(command.clone())));
        self.faulty.run(std::slice::from_ref(&command)).await.unwrap().remove(0)
    }

    /// Runs all follow-up work.
    async fn follow(&mut self) {
        loop {
            let found = self.faulty.snapshot().await;
            let pending: Vec<_> = found.continuations.keys().copied().collect();
            if pending.is_empty() {
                return;
            }
            for continuation in pending {
                self.run(command(Continue { continuation })).await;
            }
        }
    }

    /// Runs what can run until nothing can.
    async fn drive(&mut self) {
        loop {
            self.follow().await;
            self.is_sound().await;
            self.claims += 1;
            let Reply::Claimed(claimed) = self.run(command(claim(self.claims, 1))).await else {
                panic!("a claim")
            };
            let Some(held) = claimed.assignments.first() else { return };
            let (_, name) = held.member.as_ref().unwrap();
            match self.fails.contains(name.as_str()) && held.run == 0 {
                true => self.run(command(fail(held.hold(), false))).await,
                false => self.run(command(complete(held.hold(), Payload::bytes("ok")))).await,
            };
        }
    }

    async fn page(&self) -> Option<FlowPage> {
        let read = ReadFlow { target: target(1), from: 0, limit: 100 };
        match self.faulty.run(&[command(read)]).await {
            Ok(mut replies) => match replies.remove(0) {
                Reply::FlowPage(page) => Some(*page),
                other => panic!("{other:?}"),
            },
            Err(_) => None,
        }
    }

    /// A flow that has ended has no member that has not.
    async fn is_sound(&self) {
        let Some(page) = self.page().await else { return };
        if page.flow.outcome().is_some() {
            let states = page.members.iter().map(|member| member.execution.as_ref().unwrap());
            let left: Vec<_> = states.filter(|it| it.outcome().is_none()).collect();
            assert!(left.is_empty(), "it has ended before {left:?}");
        }
    }

    async fn ends(&self) -> Ends {
        let found = self.faulty.snapshot().await.records;
        let end = |record: &ff_core::Execution| {
            let name = record.member.as_ref().map_or("the flow", |member| member.name.as_str());
            let attempt = record.attempt.as_ref().map(|attempt| attempt.number);
            (name.to_owned(), record.public_state(), record.run.number, attempt)
        };
        let mut ends: Ends = found.values().map(end).collect();
        ends.sort();
        ends
    }

    async fn members(&self) -> Vec<FlowMember> {
        self.page().await.unwrap().members
    }
}

/// The function by which a command writes; none for a claim, which takes from a queue.
fn verb(command: &Command) -> Option<&'static str> {
    let facts = command.action.facts();
    facts.subject.execution()?;
    Some(if facts.adds { "commit" } else { "commit_freeing" })
}

/// Cuts each write of a script at each of its calls.
async fn examine(name: &str, scene: Scene) {
    let Scene { script, fails, .. } = scene;
    let fails: Vec<_> = fails.into_iter().collect();
    let (mut faults, mut kinds) = (0, BTreeMap::<String, usize>::new());
    for (place, step) in script.iter().enumerate() {
        let Step::Run(act) = step else { continue };
        let Some(verb) = verb(act) else { continue };
        let expected = {
            let mut whole = Scene::new(&fails).await;
            whole.faulty.play(&script[..=place]).await;
            whole.drive().await;
            assert_eq!(whole.faulty.audit().await.violations, [], "{name}");
            whole.ends().await
        };
        for call in 1..MOST_CALLS {
            let mut is_over = false;
            for repairs_first in [true, false] {
                let what = format!("{name}, step {place}, call {call}, {repairs_first}: {act:?}");
                let mut cut = Scene::new(&fails).await;
                cut.faulty.play(&script[..place]).await;
                cut.faulty.fail(verb, call);
                drop(cut.faulty.run(std::slice::from_ref(&**act)).await);
                if !cut.faulty.failed() {
                    is_over = true;
                    break;
                }
                if repairs_first {
                    cut.faulty.partial_writes(&what).await;
                    repaired(&cut, &what).await;
                }
                drop(cut.faulty.run(std::slice::from_ref(&**act)).await);
                cut.drive().await;
                if !repairs_first {
                    repaired(&cut, &what).await;
                    cut.drive().await;
                }
                assert_eq!(cut.ends().await, expected, "{what}");
                assert_eq!(cut.faulty.audit().await.violations, [], "{what}");
                faults += 1;
            }
            if is_over {
                *kinds.entry(format!("{:.12}", format!("{:?}", act.action))).or_default() += call;
                break;
            }
        }
    }
    eprintln!("{name}: {faults} faults, {kinds:?}");
    assert!(faults > 50, "{name}: only {faults} faults");
    report::count("function faults", faults);
}

async fn repaired(cut: &Scene, what: &str) {
    cut.faulty.store.repair().await.unwrap();
    assert_eq!(cut.faulty.audit().await.violations, [], "{what}");
    let again = cut.faulty.store.repair().await.unwrap();
    assert_eq!(again.fixed(), 0, "{what}: a second repair finds {again:?}");
}

/// A node that a failure skips, and one that does not wait for what nobody can run, which is cancelled.
#[tokio::test(flavor = "multi_thread")]
async fn a_graph_that_is_submitted_and_runs() {
    let mut scene = Scene::new(&["b"]).await;
    let any = NodeSpec { join: Join::Any, rest: Rest::Cancel, ..node("d", &["a", "f"]) };
    let mut never = node("e", &[]);
    never.work.requires = Capabilities::new(["tpu"]).unwrap();
    let nodes = vec![node("a", &[]), node("b", &[]), node("c", &["b"]), any, never];
    let nodes = nodes.into_iter().chain([node("f", &["e"])]).collect();
    for part in submitted(nodes, 100) {
        scene.run(part).await;
    }
    scene.drive().await;
    examine("a graph", scene).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_that_comes_in_slices() {
    let mut scene = Scene::new(&[]).await;
    let nodes = vec![node("a", &[]), node("b", &[]), node("c", &["a", "b"])];
    for part in submitted(nodes, 2) {
        scene.run(part).await;
    }
    scene.drive().await;
    examine("slices", scene).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_that_is_cancelled_and_removed() {
    let mut scene = Scene::new(&[]).await;
    let nodes = vec![node("a", &[]), node("b", &["a"])];
    for part in submitted(nodes, 100) {
        scene.run(part).await;
    }
    let cancel = CancelFlow { target: target(1), held: HeldMembers::Cancel, reason: None };
    scene.run(command(cancel)).await;
    scene.follow().await;
    let day = Step::Pass(Millis::from_days(1).get() + 1_000);
    scene.faulty.play(std::slice::from_ref(&day)).await;
    scene.script.push(day);
    scene.run(command(tick(1))).await;
    scene.follow().await;
    assert_eq!(scene.ends().await, []);
    examine("a cancel", scene).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_that_is_replayed() {
    let mut scene = Scene::new(&["b"]).await;
    let nodes = vec![node("a", &[]), node("b", &["a"]), node("c", &["b"])];
    for part in submitted(nodes, 100) {
        scene.run(part).await;
    }
    scene.drive().await;
    scene.run(command(ReplayFlow { target: target(1), run: 0 })).await;
    let members = reopened(&scene.members().await);
    assert_eq!(members.len(), 2);
    let reopen = |members: &[_], is_last| {
        let members = members.to_vec();
        command(ReopenMembers { target: target(1), run: 1, members, is_last })
    };
    scene.run(reopen(&members[..1], false)).await;
    scene.run(reopen(&members[1..], true)).await;
    scene.drive().await;
    assert!(scene.ends().await.iter().all(|(_, state, ..)| *state == PublicState::Completed));
    examine("a replay", scene).await;
}
