//! One step of a history.

use std::fmt;

use ff_core::Millis;
use ff_core::machine::Command;

use super::clock::Set;
use super::read::Read;

/// One step.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    /// Commands, sent as one batch.
    Run(Vec<Command>),
    /// Time passes.
    Advance(Millis),
    /// The clock is set, and no time passes.
    SetClock(Set),
    /// Something is read.
    Read(Read),
}

impl Op {
    /// The commands of the step.
    pub(crate) fn commands(&self) -> &[Command] {
        match self {
            Op::Run(commands) => commands,
            _ => &[],
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Run(commands) => {
                let lines: Vec<_> = commands.iter().map(|c| format!("{:?}", c.action)).collect();
                f.write_str(&lines.join("\n  and "))
            }
            Op::Advance(span) => write!(f, "{span} pass"),
            Op::SetClock(set) => write!(f, "the clock is set {set}"),
            Op::Read(read) => write!(f, "{read:?}"),
        }
    }
}
