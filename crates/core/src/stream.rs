//! What an execution streams: numbered frames, kept up to a bound.
//!
//! An execution has one stream over all its attempts. A frame is an element of
//! [`Collection::Frames`](crate::collection::Collection) and never changes. It says how many bytes came
//! before it, so the two ends of a stream tell how much is kept; and by what it is bounded, so the next
//! append needs nothing else. That a stream is closed is not stored: the record says it.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::bounds::{FRAME_BYTES, STREAM_BYTES, STREAM_BYTES_MIN, STREAM_FRAMES};
use crate::collection::{Content, Element};
use crate::name::FrameType;
use crate::refusal::Refusal;

/// How much of a stream is kept; the oldest frames go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StreamPolicy {
    /// How many frames.
    pub frames: u32,
    /// How many bytes of them.
    pub bytes: u32,
}

impl Default for StreamPolicy {
    fn default() -> Self {
        StreamPolicy { frames: 10_000, bytes: 4 << 20 }
    }
}

impl StreamPolicy {
    /// Whether it is what is built in.
    pub fn is_default(&self) -> bool {
        *self == StreamPolicy::default()
    }

    /// Checks how many frames are to be kept.
    pub(crate) fn check_frames(frames: u32) -> Result<(), Refusal> {
        within("stream.frames", frames, 1, STREAM_FRAMES)
    }

    /// Checks how many bytes are to be kept: at least those of one frame.
    pub(crate) fn check_bytes(bytes: u32) -> Result<(), Refusal> {
        within("stream.bytes", bytes, STREAM_BYTES_MIN, STREAM_BYTES)
    }
}

fn within(field: &'static str, said: u32, least: u32, most: u32) -> Result<(), Refusal> {
    match (least..=most).contains(&said) {
        true => Ok(()),
        false => Err(Refusal::invalid(field, format!("is {said}; give {least} to {most}"))),
    }
}

/// One piece of output, as its sender gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What it is, such as `stdout` or `token`.
    pub kind: FrameType,
    /// The bytes themselves.
    pub bytes: Bytes,
}

impl Frame {
    /// A frame of these bytes.
    pub fn new(kind: FrameType, bytes: impl Into<Bytes>) -> Frame {
        Frame { kind, bytes: bytes.into() }
    }

    pub(crate) fn check(&self) -> Result<(), Refusal> {
        Refusal::cap("frames", self.bytes.len(), FRAME_BYTES, "bytes in one frame")
    }
}

/// A frame of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamFrame {
    /// Its place, from 0, over all attempts.
    pub number: u64,
    /// The attempt that sent it.
    pub attempt: u32,
    /// What it is.
    pub kind: FrameType,
    /// The bytes themselves.
    pub bytes: Bytes,
}

/// The format that is written.
const FORMAT: u8 = 1;

/// How many bytes stand before the type of a frame: format, attempt, how many bytes came before it, the
/// bounds of the stream, and how long the type is.
pub const FRAME_HEAD: usize = 1 + 4 + 6 + 4 + 4 + 1;

/// What stands before the bytes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHead {
    /// The attempt that sent it.
    pub attempt: u32,
    /// How many bytes the frames before it had.
    pub offset: u64,
    /// How much of its stream is kept.
    pub policy: StreamPolicy,
}

impl FrameHead {
    /// What is stored of `frame`.
    pub fn pack(&self, frame: &Frame) -> Bytes {
        let kind = frame.kind.as_str().as_bytes();
        let mut bytes = Vec::with_capacity(FRAME_HEAD + kind.len() + frame.bytes.len());
        bytes.push(FORMAT);
        bytes.extend(self.attempt.to_be_bytes());
        bytes.extend(&self.offset.to_be_bytes()[2..]);
        bytes.extend(self.policy.frames.to_be_bytes());
        bytes.extend(self.policy.bytes.to_be_bytes());
        bytes.push(kind.len() as u8);
        bytes.extend(kind);
        bytes.extend(&frame.bytes[..]);
        bytes.into()
    }

    /// The head of the frame that begins with `bytes`, and where its own bytes begin.
    fn unpack(bytes: &[u8]) -> Option<(FrameHead, usize)> {
        let head = bytes.get(..FRAME_HEAD).filter(|head| head[0] == FORMAT)?;
        let four =
            |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let offset = head[5..11].iter().fold(0, |offset, byte| (offset << 8) | u64::from(*byte));
        let policy = StreamPolicy { frames: four(11), bytes: four(15) };
        let from = FRAME_HEAD + usize::from(head[19]);
        Some((FrameHead { attempt: four(1), offset, policy }, from))
    }
}

impl StreamFrame {
    /// The frame that is stored as `element`; an error says which cannot be read.
    pub fn of(element: &Element) -> Result<StreamFrame, UnreadableFrame> {
        let unreadable = || UnreadableFrame(element.number);
        let Content::Bytes(bytes) = &element.content else { return Err(unreadable()) };
        let (head, from) = FrameHead::unpack(bytes).ok_or_else(unreadable)?;
        let kind = bytes.get(FRAME_HEAD..from).ok_or_else(unreadable)?;
        let kind = std::str::from_utf8(kind).map_err(|_| unreadable())?;
        Ok(StreamFrame {
            number: element.number,
            attempt: head.attempt,
            kind: FrameType::new(kind).map_err(|_| unreadable())?,
            bytes: bytes.slice(from..),
        })
    }
}

/// A frame cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("frame {0} of the stream cannot be read")]
pub struct UnreadableFrame(pub u64);

/// An end of a stream, as a store reads it: the number of a frame, its first [`FRAME_HEAD`] bytes, and
/// how many bytes are stored of it.
#[derive(Debug, Clone, Copy)]
pub struct FrameEnd<'a> {
    /// Its number.
    pub number: u64,
    /// What it begins with.
    pub head: &'a [u8],
    /// How long it is, its head included.
    pub stored: usize,
}

impl FrameEnd<'_> {
    /// How many bytes came before it.
    pub fn offset(&self) -> Result<u64, UnreadableFrame> {
        FrameHead::unpack(self.head)
            .map(|(head, _)| head.offset)
            .ok_or(UnreadableFrame(self.number))
    }
}

/// How much of a stream is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kept {
    /// The number of the first frame that is kept.
    pub first: u64,
    /// The number that the next frame gets.
    pub next: u64,
    /// How many bytes came before the first one.
    pub from: u64,
    /// How many bytes there have been in all.
    pub to: u64,
}

impl Kept {
    /// What lies between the two ends of a stream.
    pub fn between(first: FrameEnd<'_>, last: FrameEnd<'_>) -> Result<Kept, UnreadableFrame> {
        let unreadable = UnreadableFrame(last.number);
        let (head, from) = FrameHead::unpack(last.head).ok_or(unreadable)?;
        let bytes = last.stored.checked_sub(from).ok_or(unreadable)?;
        Ok(Kept {
            first: first.number,
            next: last.number + 1,
            from: first.offset()?,
            to: head.offset + bytes as u64,
        })
    }
}

/// Which frames an append removes: those of a lower number, and those that begin earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trim {
    /// Frames before this number go.
    pub below: u64,
    /// Frames with fewer bytes before them go.
    pub before: u64,
}

impl Trim {
    /// What is past the bound of a stream that ends there.
    pub fn of(policy: StreamPolicy, next: u64, to: u64) -> Trim {
        Trim {
            below: next.saturating_sub(policy.frames.into()),
            before: to.saturating_sub(policy.bytes.into()),
        }
    }

    /// Whether a frame goes.
    pub fn takes(&self, number: u64, offset: u64) -> bool {
        number < self.below || offset < self.before
    }
}
