//! Every key the store uses, built in one place from validated names.
//!
//! All that belongs to one partition carries its tag, `{p:N}`, and so is in one slot of a
//! cluster. An id in a key is 22 characters that sort as the id does.

use ff_core::limits::Blocker;
use ff_core::payload::BlobPart;
use ff_core::placement::{AdmissionClass, Attention};
use ff_core::{
    Capabilities, ExecutionId, Lane, Namespace, Partition, ResourceKey, ResourceKind, ResourceName,
    SettingName,
};
use xxhash_rust::xxh3::xxh3_128;

/// Base64 in the order of its characters, so that texts sort like the bytes they encode.
const ALPHABET: &[u8; 64] = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";

/// How long an encoded id is.
pub(crate) const ID: usize = 22;

/// How long the request is that an entry of a claim begins with.
pub(crate) const REQUEST: usize = 16;

/// How long the name of an admission class is, in hexadecimal digits.
pub(crate) const ADMISSION_CLASS: usize = 16;

/// Sixteen bytes as text.
pub(crate) fn encode(bytes: &[u8; 16]) -> String {
    characters(bytes).iter().map(|byte| char::from(*byte)).collect()
}

fn characters(bytes: &[u8; 16]) -> [u8; ID] {
    let mut number = u128::from_be_bytes(*bytes);
    let mut text = [0; ID];
    // 22 characters hold 132 bits: the last one carries two, shifted up.
    text[ID - 1] = ALPHABET[((number & 0b11) << 4) as usize];
    number >>= 2;
    for place in text[..ID - 1].iter_mut().rev() {
        *place = ALPHABET[(number & 0b11_1111) as usize];
        number >>= 6;
    }
    text
}

/// The sixteen bytes that `text` encodes.
pub(crate) fn decode(text: &[u8]) -> Option<[u8; 16]> {
    if text.len() != ID {
        return None;
    }
    let value = |byte: &u8| ALPHABET.binary_search(byte).ok().map(|value| value as u128);
    let (last, rest) = text.split_last()?;
    let mut number = 0;
    for byte in rest {
        number = (number << 6) | value(byte)?;
    }
    Some(((number << 2) | (value(last)? >> 4)).to_be_bytes())
}

/// The text of an execution in keys and indexes.
pub(crate) fn id(id: ExecutionId) -> String {
    encode(id.as_bytes())
}

/// The same as bytes.
pub(crate) fn id_bytes(id: ExecutionId) -> [u8; ID] {
    characters(id.as_bytes())
}

/// The execution that `text` names.
pub(crate) fn parse_id(text: &[u8]) -> Option<ExecutionId> {
    ExecutionId::from_bytes(&decode(text)?).ok()
}

/// The name of a class in keys; the class of no requirement has none.
pub(crate) fn class(requires: &Capabilities) -> String {
    match requires.is_empty() {
        true => String::new(),
        false => encode(&xxh3_128(requires.as_str().as_bytes()).to_be_bytes()),
    }
}

/// The keys of one store.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    prefix: String,
    partitions: u16,
}

impl Keys {
    /// Keys that begin with `prefix`, in this many partitions.
    pub(crate) fn new(prefix: &str, partitions: u16) -> Keys {
        Keys { prefix: prefix.into(), partitions }
    }

    /// How many partitions there are.
    pub(crate) fn partitions(&self) -> u16 {
        self.partitions
    }

    /// The partition of an execution.
    pub(crate) fn partition(&self, id: ExecutionId) -> u16 {
        id.partition().number() % self.partitions
    }

    /// The key that routes a function to `partition`; the function makes the others from it.
    pub(crate) fn route(&self, partition: u16) -> String {
        format!("{}:{{p:{partition}}}", self.prefix)
    }

    /// The partition that [`Keys::route`] was made for.
    pub(crate) fn routed(&self, key: &[u8]) -> Option<u16> {
        let text = std::str::from_utf8(key).ok()?.strip_prefix(&self.prefix)?;
        text.strip_prefix(":{p:")?.strip_suffix('}')?.parse().ok()
    }

    /// The routing keys of every partition.
    pub(crate) fn routes(&self) -> Vec<String> {
        (0..self.partitions).map(|partition| self.route(partition)).collect()
    }

