//! What an audit finds wrong: which rule, with what, and how.

use std::fmt;

use ff_core::{ExecutionId, Namespace, ResourceKey, ResourceKind, ResourceName};

use crate::audit::Rule;

/// Something that must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which rule is broken.
    pub rule: Rule,
    /// What breaks it.
    pub subject: Subject,
    /// How.
    pub found: Found,
    /// The same with its particulars, for people.
    pub detail: String,
}

/// What breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// An execution, or what carries its id.
    Execution(ExecutionId),
    /// A resource, or what carries its key.
    Resource(ResourceKey),
    /// A budget or a quota, by its name.
    Limit {
        /// Which of the two.
        kind: ResourceKind,
        /// The tenant.
        namespace: Namespace,
        /// Its name.
        name: ResourceName,
    },
    /// A lane, by its name.
    Lane {
        /// The tenant.
        namespace: String,
        /// Its name.
        lane: String,
    },
    /// A place of the store about which nothing more is known.
    Place(String),
}

/// How a rule is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Something is not there that must be.
    Missing,
    /// Something is there that nothing refers to.
    Extra,
    /// Something is there and is not as it must be.
    Wrong,
}

impl Subject {
    /// The execution that it is, or whose id it carries.
    pub fn execution(&self) -> Option<ExecutionId> {
        match self {
            Subject::Execution(id) => Some(*id),
            _ => None,
        }
    }
}

impl From<ExecutionId> for Subject {
    fn from(id: ExecutionId) -> Subject {
        Subject::Execution(id)
    }
}

impl From<&ResourceKey> for Subject {
    fn from(key: &ResourceKey) -> Subject {
        Subject::Resource(key.clone())
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Execution(id) => write!(f, "{id}"),
            Subject::Resource(key) => write!(f, "{key:?}"),
            Subject::Limit { kind, namespace, name } => {
                write!(f, "{} {namespace}/{name}", kind.as_str())
            }
            Subject::Lane { namespace, lane } => write!(f, "{namespace}/{lane}"),
            Subject::Place(place) => f.write_str(place),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.detail)
    }
}
