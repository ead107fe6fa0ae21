//! How elements beside a record are written, and how a record counts them.
//!
//! An attempt is written as in its record, a frame as it is. Other elements are their bytes behind their name; the number
//! of the one that had the name before is the functions' business.

use bytes::Bytes;
use ff_core::collection::{Collection, Content, Counts, Element, ElementName};

use super::bytes::{Packer, Unpacker};
use super::{Unreadable, attempt, format};

/// The counts of a record as bytes.
pub(super) fn pack_counts(counts: &Counts) -> Vec<u8> {
    let mut packer = Packer::default();
    for (collection, count) in counts.iter() {
        format::Count { collection: collection.number().into(), count }.pack(&mut packer);
    }
    packer.0
}

/// The counts in `bytes`.
pub(super) fn counts(bytes: &[u8]) -> Result<Counts, Unreadable> {
    let mut from = Unpacker(bytes);
    let mut counts = Vec::new();
    while !from.0.is_empty() {
        let format::Count { collection, count } = format::Count::unpack(&mut from)?;
        let number = collection as u8;
        counts.push((Collection::try_from(number).map_err(Unreadable::new)?, count));
    }
    Ok(Counts::from_stored(counts))
}

/// Elements as a write gives them to its function, one behind the other.
pub(crate) fn pack_elements<'a>(
    elements: impl IntoIterator<Item = (Collection, &'a Element)>,
) -> Result<Vec<u8>, Unreadable> {
    let mut packer = Packer::default();
    for (collection, element) in elements {
        let attempt = match &element.content {
            Content::Attempt(attempt) => Some(attempt::encode(attempt)?),
            Content::Bytes(_) => None,
        };
        let bytes = match &element.content {
            Content::Bytes(bytes) => &bytes[..],
            Content::Attempt(_) => attempt.as_deref().unwrap_or_default(),
        };
        let name = element.name.as_ref().map_or(&[][..], ElementName::as_bytes);
        let (collection, number) = (collection.number().into(), element.number);
        format::Added { collection, number, name, bytes }.pack(&mut packer);
    }
    Ok(packer.0)
}

/// The element of a collection that is stored as `bytes`.
pub(crate) fn element(
    collection: Collection,
    number: u64,
    bytes: &Bytes,
) -> Result<Element, Unreadable> {
    if collection == Collection::Attempts {
        let attempt = attempt::decode(bytes)?;
        return match u64::from(attempt.number) == number {
            true => Ok(attempt.into()),
            false => Err(Unreadable::new("it has another number")),
        };
    }
    if collection == Collection::Frames {
        return Ok(Element { number, name: None, content: Content::Bytes(bytes.clone()) });
    }
    let mut from = Unpacker(bytes);
    let format::Element { earlier: _, name } = format::Element::unpack(&mut from)?;
    let name = (!name.is_empty()).then(|| ElementName::from_stored(bytes.slice_ref(name)));
    Ok(Element { number, name, content: Content::Bytes(bytes.slice_ref(from.0)) })
}