    /// The channel on which `partition` announces work.
    pub(crate) fn channel(&self, partition: u16) -> String {
        format!("{}:wake:{{p:{partition}}}", self.prefix)
    }

    /// Where `partition` tells that executions have ended.
    pub(crate) fn ended_channel(&self, partition: u16) -> String {
        format!("{}:ended:{{p:{partition}}}", self.prefix)
    }

    /// Where `partition` tells that something was logged.
    pub(crate) fn logged_channel(&self, partition: u16) -> String {
        format!("{}:logged:{{p:{partition}}}", self.prefix)
    }

    /// The partition of a channel.
    pub(crate) fn partition_of_channel(&self, channel: &str) -> Option<u16> {
        let (_, text) = channel.strip_prefix(&self.prefix)?.split_once(":{p:")?;
        text.strip_suffix('}')?.parse().ok()
    }

    /// The names of all namespaces, queues or blockers of `partition`.
    pub(crate) fn registry(&self, partition: u16, of: &str) -> String {
        format!("{}:idx:{{p:{partition}}}:{of}", self.prefix)
    }

    /// The engine processes that are alive.
    pub(crate) fn engines(&self) -> String {
        format!("{}:engines", self.prefix)
    }

    /// The record.
    pub(crate) fn record(&self, id: ExecutionId) -> String {
        format!("{}:exec:{{p:{}}}:{}", self.prefix, self.partition(id), self::id(id))
    }

    /// A payload that is too long for the record.
    pub(crate) fn blob(&self, id: ExecutionId, part: BlobPart) -> String {
        match part {
            BlobPart::Input => format!("{}:in", self.record(id)),
            BlobPart::Result(run) => format!("{}:out:{run}", self.record(id)),
        }
    }

    /// A resource.
    pub(crate) fn resource(&self, key: &ResourceKey) -> String {
        let (kind, partition) = (key.kind.as_str(), key.partition.number() % self.partitions);
        format!("{}:{kind}:{{p:{partition}}}:{}:{}", self.prefix, key.namespace, key.name)
    }
}

/// The name of a resource among those of its partition.
pub(crate) fn resource(key: &ResourceKey) -> String {
    format!("{}:{}:{}", key.kind.as_str(), key.namespace, key.name)
}

/// The resource of `partition` that `name` names.
pub(crate) fn parse_resource(partition: Partition, name: &[u8]) -> Option<ResourceKey> {
    let mut parts = std::str::from_utf8(name).ok()?.splitn(3, ':');
    Some(ResourceKey {
        partition,
        kind: ResourceKind::parse(parts.next()?)?,
        namespace: Namespace::stored(parts.next()?).ok()?,
        name: ResourceName::new(parts.next()?).ok()?,
    })
}

/// The name of a budget or a quota that executions wait for.
pub(crate) fn blocker(on: &Blocker) -> String {
    format!("{}:{}", on.kind.as_str(), on.name)
}

/// The budget or quota that `name` names.
pub(crate) fn parse_blocker(name: &[u8]) -> Option<Blocker> {
    let (kind, name) = std::str::from_utf8(name).ok()?.split_once(':')?;
    Some(Blocker { kind: ResourceKind::parse(kind)?, name: ResourceName::new(name).ok()? })
}

/// The name of the limit that executions of a namespace wait for.
pub(crate) fn limit(namespace: &Namespace, on: &Blocker) -> String {
    format!("{namespace}:{}", blocker(on))
}

/// The namespace, and the budget or quota, that `name` names.
pub(crate) fn parse_limit(name: &[u8]) -> Option<(Namespace, Blocker)> {
    let (namespace, on) = std::str::from_utf8(name).ok()?.split_once(':')?;
    Some((Namespace::new(namespace).ok()?, parse_blocker(on.as_bytes())?))
}

/// The limit and class under which a record waits.
pub(crate) fn blocked(on: &Blocker, class: AdmissionClass) -> String {
    format!("{}:{}", blocker(on), admission_class(class))
}

/// The limit and class that `name` in a record means.
pub(crate) fn parse_blocked(name: &[u8]) -> Option<(Blocker, AdmissionClass)> {
    let (on, class) = std::str::from_utf8(name).ok()?.rsplit_once(':')?;
    Some((parse_blocker(on.as_bytes())?, parse_admission_class(class.as_bytes())?))
}

