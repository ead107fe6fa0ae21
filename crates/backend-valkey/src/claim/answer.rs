//! What the function answers a claim.

use ff_core::Time;
use ff_core::event::EventKind;
use ff_core::machine::{Assignment, NeedsAdmission};
use ff_store::StoreError;
use ff_store::metrics::{self, Counted};
use redis::Value;

use crate::codec::Inline;
use crate::error::Fault;
use crate::{reply, slow_path};

/// What the function says of one claim, besides that it is answered.
const LEFT: i64 = 0;
const CUT: i64 = 2;
const PASSED_OVER: i64 = 3;

/// What the function made of a claim.
pub(super) enum ClaimReply {
    /// It is answered.
    Answered(Answer),
    /// Others of the same call came first, and it has to ask again.
    PassedOver(Answer),
    /// It is left to the slow path.
    Left,
}

/// What the function answered.
pub(super) struct Answer {
    pub(super) assignments: Vec<Assignment>,
    /// The bytes of more were too many for one answer.
    pub(super) cut: bool,
    /// The new head of each class.
    pub(super) heads: Vec<Option<i64>>,
    pub(super) needs_admission: Vec<NeedsAdmission>,
}

impl ClaimReply {
    pub(super) fn answer(&self) -> Option<&Answer> {
        match self {
            ClaimReply::Answered(answer) | ClaimReply::PassedOver(answer) => Some(answer),
            ClaimReply::Left => None,
        }
    }

    pub(super) fn read(values: Vec<Value>) -> Result<ClaimReply, StoreError> {
        let mut values = values.into_iter();
        let mut next = || values.next().ok_or_else(reply::missing);
        if reply::number(&next()?)? == 0 {
            return Ok(ClaimReply::Left);
        }
        let now = reply::time(&next()?)?;
        let is_limited = reply::number(&next()?)? == 1;
        let heads = heads(&reply::bytes(next()?)?)?;
        let deferred = match next()? {
            Value::Array(deferred) => deferred,
            _ => Vec::new(),
        };
        let share = next()?;
        if let Value::ServerError(error) = &share {
            return Err(Fault::replied(error).into());
        }
        let mut share = reply::list(share)?.into_iter();
        let status = reply::number(&share.next().ok_or_else(reply::missing)?)?;
        if status == LEFT {
            return Ok(ClaimReply::Left);
        }
        let (deferred, all) = super::deferred(deferred, is_limited)?;
        if !all && share.len() == 0 {
            return Ok(ClaimReply::Left);
        }
        let needs_admission = deferred.into_iter().map(|(_, needs)| needs).collect();
        let assignments = assignments(share, now)?;
        let answer = Answer { assignments, cut: status == CUT, heads, needs_admission };
        Ok(if status == PASSED_OVER {
            ClaimReply::PassedOver(answer)
        } else {
            ClaimReply::Answered(answer)
        })
    }
}

/// The scores of heads, with a comma between two and nothing where there is none.
fn heads(scores: &[u8]) -> Result<Vec<Option<i64>>, StoreError> {
    let score = |text: &[u8]| match text {
        [] => Ok(None),
        text => reply::score(text).map(Some).ok_or_else(reply::missing),
    };
    scores.split(|byte| *byte == b',').map(score).collect()
}

/// What one claim has taken.
fn assignments(
    mut taken: impl Iterator<Item = Value>,
    now: Time,
) -> Result<Vec<Assignment>, StoreError> {
    let (mut assignments, mut counted) = (Vec::new(), Vec::new());
    while let Some(id) = taken.next() {
        let id = slow_path::named(&reply::bytes(id)?)?;
        let record = reply::bytes(taken.next().ok_or_else(reply::missing)?)?;
        let own = reply::maybe_bytes(taken.next().ok_or_else(reply::missing)?)?;
        let stored = slow_path::decode(id, &record)?;
        let input = match (stored.input, own) {
            (Inline::Here(bytes), _) => bytes,
            (_, Some(bytes)) => bytes,
            _ => return Err(reply::missing()),
        };
        let assignment = Assignment::of(&stored.record, now, input);
        let assignment = assignment.ok_or_else(reply::missing)?;
        let what = EventKind::Claimed { attempt: assignment.fence.attempt };
        counted.extend(Counted::of(&stored.record, what, now));
        assignments.push(assignment);
    }
    metrics::count(&counted);
    Ok(assignments)
}
