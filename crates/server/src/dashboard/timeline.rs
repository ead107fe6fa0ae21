//! The life of an execution, drawn to scale: what it waited for, its attempts, its journal and its lease.

use std::fmt::Write;

use askama::filters::{Escaper, Safe};
use ff_api::Timestamp;
use ff_core::record::{Attempt, Description};
use ff_core::signal::ReceivedSignal;
use ff_core::state::State;
use ff_core::view::AttemptStatus;
use ff_core::{Millis, Time};
use ff_store::journal::JournalEntry;

use super::show;
use crate::html::{Escape, Markup};

/// How high a track is, with the gap below it.
const TRACK: u32 = 26;
/// How many ticks the scale has.
const TICKS: u64 = 4;

/// What is drawn.
pub(super) struct Timeline<'a> {
    pub(super) record: &'a Description,
    /// Those on the page, oldest first.
    pub(super) attempts: &'a [Attempt],
    pub(super) entries: &'a [JournalEntry],
    pub(super) signals: &'a [ReceivedSignal],
    pub(super) now: Time,
}

impl Timeline<'_> {
    /// The drawing. Positions are shares of its width, so it fits any.
    pub(super) fn draw(&self) -> Markup {
        let (from, to) = self.range();
        let mut svg = Svg { text: String::new(), from, to };
        let rows = ["Waits", "Attempts", "Lease", "Journal"];
        let height = TRACK * rows.len() as u32 + 22;
        let _ = write!(
            svg.text,
            "<svg class=\"timeline\" height=\"{height}\" role=\"img\" aria-label=\"timeline from {} to {}\">",
            Timestamp(from),
            Timestamp(to)
        );
        svg.scale(height);
        self.waits(&mut svg);
        self.attempts(&mut svg);
        self.lease(&mut svg);
        self.journal(&mut svg);
        svg.text.push_str("</svg>");
        Safe(svg.text)
    }

    /// From the first thing that is drawn to the last.
    fn range(&self) -> (Time, Time) {
        let first = self.attempts.first();
        let from = match first {
            Some(attempt) if attempt.number > 0 => attempt.started,
            _ => self.record.created,
        };
        let ended = self.record.outcome().map(|(_, at)| at);
        let mut to = ended.unwrap_or(self.now);
        if let State::Delayed { until, .. } = self.record.state {
            to = to.max(until);
        }
        if let State::Active { lease, .. } = &self.record.state {
            to = to.max(lease.until);
        }
        (from, to.max(from + Millis::new(100)))
    }

    /// The gaps between attempts, and what the execution waits for now.
    fn waits(&self, svg: &mut Svg) {
        let row = 0;
        let mut since = svg.from;
        for attempt in self.attempts {
            if attempt.started > since {
                svg.bar(row, "wait", since, attempt.started, "waited");
            }
            since = attempt.end.as_ref().map_or(self.now.max(attempt.started), |end| end.at);
        }
        let (class, until, what) = match &self.record.state {
            State::Queued { .. } | State::Granted { .. } => {
                ("wait", self.now, "waits in its queue")
            }
            State::Delayed { until, .. } => ("delay", *until, "delayed"),
            State::Blocked { .. } => ("blocked", self.now, "blocked on a limit"),
            State::Awaiting { .. } => ("wait", self.now, "waits for others"),
            State::Suspended { suspension } => {
                since = suspension.since;
                ("asks", self.now, "suspended")
            }
            State::Active { .. } | State::Finished { .. } => return,
        };
        let open = self.record.attempt.as_ref().filter(|attempt| attempt.end.is_none());
        if let (
            Some(attempt),
            State::Queued { .. } | State::Delayed { .. } | State::Blocked { .. },
        ) = (open, &self.record.state)
        {
            since = since
                .min(self.now)
                .max(attempt.started)
                .min(self.record.queued_at.max(attempt.started));
        }
        svg.bar(row, class, since, until, what);
    }

    fn attempts(&self, svg: &mut Svg) {
        for attempt in self.attempts {
            let status = attempt.status();
            let class = match status {
                AttemptStatus::Completed => "good",
                AttemptStatus::Open => "open",
                AttemptStatus::Cancelled => "calm",
                AttemptStatus::Failed
                | AttemptStatus::TimedOut
                | AttemptStatus::LeaseLost
                | AttemptStatus::Expired => "bad",
            };
            let end = attempt.end.as_ref().map_or(self.now, |end| end.at);
            let took = show::span(end.since(attempt.started));
            let status = show::words(status.as_str());
            let what =
                format!("attempt {} {status}, {took}, {}", attempt.number, attempt.worker.instance);
            svg.bar(1, class, attempt.started, end, &what);
        }
    }

    /// The lease of the holder, and how long it lasts unless it is renewed.
    fn lease(&self, svg: &mut Svg) {
        for attempt in self.attempts.iter().filter(|attempt| attempt.end.is_some()) {
            let end = attempt.end.as_ref().map_or(self.now, |end| end.at);
            svg.bar(
                2,
                "held",
                attempt.started,
                end,
                &format!("held by {}", attempt.worker.instance),
            );
        }
        let (State::Active { lease, .. }, Some(attempt)) =
            (&self.record.state, &self.record.attempt)
        else {
            return;
        };
        let held = format!("held by {}", lease.worker.instance);
        svg.bar(2, "held", attempt.started, self.now, &held);
        svg.bar(2, "ahead", self.now, lease.until, "until its lease ends, unless it is renewed");
    }

    /// Steps, sleeps and waits when they came to their ends, and signals when they arrived.
    fn journal(&self, svg: &mut Svg) {
        for JournalEntry { entry, visible } in self.entries {
            let class = if *visible { "step" } else { "step hidden" };
            let what = format!("{} {}", entry.what.kind().as_str(), entry.name);
            svg.mark(3, class, entry.at, &what);
        }
        for signal in self.signals {
            svg.mark(3, "signal", signal.at, &format!("signal at {}", signal.key));
        }
    }
}

