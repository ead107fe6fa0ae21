//! The pages: what is asked, what was decided, and why not.

use std::sync::LazyLock;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ff_api::Timestamp;
use ff_core::signal::SignalEffect;
use ff_core::{ExecutionId, Kind, Namespace, Subject, Time};
use sha2::{Digest, Sha256};

use super::html::Html;
use crate::html;

/// The style of every page.
const STYLE: &str = include_str!("style.css");

/// Nothing is loaded, run or framed; the one style is known by its hash, and the form posts to this
/// server.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = BASE64.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'"
    )
});

/// What a person decides about.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) namespace: Namespace,
    pub(super) execution: ExecutionId,
    pub(super) kind: Kind,
    /// What is asked.
    pub(super) message: Option<Box<str>>,
    /// Since when.
    pub(super) since: Option<Time>,
    /// From when on no answer counts.
    pub(super) until: Option<Time>,
    /// Who decides.
    pub(super) subject: Option<Subject>,
    pub(super) now: Time,
}

/// A page.
pub(super) struct Page {
    status: StatusCode,
    html: String,
}

impl Page {
    /// What is asked, and a form for the answer.
    pub(super) fn asked(asked: &Asked) -> Page {
        Page::of(StatusCode::OK, "Your decision is needed", |html| {
            details(html, asked);
            html.raw(
                "<form method=\"post\"><label for=\"comment\">Comment <span>(optional)</span></label>\
                 <textarea id=\"comment\" name=\"comment\" maxlength=\"4000\"></textarea>\
                 <div class=\"choice\">\
                 <button class=\"yes\" name=\"decision\" value=\"approve\">Approve</button>\
                 <button class=\"no\" name=\"decision\" value=\"reject\">Reject</button>\
                 </div></form>\
                 <p class=\"small\">Opening this page changes nothing. Your first decision counts.</p>",
            );
        })
    }

    /// What a decision did; what was asked is known while the waitpoint is open.
    pub(super) fn decided(asked: Option<&Asked>, approved: bool, effect: SignalEffect) -> Page {
        let title = match (effect, approved) {
            (SignalEffect::TooLate, _) => "Too late",
            (SignalEffect::Duplicate, _) => "Already decided",
            (_, true) => "Approved",
            (_, false) => "Rejected",
        };
        Page::of(StatusCode::OK, title, |html| {
            match effect {
                SignalEffect::Resumed => {
                    html.raw("<p class=\"state good\" data-effect=\"resumed\">Your decision was recorded.<span>The work continues.</span></p>");
                }
                SignalEffect::Recorded => {
                    html.raw("<p class=\"state good\" data-effect=\"recorded\">Your decision was recorded.<span>The work still waits, for example for others to decide.</span></p>");
                }
                SignalEffect::Duplicate => {
                    html.raw("<p class=\"state\" data-effect=\"duplicate\">You have decided before.<span>Your first decision stands; nothing was changed.</span></p>");
                }
                SignalEffect::TooLate => {
                    html.raw("<p class=\"state bad\" data-effect=\"too_late\">The time to decide was over.<span>Nothing was changed.</span></p>");
                }
            }
            if let Some(asked) = asked {
                details(html, asked);
            }
            html.raw("<p class=\"small\">You can close this page.</p>");
        })
    }

    /// Nothing waits for an answer any more.
    pub(super) fn closed() -> Page {
        Page::of(StatusCode::GONE, "This request is closed", |html| {
            html.raw("<p class=\"state\" data-effect=\"closed\">It was answered, its time was over, or the work has ended.<span>Nothing was changed.</span></p>");
        })
    }

    /// The one answer to every link that is not valid.
    pub(super) fn invalid() -> Page {
        Page::of(StatusCode::UNAUTHORIZED, "This link is not valid", |html| {
            html.raw("<p class=\"state bad\" data-effect=\"invalid\">It is incomplete, was changed, or has expired.<span>Ask whoever sent it for a new one.</span></p>");
        })
    }

    /// The answer cannot be taken as it was sent.
    pub(super) fn refused(status: StatusCode, why: &str) -> Page {
        Page::of(status, "Your decision was not taken", |html| {
            html.raw("<p class=\"state bad\" data-effect=\"refused\">").text(why);
            html.raw("<span>Nothing was changed.</span></p>");
        })
    }

    fn of(status: StatusCode, title: &'static str, body: impl FnOnce(&mut Html)) -> Page {
        let mut html = Html::default();
        html.raw(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <meta name=\"robots\" content=\"noindex\"><title>",
        );
        html.text(title).raw(" · FlowFabric</title><style>").raw(STYLE);
        html.raw("</style></head><body><main><p class=\"mark\">FlowFabric</p><h1>").text(title);
        html.raw("</h1>");
        body(&mut html);
        html.raw("</main></body></html>\n");
        Page { status, html: html.finish() }
    }
}

/// The question and what it is about.
fn details(html: &mut Html, asked: &Asked) {
    if let Some(message) = &asked.message {
        html.raw("<p class=\"asked\">").text(message).raw("</p>");
    }
    html.raw("<dl>");
    if let Some(subject) = &asked.subject {
        html.raw("<dt>You decide as</dt><dd><strong>").text(subject.as_str());
        html.raw("</strong></dd>");
    }
    html.raw("<dt>Task</dt><dd>").text(asked.kind.as_str());
    html.raw("</dd><dt>Namespace</dt><dd>").text(asked.namespace.as_str());
    html.raw("</dd><dt>Execution</dt><dd><code>").text(&asked.execution.to_string());
    html.raw("</code></dd>");
    if let Some(since) = asked.since {
        html.raw("<dt>Asked</dt><dd>");
        moment(html, since, asked.now);
    }
    html.raw("<dt>Answer by</dt><dd>");
    match asked.until {
        Some(until) => moment(html, until, asked.now),
        None => drop(html.raw("no time limit</dd>")),
    }
    html.raw("</dl>");
}

/// A moment to the minute, and how far it is away.
fn moment(html: &mut Html, at: Time, now: Time) {
    let text = Timestamp(at).to_string();
    let (day, clock) = text.split_once('T').unwrap_or((&text, ""));
    html.raw("<time datetime=\"").text(&text).raw("\">").text(day).raw(" ");
    html.text(clock.get(..5).unwrap_or(clock)).raw(" UTC</time> (");
    match at > now {
        true => html.raw("in ").text(&at.since(now).rounded().to_string()),
        false => html.text(&now.since(at).rounded().to_string()).raw(" ago"),
    };
    html.raw(")</dd>");
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        html::page(self.status, self.html, &POLICY, "no-referrer")
    }
}
