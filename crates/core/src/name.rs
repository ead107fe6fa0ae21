//! Names: one validated type for each thing that has one.
//!
//! The alphabet of a name is ASCII letters, digits, `_`, `-` and `.`, beginning with a letter or
//! digit, at most [`NAME_BYTES`] long: no name can break a key, a path or a URL. The name of a
//! lane's own quota, and that of the namespace of what is the store's own, begin with an `@`, so
//! that no user can take them.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use crate::bounds::{
    ELEMENT_NAME_BYTES, IDEMPOTENCY_KEY_BYTES, KID_BYTES, NAME_BYTES, SUBJECT_BYTES,
    TAG_VALUE_BYTES,
};
use crate::id::ExecutionId;
use crate::refusal::Refusal;

macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $field:literal, $check:path) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "Arc<str>", into = "Arc<str>")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks `text` and makes it a name; a refusal says what is wrong with it.
            pub fn new(text: impl Into<Arc<str>>) -> Result<Self, Refusal> {
                let text = text.into();
                $check($field, &text)?;
                Ok(Self(text))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<Arc<str>> for $name {
            type Error = Refusal;

            fn try_from(text: Arc<str>) -> Result<Self, Refusal> {
                Self::new(text)
            }
        }

        impl From<$name> for Arc<str> {
            fn from(name: $name) -> Arc<str> {
                name.0
            }
        }

        impl FromStr for $name {
            type Err = Refusal;

            fn from_str(text: &str) -> Result<Self, Refusal> {
                Self::new(text)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
    };
}

text!(
    /// A tenant. Nothing of one namespace is visible from another.
    Namespace, "namespace", plain
);
text!(
    /// A named queue.
    Lane, "lane", plain
);
text!(
    /// The kind of work of an execution; a worker picks its handler by it.
    Kind, "kind", plain
);
text!(
    /// The name of a worker, shared by its instances.
    WorkerId, "worker", plain
);
text!(
    /// One running process of a worker.
    WorkerInstanceId, "worker_instance", plain
);
text!(
    /// The name of a resource: a lane, a worker's instance, a budget, a quota.
    ResourceName, "name", plain_or_of_lane
);
text!(
    /// The name of a token: who shows it is known by this name.
    TokenName, "token", not_reserved
);
text!(
    /// Who changed something: the name of the token that was shown, [`root`](Actor::root),
    /// [`local`](Actor::local) or [`engine`](Actor::engine).
    Actor, "by", plain
);
text!(
    /// The name of a setting of a store.
    SettingName, "setting", plain
);
text!(
    /// The name of a signing key: 1 to 16 letters, digits, `_` and `-`.
    Kid, "kid", kid
);
text!(
    /// Who a token was made for, such as an approver: 1 to 128 bytes of text without control characters.
    Subject, "subject", subject
);
text!(
    /// What a budget counts: tokens, cents, seconds.
    Dimension, "dimension", plain
);
text!(
    /// The key of a tag.
    TagKey, "tag key", plain
);
text!(
    /// A holder's name for a waitpoint.
    WaitpointKey, "waitpoint", plain
);
text!(
    /// What a signal is called; a condition chooses by it.
    SignalName, "signal name", plain
);
text!(
    /// Who sent a signal, as the engine knows it: text without control characters, 1 to 256 bytes.
    Source, "source", step
);
text!(
    /// The kind of a failure; a retry policy chooses by it.
    Category, "category", plain
);
text!(
    /// What a frame of a stream is, such as `stdout` or `token`.
    FrameType, "type", plain
);
text!(
    /// A caller's own name for one piece of work: visible ASCII, at most 256 bytes.
    IdempotencyKey, "idempotency_key", visible
);
text!(
    /// The value of a tag: text without control characters, at most 256 bytes, may be empty.
    TagValue, "tag value", printable
);
text!(
    /// The name of a node, unique in its flow.
    NodeName, "node", plain
);
text!(
    /// The name of a durable step, sleep or wait: 1 to 256 bytes of text without control characters.
    StepName, "step", step
);

macro_rules! resource_names {
    ($($name:ident),+) => {
        $(impl From<&$name> for ResourceName {
            fn from(name: &$name) -> ResourceName {
                ResourceName(name.0.clone())
            }
        }

        impl From<&ResourceName> for $name {
            fn from(name: &ResourceName) -> $name {
                $name(name.0.clone())
            }
        })+
    };
}

resource_names!(Lane, WorkerInstanceId, TokenName);

/// The actors that are no tokens.
const RESERVED: [&str; 3] = ["root", "local", "engine"];

impl Actor {
    /// Who showed the token that a server was started with.
    pub fn root() -> Self {
        Self(RESERVED[0].into())
    }

    /// Who had the store itself, as a program that embeds the engine or a command on a store has, or
    /// called a server on this machine that requires no token.
    pub fn local() -> Self {
        Self(RESERVED[1].into())
    }

    /// The engine, by a rule that an operator has set, such as a budget that cancels.
    pub fn engine() -> Self {
        Self(RESERVED[2].into())
    }
}

impl From<Actor> for Source {
    fn from(actor: Actor) -> Source {
        Source(actor.0)
    }
}

impl From<&TokenName> for Actor {
    fn from(name: &TokenName) -> Actor {
        Actor(name.0.clone())
    }
}

/// What the name of a lane's own quota begins with.
const OF_LANE: char = '@';

impl ResourceName {
    /// The name of something that the store has one of.
    pub(crate) fn of_store(name: &'static str) -> ResourceName {
        ResourceName(name.into())
    }

    /// The quota that keeps the limit of `lane`.
    pub fn of_lane(lane: &Lane) -> ResourceName {
        ResourceName(format!("{OF_LANE}{lane}").into())
    }

    /// The lane whose limit the quota of this name keeps.
    pub fn lane(&self) -> Option<Lane> {
        self.0.strip_prefix(OF_LANE).map(|lane| Lane(lane.into()))
    }

    /// Refuses the name of a lane's own quota, which only the lane's settings create and change.
    pub fn check_free(&self, field: &'static str) -> Result<(), Refusal> {
        match self.lane() {
            None => Ok(()),
            Some(lane) => {
                let why =
                    format!("has {self}, which keeps the limit of lane {lane}; give the lane one");
                Err(Refusal::invalid(field, why))
            }
        }
    }
}

impl From<ExecutionId> for ResourceName {
    fn from(id: ExecutionId) -> ResourceName {
        ResourceName(id.to_string().into())
    }
}

/// The namespace of what belongs to the store and to no tenant.
const SYSTEM: &str = "@system";

impl Namespace {
    /// The namespace of what belongs to the store and to no tenant, such as its credentials. No
    /// input can name it: [`Namespace::new`] refuses its text.
    pub fn system() -> Self {
        Self(SYSTEM.into())
    }

    /// Whether it belongs to the store instead of a tenant.
    pub fn is_system(&self) -> bool {
        &*self.0 == SYSTEM
    }

    /// The namespace that a store has kept as `text`. Only what reads a store's own keys may use it:
    /// it accepts [`Namespace::system`] too.
    pub fn stored(text: &str) -> Result<Self, Refusal> {
        match text {
            SYSTEM => Ok(Self::system()),
            text => Self::new(text),
        }
    }

    /// [`Namespace::stored`], for a field of a stored format.
    pub fn deserialize_stored<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Arc::<str>::deserialize(from)?;
        Self::stored(&text).map_err(serde::de::Error::custom)
    }
}

