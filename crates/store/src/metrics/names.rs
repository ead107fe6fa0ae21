//! The names that have a label of their own.
//!
//! Users name lanes, kinds and dimensions, and a series is kept as long as the process: after
//! [`NAMES`] names, all others share one label.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::lock::lock;

/// How many lanes, and how many dimensions, have a label of their own in one process.
pub(crate) const NAMES: usize = 200;

/// The label of all names past the bound.
pub const OTHER: &str = "other";

/// Names that have a label of their own.
#[derive(Debug, Default)]
pub struct Names(Mutex<BTreeSet<Arc<str>>>);

impl Names {
    /// No names yet.
    pub const fn new() -> Names {
        Names(Mutex::new(BTreeSet::new()))
    }

    /// The label for `name`.
    pub fn label(&self, name: &str) -> Arc<str> {
        let mut known = lock(&self.0);
        if let Some(label) = known.get(name) {
            return label.clone();
        }
        let label = if known.len() < NAMES { name } else { OTHER };
        if let Some(other) = known.get(label) {
            return other.clone();
        }
        let label: Arc<str> = label.into();
        known.insert(label.clone());
        label
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded() {
        let names = Names::new();
        for number in 0..NAMES {
            assert_eq!(&*names.label(&format!("n{number}")), format!("n{number}"));
        }
        assert_eq!(&*names.label("one more"), OTHER);
        assert_eq!(&*names.label("n0"), "n0");
    }
}
