//! Budgets: how much may be used in total, by dimension, within a period or without end.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::act::Changed;
use crate::bounds;
use crate::limits::{Amounts, add, subtract};
use crate::name::{Dimension, ResourceName};
use crate::refusal::Refusal;
use crate::time::{Millis, Time};
use crate::words;

/// What a budget allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetLimits {
    /// The limits of each dimension. Usage of others is not counted here.
    pub dimensions: BTreeMap<Dimension, DimensionLimits>,
    /// After so long what was used is forgotten; `None` is never.
    pub period: Option<Millis>,
    /// What happens to what runs when a hard limit is reached.
    pub on_breach: OnBreach,
}

/// The limits of one dimension; a limit of 0 is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DimensionLimits {
    /// Reaching it is logged and counted; work is still admitted.
    pub soft: Option<u64>,
    /// Nothing is admitted once it is reached.
    pub hard: Option<u64>,
}

words!(
    /// The state of a dimension of a budget.
    DimensionState {
        /// It has room.
        Open = "open",
        /// It has room, and its soft limit is reached.
        Warned = "warned",
        /// Nothing that counts in it is admitted.
        Full = "full",
    }
);

impl DimensionLimits {
    /// The hard limit, if there is one.
    pub fn hard(&self) -> Option<u64> {
        self.hard.filter(|hard| *hard > 0)
    }

    /// Whether the soft limit, if there is one, is reached by `used`.
    fn warns(&self, used: u64) -> bool {
        self.soft.is_some_and(|soft| soft > 0 && used >= soft)
    }

    /// The state of the dimension with this much used, and this much more reserved.
    pub fn state(&self, used: u64, reserved: u64) -> DimensionState {
        match self.hard() {
            Some(hard) if used.saturating_add(reserved) >= hard => DimensionState::Full,
            _ if self.warns(used) => DimensionState::Warned,
            _ => DimensionState::Open,
        }
    }
}

words!(
    /// What happens to what runs when a hard limit is reached.
    #[derive(Default)]
    OnBreach {
        /// It keeps running; nothing new is admitted.
        #[default]
        Block = "block",
        /// It is cancelled.
        Cancel = "cancel",
    }
);

impl BudgetLimits {
    /// Checks every bound; a refusal names the field.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.dimensions.is_empty() {
            return Err(Refusal::invalid(
                "dimensions",
                "is empty; give the limits of at least one",
            ));
        }
        Refusal::cap("dimensions", self.dimensions.len(), bounds::DIMENSIONS, "dimensions")?;
        for limit in self.dimensions.values() {
            let numbers = [limit.soft, limit.hard];
            if numbers.iter().flatten().any(|number| *number > bounds::AMOUNT) {
                let why = format!("has a limit over {}; give less", bounds::AMOUNT);
                return Err(Refusal::invalid("dimensions", why));
            }
        }
        if let Some(period) = self.period {
            period.within("period", bounds::PERIOD_MIN, bounds::WINDOW_MAX)?;
        }
        Ok(())
    }
}

/// A budget and what was used of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// What it allows.
    pub limits: BudgetLimits,
    /// What was used in this period.
    pub used: Amounts,
    /// What running executions may still use.
    pub reserved: Amounts,
    /// When the period began.
    pub since: Time,
    /// The dimensions whose soft limit was reached in this period.
    pub warned: BTreeSet<Dimension>,
    /// Executions may be blocked on it.
    pub has_waiters: bool,
    /// When it was created: what was admitted before has nothing reserved of it, whatever its name.
    pub created_at: Time,
    /// Who changed last what it allows, or reset it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<Changed>,
}

/// A budget as everybody may know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetView {
    /// Its name.
    pub name: ResourceName,
    /// What it allows.
    pub limits: BudgetLimits,
    /// What was used in this period.
    pub used: Amounts,
    /// What running executions may still use.
    pub reserved: Amounts,
    /// When the period began.
    pub since: Time,
    /// Who changed last what it allows, or reset it.
    pub changed: Option<Changed>,
}

impl BudgetView {
    /// When what was used is forgotten.
    pub fn resets_at(&self) -> Option<Time> {
        self.limits.period.map(|period| self.since + period)
    }
}

impl Budget {
    /// What everybody may know of it.
    pub fn view(&self, name: &ResourceName) -> BudgetView {
        BudgetView {
            name: name.clone(),
            limits: self.limits.clone(),
            used: self.used.clone(),
            reserved: self.counted(&self.reserved),
            since: self.since,
            changed: self.changed.clone(),
        }
    }

    /// A budget of which nothing is used, from `now` on.
    pub fn new(limits: BudgetLimits, now: Time, created_at: Time) -> Budget {
        Budget {
            limits,
            used: Amounts::new(),
            reserved: Amounts::new(),
            since: now,
            warned: BTreeSet::new(),
            has_waiters: false,
            created_at,
            changed: None,
        }
    }

    /// The same with other limits. Usage that it no longer counts is forgotten, so that it begins at
    /// nothing should it be counted again; what is reserved stays with those it is reserved for.
    pub(crate) fn with(&self, limits: BudgetLimits) -> Budget {
        let mut after = Budget { limits, ..self.clone() };
        let dimensions = &after.limits.dimensions;
        after.used.retain(|dimension, _| dimensions.contains_key(dimension));
        after.warned.retain(|dimension| dimensions.contains_key(dimension));
        after
    }

