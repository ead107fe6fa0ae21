//! Registrations of workers.

use ff_core::state::Worker;
use ff_core::{Capabilities, Lane, Millis, Namespace, Refusal, WorkerId, WorkerInstanceId};
use ff_store::roles::{Registering, Session};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::holder::HoldBody;
use super::worker::{HeartbeatView, Leases};
use super::{schema, strict};
use crate::Timestamp;

/// A registration.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterRequest {
    /// The running process; unique among the live ones.
    #[schema(value_type = schema::Name)]
    pub instance: WorkerInstanceId,
    /// The id of this registration: a random UUID, repeated with every call about it.
    #[schema(value_type = schema::Call)]
    pub session: String,
    /// Which lanes it serves: 1 to 64.
    #[schema(value_type = Vec<schema::Name>, min_items = 1, max_items = 64)]
    pub lanes: Vec<Lane>,
    /// What it offers.
    #[serde(default)]
    #[schema(value_type = Vec<schema::Capability>)]
    pub capabilities: Vec<String>,
    /// How long it may be silent before it counts as gone.
    #[schema(minimum = 1000, maximum = 86400000)]
    pub ttl_ms: u64,
}

impl RegisterRequest {
    /// The registration.
    pub fn registering(
        self,
        namespace: Namespace,
        worker: WorkerId,
    ) -> Result<Registering, Refusal> {
        Ok(Registering {
            namespace,
            worker: Worker { id: worker, instance: self.instance },
            session: self.session.parse()?,
            lanes: self.lanes,
            capabilities: Capabilities::new(&self.capabilities)?,
            ttl: Millis::new(self.ttl_ms),
        })
    }
}

impl From<&Registering> for RegisterRequest {
    fn from(registering: &Registering) -> RegisterRequest {
        RegisterRequest {
            instance: registering.worker.instance.clone(),
            session: registering.session.to_string(),
            lanes: registering.lanes.clone(),
            capabilities: registering.capabilities.tokens().map(str::to_owned).collect(),
            ttl_ms: registering.ttl.get(),
        }
    }
}

/// A worker that counts as alive.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RegisteredView {
    /// When it counts as gone unless a heartbeat arrives.
    pub until: Timestamp,
}

/// A registration, as its worker addresses it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionBody {
    /// The running process.
    #[schema(value_type = schema::Name)]
    pub instance: WorkerInstanceId,
    /// The id it registered with.
    #[schema(value_type = schema::Call)]
    pub session: String,
}

impl SessionBody {
    /// The registration.
    pub fn session(self, namespace: Namespace) -> Result<Session, Refusal> {
        Ok(Session { namespace, instance: self.instance, session: self.session.parse()? })
    }
}

impl From<&Session> for SessionBody {
    fn from(session: &Session) -> SessionBody {
        SessionBody { instance: session.instance.clone(), session: session.session.to_string() }
    }
}

/// What a heartbeat keeps or a disconnect ends: leases, or a registration.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(untagged, try_from = "Named")]
pub enum Kept {
    /// These leases.
    Leases(Leases),
    /// This registration.
    Registration(SessionBody),
}

/// The fields of a body, before it is known to be one of the two.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    #[serde(default, deserialize_with = "leases")]
    leases: Option<Vec<HoldBody>>,
    #[serde(default)]
    instance: Option<WorkerInstanceId>,
    #[serde(default)]
    session: Option<String>,
}

fn leases<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<HoldBody>>, D::Error> {
    strict::list(from).map(Some)
}

impl TryFrom<Named> for Kept {
    type Error = &'static str;

    fn try_from(named: Named) -> Result<Kept, Self::Error> {
        match (named.leases, named.instance, named.session) {
            (Some(leases), None, None) => Ok(Kept::Leases(Leases { leases })),
            (None, Some(instance), Some(session)) => {
                Ok(Kept::Registration(SessionBody { instance, session }))
            }
            _ => Err("give leases, or instance and session"),
        }
    }
}

/// The answer to a heartbeat: of leases, or of a registration.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
pub enum BeatenView {
    /// One answer per lease.
    Leases(HeartbeatView),
    /// The worker counts as alive.
    Registration(RegisteredView),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Kept, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn a_heartbeat_names_leases_or_a_registration() {
        assert!(matches!(read(r#"{"leases":[]}"#), Ok(Kept::Leases(_))));
        let session = r#"{"instance":"a","session":"b"}"#;
        assert!(matches!(read(session), Ok(Kept::Registration(_))));
    }

    #[test]
    fn both_at_once_neither_and_halves_are_refused() {
        for bad in [
            "{}",
            r#"{"instance":"a"}"#,
            r#"{"session":"b"}"#,
            r#"{"leases":[],"instance":"a","session":"b"}"#,
            r#"{"leases":null}"#,
            r#"{"leases":[],"x":1}"#,
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
