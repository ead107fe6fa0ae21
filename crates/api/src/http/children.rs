//! Calls by which the holder of an execution spawns children and waits for them.

use ff_core::flow::{OnFailure, Rest};
use ff_core::graph::{Join, NodeSpec};
use ff_core::machine::{LeaseRef, NewChild, Spawned, SpawnedChild, Target, WaitChildren};
use ff_core::{ExecutionId, Lane, NodeName, Refusal};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::flow::NodeRequest;
use super::{ExitView, FenceBody, schema, strict};

/// Children to add to an execution.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SpawnRequest {
    /// The lease on the execution.
    #[serde(deserialize_with = "strict::object")]
    pub fence: FenceBody,
    /// The children: 1 to 100. They depend on nothing, so `after` and what belongs to it is not for them.
    #[serde(deserialize_with = "strict::nodes")]
    #[schema(min_items = 1, max_items = 100)]
    pub children: Vec<NodeRequest>,
}

impl SpawnRequest {
    /// The request of a client.
    pub fn new(hold: &LeaseRef, children: &[NewChild]) -> SpawnRequest {
        let node = |child: &NewChild| {
            let (name, work) = (child.name.clone(), child.work.clone());
            let node = NodeSpec {
                name,
                work,
                after: Vec::new(),
                join: Join::All,
                on_failure: OnFailure::Skip,
                rest: Rest::Finish,
            };
            NodeRequest { on_failure: None, rest: None, ..NodeRequest::from(&node) }
        };
        SpawnRequest { fence: hold.fence.into(), children: children.iter().map(node).collect() }
    }

    /// What is held, and the children.
    pub fn children(self, target: Target) -> Result<(LeaseRef, Vec<NewChild>), Refusal> {
        let (namespace, parent) = (target.namespace.clone(), target.execution);
        let child = |node: NodeRequest| {
            let name = node.name.clone();
            let named = |why: &dyn std::fmt::Display| {
                Refusal::invalid("children", format!("has child {name}, whose {why}"))
            };
            let depends = !node.after.is_empty()
                || node.join.is_some()
                || node.quorum.is_some()
                || node.on_failure.is_some()
                || node.rest.is_some();
            if depends {
                return Err(named(&"after is not for a child, which runs at once"));
            }
            let spec = node.into_node(parent, &namespace, &Lane::default(), 0);
            let spec = spec.map_err(|refusal| named(&refusal))?;
            Ok(NewChild { name: spec.name, work: spec.work })
        };
        let children = self.children.into_iter().map(child).collect::<Result<_, _>>()?;
        Ok((self.fence.hold(target)?, children))
    }
}

/// The children that a spawn made or found, in the order of the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SpawnedView {
    /// The children.
    pub children: Vec<SpawnedChildView>,
}

/// A child that a spawn made or found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SpawnedChildView {
    /// Its name.
    #[schema(value_type = schema::Name)]
    pub name: NodeName,
    /// The execution.
    #[schema(value_type = schema::Id)]
    pub execution: ExecutionId,
    /// Whether this call made it; else an earlier one with the same name did.
    pub created: bool,
}

impl From<Spawned> for SpawnedView {
    fn from(spawned: Spawned) -> SpawnedView {
        let child = |SpawnedChild { name, execution, created }| SpawnedChildView {
            name,
            execution,
            created,
        };
        SpawnedView { children: spawned.children.into_iter().map(child).collect() }
    }
}

impl From<SpawnedView> for Spawned {
    fn from(view: SpawnedView) -> Spawned {
        let child = |SpawnedChildView { name, execution, created }| SpawnedChild {
            name,
            execution,
            created,
        };
        Spawned { children: view.children.into_iter().map(child).collect() }
    }
}

/// A wait for children.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitChildrenRequest {
    /// The lease on the execution.
    #[serde(deserialize_with = "strict::object")]
    pub fence: FenceBody,
    /// The names of the children, at most 1000; all that it has when absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::Name>, max_items = 1000)]
    pub children: Vec<NodeName>,
    /// How many of those must complete; when absent, all must have ended, in whatever way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000)]
    pub completed: Option<u32>,
}

impl WaitChildrenRequest {
    /// The command.
    pub fn command(self, target: Target) -> Result<WaitChildren, Refusal> {
        let WaitChildrenRequest { fence, children, completed } = self;
        Ok(WaitChildren { hold: fence.hold(target)?, children, completed })
    }
}

impl From<&WaitChildren> for WaitChildrenRequest {
    fn from(wait: &WaitChildren) -> WaitChildrenRequest {
        let (fence, children) = (wait.hold.fence.into(), wait.children.clone());
        WaitChildrenRequest { fence, children, completed: wait.completed }
    }
}

/// What a wait for children did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WaitedView {
    /// How the lease ended; null if enough have ended already and the holder keeps it.
    pub exit: Option<ExitView>,
}
