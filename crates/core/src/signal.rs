//! Signals as they are stored beside their execution: one element each, in the order of arrival.

use bytes::{BufMut, Bytes, BytesMut};

use crate::collection::{Content, Element, ElementName};
use crate::digest::Digest;
use crate::id::WaitpointId;
use crate::name::{Category, IdempotencyKey, SignalName, Source, WaitpointKey};
use crate::payload::{ContentType, Payload};
use crate::time::Time;
use crate::words;

/// The format that is written.
const FORMAT: u8 = 1;

/// A signal that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedSignal {
    /// Its number among the signals of the execution, from 0.
    pub number: u64,
    /// The waitpoint at which it has arrived.
    pub waitpoint: WaitpointId,
    /// The holder's name for that.
    pub key: WaitpointKey,
    /// Its name.
    pub name: Option<SignalName>,
    /// The kind of signal, in its sender's words.
    pub category: Option<Category>,
    /// Who sent it, as the engine knows it.
    pub source: Source,
    /// When it has arrived.
    pub at: Time,
    /// What it carries.
    pub payload: Payload,
}

words!(
    /// What a signal did.
    SignalEffect {
        /// It satisfied the condition: the execution continues.
        Resumed = "resumed",
        /// It was recorded, and counts once something waits for it.
        Recorded = "recorded",
        /// It is known already and changed nothing.
        Duplicate = "duplicate",
        /// The time of the suspension was over; it changed nothing.
        TooLate = "too_late",
    }
);

/// The name under which a signal is found again: its waitpoint and the fingerprint of its key.
pub(crate) fn element_name(waitpoint: WaitpointId, key: Digest) -> ElementName {
    ElementName::from_stored(
        [&waitpoint.as_bytes()[..], &key.get().to_be_bytes()[..]].concat().into(),
    )
}

/// The fingerprint of a sender's key.
pub(crate) fn key_digest(key: &IdempotencyKey) -> Digest {
    Digest::of(|fields| {
        fields.text("key");
        fields.text(key.as_str());
    })
}

impl ReceivedSignal {
    /// The bytes of its element.
    pub(crate) fn encode(&self) -> Bytes {
        let mut bytes = BytesMut::with_capacity(128 + self.payload.bytes.len());
        bytes.put_u8(FORMAT);
        bytes.put_u64(self.at.as_ms());
        bytes.put_slice(self.waitpoint.as_bytes());
        let name = self.name.as_ref().map_or("", SignalName::as_str);
        let category = self.category.as_ref().map_or("", Category::as_str);
        for text in [self.key.as_str(), name, category, self.source.as_str()] {
            put_text(&mut bytes, text);
        }
        put_text(&mut bytes, self.payload.content_type.as_str());
        bytes.put_slice(&self.payload.bytes);
        bytes.freeze()
    }

    /// The signal that was stored as `element`; `None` if it is none of this release.
    pub fn decode(element: &Element) -> Option<ReceivedSignal> {
        let Content::Bytes(bytes) = &element.content else { return None };
        let mut from = Reader(bytes.clone());
        if from.take(1)?[..] != [FORMAT] {
            return None;
        }
        let at = u64::from_be_bytes(from.take(8)?[..].try_into().ok()?);
        let waitpoint = u128::from_be_bytes(from.take(16)?[..].try_into().ok()?);
        let key = WaitpointKey::new(from.text()?).ok()?;
        let (name, category) = (from.text()?, from.text()?);
        let maybe = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Some(ReceivedSignal {
            number: element.number,
            waitpoint: WaitpointId::new(waitpoint),
            key,
            name: maybe(&name).map(SignalName::new).transpose().ok()?,
            category: maybe(&category).map(Category::new).transpose().ok()?,
            source: Source::new(from.text()?).ok()?,
            at: Time::from_ms(at),
            payload: Payload { content_type: ContentType::new(&from.text()?).ok()?, bytes: from.0 },
        })
    }
}

/// Every text that is put here is at most 256 bytes long.
fn put_text(bytes: &mut BytesMut, text: &str) {
    bytes.put_u16(text.len() as u16);
    bytes.put_slice(text.as_bytes());
}

struct Reader(Bytes);

impl Reader {
    fn take(&mut self, count: usize) -> Option<Bytes> {
        (self.0.len() >= count).then(|| self.0.split_to(count))
    }

    fn text(&mut self) -> Option<String> {
        let count = u16::from_be_bytes(self.take(2)?[..].try_into().ok()?);
        String::from_utf8(self.take(count.into())?.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal() -> ReceivedSignal {
        ReceivedSignal {
            number: 3,
            waitpoint: WaitpointId::new(7),
            key: WaitpointKey::new("gate").unwrap(),
            name: Some(SignalName::new("approve").unwrap()),
            category: None,
            source: Source::new("ann").unwrap(),
            at: Time::from_ms(5),
            payload: Payload::json("{}"),
        }
    }

    fn element(bytes: Bytes) -> Element {
        Element { number: 3, name: None, content: Content::Bytes(bytes) }
    }

    #[test]
    fn a_signal_reads_back_as_it_was_written() {
        for payload in [Payload::bytes(""), Payload::bytes(vec![0, 255]), Payload::json("[1]")] {
            let signal = ReceivedSignal { payload, ..signal() };
            assert_eq!(ReceivedSignal::decode(&element(signal.encode())), Some(signal));
        }
        let plain = ReceivedSignal { name: None, category: Category::new("x").ok(), ..signal() };
        assert_eq!(ReceivedSignal::decode(&element(plain.encode())), Some(plain));
    }

    #[test]
    fn the_bytes_of_a_signal_are_kept() {
        let hex: String = signal().encode().iter().map(|byte| format!("{byte:02x}")).collect();
        let expected = [
            "01",
            "0000000000000005",
            "00000000000000000000000000000007",
            "000467617465",
            "0007617070726f7665",
            "0000",
            "0003616e6e",
            "00106170706c69636174696f6e2f6a736f6e",
            "7b7d",
        ];
        assert_eq!(hex, expected.concat());
    }

    #[test]
    fn what_is_no_signal_reads_as_none() {
        let whole = signal().encode();
        for cut in 0..whole.len() - 2 {
            assert_eq!(ReceivedSignal::decode(&element(whole.slice(..cut))), None, "{cut}");
        }
        let other = Bytes::from([&[9], &whole[1..]].concat());
        assert_eq!(ReceivedSignal::decode(&element(other)), None);
    }
}
