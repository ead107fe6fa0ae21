//! The journal of an execution as clients read it.

use ff_core::StepName;
#[cfg(feature = "client")]
use ff_core::journal::Entry;
use ff_core::journal::{EntryKind, Recorded};
use ff_store::journal::{JournalEntry, JournalPage};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

#[cfg(feature = "client")]
use crate::described::NotUnderstood;
#[cfg(feature = "client")]
use crate::http::RESULT;
use crate::http::{Content, schema};
use crate::timestamp::Timestamp;

/// One page of a journal, oldest entry first.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct StepsView {
    /// The entries.
    pub steps: Vec<StepView>,
    /// The cursor to continue with; null when there is nothing more.
    pub next: Option<String>,
}

/// One entry of a journal: what a step, a sleep or a wait has come to.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct StepView {
    /// Its place in the journal, from 0.
    pub number: u64,
    /// The name of the step, sleep or wait.
    #[schema(value_type = schema::StepText)]
    pub step: StepName,
    /// What it is about.
    #[schema(value_type = schema::EntryKind)]
    pub kind: EntryKind,
    /// Whether attempts find it; a replay may have hidden it.
    pub visible: bool,
    /// The run it was written in.
    pub run: u32,
    /// The attempt it was written in.
    pub attempt: u32,
    /// When it was written.
    pub at: Timestamp,
    /// The result of a step, when that is JSON: `result_base64` is null then.
    #[schema(value_type = Option<serde_json::Value>)]
    pub result: Option<Box<RawValue>>,
    /// The bytes of the result of a step, in base64, when they are not JSON.
    #[schema(value_type = Option<schema::Base64>)]
    pub result_base64: Option<String>,
    /// The media type of the result of a step.
    #[schema(value_type = Option<schema::MediaType>)]
    pub content_type: Option<String>,
    /// The numbers of the signals that ended a wait.
    pub signals: Option<Vec<u64>>,
    /// Whether the time of a wait was over first.
    pub timed_out: Option<bool>,
}

impl From<&JournalPage> for StepsView {
    fn from(page: &JournalPage) -> StepsView {
        StepsView {
            steps: page.entries.iter().map(StepView::from).collect(),
            next: page.next.map(|next| next.to_string()),
        }
    }
}

impl From<&JournalEntry> for StepView {
    fn from(JournalEntry { entry, visible }: &JournalEntry) -> StepView {
        let content = match &entry.what {
            Recorded::Step(result) => Some(Content::from(result)),
            Recorded::Sleep | Recorded::Wait { .. } => None,
        };
        let (result, result_base64, content_type) = match content {
            Some(content) => (content.json, content.base64, content.content_type),
            None => (None, None, None),
        };
        let (signals, timed_out) = match &entry.what {
            Recorded::Wait { signals, timed_out } => (Some(signals.clone()), Some(*timed_out)),
            Recorded::Step(_) | Recorded::Sleep => (None, None),
        };
        StepView {
            number: entry.number,
            step: entry.name.clone(),
            kind: entry.what.kind(),
            visible: *visible,
            run: entry.run,
            attempt: entry.attempt,
            at: entry.at.into(),
            result,
            result_base64,
            content_type,
            signals,
            timed_out,
        }
    }
}

#[cfg(feature = "client")]
impl TryFrom<StepView> for JournalEntry {
    type Error = NotUnderstood;

    fn try_from(view: StepView) -> Result<JournalEntry, NotUnderstood> {
        let missing = |what: &str| NotUnderstood(format!("{what} is missing"));
        let what = match view.kind {
            EntryKind::Step => {
                let (json, base64) = match (view.result, view.result_base64) {
                    // JSON's null reads as nothing.
                    (None, None) => (RawValue::from_string("null".to_owned()).ok(), None),
                    other => other,
                };
                let content = Content { json, base64, content_type: view.content_type };
                let payload = content.payload(RESULT);
                Recorded::Step(payload.map_err(|refusal| NotUnderstood(refusal.to_string()))?)
            }
            EntryKind::Sleep => Recorded::Sleep,
            EntryKind::Wait => Recorded::Wait {
                signals: view.signals.ok_or_else(|| missing("signals"))?,
                timed_out: view.timed_out.ok_or_else(|| missing("timed_out"))?,
            },
        };
        let entry = Entry {
            number: view.number,
            name: view.step,
            run: view.run,
            attempt: view.attempt,
            at: view.at.0,
            what,
        };
        Ok(JournalEntry { entry, visible: view.visible })
    }
}

#[cfg(feature = "client")]
impl TryFrom<StepsView> for JournalPage {
    type Error = NotUnderstood;

    fn try_from(view: StepsView) -> Result<JournalPage, NotUnderstood> {
        let next = view.next.map(|next| next.parse()).transpose();
        Ok(JournalPage {
            entries: view
                .steps
                .into_iter()
                .map(JournalEntry::try_from)
                .collect::<Result<_, _>>()?,
            next: next.map_err(|_| NotUnderstood("a bad cursor".to_owned()))?,
        })
    }
}

#[cfg(all(test, feature = "client"))]
mod tests {
    use ff_core::{Payload, Time};

    use super::*;

    #[test]
    fn every_entry_reads_back_as_it_was_written() {
        let results = [
            Payload::json("null"),
            Payload::json(" {\"a\": 1.50} "),
            Payload::json("not json"),
            Payload::bytes(""),
            Payload::bytes(&b"\x00\xff"[..]),
        ];
        let mut whats: Vec<_> = results.into_iter().map(Recorded::Step).collect();
        whats.push(Recorded::Sleep);
        whats.push(Recorded::Wait { signals: vec![3, 4], timed_out: false });
        whats.push(Recorded::Wait { signals: Vec::new(), timed_out: true });
        let entries = (0..).zip(whats).map(|(number, what)| {
            let (name, at) = (StepName::new("größe").unwrap(), Time::from_ms(number));
            let entry = Entry { number, name, run: 1, attempt: 2, at, what };
            JournalEntry { entry, visible: number % 2 == 0 }
        });
        let page = JournalPage { entries: entries.collect(), next: Some(9) };
        let text = serde_json::to_string(&StepsView::from(&page)).unwrap();
        let view: StepsView = serde_json::from_str(&text).unwrap();
        assert_eq!(JournalPage::try_from(view), Ok(page));
    }
}