struct Svg {
    text: String,
    from: Time,
    to: Time,
}

impl Svg {
    /// Where `at` is, as a share of the width.
    fn place(&self, at: Time) -> f64 {
        let (whole, part) = (self.to.since(self.from).get(), at.since(self.from).get());
        (part as f64 / whole.max(1) as f64 * 100.0).clamp(0.0, 100.0)
    }

    fn scale(&mut self, height: u32) {
        let whole = self.to.since(self.from).get();
        for tick in 0..=TICKS {
            let x = 100.0 / TICKS as f64 * tick as f64;
            let anchor = match tick {
                0 => "start",
                TICKS => "end",
                _ => "middle",
            };
            let after = show::span(Millis::new(whole / TICKS * tick));
            let bottom = height - 16;
            let _ = write!(
                self.text,
                "<line class=\"tick\" x1=\"{x}%\" x2=\"{x}%\" y1=\"0\" y2=\"{bottom}\"/>\
                 <text x=\"{x}%\" y=\"{}\" text-anchor=\"{anchor}\">{}{after}</text>",
                height - 3,
                if tick == 0 { "" } else { "+" }
            );
        }
    }

    /// Something that lasted. It is at least two pixels wide.
    fn bar(&mut self, row: u32, class: &str, from: Time, to: Time, what: &str) {
        if to < from {
            return;
        }
        let (x, end) = (self.place(from), self.place(to));
        let (width, y) = ((end - x).max(0.0), row * TRACK + 4);
        let _ = write!(
            self.text,
            "<svg x=\"{x:.3}%\" y=\"{y}\" width=\"{width:.3}%\" height=\"18\" overflow=\"visible\">\
             <rect class=\"{class}\" width=\"100%\" height=\"18\" rx=\"3\"/>\
             <rect class=\"{class}\" width=\"2\" height=\"18\" rx=\"1\"/><title>"
        );
        self.title(what, from, to);
        self.text.push_str("</title></svg>");
    }

    /// Something that happened.
    fn mark(&mut self, row: u32, class: &str, at: Time, what: &str) {
        let (x, y) = (self.place(at), row * TRACK + 13);
        let _ = write!(
            self.text,
            "<circle class=\"{class}\" cx=\"{x:.3}%\" cy=\"{y}\" r=\"4.5\"><title>"
        );
        self.title(what, at, at);
        self.text.push_str("</title></circle>");
    }

    /// What is shown on hover: the one text here that is not ours.
    fn title(&mut self, what: &str, from: Time, to: Time) {
        let _ = Escape.write_escaped_str(&mut self.text, what);
        let _ = write!(self.text, "\n{}", Timestamp(from));
        if to > from {
            let _ = write!(self.text, "\n{} ({})", Timestamp(to), show::span(to.since(from)));
        }
    }
}
