//! Submitting and cancelling flows.

use std::collections::BTreeMap;

use ff_core::flow::{HeldMembers, OnFailure, Rest};
use ff_core::graph::{FlowSubmission, Join, NodeSpec};
use ff_core::machine::{CancelFlow, Submit, Target};
use ff_core::{
    ExecutionId, IdempotencyKey, Kind, Lane, Millis, Namespace, NodeName, Refusal, TagKey, TagValue,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{LimitsRequest, PolicyRequest, SubmitRequest, schema, strict};
use crate::Timestamp;
use crate::flow::HeldWord;

/// A graph to accept as a whole.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowRequest {
    /// The id, made by the caller: a UUIDv7. Repeat it when a reply is lost. Without an id and an
    /// idempotency key, a repeated call makes a second flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Id>)]
    pub id: Option<ExecutionId>,
    /// The lane of nodes that name none; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Name>)]
    pub lane: Option<Lane>,
    /// Labels of the flow, which its nodes inherit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "strict::map")]
    #[schema(value_type = BTreeMap<schema::Name, schema::TagText>)]
    pub tags: BTreeMap<TagKey, TagValue>,
    /// The priority of nodes that have none of their own: -9000 to 9000; 0 when absent.
    #[serde(default)]
    #[schema(minimum = -9000, maximum = 9000)]
    pub priority: i16,
    /// Budgets and quotas of every node, besides its own.
    #[serde(default, deserialize_with = "strict::object")]
    pub limits: LimitsRequest,
    /// The caller's name for it: the same name with the same body is the same flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Key>)]
    pub idempotency_key: Option<IdempotencyKey>,
    /// How long it may take; any time when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 315360000000u64)]
    pub deadline_ms: Option<u64>,
    /// How long it and its nodes stay readable after its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 315360000000u64)]
    pub retention_ms: Option<u64>,
    /// The graph: 1 to 10000 nodes, with at most 100000 edges.
    #[serde(deserialize_with = "strict::nodes")]
    #[schema(min_items = 1, max_items = 10000)]
    pub nodes: Vec<NodeRequest>,
}

/// A node: work, and what it depends on.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeRequest {
    /// Its name, unique in the graph.
    #[schema(value_type = schema::Name)]
    pub name: NodeName,
    /// The names of the nodes that it depends on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::Name>)]
    pub after: Vec<NodeName>,
    /// Whether `all` of them must complete or `any` will do; `all` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Join>)]
    pub join: Option<JoinWord>,
    /// How many of them must complete, instead of `join`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100000)]
    pub quorum: Option<u32>,
    /// What it does when too many of them do not; `skip` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::OnFailure>)]
    pub on_failure: Option<OnFailure>,
    /// What becomes of those that it does not need any more; `finish` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Rest>)]
    pub rest: Option<Rest>,
    /// Its lane; that of the flow when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Name>)]
    pub lane: Option<Lane>,
    /// The kind of work; `task` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Name>)]
    pub kind: Option<Kind>,
    /// Any JSON value nested at most 128 deep, kept as the bytes it came in.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "strict::json")]
    #[schema(value_type = serde_json::Value)]
    pub input: Option<Box<RawValue>>,
    /// Any bytes, in base64 with padding, instead of `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Base64>)]
    pub input_base64: Option<String>,
    /// The media type of the input; `application/json` when absent with `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::MediaType>)]
    pub content_type: Option<String>,
    /// Labels, besides those of the flow.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "strict::map")]
    #[schema(value_type = BTreeMap<schema::Name, schema::TagText>)]
    pub tags: BTreeMap<TagKey, TagValue>,
    /// Higher goes first; that of the flow when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = -9000, maximum = 9000)]
    pub priority: Option<i16>,
    /// Not before this long from when it waits for nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 315360000000u64)]
    pub delay_ms: Option<u64>,
    /// Not before this moment; a moment in the past means now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Timestamp>,
    /// What a worker must offer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::Capability>)]
    pub requires: Vec<String>,
    /// The budgets and quotas of it, besides those of the flow.
    #[serde(default, deserialize_with = "strict::object")]
    pub limits: LimitsRequest,
    /// The policy of the work.
    #[serde(default, deserialize_with = "strict::object")]
    pub policy: PolicyRequest,
}

ff_core::words!(
    /// How many upstreams of a node must complete before it runs.
    JoinWord {
        /// Every one.
        All = "all",
        /// At least one.
        Any = "any",
    }
);

