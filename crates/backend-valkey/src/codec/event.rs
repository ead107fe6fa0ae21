//! How an event is written: numbers, the lane, and the kind and tags of its execution. One that somebody did
//! has a mark with what happened, and the name between the kind and the tags.

use std::fmt;

use ff_core::event::{Event, EventId, EventKind};
use ff_core::record::{Tags, Version};
use ff_core::{Kind, Namespace, Source};
use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::bytes::{Packer, Short, Unpacker};
use super::{Unreadable, format, pack_value, time, value, word};
use crate::keys;

/// The bit of what happened that says that somebody did it.
const DONE_BY: u64 = 0x80;

/// The bytes of `event`.
pub(crate) fn encode(event: &Event) -> Result<Vec<u8>, Unreadable> {
    let fields = format::Event {
        what: u64::from(event.what.name().number()) | event.by.as_ref().map_or(0, |_| DONE_BY),
        value: event.what.value(),
        at: event.at.as_ms(),
        id: keys::id_bytes(event.execution()),
        counter: event.id.version.counter(),
        salt: event.id.version.salt().to_be_bytes(),
        run: event.run.into(),
        attempts: event.attempt.map_or(0, |attempt| u64::from(attempt) + 1),
        lane: event.lane.as_str().as_bytes(),
    };
    let mut packer = Packer(Vec::with_capacity(128));
    fields.pack(&mut packer);
    packer.raw(&pack_value(Some(&(&event.kind, &event.by, (), &event.tags)))?);
    Ok(packer.0)
}

/// The event of `namespace` in `bytes`.
pub(crate) fn decode(namespace: &Namespace, bytes: &[u8]) -> Result<Event, Unreadable> {
    let mut from = Unpacker(bytes);
    let fields = format::Event::unpack(&mut from)?;
    let (Label { kind, tags }, by) = match fields.what & DONE_BY {
        0 => (value(from.0)?.ok_or(Short)?, None),
        _ => {
            let (kind, by, (), tags) =
                value::<(Kind, Option<Source>, (), Tags)>(from.0)?.ok_or(Short)?;
            (Label { kind, tags }, by)
        }
    };
    let number = |number: u64| u32::try_from(number).map_err(|_| Short);
    let what = u8::try_from(fields.what & !DONE_BY).ok();
    let what = what.and_then(|what| EventKind::from_stored(what, fields.value));
    let version = (fields.counter << 32) | u64::from(u32::from_be_bytes(fields.salt));
    Ok(Event {
        id: EventId {
            execution: keys::parse_id(&fields.id).ok_or(Short)?,
            version: Version::from_stored(version),
        },
        namespace: namespace.clone(),
        at: time(fields.at),
        what: what.ok_or_else(|| Unreadable::new("it is unknown to this release"))?,
        run: number(fields.run)?,
        attempt: fields.attempts.checked_sub(1).map(number).transpose()?,
        lane: word(fields.lane)?,
        kind,
        tags,
        by,
    })
}

/// The kind and the tags, which are the first and the fourth of the fields that a record ends with. There
/// may be more of these.
struct Label {
    kind: Kind,
    tags: Tags,
}

impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Label, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Label;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the kind and the tags of an execution")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut fields: A) -> Result<Label, A::Error> {
                let missing = || serde::de::Error::custom("a field is missing");
                let kind = fields.next_element()?.ok_or_else(missing)?;
                fields.next_element::<IgnoredAny>()?.ok_or_else(missing)?;
                fields.next_element::<IgnoredAny>()?.ok_or_else(missing)?;
                let tags = fields.next_element()?.ok_or_else(missing)?;
                while fields.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Label { kind, tags })
            }
        }

        from.deserialize_seq(Fields)
    }
}
