//! `ff tail`: what an execution streams.

use std::io::{self, IsTerminal};

use clap::Args;
use ff_api::FrameView;
use ff_core::PublicState;
use ff_core::bounds::{END_WAIT_MAX, PAGE};
use ff_core::stream::StreamFrame;
use ff_store::tails::FramePage;

use super::Verdict;
use crate::error::Error;
use crate::id::Id;
use crate::output::text;
use crate::session::Session;

const ENDS: &str = "Prints the frames as they are; on a terminal, control characters are shown and not \
                    obeyed. With --json, one frame a line.\n\n\
                    With --follow, exits with 0 if the execution completed, with 1 if it ended otherwise.";

/// `ff tail`.
#[derive(Debug, Args)]
#[command(after_help = ENDS)]
pub(crate) struct Tail {
    /// The execution: its id, or a unique prefix of it.
    id: Id,

    /// The number of the first frame.
    #[arg(long, value_name = "N", default_value_t = 0)]
    from: u64,

    /// Wait for more until the execution has ended.
    #[arg(short, long)]
    follow: bool,

    /// Only frames of this type, such as stdout.
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
}

impl Tail {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let id = self.id.find(session, &*backend).await?;
        let target = session.target(id);
        let mut at = self.from;
        if !self.follow {
            loop {
                let page = backend.frames(&target, at, PAGE).await?;
                self.print(session, &page)?;
                if page.frames.is_empty() || page.end.is_some() {
                    return Ok(Verdict::Good);
                }
                at = page.next;
            }
        }
        let mut viewer = backend.follow(&target, at).await?;
        loop {
            let page = viewer.next(END_WAIT_MAX).await?;
            self.print(session, &page)?;
            at = page.next;
            if page.cut {
                viewer = backend.follow(&target, at).await?;
            }
            match page.end {
                Some(PublicState::Completed) => return Ok(Verdict::Good),
                Some(state) => {
                    let state = session.output.style().state(state.as_str());
                    session.output.talk(format_args!("{state}"));
                    session.next(format_args!("attempts {id}"));
                    return Ok(Verdict::Bad);
                }
                None => {}
            }
        }
    }

    fn print(&self, session: &Session<'_>, page: &FramePage) -> Result<(), Error> {
        if let Some(first) = page.trimmed {
            session.output.talk(format_args!("earlier frames are not kept; the first is {first}"));
        }
        let wanted = |frame: &&StreamFrame| {
            self.kind.as_deref().is_none_or(|kind| frame.kind.as_str() == kind)
        };
        let is_terminal = io::stdout().is_terminal();
        for frame in page.frames.iter().filter(wanted) {
            if session.output.is_json() {
                session.output.answer(&FrameView::from(frame), |_| String::new())?;
            } else if is_terminal {
                session.output.bytes(text::harmless(&frame.bytes).as_bytes())?;
            } else {
                session.output.bytes(&frame.bytes)?;
            }
        }
        Ok(())
    }
}