    /// When what was used is forgotten.
    pub fn resets_at(&self) -> Option<Time> {
        self.limits.period.map(|period| self.since + period)
    }

    /// The first dimension that has reached its hard limit, or would with `more` reserved: its name,
    /// what is used and reserved, and the limit.
    pub fn exhausted(&self, more: &Amounts) -> Option<(&Dimension, u64, u64)> {
        self.limits.dimensions.iter().find_map(|(dimension, limit)| {
            let hard = limit.hard()?;
            let of = |amounts: &Amounts| amounts.get(dimension).copied().unwrap_or(0);
            let taken = of(&self.used).saturating_add(of(&self.reserved));
            let full = taken >= hard || taken.saturating_add(of(more)) > hard;
            full.then_some((dimension, taken, hard))
        })
    }

    /// The first dimension of which `estimate` is more than its hard limit, so that there is never room
    /// for it: its name and the limit.
    pub fn impossible(&self, estimate: &Amounts) -> Option<(&Dimension, u64)> {
        self.limits.dimensions.iter().find_map(|(dimension, limit)| {
            let hard = limit.hard()?;
            let needed = estimate.get(dimension).copied().unwrap_or(0);
            (needed > hard).then_some((dimension, hard))
        })
    }

    /// What there is too little of for an execution that is expected to use `estimate`, and the numbers
    /// for people.
    pub fn shortage(&self, estimate: &Amounts) -> Option<(Dimension, String)> {
        let of =
            |amounts: &Amounts, dimension: &Dimension| amounts.get(dimension).copied().unwrap_or(0);
        let numbers = |dimension: &Dimension, taken: u64, hard: u64| {
            let so_far = format!("{taken} of {hard} {dimension} are used or reserved");
            match of(estimate, dimension) {
                0 => so_far,
                needed => {
                    let free = hard.saturating_sub(taken);
                    format!("{so_far}; {needed} are needed and {free} are free")
                }
            }
        };
        if let Some((dimension, hard)) = self.impossible(estimate) {
            let taken = of(&self.used, dimension).saturating_add(of(&self.reserved, dimension));
            let detail = format!(
                "{}, so it can never start; raise the limit, or submit with a smaller estimate",
                numbers(dimension, taken, hard)
            );
            return Some((dimension.clone(), detail));
        }
        let (dimension, taken, hard) = self.exhausted(&self.counted(estimate))?;
        Some((dimension.clone(), numbers(dimension, taken, hard)))
    }

    /// How many executions that are expected to use `estimate` there is room for.
    pub fn room(&self, estimate: &Amounts) -> u64 {
        if self.exhausted(&Amounts::new()).is_some() {
            return 0;
        }
        let room = self.limits.dimensions.iter().filter_map(|(dimension, limit)| {
            let hard = limit.hard()?;
            let of = |amounts: &Amounts| amounts.get(dimension).copied().unwrap_or(0);
            let left = hard.saturating_sub(of(&self.used)).saturating_sub(of(&self.reserved));
            left.checked_div(of(estimate))
        });
        room.min().unwrap_or(u64::MAX)
    }

    /// Whether `dimension` is counted here.
    pub fn counts(&self, dimension: &Dimension) -> bool {
        self.limits.dimensions.contains_key(dimension)
    }

    /// The part of `amounts` that is counted here.
    pub fn counted(&self, amounts: &Amounts) -> Amounts {
        let mine = amounts.iter().filter(|(dimension, _)| self.counts(dimension));
        mine.map(|(dimension, amount)| (dimension.clone(), *amount)).collect()
    }

    /// Reserves `amounts`.
    pub fn reserve(&mut self, amounts: &Amounts) {
        add(&mut self.reserved, amounts);
    }

    /// Reserves `amounts` no more.
    pub(crate) fn unreserve(&mut self, amounts: &Amounts) {
        subtract(&mut self.reserved, amounts);
    }

    /// Counts usage. Answers the dimensions that have reached a soft limit by it.
    pub(crate) fn charge(&mut self, amounts: &Amounts) -> Vec<Dimension> {
        add(&mut self.used, amounts);
        let mut warned = Vec::new();
        for (dimension, limit) in &self.limits.dimensions {
            let used = self.used.get(dimension).copied().unwrap_or(0);
            if limit.warns(used) && self.warned.insert(dimension.clone()) {
                warned.push(dimension.clone());
            }
        }
        warned
    }

    /// Whether as much is used of a dimension as its hard limit allows.
    pub(crate) fn is_breached(&self) -> bool {
        self.limits.dimensions.iter().any(|(dimension, limit)| {
            let used = self.used.get(dimension).copied().unwrap_or(0);
            limit.hard().is_some_and(|hard| used >= hard)
        })
    }

    /// Takes usage back.
    pub(crate) fn refund(&mut self, amounts: &Amounts) {
        subtract(&mut self.used, amounts);
    }

    /// Forgets what was used; what is reserved stays. The next period begins where the last one
    /// ended, however late this is.
    pub(crate) fn reset(&mut self, now: Time) {
        self.used.clear();
        self.warned.clear();
        self.since = match self.limits.period.filter(|period| self.since + *period <= now) {
            Some(period) => {
                let periods = now.since(self.since).get() / period.get();
                self.since + Millis::new(periods * period.get())
            }
            None => now,
        };
    }
}
