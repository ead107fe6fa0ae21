//! Append frames: a holder adds to the stream of its execution.

use super::{AppendedFrames, Context, Decide, Facts, LeaseRef, ReadSet, Step, WriteSet};
use crate::bounds::{BATCH_BYTES, FRAMES};
use crate::collection::{Append, Collection, Content, Element};
use crate::id::LeaseId;
use crate::refusal::Refusal;
use crate::stream::{Frame, FrameHead, Kept, Trim};
use crate::table::Verb;

/// Adds frames to the stream of an execution. The record stays as it is, but for the first ones. Without
/// frames, it answers what number comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendFrames {
    /// What is held.
    pub hold: LeaseRef,
    /// The number of the first of these frames: what is there already is not added again, and a number
    /// past the end is refused. Without one they go to the end, and a repeated call adds them again.
    pub first: Option<u64>,
    /// The frames, in order.
    pub frames: Vec<Frame>,
}

impl Decide for AppendFrames {
    fn facts(&self) -> Facts<'_> {
        Facts {
            adds: true,
            payload_bytes: self.frames.iter().map(|frame| frame.bytes.len()).sum(),
            ..Facts::execution(self.hold.target.execution, Verb::AppendFrames)
        }
    }

    fn lease_mut(&mut self) -> Option<&mut LeaseId> {
        Some(&mut self.hold.fence.lease)
    }

    fn check(&self) -> Result<(), Refusal> {
        Refusal::cap("frames", self.frames.len(), FRAMES, "frames in one call")?;
        self.frames.iter().try_for_each(Frame::check)?;
        Refusal::cap("frames", self.facts().payload_bytes, BATCH_BYTES, "bytes in one call")
    }

    fn reads(&self) -> ReadSet {
        let execution = self.hold.target.execution;
        ReadSet { streams: vec![execution], ..ReadSet::record(execution) }
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.held(&self.hold)?.record;
        let is_first = record.counts.of(Collection::Frames) == 0;
        let stream = context.loaded.streams.get(&record.id).copied().filter(|_| !is_first);
        let Kept { first, next, from, to } = stream.unwrap_or_default();
        let begin = self.first.unwrap_or(next);
        if begin > next {
            return Err(Refusal::FrameGap { next });
        }
        let known = usize::try_from(next - begin).unwrap_or(usize::MAX);
        let fresh = self.frames.get(known..).unwrap_or_default();
        if fresh.is_empty() {
            return Ok(Step::answer(AppendedFrames { next }));
        }
        let policy = record.spec.policy.stream;
        let attempt = self.hold.fence.attempt;
        let (end, mut offset) = (next + fresh.len() as u64, to);
        let bytes: u64 = fresh.iter().map(|frame| frame.bytes.len() as u64).sum();
        let trim = Trim::of(policy, end, to + bytes);
        let mut elements = Vec::with_capacity(fresh.len());
        for (number, frame) in (next..).zip(fresh) {
            if !trim.takes(number, offset) {
                let content = Content::Bytes(FrameHead { attempt, offset, policy }.pack(frame));
                elements.push(Element { number, name: None, content });
            }
            offset += frame.bytes.len() as u64;
        }
        let reply = AppendedFrames { next: end };
        if is_first {
            let mut after = record.clone();
            after.counts.add(Collection::Frames);
            let mut write = context.update(record, after, None);
            let elements = elements.into_iter().map(|element| (Collection::Frames, element));
            write.changes[0].elements.extend(elements);
            return Ok(Step::write(write, reply));
        }
        let append = Append {
            owner: record.id,
            seen: record.version,
            collection: Collection::Frames,
            next,
            elements,
            trim: Some(trim).filter(|trim| trim.takes(first, from)),
        };
        Ok(Step::write(WriteSet { appends: vec![append], ..WriteSet::default() }, reply))
    }
}
