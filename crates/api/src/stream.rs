//! What executions stream, as clients read it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use ff_core::stream::StreamFrame;
use ff_core::summary::Summary;
use ff_core::{FrameType, PublicState, Refusal};
use ff_store::tails::FramePage;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::http::schema;

/// A part of a stream.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct FramesView {
    /// The frames, in order.
    pub frames: Vec<FrameView>,
    /// The number of the first frame that is kept, if an earlier one was asked for.
    pub trimmed: Option<u64>,
    /// The number to continue with.
    pub next: u64,
    /// The state in which the execution has ended, once all its frames were read; null while more may
    /// come.
    #[schema(value_type = Option<schema::PublicState>)]
    pub end: Option<PublicState>,
}

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FrameView {
    /// Its place in the stream, from 0.
    pub number: u64,
    /// The attempt that sent it.
    pub attempt: u32,
    /// What it is, such as `stdout`.
    #[serde(rename = "type")]
    #[schema(value_type = schema::Name)]
    pub kind: FrameType,
    /// Its bytes, when they are text: `base64` is null then.
    pub text: Option<String>,
    /// Its bytes in base64, when they are not.
    #[schema(value_type = Option<schema::Base64>)]
    pub base64: Option<String>,
}

/// The summary of an execution.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SummaryView {
    /// How many patches have made it: the number of the next one.
    pub patches: u64,
    /// The document; null when there is none yet.
    #[schema(value_type = Option<serde_json::Value>)]
    pub summary: Option<Box<RawValue>>,
}

/// Bytes as the two fields of a frame: text if they are, unless JSON would write most of it escaped.
pub(crate) fn written(bytes: &[u8]) -> (Option<String>, Option<String>) {
    let is_escaped = |byte: &&u8| byte.is_ascii_control() && !matches!(byte, b'\n' | b'\r' | b'\t');
    let text = std::str::from_utf8(bytes).ok();
    match text.filter(|_| bytes.iter().filter(is_escaped).count() * 8 <= bytes.len()) {
        Some(text) => (Some(text.to_owned()), None),
        None => (None, Some(STANDARD.encode(bytes))),
    }
}

/// The bytes that the two fields of a frame have.
pub(crate) fn read(text: Option<String>, base64: Option<String>) -> Result<Bytes, Refusal> {
    match (text, base64) {
        (Some(_), Some(_)) => {
            Err(Refusal::invalid("frames.text", "is given with base64; give one of them"))
        }
        (Some(text), None) => Ok(text.into()),
        (None, base64) => STANDARD
            .decode(base64.unwrap_or_default())
            .map(Bytes::from)
            .map_err(|why| Refusal::invalid("frames.base64", format!("is not base64: {why}"))),
    }
}

impl From<&StreamFrame> for FrameView {
    fn from(frame: &StreamFrame) -> FrameView {
        let (text, base64) = written(&frame.bytes);
        let (number, attempt, kind) = (frame.number, frame.attempt, frame.kind.clone());
        FrameView { number, attempt, kind, text, base64 }
    }
}

impl From<&FramePage> for FramesView {
    fn from(page: &FramePage) -> FramesView {
        FramesView {
            frames: page.frames.iter().map(FrameView::from).collect(),
            trimmed: page.trimmed,
            next: page.next,
            end: page.end,
        }
    }
}

impl From<Option<Summary>> for SummaryView {
    fn from(summary: Option<Summary>) -> SummaryView {
        let patches = summary.as_ref().map_or(0, |summary| summary.patches);
        let text = summary.and_then(|one| String::from_utf8(one.document.into()).ok());
        let summary = text.and_then(|text| RawValue::from_string(text).ok());
        SummaryView { patches, summary }
    }
}

#[cfg(feature = "client")]
impl FrameView {
    /// The frame that was shown so.
    pub fn frame(self) -> Result<StreamFrame, Refusal> {
        let FrameView { number, attempt, kind, text, base64 } = self;
        Ok(StreamFrame { number, attempt, kind, bytes: read(text, base64)? })
    }
}

#[cfg(feature = "client")]
impl FramesView {
    /// The page that was shown so.
    pub fn page(self) -> Result<FramePage, Refusal> {
        let FramesView { frames, trimmed, next, end } = self;
        let frames = frames.into_iter().map(FrameView::frame).collect::<Result<_, _>>()?;
        Ok(FramePage { frames, trimmed, next, end, cut: false })
    }
}

#[cfg(feature = "client")]
impl SummaryView {
    /// The summary that was shown so.
    pub fn summary(self) -> Option<Summary> {
        let document = Box::<str>::from(self.summary?).into_string().into();
        Some(Summary { patches: self.patches, document })
    }
}
