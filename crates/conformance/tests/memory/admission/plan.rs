//! Random plans: the steps of a history, decided before it begins.
//!
//! A step names executions and leases by a number that is taken modulo how many there are, so one
//! plan can run in several fixtures.

use fastrand::Rng;
use ff_core::budget::{BudgetLimits, DimensionLimits, OnBreach};
use ff_core::quota::QuotaLimits;
use ff_core::{Dimension, Millis};

/// The quotas: one of slots, one of starts, one of both.
pub(crate) const QUOTAS: [&str; 3] = ["both", "places", "starts"];

/// The one budget.
pub(crate) const BUDGET: &str = "tokens";

/// One step.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    /// Submits work that names these quotas and has this estimate.
    Submit {
        quotas: [bool; 3],
        estimate: Option<u64>,
    },
    /// A worker claims up to this many.
    Claim(u16),
    /// This many workers claim one each, at the same time.
    Crowd(usize),
    /// Reserves work.
    Grant,
    /// Claims reserved work.
    UseGrant(usize),
    Complete(usize),
    Fail(usize),
    HandBack(usize),
    Delay(usize),
    Renew(usize),
    /// A holder reports usage of this much of its estimate.
    Report(usize, u64),
    /// It reports so twice, at the same time.
    ReportTwice(usize, u64),
    /// The report reaches the execution, and its process dies before it reaches the budget.
    ReportAndDie(usize, u64),
    /// Cancels an execution, which may wait.
    Cancel(usize),
    /// A process dies after its request was admitted.
    RequestAndDie(usize),
    /// A worker dies.
    Die(usize),
    /// A process dies after it has completed, before anything is settled.
    CompleteAndDie(usize),
    /// A settlement is made twice.
    CompleteAndSettleTwice(usize),
    /// A settlement of long ago is made again.
    SettleAgain(usize),
    /// Time passes, and due timers fire.
    Pass(u64),
}

/// The limits and steps of a history.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// How many may run at once, under `places` and under `both`.
    pub(crate) places: u32,
    /// How many may start in a window, under `starts` and under `both`.
    pub(crate) starts: u32,
    /// How long a window is.
    pub(crate) window: Millis,
    /// How many tokens the budget allows.
    pub(crate) tokens: u64,
    pub(crate) steps: Vec<Step>,
}

impl Plan {
    pub(crate) fn new(seed: u64, steps: usize) -> Plan {
        let mut rng = Rng::with_seed(seed);
        let places = rng.u32(1..4);
        let starts = rng.u32(1..4);
        let window = Millis::new([300, 1_000, 7_000][rng.usize(..3)]);
        let tokens = rng.u64(10..60);
        let steps = (0..steps).map(|_| step(&mut rng)).collect();
        Plan { places, starts, window, tokens, steps }
    }

    /// What each quota allows.
    pub(crate) fn quotas(&self) -> impl Iterator<Item = (&'static str, QuotaLimits)> + '_ {
        QUOTAS.into_iter().map(|name| {
            let limits = QuotaLimits {
                max_requests: (name != "places").then_some(self.starts),
                window: self.window,
                max_active: (name != "starts").then_some(self.places),
                jitter: Millis::ZERO,
            };
            (name, limits)
        })
    }

    /// What the budget allows.
    pub(crate) fn budget(&self) -> BudgetLimits {
        let limits = DimensionLimits { soft: None, hard: Some(self.tokens) };
        let dimensions = [(Dimension::new("tokens").unwrap(), limits)].into();
        BudgetLimits { dimensions, period: None, on_breach: OnBreach::Block }
    }
}

fn step(rng: &mut Rng) -> Step {
    let which = rng.usize(..1_000);
    match rng.u8(..100) {
        0..22 => Step::Submit {
            quotas: [rng.u8(..3) == 0, rng.u8(..2) == 0, rng.u8(..3) == 0],
            estimate: rng.bool().then(|| rng.u64(1..12)),
        },
        22..38 => Step::Claim(rng.u16(1..4)),
        38..41 => Step::Crowd(rng.usize(2..5)),
        41..44 => Step::Grant,
        44..47 => Step::UseGrant(which),
        47..55 => Step::Complete(which),
        55..57 => Step::Fail(which),
        57..59 => Step::HandBack(which),
        59..60 => Step::Delay(which),
        60..62 => Step::Renew(which),
        62..68 => Step::Report(which, rng.u64(1..8)),
        68..70 => Step::ReportTwice(which, rng.u64(1..5)),
        70..72 => Step::ReportAndDie(which, rng.u64(1..8)),
        72..75 => Step::Cancel(which),
        75..78 => Step::RequestAndDie(which),
        78..80 => Step::Die(which),
        80..83 => Step::CompleteAndDie(which),
        83..85 => Step::CompleteAndSettleTwice(which),
        85..87 => Step::SettleAgain(which),
        _ => Step::Pass([1, 50, 400, 1_000, 3_000, 11_000][rng.usize(..6)]),
    }
}
