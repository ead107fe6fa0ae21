//! The pure heart of FlowFabric: ids, names, records, policies and the state machine.
//!
//! Nothing in this crate reads a clock, does I/O, draws a random number or awaits. A command says
//! what it [reads](machine::reads), [decides](machine::apply) on what was loaded, and answers with
//! a [`Transition`](machine::Transition) to write or a [`Refusal`]. Every store runs this one machine.

pub mod act;
pub mod approval;
pub mod bounds;
pub mod budget;
pub mod capability;
pub mod collection;
pub mod condition;
pub mod continuation;
pub mod credential;
pub mod digest;
pub mod event;
pub mod explain;
pub mod feed;
pub mod flow;
mod full;
pub mod graph;
pub mod id;
pub mod journal;
pub mod limits;
pub mod machine;
pub mod name;
pub mod overrides;
pub mod patch;
pub mod payload;
pub mod phrase;
pub mod placement;
pub mod policy;
pub mod quota;
pub mod record;
pub mod refusal;
pub mod reopen;
pub mod resource;
pub mod schedule;
pub mod setting;
pub mod signal;
pub mod signing;
pub mod state;
pub mod stream;
pub mod summary;
pub mod suspension;
pub mod table;
pub mod time;
pub mod timer;
pub mod view;
pub mod warning;
pub mod webhook;
pub mod webhook_url;
pub mod words;

pub use capability::Capabilities;
pub use condition::Condition;
pub use id::{AdmissionId, ExecutionId, Fence, LeaseId, Partition, RequestId, WaitpointId};
pub use name::{
    Actor, Category, Dimension, FrameType, IdempotencyKey, Kid, Kind, Lane, Namespace, NodeName,
    ResourceName, SettingName, SignalName, Source, StepName, Subject, TagKey, TagValue, TokenName,
    WaitpointKey, WorkerId, WorkerInstanceId,
};
pub use overrides::PolicyOverrides;
pub use patch::Patch;
pub use payload::Payload;
pub use record::{Description, Execution};
pub use refusal::{Code, Full, Refusal};
pub use resource::{Resource, ResourceKey, ResourceKind};
pub use setting::Setting;
pub use state::State;
pub use time::{Millis, Time, When};
pub use view::{PublicState, StateVector};
pub use warning::Warning;
