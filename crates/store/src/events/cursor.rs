//! Cursors: places in the log of one namespace, as text that callers keep and cannot read.
//!
//! A cursor names its namespace and the [epoch](ff_core::feed::FeedState::epoch) of the feed, and ends
//! with a checksum. A text is accepted only as it is written here, so a changed or cut cursor is
//! refused and never read as another place.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ff_core::bounds::{EVENT_CURSOR_BYTES, FEED_PARTITIONS};
use ff_core::digest::Digest;
use ff_core::{Namespace, Refusal};
use xxhash_rust::xxh3::xxh3_64;

use super::log::{Place, Positions};

const VERSION: u8 = 1;
const NAMESPACE_BYTES: usize = 8;
const CHECKSUM_BYTES: usize = 4;

/// Up to where a subscriber has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// The fingerprint of its namespace.
    namespace: u64,
    pub(crate) epoch: u64,
    pub(crate) positions: Positions,
}

impl Cursor {
    /// A place in the log of `namespace`.
    pub fn new(namespace: &Namespace, epoch: u64, positions: Positions) -> Cursor {
        Cursor { namespace: fingerprint(namespace), epoch, positions }
    }

    /// Refuses a cursor of another namespace.
    pub fn check(&self, namespace: &Namespace) -> Result<(), Refusal> {
        match self.namespace == fingerprint(namespace) {
            true => Ok(()),
            false => Err(Refusal::invalid("cursor", "is of another namespace; begin without one")),
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend(self.namespace.to_be_bytes());
        write(&mut bytes, self.epoch);
        let places = self.positions.iter();
        write(&mut bytes, places.len() as u64);
        let least = self.positions.iter().map(|(_, place)| place.major).min().unwrap_or(0);
        write(&mut bytes, least);
        let mut expected = 0;
        for (partition, place) in places {
            write(&mut bytes, u64::from(partition) - expected);
            write(&mut bytes, place.major - least);
            write(&mut bytes, place.minor);
            expected = u64::from(partition) + 1;
        }
        let sum = checksum(&bytes);
        bytes.extend(sum);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Cursor> {
        let (body, sum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM_BYTES)?)?;
        let (head, mut rest) = body.split_at_checked(1 + NAMESPACE_BYTES)?;
        if checksum(body) != *sum || head[0] != VERSION {
            return None;
        }
        let namespace = u64::from_be_bytes(head[1..].try_into().ok()?);
        let epoch = read(&mut rest)?;
        let count = read(&mut rest).filter(|count| *count <= FEED_PARTITIONS.into())?;
        let least = read(&mut rest)?;
        let (mut positions, mut expected) = (Positions::default(), 0_u64);
        for _ in 0..count {
            let partition = u16::try_from(expected.checked_add(read(&mut rest)?)?).ok()?;
            let major = least.checked_add(read(&mut rest)?)?;
            positions.set(partition, Place { major, minor: read(&mut rest)? });
            expected = u64::from(partition) + 1;
        }
        let cursor = Cursor { namespace, epoch, positions };
        // One text for each cursor.
        (cursor.to_bytes() == bytes).then_some(cursor)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE64.encode(self.to_bytes()))
    }
}

impl FromStr for Cursor {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Cursor, Refusal> {
        if text.len() > EVENT_CURSOR_BYTES {
            let (got, most) = (text.len(), EVENT_CURSOR_BYTES);
            return Err(Refusal::TooLarge { field: "cursor", got, most, unit: "bytes" });
        }
        let bytes = BASE64.decode(text).ok();
        bytes.and_then(|bytes| Cursor::from_bytes(&bytes)).ok_or_else(|| {
            let why = "is not the cursor of an earlier answer; begin without one";
            Refusal::invalid("cursor", why)
        })
    }
}

fn fingerprint(namespace: &Namespace) -> u64 {
    Digest::of(|fields| fields.text(namespace.as_str())).get()
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    (xxh3_64(bytes) as u32).to_be_bytes()
}

/// Writes a number in groups of seven bits, lowest first.
fn write(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f).checked_shl(shift)?;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn namespace(name: &str) -> Namespace {
        Namespace::new(name).unwrap()
    }

    fn spread(partitions: u16, step: u64) -> Cursor {
        let place = |n: u16| (n, Place { major: (1 << 41) + u64::from(n) * step, minor: 3 });
        Cursor::new(&namespace("acme"), 7, (0..partitions).map(place).collect())
    }

    #[test]
    fn cursors_read_back() {
        let sparse = [
            (3, Place { major: u64::MAX, minor: u64::MAX }),
            (4_095, Place { major: 0, minor: 1 }),
        ];
        let sparse = Cursor::new(&namespace("acme"), u64::MAX, sparse.into_iter().collect());
        for cursor in
            [Cursor::new(&namespace("acme"), 0, Positions::default()), spread(64, 9_000), sparse]
        {
            assert_eq!(cursor.to_string().parse::<Cursor>().unwrap(), cursor);
        }
    }

    #[test]
    fn a_cursor_over_the_most_partitions_an_hour_apart_fits() {
        let text = spread(FEED_PARTITIONS, 3_600_000).to_string();
        assert!(text.len() <= EVENT_CURSOR_BYTES, "{}", text.len());
        text.parse::<Cursor>().unwrap();
    }

    #[test]
    fn every_flipped_bit_is_refused() {
        let bytes = spread(8, 77).to_bytes();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Cursor::from_bytes(&flipped), None, "bit {bit}");
        }
    }

    #[test]
    fn a_cursor_that_is_cut_or_longer_is_refused() {
        let text = spread(8, 77).to_string();
        for end in 0..text.len() {
            text[..end].parse::<Cursor>().unwrap_err();
        }
        format!("{text}A").parse::<Cursor>().unwrap_err();
        let long = "A".repeat(16 << 10).parse::<Cursor>().unwrap_err();
        assert_eq!(long.code(), ff_core::Code::TooLarge);
    }

    #[test]
    fn a_cursor_of_another_namespace_is_refused() {
        let cursor = spread(8, 77);
        cursor.check(&namespace("acme")).unwrap();
        cursor.check(&namespace("rival")).unwrap_err();
    }
}
