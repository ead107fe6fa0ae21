//! Ids that route themselves.
//!
//! An [`ExecutionId`] is a standard UUIDv7 whose 12-bit `rand_a` names a partition and whose
//! `rand_b` begins with a counter, so that ids made by one process within a millisecond keep their
//! order. Age and order of executions come from the record's `created`, never from the id's clock.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::{Uuid, Variant};

use crate::bounds::PARTITIONS;
use crate::name::{IdempotencyKey, Namespace};
use crate::refusal::Refusal;
use crate::time::Time;

const COUNTER_BITS: u32 = 20;
const RANDOM_BITS: u32 = 62 - COUNTER_BITS;

/// The unit of atomicity and of scale: `rand_a` of an id, modulo the store's count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Partition(u16);

impl Partition {
    /// The only partition of a store that has one.
    pub const ONLY: Partition = Partition(0);

    /// Partition `number`, which must be below [`PARTITIONS`].
    pub fn new(number: u16) -> Result<Partition, Refusal> {
        if number >= PARTITIONS {
            return Err(Refusal::invalid("partition", format!("must be below {PARTITIONS}")));
        }
        Ok(Partition(number))
    }

    /// The partition that every caller with this key agrees on. This is a stored format.
    pub fn of_key(namespace: &Namespace, key: &IdempotencyKey) -> Partition {
        let digest = crate::digest::Digest::of(|d| {
            d.text(namespace.as_str());
            d.text(key.as_str());
        });
        Partition((digest.get() % u64::from(PARTITIONS)) as u16)
    }

    /// The partition that holds all resources of a namespace, in a store of this many. This is a
    /// stored format.
    pub fn home(namespace: &Namespace, partitions: u16) -> Partition {
        let digest = crate::digest::Digest::of(|d| d.text(namespace.as_str()));
        Partition((digest.get() % u64::from(PARTITIONS)) as u16 % partitions.max(1))
    }

    /// The same in a store of this many.
    pub fn among(self, partitions: u16) -> Partition {
        Partition(self.0 % partitions.max(1))
    }

    /// Its number.
    pub const fn number(self) -> u16 {
        self.0
    }
}

/// The id of an execution.
///
/// ```
/// use ff_core::{ExecutionId, Partition, Time};
/// let id = ExecutionId::mint(Time::from_ms(1), Partition::new(7).unwrap(), 0, 99);
/// assert_eq!(id.partition().number(), 7);
/// assert_eq!(id.to_string().parse::<ExecutionId>().unwrap(), id);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Uuid", into = "Uuid")]
pub struct ExecutionId(Uuid);

impl ExecutionId {
    /// Makes an id from what the caller's process knows: its clock, a partition, a counter that
    /// grows with every id, and random bits.
    pub fn mint(clock: Time, partition: Partition, counter: u32, random: u64) -> ExecutionId {
        let ms = u128::from(clock.as_ms() & ((1 << 48) - 1));
        let counter = u128::from(counter & ((1 << COUNTER_BITS) - 1));
        let random = u128::from(random & ((1 << RANDOM_BITS) - 1));
        ExecutionId(Uuid::from_u128(
            (ms << 80)
                | (7 << 76)
                | (u128::from(partition.0) << 64)
                | (0b10 << 62)
                | (counter << RANDOM_BITS)
                | random,
        ))
    }

    /// An id of the same time and partition, with another number and other bits.
    pub(crate) fn sibling(self, number: u32, bits: u64) -> ExecutionId {
        let clock = Time::from_ms((self.0.as_u128() >> 80) as u64);
        ExecutionId::mint(clock, self.partition(), number, bits)
    }

    /// Whether it was made with this number, as far as an id has room for one.
    pub(crate) fn has_number(self, number: u32) -> bool {
        let mask = (1 << COUNTER_BITS) - 1;
        (self.0.as_u128() >> RANDOM_BITS) as u32 & mask == number & mask
    }

    /// An id of nothing.
    pub(crate) fn nil() -> ExecutionId {
        ExecutionId::mint(Time::EPOCH, Partition::ONLY, 0, 0)
    }

    /// The id whose sixteen bytes these are.
    pub fn from_bytes(bytes: &[u8]) -> Result<ExecutionId, Refusal> {
        Uuid::from_slice(bytes).map_err(|_| not_an_id())?.try_into()
    }

    /// The sixteen bytes of the id, in sort order.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// The partition the id names.
    pub fn partition(self) -> Partition {
        Partition(((self.0.as_u128() >> 64) & 0xfff) as u16)
    }
}

impl TryFrom<Uuid> for ExecutionId {
    type Error = Refusal;

    fn try_from(uuid: Uuid) -> Result<Self, Refusal> {
        if uuid.get_version_num() != 7 || uuid.get_variant() != Variant::RFC4122 {
            return Err(not_an_id());
        }
        Ok(ExecutionId(uuid))
    }
}

impl From<ExecutionId> for Uuid {
    fn from(id: ExecutionId) -> Uuid {
        id.0
    }
}

impl FromStr for ExecutionId {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        // Only the hyphenated form: one id has one spelling.
        if text.len() != 36 {
            return Err(not_an_id());
        }
        Uuid::try_parse(text).map_err(|_| not_an_id())?.try_into()
    }
}