impl Default for Namespace {
    fn default() -> Self {
        Self("default".into())
    }
}

impl Default for Lane {
    fn default() -> Self {
        Self("default".into())
    }
}

impl Default for Kind {
    fn default() -> Self {
        Self("task".into())
    }
}

impl Kind {
    /// The kind of a flow itself.
    pub fn flow() -> Self {
        Self("flow".into())
    }
}

impl NodeName {
    /// The start of a graph, where a name is needed for it.
    pub(crate) fn start() -> Self {
        Self("start".into())
    }
}

impl FrameType {
    /// What a frame is called when its sender does not say.
    pub fn output() -> Self {
        Self("output".into())
    }

    /// A line of a program's standard output.
    pub fn stdout() -> Self {
        Self("stdout".into())
    }

    /// A line of a program's standard error.
    pub fn stderr() -> Self {
        Self("stderr".into())
    }

    /// A piece of what a model says.
    pub fn token() -> Self {
        Self("token".into())
    }
}

impl Category {
    /// What a flow failed of whose members did not all succeed.
    pub fn flow() -> Self {
        Self("flow".into())
    }

    /// What a failure is called when its reporter does not say.
    pub fn error() -> Self {
        Self("error".into())
    }

    /// What an execution that lost too many leases failed of.
    pub fn lease_lost() -> Self {
        Self("lease_lost".into())
    }

