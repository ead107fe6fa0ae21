//! What limits an execution besides workers: the budgets it spends from and the quotas it counts
//! against.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::bounds;
use crate::digest::Fields;
use crate::name::{Dimension, ResourceName};
use crate::refusal::Refusal;
use crate::resource::ResourceKind;

/// Amounts by dimension, in whole units.
pub type Amounts = BTreeMap<Dimension, u64>;

/// What an execution spends from and counts against.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ExecutionLimits {
    /// The budgets that its usage is charged to.
    pub budgets: BTreeSet<ResourceName>,
    /// The quotas that must admit it, all or none.
    pub quotas: BTreeSet<ResourceName>,
    /// What it is expected to use at most: reserved when it is admitted, settled when it stops.
    pub estimate: Amounts,
}

impl ExecutionLimits {
    /// Whether nothing limits it.
    pub fn is_empty(&self) -> bool {
        self.budgets.is_empty() && self.quotas.is_empty()
    }

    /// Checks every bound; a refusal names the field.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        for (field, names, most) in
            [("budgets", &self.budgets, bounds::BUDGETS), ("quotas", &self.quotas, bounds::QUOTAS)]
        {
            Refusal::cap(field, names.len(), most, "names")?;
            names.iter().try_for_each(|name| name.check_free(field))?;
        }
        if self.budgets.is_empty() && !self.estimate.is_empty() {
            let why = "needs a budget to be reserved from; name one, or leave it out";
            return Err(Refusal::invalid("estimate", why));
        }
        check_amounts("estimate", &self.estimate)
    }

    pub(crate) fn fingerprint(&self, fields: &mut Fields) {
        for names in [&self.budgets, &self.quotas] {
            fields.number(names.len() as u64);
            names.iter().for_each(|name| fields.text(name.as_str()));
        }
        fields.number(self.estimate.len() as u64);
        for (dimension, amount) in &self.estimate {
            fields.text(dimension.as_str());
            fields.number(*amount);
        }
    }
}

/// Refuses too many dimensions and amounts that no counter holds.
pub(crate) fn check_amounts(field: &'static str, amounts: &Amounts) -> Result<(), Refusal> {
    Refusal::cap(field, amounts.len(), bounds::DIMENSIONS, "dimensions")?;
    match amounts.values().all(|amount| *amount <= bounds::AMOUNT) {
        true => Ok(()),
        false => {
            let why = format!("has an amount over {}; give less", bounds::AMOUNT);
            Err(Refusal::invalid(field, why))
        }
    }
}

/// What keeps an execution from being claimed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Blocker {
    /// A budget or a quota.
    pub kind: ResourceKind,
    /// Which one.
    pub name: ResourceName,
}

impl Blocker {
    /// The text for one that cannot be read.
    pub(crate) fn unreadable(&self) -> String {
        format!("the {} cannot be read; run `ff check`", self.kind.as_str())
    }
}

/// `amount` more of each dimension.
pub(crate) fn add(to: &mut Amounts, amounts: &Amounts) {
    for (dimension, amount) in amounts {
        let sum = to.entry(dimension.clone()).or_default();
        *sum = sum.saturating_add(*amount).min(bounds::AMOUNT);
    }
}

/// `amount` less of each dimension, at least nothing.
pub(crate) fn subtract(from: &mut Amounts, amounts: &Amounts) {
    for (dimension, amount) in amounts {
        if let Some(sum) = from.get_mut(dimension) {
            *sum = sum.saturating_sub(*amount);
        }
    }
}
