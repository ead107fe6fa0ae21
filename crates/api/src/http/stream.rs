//! What the holder of a lease sends while it works: frames of its stream, patches of its summary.

use ff_core::machine::{AppendFrames, PatchSummary, Target};
use ff_core::stream::Frame;
use ff_core::{FrameType, Refusal};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{FenceBody, schema, strict};
use crate::stream;

/// Frames for the stream of an execution.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FramesRequest {
    /// The lease.
    #[serde(deserialize_with = "strict::object")]
    pub fence: FenceBody,
    /// The number of the first of these frames. Those that are there already are not added again, so a
    /// request can be repeated; a number past the end is refused with the next one. When absent, they go
    /// to the end, and a repeated request adds them again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
    /// The frames, in order; with none, the answer has the next number.
    #[serde(default, deserialize_with = "strict::list")]
    #[schema(max_items = 1000)]
    pub frames: Vec<FrameBody>,
}

/// One frame.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FrameBody {
    /// What it is, such as `stdout` or `token`; `output` when absent.
    #[serde(rename = "type", default = "output")]
    #[schema(value_type = Option<schema::Name>)]
    pub kind: FrameType,
    /// Its bytes as text, at most 65536.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes in base64 with padding, instead of `text`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Base64>)]
    pub base64: Option<String>,
}

/// The type of a frame whose sender says none.
fn output() -> FrameType {
    FrameType::output()
}

impl FramesRequest {
    /// The command.
    pub fn command(self, target: Target) -> Result<AppendFrames, Refusal> {
        let frames = self.frames.into_iter().map(|frame| {
            let bytes = stream::read(frame.text, frame.base64)?;
            Ok(Frame { kind: frame.kind, bytes })
        });
        let frames = frames.collect::<Result<_, Refusal>>()?;
        Ok(AppendFrames { hold: self.fence.hold(target)?, first: self.first, frames })
    }
}

impl From<&AppendFrames> for FramesRequest {
    fn from(append: &AppendFrames) -> FramesRequest {
        let frames = append.frames.iter().map(|frame| {
            let (text, base64) = stream::written(&frame.bytes);
            FrameBody { kind: frame.kind.clone(), text, base64 }
        });
        let (fence, first) = (append.hold.fence.into(), append.first);
        FramesRequest { fence, first, frames: frames.collect() }
    }
}

/// A change of the summary of an execution.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SummaryRequest {
    /// The lease.
    #[serde(deserialize_with = "strict::object")]
    pub fence: FenceBody,
    /// Which patch of the execution it is, from 0: one that is known changes nothing. When absent, it is
    /// the next, and a repeated request applies it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// A JSON Merge Patch (RFC 7396): at most 262144 bytes, nested at most 32 deep.
    #[schema(value_type = serde_json::Value)]
    pub patch: Box<RawValue>,
}

impl SummaryRequest {
    /// The command.
    pub fn command(self, target: Target) -> Result<PatchSummary, Refusal> {
        let patch = Box::<str>::from(self.patch).into_string().into();
        Ok(PatchSummary { hold: self.fence.hold(target)?, number: self.number, patch })
    }
}

/// The number that comes next in a stream or a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NextView {
    /// The number of the next frame, or of the next patch.
    pub next: u64,
}