impl FlowRequest {
    /// The flow. `new_id` makes an id if the caller gave none.
    pub fn into_flow(
        self,
        namespace: Namespace,
        new_id: impl FnOnce(Option<&IdempotencyKey>) -> ExecutionId,
    ) -> Result<FlowSubmission, Refusal> {
        let id = self.id.unwrap_or_else(|| new_id(self.idempotency_key.as_ref()));
        let lane = self.lane.unwrap_or_default();
        let node = |node: NodeRequest| {
            let name = node.name.clone();
            node.into_node(id, &namespace, &lane, self.priority).map_err(|refusal| {
                Refusal::invalid("nodes", format!("has node {name}, whose {refusal}"))
            })
        };
        let nodes = self.nodes.into_iter().map(node).collect::<Result<_, _>>()?;
        Ok(FlowSubmission {
            id,
            namespace,
            lane,
            tags: self.tags,
            priority: self.priority,
            limits: self.limits.limits()?,
            key: self.idempotency_key,
            deadline: self.deadline_ms.map(Millis::new),
            retention: self.retention_ms.map(Millis::new),
            nodes,
        })
    }
}

impl NodeRequest {
    pub(super) fn into_node(
        self,
        flow: ExecutionId,
        namespace: &Namespace,
        lane: &Lane,
        priority: i16,
    ) -> Result<NodeSpec, Refusal> {
        let join = match (self.join, self.quorum) {
            (Some(_), Some(_)) => {
                return Err(Refusal::invalid("quorum", "is given with join; give one of them"));
            }
            (_, Some(count)) => Join::Quorum(count),
            (Some(JoinWord::Any), None) => Join::Any,
            (Some(JoinWord::All) | None, None) => Join::All,
        };
        let work = SubmitRequest {
            id: Some(flow),
            lane: Some(self.lane.unwrap_or_else(|| lane.clone())),
            kind: self.kind,
            input: self.input,
            input_base64: self.input_base64,
            content_type: self.content_type,
            tags: self.tags,
            priority: self.priority.unwrap_or(priority),
            delay_ms: self.delay_ms,
            start: self.start,
            idempotency_key: None,
            requires: self.requires,
            limits: self.limits,
            policy: self.policy,
        };
        Ok(NodeSpec {
            name: self.name,
            work: work.into_submit(namespace.clone(), |_| flow)?,
            after: self.after,
            join,
            on_failure: self.on_failure.unwrap_or(OnFailure::Skip),
            rest: self.rest.unwrap_or(Rest::Finish),
        })
    }
}

impl From<&FlowSubmission> for FlowRequest {
    fn from(flow: &FlowSubmission) -> FlowRequest {
        FlowRequest {
            id: Some(flow.id),
            lane: Some(flow.lane.clone()),
            tags: flow.tags.clone(),
            priority: flow.priority,
            limits: (&flow.limits).into(),
            idempotency_key: flow.key.clone(),
            deadline_ms: flow.deadline.map(Millis::get),
            retention_ms: flow.retention.map(Millis::get),
            nodes: flow.nodes.iter().map(NodeRequest::from).collect(),
        }
    }
}

impl From<&NodeSpec> for NodeRequest {
    fn from(node: &NodeSpec) -> NodeRequest {
        let work: &Submit = &node.work;
        let SubmitRequest {
            lane,
            kind,
            input,
            input_base64,
            content_type,
            tags,
            priority,
            delay_ms,
            start,
            requires,
            limits,
            policy,
            ..
        } = work.into();
        let (join, quorum) = match node.join {
            Join::All => (None, None),
            Join::Any => (Some(JoinWord::Any), None),
            Join::Quorum(count) => (None, Some(count)),
        };
        NodeRequest {
            name: node.name.clone(),
            after: node.after.clone(),
            join,
            quorum,
            on_failure: Some(node.on_failure),
            rest: Some(node.rest),
            lane,
            kind,
            input,
            input_base64,
            content_type,
            tags,
            priority: Some(priority),
            delay_ms,
            start,
            requires,
            limits,
            policy,
        }
    }
}

/// A cancel of a flow.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelFlowRequest {
    /// What becomes of the members that workers hold; `cancel` when absent, or `grace` with `grace_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::HeldMembers>)]
    pub held: Option<HeldWord>,
    /// How long those may still work, with `grace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86400000)]
    pub grace_ms: Option<u64>,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Message>)]
    pub reason: Option<String>,
}

impl CancelFlowRequest {
    /// The command.
    pub fn command(self, target: Target) -> Result<CancelFlow, Refusal> {
        let held = match (self.held, self.grace_ms.map(Millis::new)) {
            (None | Some(HeldWord::Grace), Some(grace)) => HeldMembers::Grace(grace),
            (None | Some(HeldWord::Cancel), None) => HeldMembers::Cancel,
            (Some(HeldWord::Finish), None) => HeldMembers::Finish,
            (Some(HeldWord::Grace), None) => {
                return Err(Refusal::invalid("grace_ms", "is missing; give it with grace"));
            }
            (Some(_), Some(_)) => {
                let why = "is only for held members that get a grace";
                return Err(Refusal::invalid("grace_ms", why));
            }
        };
        Ok(CancelFlow { target, held, reason: self.reason.map(Into::into) })
    }
}

