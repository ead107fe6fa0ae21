//! What an execution says while it runs: its stream, which a script continues, and its summary.

use askama::Template;
use ff_core::machine::Target;
use ff_core::record::Description;
use ff_core::stream::StreamFrame;

use crate::dashboard::show;
use crate::dashboard::view::Scene;
use crate::error::ApiError;

/// How many frames a page has, how many characters of each, and about how many bytes of all.
const FRAMES: usize = 200;
const FRAME_CHARACTERS: usize = 4_096;
const BYTES: usize = 128 << 10;

#[derive(Template, Default)]
#[template(path = "execution_output.html")]
pub(super) struct Output {
    lines: Vec<Line>,
    trimmed: Option<u64>,
    /// The attempt that sent the last line.
    attempt: u32,
    /// Where a script follows the rest; `None` if there is nothing more.
    follow: Option<String>,
    /// The next page, for readers without scripts.
    next: Option<String>,
}

/// One frame.
struct Line {
    /// The attempt that begins with it, if another one sent what is before it.
    begins: Option<u32>,
    kind: String,
    text: String,
}

/// A page of the stream. Only the script changes it, so a live view has none.
pub(super) async fn stream(
    scene: &Scene<'_>,
    target: &Target,
    record: &Description,
    from: u64,
) -> Result<Output, ApiError> {
    if scene.live || record.attempt.is_none() && record.outcome().is_some() {
        return Ok(Output::default());
    }
    let page = scene.state.backend.frames(target, from, FRAMES).await?;
    let path = format!("/executions/{}", target.execution);
    let mut shown = Output { trimmed: page.trimmed, ..Output::default() };
    let (mut next, mut bytes) = (page.next, 0);
    for frame in &page.frames {
        let line = line(frame, (!shown.lines.is_empty()).then_some(shown.attempt));
        bytes += line.text.len();
        if bytes > BYTES && !shown.lines.is_empty() {
            next = frame.number;
            break;
        }
        shown.attempt = frame.attempt;
        shown.lines.push(line);
    }
    let is_over = page.end.is_some() && next == page.next;
    shown.follow = (!is_over).then(|| scene.link(&format!("{path}/output?from={next}")));
    let has_more = next < page.next || page.frames.len() == FRAMES && !is_over;
    shown.next = has_more.then(|| scene.link(&format!("{path}?frames={next}")));
    Ok(shown)
}

/// A frame after one of the attempt `before`, if there is any.
fn line(frame: &StreamFrame, before: Option<u32>) -> Line {
    Line {
        begins: before.filter(|before| *before != frame.attempt).map(|_| frame.attempt),
        kind: frame.kind.to_string(),
        text: match std::str::from_utf8(&frame.bytes) {
            Ok(text) => cut_lines(text, FRAME_CHARACTERS),
            Err(_) => format!("{} that are no text\n", show::bytes_of(frame.bytes.len())),
        },
    }
}

/// The first characters of `text`, with its lines.
fn cut_lines(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…\n", &text[..at]),
        None => text.to_owned(),
    }
}

#[derive(Template)]
#[template(path = "execution_summary.html")]
pub(super) struct Summary {
    document: Option<show::Preview>,
}

/// The document that says how it is doing, if it has one.
pub(super) async fn summary(
    scene: &Scene<'_>,
    target: &Target,
    record: &Description,
) -> Result<Summary, ApiError> {
    let found = match record.attempt {
        Some(_) => scene.state.backend.summary(target).await?,
        None => None,
    };
    let document = found.map(|summary| ff_core::Payload::json(summary.document));
    Ok(Summary { document: document.as_ref().map(show::Preview::of) })
}
