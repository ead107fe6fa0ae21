//! Random commands on streams and summaries: frames that follow, repeat, or leave a gap, under bounds
//! that a history reaches.

use bytes::Bytes;
use ff_core::collection::Collection;
use ff_core::machine::{Action, AppendFrames, PatchSummary};
use ff_core::stream::Frame;
use ff_core::summary::Summary;
use ff_core::table::Verb;
use ff_core::{Code, ExecutionId, FrameType};

use super::Opening::Do;
use super::Theme;
use crate::history::generate::Generator;
use crate::history::make::{chance, one};
use crate::history::pair::View;

/// Holders stream, and say in a summary how far they are.
pub(super) const THEME: Theme = Theme {
    name: "streams",
    histories: 300,
    least: 20,
    owns: |(_, verb, _)| matches!(verb, Verb::AppendFrames | Verb::PatchSummary),
    refusals: &[Code::FrameGap],
    kinds: &[
        (24, |g, v| g.append_frames(v)),
        (10, |g, v| g.patch_summary(v)),
        // A holder that is asked to stop still streams.
        (9, |g, v| Some(g.cancel(v)?.into())),
    ],
    beginnings: &[&[
        Do(|g, _| Some(g.submit_plain())),
        Do(|g, v| g.claim_plain(v)),
        Do(|g, v| g.ask_to_stop(v)),
        Do(|g, v| g.append_frames(v)),
        Do(|g, v| g.patch_summary(v)),
    ]],
};

impl Generator {
    fn append_frames(&mut self, view: View<'_>) -> Option<Action> {
        let hold = self.hold(view)?;
        let next = next_frame(view, hold.target.execution);
        let first = match self.rng.u8(..20) {
            0..12 => Some(next),
            12..15 => Some(next.saturating_sub(self.rng.u64(1..4))),
            15 => Some(next + self.rng.u64(1..3)),
            _ => None,
        };
        let frames = (0..self.rng.usize(..4)).map(|_| self.frame()).collect();
        Some(AppendFrames { hold, first, frames }.into())
    }

    fn frame(&mut self) -> Frame {
        let kind = one(&mut self.rng, &["stdout", "stderr", "token"]);
        let bytes = match self.rng.u8(..10) {
            0 => Bytes::new(),
            1..4 => vec![self.rng.u8(..); self.rng.usize(20_000..40_000)].into(),
            _ => vec![self.rng.u8(..); self.rng.usize(1..9)].into(),
        };
        Frame { kind: FrameType::new(kind).unwrap(), bytes }
    }

    fn patch_summary(&mut self, view: View<'_>) -> Option<Action> {
        let hold = self.hold(view)?;
        let key = (hold.target.execution, Collection::Summary, 0);
        let stored = view.held.elements.get(&key).and_then(|stored| stored.element.as_ref());
        let next = stored.and_then(Summary::of).map_or(0, |summary| summary.patches);
        let number = match self.rng.u8(..10) {
            0..6 => Some(next),
            6 => next.checked_sub(1),
            7 => Some(next + 1),
            _ => None,
        };
        let value = match chance(&mut self.rng, 30) {
            true => "null".to_owned(),
            false => format!("{}.{}e400", self.rng.u8(..), self.rng.u8(..)),
        };
        let member = self.rng.char('a'..='c');
        let patch = match self.rng.u8(..10) {
            0 => value,
            1..4 => format!(r#"{{"deep":{{"{member}":{value}}}}}"#),
            _ => format!(r#"{{"{member}":{value}}}"#),
        };
        Some(PatchSummary { hold, number, patch: patch.into() }.into())
    }
}

/// The number that the next frame of an execution gets.
fn next_frame(view: View<'_>, id: ExecutionId) -> u64 {
    let all = (id, Collection::Frames, 0)..=(id, Collection::Frames, u64::MAX);
    view.held.elements.range(all).next_back().map_or(0, |((.., last), _)| last + 1)
}