impl fmt::Display for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_hyphenated().fmt(f)
    }
}

impl fmt::Debug for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn not_an_id() -> Refusal {
    Refusal::invalid("id", "is not an execution id; give a UUIDv7 in its hyphenated form")
}

/// The random name of one claim or grant call, made by the caller and repeated when it retries.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(Uuid);

impl RequestId {
    /// A request named by 128 random bits.
    pub fn new(random: u128) -> RequestId {
        RequestId(Uuid::from_u128(random))
    }

    /// The sixteen bytes of the name.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }
}

impl FromStr for RequestId {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let uuid = Uuid::try_parse(text).map_err(|_| {
            Refusal::invalid("request", "is not a UUID; give 128 random bits as one")
        })?;
        Ok(RequestId(uuid))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_hyphenated().fmt(f)
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The random name of one waitpoint, which its token carries.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WaitpointId(Uuid);

impl WaitpointId {
    /// A waitpoint named by 128 random bits.
    pub fn new(random: u128) -> WaitpointId {
        WaitpointId(Uuid::from_u128(random))
    }

    /// The sixteen bytes of the name.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }
}

impl FromStr for WaitpointId {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let uuid = Uuid::try_parse(text).map_err(|_| {
            Refusal::invalid("waitpoint", "is not the id of a waitpoint; repeat the one you have")
        })?;
        Ok(WaitpointId(uuid))
    }
}

impl fmt::Display for WaitpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_hyphenated().fmt(f)
    }
}

impl fmt::Debug for WaitpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The random name of one lease: the claim that took it, its place in that claim, and which lease of
/// its execution it is. So a claim that is sent again after its leases have ended never gives one of
/// them out under the same name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LeaseId {
    /// The claim call.
    pub request: RequestId,
    /// The place in the claim's answer, and which lease of its execution it is.
    pub index: u16,
}

impl LeaseId {
    /// How many places a claim has.
    pub const PLACES: u16 = 512;

    /// The lease that `request` has in `place` on an execution that has had `epoch` leases before.
    /// The name differs from those of the 127 leases before.
    pub fn new(request: RequestId, place: u16, epoch: u64) -> LeaseId {
        let turn = (epoch % u64::from(u16::MAX / Self::PLACES + 1)) as u16;
        LeaseId { request, index: turn * Self::PLACES + place % Self::PLACES }
    }

    /// The place in the claim's answer.
    pub fn place(self) -> u16 {
        self.index % Self::PLACES
    }
}

impl FromStr for LeaseId {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let bad = || Refusal::invalid("lease", "is not a lease id; repeat the one the claim gave");
        let (request, index) = text.split_once('.').ok_or_else(bad)?;
        Ok(LeaseId {
            request: request.parse().map_err(|_| bad())?,
            index: index.parse().map_err(|_| bad())?,
        })
    }
}

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.request, self.index)
    }
}

impl fmt::Debug for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The random name of one admission: the batch of requests it was asked in and its place there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AdmissionId {
    /// The batch of requests.
    pub batch: RequestId,
    /// The place in the batch.
    pub index: u16,
}

impl fmt::Debug for AdmissionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.batch, self.index)
    }
}

/// What a holder shows with every call. All three must equal the record's; the epoch alone is not
/// enough, because a failover that loses writes can hand out the same number again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fence {
    /// The random name of the lease.
    pub lease: LeaseId,
    /// How many leases the execution has had, this one included.
    pub epoch: u64,
    /// The attempt the lease runs.
    pub attempt: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_millisecond_keep_their_order() {
        let mint =
            |n| ExecutionId::mint(Time::from_ms(5), Partition::ONLY, n, u64::MAX - u64::from(n));
        assert!((0..1_000).map(mint).is_sorted());
    }

    #[test]
    fn only_a_hyphenated_version_7_uuid_is_an_id() {
        let id = ExecutionId::mint(Time::from_ms(1_700_000_000_000), Partition::ONLY, 1, 2);
        let text = id.to_string();
        assert_eq!(text.parse::<ExecutionId>().unwrap(), id);
        for bad in [
            "",
            "x",
            &text[1..],
            &text.replace('-', ""),
            &format!("{{{text}}}"),
            "00000000-0000-0000-0000-000000000000",
            "550e8400-e29b-41d4-a716-446655440000",
            "018f0000-0000-7000-0000-000000000000",
        ] {
            assert!(bad.parse::<ExecutionId>().is_err(), "{bad:?} passed");
        }
    }

    #[test]
    fn the_partition_of_a_key_is_a_fixed_format() {
        let p = Partition::of_key(&Namespace::default(), &IdempotencyKey::new("order-1").unwrap());
        assert_eq!(p.number(), 1_419);
    }

    #[test]
    fn a_lease_id_reads_back_as_written() {
        let lease = LeaseId { request: RequestId::new(77), index: 3 };
        assert_eq!(lease.to_string().parse::<LeaseId>().unwrap(), lease);
        for bad in ["", "x.1", "00000000-0000-0000-0000-000000000001", "1.1", "."] {
            assert!(bad.parse::<LeaseId>().is_err(), "{bad:?} passed");
        }
    }
}