impl From<&CancelFlow> for CancelFlowRequest {
    fn from(cancel: &CancelFlow) -> CancelFlowRequest {
        let (held, grace_ms) = match cancel.held {
            HeldMembers::Cancel => (HeldWord::Cancel, None),
            HeldMembers::Grace(grace) => (HeldWord::Grace, Some(grace.get())),
            HeldMembers::Finish => (HeldWord::Finish, None),
        };
        let reason = cancel.reason.as_deref().map(str::to_owned);
        CancelFlowRequest { held: Some(held), grace_ms, reason }
    }
}

/// A replay of a flow. It names the run it follows, so that a repeated call does not begin two.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayFlowRequest {
    /// The run that has ended.
    pub run: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use ff_core::{Payload, When};

    fn read(text: &str) -> Result<FlowSubmission, String> {
        let request: FlowRequest = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let flow = request.into_flow(Namespace::default(), |_| crate::sample::id());
        flow.map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn a_flow_reads_back_as_it_was_written() {
        let node = |name: &str, after: &[&str]| NodeSpec {
            name: name.parse().unwrap(),
            work: Submit::new(crate::sample::id()),
            after: after.iter().map(|name| name.parse().unwrap()).collect(),
            join: Join::All,
            on_failure: OnFailure::Skip,
            rest: Rest::Finish,
        };
        let mut last = node("c", &["a", "b"]);
        last.join = Join::Quorum(1);
        (last.on_failure, last.rest) = (OnFailure::FailFlow, Rest::Cancel);
        last.work.input = Payload::json("{\"n\" : 9007199254740993}");
        last.work.start = When::After(Millis::new(5));
        last.work.priority = -3;
        let any = NodeSpec { join: Join::Any, ..node("b", &["a"]) };
        let nodes = vec![node("a", &[]), any, last];
        let flow = FlowSubmission {
            lane: "etl".parse().unwrap(),
            priority: 7,
            key: Some("order-1".parse().unwrap()),
            deadline: Some(Millis::new(9)),
            ..FlowSubmission::new(crate::sample::id(), nodes)
        };
        let text = serde_json::to_string(&FlowRequest::from(&flow)).unwrap();
        assert_eq!(read(&text).unwrap(), flow);
    }

    #[test]
    fn nodes_inherit_lane_and_priority() {
        let text = r#"{"lane":"etl","priority":4,"nodes":[{"name":"a"},{"name":"b","lane":"x","priority":0}]}"#;
        let flow = read(text).unwrap();
        let works: Vec<_> =
            flow.nodes.iter().map(|node| (node.work.lane.as_str(), node.work.priority)).collect();
        assert_eq!(works, [("etl", 4), ("x", 0)]);
    }

    #[test]
    fn a_wrong_node_is_named() {
        for (text, says) in [
            (r#"{"nodes":[{"name":"a","join":"any","quorum":1}]}"#, "node a, whose quorum"),
            (r#"{"nodes":[{"name":"a","input":1,"input_base64":""}]}"#, "node a, whose input"),
            (r#"{"nodes":[{"name":"a","idempotency_key":"k"}]}"#, "idempotency_key"),
            (r#"{"nodes":[["a"]]}"#, "an object"),
            (r#"{"nodes":[{"name":""}]}"#, "node"),
            ("{}", "nodes"),
        ] {
            let why = read(text).unwrap_err();
            assert!(why.contains(says), "{text}: {why}");
        }
    }

    #[test]
    fn a_cancel_reads_back_and_contradictions_are_refused() {
        let target = Target { namespace: Namespace::default(), execution: crate::sample::id() };
        for held in [HeldMembers::Cancel, HeldMembers::Finish, HeldMembers::Grace(Millis::new(5))] {
            let cancel = CancelFlow { target: target.clone(), held, reason: Some("enough".into()) };
            let again = CancelFlowRequest::from(&cancel).command(target.clone());
            assert_eq!(again, Ok(cancel));
        }
        for text in [r#"{"held":"grace"}"#, r#"{"held":"finish","grace_ms":5}"#] {
            let request: CancelFlowRequest = serde_json::from_str(text).unwrap();
            assert_eq!(request.command(target.clone()).unwrap_err().field(), Some("grace_ms"));
        }
    }
}