/// The limit and class of executions under `name` of a partition.
pub(crate) fn parse_waiting(name: &[u8]) -> Option<(Namespace, Blocker, AdmissionClass)> {
    let (limit, class) = std::str::from_utf8(name).ok()?.rsplit_once(':')?;
    let (namespace, on) = parse_limit(limit.as_bytes())?;
    Some((namespace, on, parse_admission_class(class.as_bytes())?))
}

/// The name of an admission class; names have the order of classes.
pub(crate) fn admission_class(class: AdmissionClass) -> String {
    format!("{:0width$x}", class.get(), width = ADMISSION_CLASS)
}

/// The admission class that `name` names.
pub(crate) fn parse_admission_class(name: &[u8]) -> Option<AdmissionClass> {
    let name = std::str::from_utf8(name).ok().filter(|name| name.len() == ADMISSION_CLASS)?;
    u64::from_str_radix(name, 16).ok().map(AdmissionClass::from_stored)
}

/// The name of a queue among those of its partition.
pub(crate) fn queue(namespace: &Namespace, lane: &Lane, class: &str) -> String {
    match class {
        "" => format!("{namespace}:{lane}"),
        class => format!("{namespace}:{lane}:{class}"),
    }
}

/// The lane of a queue, whatever its class: NAMESPACE:LANE.
pub(crate) fn lane_of(queue: &str) -> &str {
    let end = queue.match_indices(':').nth(1).map_or(queue.len(), |(end, _)| end);
    &queue[..end]
}

/// The namespace and the lane of a queue, whatever its class.
pub(crate) fn parse_queue(queue: &str) -> Option<(Namespace, Lane)> {
    let (namespace, lane) = lane_of(queue).split_once(':')?;
    Some((Namespace::new(namespace).ok()?, Lane::new(lane).ok()?))
}

/// What a namespace lists for attention, by the reason: NAMESPACE:REASON of each.
pub(crate) fn attentions(namespace: &str) -> impl Iterator<Item = String> {
    Attention::ALL.iter().map(move |reason| format!("{namespace}:{}", reason.as_str()))
}

/// The namespace and the reason of such a name.
pub(crate) fn parse_attention(name: &str) -> Option<(Namespace, Attention)> {
    let (namespace, reason) = name.split_once(':')?;
    Some((Namespace::new(namespace).ok()?, Attention::from_word(reason)?))
}

/// A setting of a store.
pub(crate) fn setting(prefix: &str, name: &SettingName) -> String {
    format!("{prefix}:config:{name}")
}

/// A second key of the partition that `route` routes to. Like the first, it never exists.
pub(crate) fn second_route_key(route: &str) -> Option<String> {
    route.ends_with('}').then(|| format!("{route}:still"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_ids_read_back_and_keep_their_order() {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut ids: Vec<[u8; 16]> = (0..1_000).map(|_| rng.u128(..).to_be_bytes()).collect();
        ids.extend([[0; 16], [255; 16]]);
        ids.sort();
        let texts: Vec<_> = ids.iter().map(encode).collect();
        assert!(texts.is_sorted());
        for (id, text) in ids.iter().zip(&texts) {
            assert_eq!(decode(text.as_bytes()), Some(*id));
        }
        assert_eq!(decode(b"short"), None);
        assert_eq!(decode(&[b'!'; ID]), None);
    }

    #[test]
    fn a_queue_names_its_lane() {
        for (queue, class) in [("ns:lane", ""), ("ns:lane:class", "class")] {
            assert_eq!(lane_of(queue), "ns:lane");
            let (namespace, lane) = parse_queue(queue).unwrap_or_default();
            assert_eq!(self::queue(&namespace, &lane, class), queue);
        }
        assert_eq!(parse_queue("nothing"), None);
    }

    #[test]
    fn a_routing_key_names_its_partition() {
        let keys = Keys::new("ff", 64);
        assert_eq!(keys.route(7), "ff:{p:7}");
        assert_eq!(keys.routed(b"ff:{p:7}"), Some(7));
        assert_eq!(keys.partition_of_channel(&keys.channel(63)), Some(63));
        assert_eq!(keys.partition_of_channel(&keys.ended_channel(63)), Some(63));
    }
}
