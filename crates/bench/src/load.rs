//! The load: how much work, how many workers, of which shape.

use ff_core::Millis;

/// The load of a benchmark.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// How many executions in total.
    pub executions: u64,
    /// How many workers at once.
    pub workers: usize,
    /// How many executions go into one call.
    pub batch: u16,
    /// How many bytes an input has.
    pub payload: usize,
    /// How many different capabilities executions require and workers offer, one each; 0 is none.
    pub classes: u16,
    /// Whether a budget and a quota must admit executions.
    pub limited: bool,
    /// How long finished executions stay; `None` means the default, longer than any benchmark.
    pub retention: Option<Millis>,
    /// Whether the cycle runs a second time, with the feed of its namespace on.
    pub feed: bool,
}

impl Load {
    /// The part of the load that is run first and not measured.
    pub(crate) fn warm_up(self) -> Load {
        Load { executions: (self.executions / 10).clamp(1, 2_000), ..self }
    }
}
