//! Names: one validated type for each thing that has one.
//!
//! The alphabet of a name is ASCII letters, digits, `_`, `-` and `.`, beginning with a letter or
//! digit, at most [`NAME_BYTES`] long: no name can break a key, a path or a URL. The name of a
//! lane's own quota has an `@` before that, so that no user can take it.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bounds::{IDEMPOTENCY_KEY_BYTES, NAME_BYTES, TAG_VALUE_BYTES};
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
    /// The name of a setting of a store.
    SettingName, "setting", plain
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
    /// The kind of a failure; a retry policy chooses by it.
    Category, "category", plain
);
text!(
    /// A caller's own name for one piece of work: visible ASCII, at most 256 bytes.
    IdempotencyKey, "idempotency_key", visible
);
text!(
    /// The value of a tag: text without control characters, at most 256 bytes, may be empty.
    TagValue, "tag value", printable
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

resource_names!(Lane, WorkerInstanceId);

/// What the name of a lane's own quota begins with.
const OF_LANE: char = '@';

impl ResourceName {
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

impl Category {
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

fn printable(field: &'static str, text: &str) -> Result<(), Refusal> {
    Refusal::cap(field, text.len(), TAG_VALUE_BYTES, "bytes")?;
    if text.chars().any(char::is_control) {
        return Err(Refusal::invalid(field, "has a control character; remove it"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_break_a_key_or_a_url_are_refused() {
        for bad in
            ["", " ", "a b", "a:b", "{a}", "a/b", "ä", "-a", ".a", "a\0", "a\n", "a,b", "a%20"]
        {
            assert!(Lane::new(bad).is_err(), "{bad:?} passed");
        }
        for good in ["a", "A-1.b_c", &"x".repeat(64)] {
            assert!(Lane::new(good).is_ok(), "{good:?} refused");
        }
        let long = Lane::new("x".repeat(65)).unwrap_err();
        assert_eq!(long.code(), crate::Code::TooLarge);
        assert_eq!(long.field(), Some("lane"));
    }

    #[test]
    fn the_quota_of_a_lane_has_a_name_of_its_own() {
        let lane = Lane::new("mine").unwrap();
        let name = ResourceName::of_lane(&lane);
        assert_eq!(ResourceName::new(name.as_str()).unwrap(), name);
        assert_eq!(name.lane(), Some(lane));
        assert_eq!(name.check_free("name").unwrap_err().code(), crate::Code::InvalidArgument);
        assert!(ResourceName::new("mine").unwrap().check_free("name").is_ok());
        for bad in ["@", "@@a", "a@", "@ a"] {
            assert!(ResourceName::new(bad).is_err(), "{bad:?} passed");
        }
        assert!(ResourceName::of_lane(&Lane::new("x".repeat(64)).unwrap()).lane().is_some());
    }

    #[test]
    fn a_refused_name_is_refused_when_decoded_too() {
        assert!(Lane::try_from(Arc::<str>::from("a b")).is_err());
    }

    #[test]
    fn tag_values_take_any_text_without_control_characters() {
        assert!(TagValue::new("").is_ok());
        assert!(TagValue::new("größe: 3 {x}").is_ok());
        assert!(TagValue::new("a\tb").is_err());
    }
}
