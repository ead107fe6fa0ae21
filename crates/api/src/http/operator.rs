//! Requests of operators.

use std::collections::BTreeMap;

use ff_core::journal::ReplayJournal;
use ff_core::machine::{Replay, Target};
use ff_core::{Refusal, StepName, TagKey, TagValue};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{schema, strict};

/// A cancel from outside.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelRequest {
    /// How long a holder may still work; absent ends its lease at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86400000)]
    pub grace_ms: Option<u64>,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Message>)]
    pub reason: Option<String>,
}

/// A replay. It names the run it follows, so that a repeated call does not start two.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayRequest {
    /// The run that has ended.
    pub run: u32,
    /// How much of its journal the new attempts find; `keep` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::KeptJournal>)]
    pub journal: Option<KeptJournal>,
    /// They find the journal up to this step, with it, instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::StepText>)]
    pub up_to: Option<StepName>,
}

ff_core::words!(
    /// How much of its journal the attempts of a replay find.
    KeptJournal {
        /// All that is visible.
        Keep = "keep",
        /// Nothing.
        Drop = "drop",
    }
);

impl ReplayRequest {
    /// The command.
    pub fn command(self, target: Target) -> Result<Replay, Refusal> {
        let journal = match (self.journal, self.up_to) {
            (Some(_), Some(_)) => {
                return Err(Refusal::invalid("up_to", "is given with journal; give one of them"));
            }
            (_, Some(step)) => ReplayJournal::UpTo(step),
            (Some(KeptJournal::Drop), None) => ReplayJournal::Drop,
            (Some(KeptJournal::Keep) | None, None) => ReplayJournal::Keep,
        };
        Ok(Replay { target, run: self.run, journal })
    }
}

impl From<&Replay> for ReplayRequest {
    fn from(replay: &Replay) -> ReplayRequest {
        let (journal, up_to) = match &replay.journal {
            ReplayJournal::Keep => (None, None),
            ReplayJournal::Drop => (Some(KeptJournal::Drop), None),
            ReplayJournal::UpTo(step) => (None, Some(step.clone())),
        };
        ReplayRequest { run: replay.run, journal, up_to }
    }
}

/// A change of priority.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PriorityRequest {
    /// Higher goes first: -9000 to 9000.
    #[schema(minimum = -9000, maximum = 9000)]
    pub priority: i16,
}

/// A change of tags; the rest stay.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TagsRequest {
    /// Tags to set.
    #[serde(default, deserialize_with = "strict::map")]
    #[schema(value_type = BTreeMap<schema::Name, schema::TagText>)]
    pub set: BTreeMap<TagKey, TagValue>,
    /// Tags to remove.
    #[serde(default)]
    #[schema(value_type = Vec<schema::Name>, max_items = 32)]
    pub remove: Vec<TagKey>,
}

/// A revocation. It names the lease, so that a repeated call never ends a later one.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeRequest {
    /// The lease to end.
    #[schema(value_type = schema::LeaseName)]
    pub lease: String,
}
