//! What is worth a word about work that was accepted all the same.

use std::fmt;

use crate::name::{Dimension, ResourceName};
use crate::words;

/// What is worth a word about work that was accepted: a mistake, most likely, unless what is missing
/// comes later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// It names a budget that does not exist, and waits until it does.
    NoBudget {
        /// Which.
        name: ResourceName,
    },
    /// It names a quota that does not exist, and waits until it does.
    NoQuota {
        /// Which.
        name: ResourceName,
    },
    /// It is expected to use something that none of its budgets counts, so nothing is reserved.
    NotCounted {
        /// What.
        dimension: Dimension,
    },
}

words!(
    /// The kind of warning.
    WarningCode {
        /// There is no such budget.
        NoBudget = "no_such_budget",
        /// There is no such quota.
        NoQuota = "no_such_quota",
        /// No budget counts it.
        NotCounted = "estimate_not_counted",
    }
);

impl Warning {
    /// Which kind it is.
    pub const fn code(&self) -> WarningCode {
        match self {
            Warning::NoBudget { .. } => WarningCode::NoBudget,
            Warning::NoQuota { .. } => WarningCode::NoQuota,
            Warning::NotCounted { .. } => WarningCode::NotCounted,
        }
    }

    /// What is missing.
    pub fn name(&self) -> &str {
        match self {
            Warning::NoBudget { name } | Warning::NoQuota { name } => name.as_str(),
            Warning::NotCounted { dimension } => dimension.as_str(),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::NoBudget { name } => {
                write!(f, "there is no budget {name}; the execution waits until there is one")
            }
            Warning::NoQuota { name } => {
                write!(f, "there is no quota {name}; the execution waits until there is one")
            }
            Warning::NotCounted { dimension } => write!(
                f,
                "none of its budgets counts {dimension}; nothing of it is reserved or limited"
            ),
        }
    }
}