    /// What an input that its handler cannot read is called.
    pub fn bad_input() -> Self {
        Self("bad_input".into())
    }

    /// What work that its worker has no handler for is called.
    pub fn no_handler() -> Self {
        Self("no_handler".into())
    }

    /// What a handler that panicked is called.
    pub fn panic() -> Self {
        Self("panic".into())
    }

    /// What an execution failed of whose suspension was not ended in time.
    pub fn suspension_timeout() -> Self {
        Self("suspension_timeout".into())
    }

    /// What an attempt that ran past its timeout is called.
    pub fn timeout() -> Self {
        Self("timeout".into())
    }
}

fn plain(field: &'static str, text: &str) -> Result<(), Refusal> {
    Refusal::cap(field, text.len(), NAME_BYTES, "bytes")?;
    let Some(first) = text.bytes().next() else {
        return Err(Refusal::invalid(field, "is empty; give at least one character"));
    };
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    if !first.is_ascii_alphanumeric() || !text.bytes().all(allowed) {
        return Err(Refusal::invalid(
            field,
            "has a character outside a-z A-Z 0-9 _ - . or does not begin with a letter or digit",
        ));
    }
    Ok(())
}

fn not_reserved(field: &'static str, text: &str) -> Result<(), Refusal> {
    plain(field, text)?;
    match RESERVED.iter().any(|reserved| text.eq_ignore_ascii_case(reserved)) {
        true => Err(Refusal::invalid(field, format!("is {text}, which no token may be called"))),
        false => Ok(()),
    }
}

fn plain_or_of_lane(field: &'static str, text: &str) -> Result<(), Refusal> {
    plain(field, text.strip_prefix(OF_LANE).unwrap_or(text))
}

fn visible(field: &'static str, text: &str) -> Result<(), Refusal> {
    Refusal::cap(field, text.len(), IDEMPOTENCY_KEY_BYTES, "bytes")?;
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(Refusal::invalid(field, "must be 1 to 256 visible ASCII characters"));
    }
    Ok(())
}

fn kid(field: &'static str, text: &str) -> Result<(), Refusal> {
    Refusal::cap(field, text.len(), KID_BYTES, "bytes")?;
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if text.is_empty() || !text.bytes().all(allowed) {
        return Err(Refusal::invalid(field, "must be 1 to 16 of a-z A-Z 0-9 _ -"));
    }
    Ok(())
}

fn subject(field: &'static str, text: &str) -> Result<(), Refusal> {
    Refusal::cap(field, text.len(), SUBJECT_BYTES, "bytes")?;
    if text.trim().is_empty() {
        return Err(Refusal::invalid(field, "is empty; name a person or a system"));
    }
    printable(field, text)
}

fn printable(field: &'static str, text: &str) -> Result<(), Refusal> {
    Refusal::cap(field, text.len(), TAG_VALUE_BYTES, "bytes")?;
    without_control(field, text)
}

fn step(field: &'static str, text: &str) -> Result<(), Refusal> {
    Refusal::cap(field, text.len(), ELEMENT_NAME_BYTES, "bytes")?;
    match text.is_empty() {
        true => Err(Refusal::invalid(field, "is empty; give 1 to 256 bytes of text")),
        false => without_control(field, text),
    }
}

fn without_control(field: &'static str, text: &str) -> Result<(), Refusal> {
    match text.chars().any(char::is_control) {
        true => Err(Refusal::invalid(field, "has a control character; remove it")),
        false => Ok(()),
    }
}

#[cfg(test)]
#[path = "name_tests.rs"]
mod tests;
