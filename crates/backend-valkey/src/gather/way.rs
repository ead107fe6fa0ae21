//! What calls must have in common to go as one, and how their parts are put together and dealt out.

use std::borrow::Cow;

use bytes::Bytes;
use redis::Value;

use crate::error::{Fault, Kind};
use crate::fast_path::Verb;
use crate::link::Arg;

/// What calls that go as one have in common: a function and a partition, and of claims the queues.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    /// Commands that have a function, each on an execution of its own.
    Commands { verb: Verb, partition: u16 },
    /// Claims of the best executions of some queues.
    Claims {
        partition: u16,
        /// What is admitted for the only claim, packed.
        admitted: Vec<u8>,
        queues: Vec<String>,
    },
}

/// What one caller asks for.
#[derive(Debug)]
pub(crate) struct Part {
    /// Arguments of the function.
    pub(crate) args: Vec<Bytes>,
    /// How many commands it has, or how many executions it claims at most.
    pub(crate) commands: usize,
    /// How many bytes of payload it has.
    pub(crate) bytes: usize,
}

impl Way {
    /// Whether a server with full memory runs it.
    pub(super) fn frees(&self) -> bool {
        match self {
            Way::Commands { verb, .. } => !matches!(verb, Verb::Append | Verb::Submit),
            Way::Claims { .. } => false,
        }
    }

    pub(super) fn function(&self) -> &'static str {
        match self {
            Way::Commands { verb, .. } => verb.name(),
            Way::Claims { .. } => "claim",
        }
    }

    pub(super) fn partition(&self) -> u16 {
        match self {
            Way::Commands { partition, .. } | Way::Claims { partition, .. } => *partition,
        }
    }

    /// The arguments of a call that has these parts.
    pub(super) fn args<'a>(&'a self, origin: &'a [u8], parts: &[&'a Part]) -> Vec<Arg<'a>> {
        let each = parts.iter().copied().flat_map(|part| &part.args);
        match self {
            Way::Commands { verb, .. } => {
                let origin = verb.announces().then_some(origin);
                let each = each.map(|arg| &arg[..]);
                origin.into_iter().chain(each).map(Cow::Borrowed).collect()
            }
            Way::Claims { admitted, queues, .. } => {
                let claims: Vec<u8> = each.flatten().copied().collect();
                let queues = queues.iter().map(|queue| Cow::Borrowed(queue.as_bytes()));
                [Cow::Owned(claims), Cow::Borrowed(&admitted[..])]
                    .into_iter()
                    .chain(queues)
                    .collect()
            }
        }
    }

    /// How many values at the beginning of an answer are for every caller. Of completions: the time. Of
    /// executions that return to their queues: these. Of claims: that they are
    /// answered, the time, whether the lane has a limit, heads, and what must be admitted.
    pub(crate) fn shared(&self) -> usize {
        match self {
            Way::Commands { verb: Verb::Complete | Verb::Unblock, .. } => 1,
            Way::Commands { .. } => 0,
            Way::Claims { .. } => 5,
        }
    }

    /// How many values of an answer are for one part.
    fn own(&self, part: &Part) -> usize {
        match self {
            Way::Commands { .. } => part.commands,
            Way::Claims { .. } => 1,
        }
    }

    /// What each part is answered: what is for all, then its own.
    pub(super) fn deal(&self, answer: Value, parts: &[&Part]) -> Result<Vec<Vec<Value>>, Fault> {
        let Value::Array(mut values) = answer else { return Err(strange(&answer)) };
        if parts.len() == 1 {
            return Ok(vec![values]);
        }
        if values.len() < self.shared() {
            // Every claim is left to the slow path.
            return Ok(parts.iter().map(|_| values.clone()).collect());
        }
        let mut own = values.split_off(self.shared()).into_iter();
        let mut dealt = Vec::with_capacity(parts.len());
        for part in parts {
            let mut answer = values.clone();
            answer.extend(own.by_ref().take(self.own(part)));
            if answer.len() < self.shared() + self.own(part) {
                return Err(lacking());
            }
            dealt.push(answer);
        }
        Ok(dealt)
    }
}

/// An answer of another shape than the function gives.
pub(super) fn strange(answer: &Value) -> Fault {
    match answer {
        Value::ServerError(error) => Fault::replied(error),
        other => Fault::new(Kind::Other, format!("a function answered {other:?}")),
    }
}

/// An answer that has none for a caller.
pub(super) fn lacking() -> Fault {
    Fault::new(Kind::Other, "a function answered too little")
}
