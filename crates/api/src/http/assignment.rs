//! A claimed execution, as its worker gets it.

use std::collections::{BTreeMap, BTreeSet};

use ff_core::limits::Amounts;
use ff_core::machine::Assignment;
use ff_core::payload::ContentType;
use ff_core::{
    ExecutionId, Kind, Lane, Millis, Namespace, NodeName, Payload, Refusal, ResourceName, TagKey,
    TagValue,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::content::{Content, INPUT};
use super::holder::FenceBody;
use super::schema;
use crate::{ProgressView, Timestamp};

/// One claimed execution.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AssignmentView {
    /// The execution.
    #[schema(value_type = schema::Id)]
    pub execution: ExecutionId,
    /// Its tenant.
    #[schema(value_type = String)]
    pub namespace: Namespace,
    /// Its queue.
    #[schema(value_type = String)]
    pub lane: Lane,
    /// The kind of work.
    #[schema(value_type = String)]
    pub kind: Kind,
    /// Its labels.
    #[schema(value_type = BTreeMap<String, String>)]
    pub tags: BTreeMap<TagKey, TagValue>,
    /// What the holder sends with every call.
    pub fence: FenceBody,
    /// The run.
    pub run: u32,
    /// When it was submitted.
    pub created: Timestamp,
    /// The store's time of the claim.
    pub claimed: Timestamp,
    /// When the lease ends unless renewed.
    pub until: Timestamp,
    /// How long each renewal lasts.
    pub lease_ttl_ms: u64,
    /// When the attempt times out.
    pub timeout: Option<Timestamp>,
    /// Higher goes first.
    #[serde(default)]
    pub priority: i16,
    /// How many attempts of this run have ended by failure or timeout.
    #[serde(default)]
    pub failures: u32,
    /// How many may; the last one ends the run.
    #[serde(default)]
    pub max_attempts: u32,
    /// Whether a failure of this attempt ends the run.
    #[serde(default)]
    pub last_attempt: bool,
    /// The budgets that its usage is charged to.
    #[serde(default)]
    #[schema(value_type = Vec<schema::Name>)]
    pub budgets: BTreeSet<ResourceName>,
    /// What it has used over its whole life, by dimension.
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, u64>)]
    pub used: Amounts,
    /// The last progress report of an earlier hold of this attempt, if there was one.
    #[serde(default)]
    pub progress: Option<ProgressView>,
    /// How many entries of its journal attempts find: with none there is nothing to read.
    #[serde(default)]
    pub steps: u32,
    /// How many replays have hidden entries of its journal.
    #[serde(default)]
    pub generation: u32,
    /// Its flow, if it is a member of one.
    #[serde(default)]
    #[schema(value_type = Option<schema::Id>)]
    pub flow: Option<ExecutionId>,
    /// Its name among the nodes of its flow.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub node: Option<NodeName>,
    /// What it was submitted with, when that is JSON: `input_base64` is null then.
    #[schema(value_type = serde_json::Value)]
    pub input: Option<Box<RawValue>>,
    /// The bytes it was submitted with, in base64, when they are not JSON.
    #[schema(value_type = Option<schema::Base64>)]
    pub input_base64: Option<String>,
    /// The media type of the input.
    #[schema(value_type = schema::MediaType)]
    pub content_type: String,
}

impl From<&Assignment> for AssignmentView {
    fn from(assignment: &Assignment) -> AssignmentView {
        let Content { json, base64, .. } = (&assignment.input).into();
        AssignmentView {
            execution: assignment.execution,
            namespace: assignment.namespace.clone(),
            lane: assignment.lane.clone(),
            kind: assignment.kind.clone(),
            tags: assignment.tags.clone(),
            fence: assignment.fence.into(),
            run: assignment.run,
            created: assignment.created.into(),
            claimed: assignment.claimed_at.into(),
            until: assignment.until.into(),
            lease_ttl_ms: assignment.lease_ttl.get(),
            timeout: assignment.timeout_at.map(Timestamp),
            priority: assignment.priority,
            failures: assignment.failures,
            max_attempts: assignment.max_attempts,
            last_attempt: assignment.is_last_attempt(),
            budgets: assignment.budgets.clone(),
            used: assignment.used.clone(),
            progress: assignment.progress.as_ref().map(ProgressView::from),
            steps: assignment.steps,
            generation: assignment.generation,
            flow: assignment.member.as_ref().map(|(flow, _)| *flow),
            node: assignment.member.as_ref().map(|(_, node)| node.clone()),
            input: json,
            input_base64: base64,
            content_type: assignment.input.content_type.as_str().to_owned(),
        }
    }
}

impl AssignmentView {
    /// The assignment.
    pub fn assignment(self) -> Result<Assignment, Refusal> {
        let content_type = self.content_type;
        let input = match (self.input, self.input_base64) {
            // JSON's null reads as nothing.
            (None, None) => {
                Payload { content_type: ContentType::new(&content_type)?, ..Payload::json("null") }
            }
            (json, base64) => {
                Content { json, base64, content_type: Some(content_type) }.payload(INPUT)?
            }
        };
        Ok(Assignment {
            execution: self.execution,
            fence: self.fence.fence()?,
            input,
            namespace: self.namespace,
            lane: self.lane,
            kind: self.kind,
            tags: self.tags,
            run: self.run,
            created: self.created.0,
            claimed_at: self.claimed.0,
            until: self.until.0,
            lease_ttl: Millis::new(self.lease_ttl_ms),
            timeout_at: self.timeout.map(|at| at.0),
            priority: self.priority,
            failures: self.failures,
            max_attempts: self.max_attempts,
            budgets: self.budgets,
            used: self.used,
            progress: self.progress.map(Into::into),
            steps: self.steps,
            generation: self.generation,
            member: self.flow.zip(self.node),
        })
    }
}
