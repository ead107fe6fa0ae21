//! Append frames.

use bytes::Bytes;
use ff_core::machine::{AppendFrames, AppendedFrames, Reply};
use ff_store::StoreError;
use ff_store::wakeups::Announcement;
use redis::Value;

use super::hold;
use crate::codec::{Packer, format};
use crate::constants::LAST_FRAME;
use crate::reply;
use crate::store::Shared;

pub(super) fn push(
    append: &AppendFrames,
    entropy: u64,
    args: &mut Vec<Bytes>,
) -> Result<(), StoreError> {
    let mut packer = hold::pack(&append.hold, entropy);
    let first = append.first.map_or(0, |first| first.min(LAST_FRAME));
    format::Appending { at_end: append.first.is_none().into(), first }.pack(&mut packer);
    args.push(packer.0.into());
    let mut sent = Packer::default();
    for frame in &append.frames {
        format::Sent { kind: frame.kind.as_str().as_bytes(), bytes: &frame.bytes }.pack(&mut sent);
    }
    args.push(sent.0.into());
    Ok(())
}

pub(super) fn read(
    store: &Shared,
    append: &AppendFrames,
    answer: Value,
) -> Result<Option<Reply>, StoreError> {
    let answer = reply::list(answer)?;
    let [next] = &answer[..] else { return Ok(None) };
    let next = reply::count(next)?;
    if !append.frames.is_empty() {
        store.wakeups.announce([Announcement::Frames(append.hold.target.execution)]);
    }
    Ok(Some(AppendedFrames { next }.into()))
}
