//! Webhooks: where the events of a namespace are sent, and how far that has come.
//!
//! A webhook is a resource at the home of its namespace. It has a cursor in the log of events, which moves
//! only when every event before it was delivered or given up, so a process that dies costs a repeated
//! delivery and never a lost one. One process delivers at a time: the tick of its timer starts a
//! [turn](Webhook::turn), and what an earlier turn reports changes nothing.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::act::Changed;
use crate::bounds::{
    LETTER_REASON_BYTES, WEBHOOK_LETTERS, WEBHOOK_SECRET_BYTES_MAX, WEBHOOK_SECRET_BYTES_MIN,
    WEBHOOK_SECRETS, WEBHOOK_TURN,
};
use crate::event::{EventId, EventName};
use crate::name::{Kind, Lane};
use crate::refusal::{Full, Refusal};
use crate::time::{Millis, Time};
use crate::webhook_url::WebhookUrl;

/// A webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// What is sent where.
    pub target: WebhookTarget,
    /// What bodies are signed with, the newest last.
    pub secrets: Vec<SigningSecret>,
    /// When it was made.
    pub created: Time,
    /// Who changed it last.
    pub changed: Option<Changed>,
    /// Everything before it was delivered or given up.
    pub cursor: Box<str>,
    /// Who delivers: a process that started a turn stops when there is a later one.
    pub turn: u64,
    /// When the turn is over, unless its process says that it is alive.
    pub turn_ends: Time,
    /// What has become of the events.
    pub tally: DeliveryTally,
    /// Why deliveries fail now.
    pub failing: Option<Failing>,
    /// The latest events that were given up, the newest last.
    pub letters: VecDeque<DeadLetter>,
}

/// What is sent where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookTarget {
    /// Where to.
    pub url: WebhookUrl,
    /// These events; none means any.
    pub names: BTreeSet<EventName>,
    /// Of executions in this lane.
    pub lane: Option<Lane>,
    /// Of executions of this kind.
    pub kind: Option<Kind>,
}

/// What has become of the events of a webhook.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryTally {
    /// How many were delivered.
    pub delivered: u64,
    /// How many were given up after their last try.
    pub dead: u64,
    /// How often the log no longer had the next event: some were never sent.
    pub gaps: u64,
    /// When the last one was delivered.
    pub last_delivered: Option<Time>,
}

/// Deliveries fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    /// Since when.
    pub since: Time,
    /// How often it was tried since.
    pub tries: u32,
    /// Why the last try failed.
    pub why: Box<str>,
}

/// An event that was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// Which one.
    pub event: EventId,
    /// What it says.
    pub name: EventName,
    /// When it happened.
    pub at: Time,
    /// How often it was tried.
    pub tries: u32,
    /// Why the last try failed.
    pub why: Box<str>,
}

/// A secret that bodies are signed with. Nothing prints it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SigningSecret {
    bytes: Box<[u8]>,
    /// From then on it no longer signs: a newer one has replaced it.
    pub until: Option<Time>,
}

impl SigningSecret {
    /// A secret, which signs until it is replaced.
    pub fn new(bytes: impl Into<Box<[u8]>>) -> Result<SigningSecret, Refusal> {
        let bytes = bytes.into();
        let accepted = WEBHOOK_SECRET_BYTES_MIN..=WEBHOOK_SECRET_BYTES_MAX;
        if !accepted.contains(&bytes.len()) {
            let why = format!(
                "has {} bytes; give {WEBHOOK_SECRET_BYTES_MIN} to {WEBHOOK_SECRET_BYTES_MAX} random ones",
                bytes.len()
            );
            return Err(Refusal::invalid("secret", why));
        }
        Ok(SigningSecret { bytes, until: None })
    }

    /// The bytes, to sign with.
    pub fn reveal(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret(redacted)")
    }
}

impl Webhook {
    /// The secrets that sign at `now`.
    pub fn signing(&self, now: Time) -> impl Iterator<Item = &SigningSecret> {
        self.secrets.iter().filter(move |secret| secret.until.is_none_or(|until| now < until))
    }

    /// Signs with `secret` from now on; the one before it signs too for `grace`.
    pub(crate) fn rotate(
        &mut self,
        secret: &SigningSecret,
        grace: Millis,
        now: Time,
    ) -> Result<(), Refusal> {
        if self.secrets.last().is_some_and(|newest| newest.bytes == secret.bytes) {
            return Ok(());
        }
        self.secrets.retain(|secret| secret.until.is_none_or(|until| now < until));
        if self.secrets.len() >= WEBHOOK_SECRETS {
            let what = Full::WebhookSecrets { most: WEBHOOK_SECRETS };
            return Err(Refusal::LimitReached { what });
        }
        if let Some(newest) = self.secrets.last_mut() {
            newest.until = Some(now + grace);
        }
        self.secrets.retain(|secret| secret.until.is_none_or(|until| now < until));
        self.secrets.push(SigningSecret { until: None, ..secret.clone() });
        Ok(())
    }

    /// Begins another turn.
    pub(crate) fn next_turn(&mut self, now: Time) {
        self.turn += 1;
        self.turn_ends = now + WEBHOOK_TURN;
    }

    /// Keeps what a turn reports.
    pub(crate) fn note(&mut self, report: &DeliveryReport, now: Time) {
        self.turn_ends = if report.leaves { now } else { now + WEBHOOK_TURN };
        if report.cursor.as_ref() == Some(&self.cursor) {
            // It was reported before, and the answer was lost.
            return;
        }
        if let Some(cursor) = &report.cursor {
            self.cursor.clone_from(cursor);
        }
        self.tally.delivered += report.delivered;
        if report.delivered > 0 {
            self.tally.last_delivered = Some(now);
        }
        self.tally.gaps += u64::from(report.gap);
        self.tally.dead += report.letters.len() as u64;
        for letter in &report.letters {
            if self.letters.len() == WEBHOOK_LETTERS {
                self.letters.pop_front();
            }
            self.letters.push_back(letter.clone());
        }
        self.failing = report.failing.as_ref().map(|(tries, why)| Failing {
            since: self.failing.as_ref().map_or(now, |failing| failing.since),
            tries: *tries,
            why: why.clone(),
        });
    }
}

/// What a turn has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveryReport {
    /// Everything before it is done; `None` leaves the cursor.
    pub cursor: Option<Box<str>>,
    /// How many events were delivered.
    pub delivered: u64,
    /// The events that were given up.
    pub letters: Vec<DeadLetter>,
    /// The log no longer had what comes next.
    pub gap: bool,
    /// Deliveries fail: how often it was tried, and why the last one failed.
    pub failing: Option<(u32, Box<str>)>,
    /// The turn is over: its process stops.
    pub leaves: bool,
}

/// A reason as far as it is kept.
pub fn reason(text: &str) -> Box<str> {
    let mut end = text.len().min(LETTER_REASON_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_secret_is_never_printed_and_has_a_length() {
        let secret = SigningSecret::new(*b"canary-canary-canary-canary").unwrap();
        assert!(!format!("{secret:?}").contains("canary"));
        for bytes in [0, WEBHOOK_SECRET_BYTES_MIN - 1, WEBHOOK_SECRET_BYTES_MAX + 1] {
            SigningSecret::new(vec![7; bytes]).unwrap_err();
        }
    }

    #[test]
    fn a_reason_is_cut_between_characters() {
        let long = "ä".repeat(LETTER_REASON_BYTES);
        let kept = reason(&long);
        assert!(kept.len() <= LETTER_REASON_BYTES && long.starts_with(&*kept));
        assert_eq!(&*reason("short"), "short");
    }
}
