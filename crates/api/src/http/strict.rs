//! Refuses what serde alone would accept: a list in an object's place, repeated keys of a map,
//! lists without end, JSON nested too deeply for readers in other languages, and
//! `null` taken for absence.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use ff_core::bounds::{BATCH, FLOW_NODES};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// How deep a JSON payload may be nested; a deeper one travels in base64.
pub(super) const DEPTH: usize = 128;

/// A JSON value, kept as the bytes it came in. A `null` is a value too.
pub(super) fn json<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<RawValue>>, D::Error> {
    let raw = Box::<RawValue>::deserialize(from)?;
    match is_shallow(raw.get()) {
        true => Ok(Some(raw)),
        false => {
            Err(Error::custom(format!("is nested deeper than {DEPTH} levels; send it in base64")))
        }
    }
}

/// Whether `json`, which is well formed, is nested at most [`DEPTH`] deep.
pub(super) fn is_shallow(json: &str) -> bool {
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => depth += 1,
            b']' | b'}' if !quoted => depth -= 1,
            _ => {}
        }
        if depth > DEPTH {
            return false;
        }
    }
    true
}

/// A map in which no key is repeated.
pub(super) fn map<'de, D, K, V>(from: D) -> Result<BTreeMap<K, V>, D::Error>
where
    D: Deserializer<'de>,
    K: Deserialize<'de> + Ord,
    V: Deserialize<'de>,
{
    from.deserialize_map(Unique(PhantomData))
}

/// A map of objects in which no key is repeated.
pub(super) fn objects<'de, D, K, V>(from: D) -> Result<BTreeMap<K, V>, D::Error>
where
    D: Deserializer<'de>,
    K: Deserialize<'de> + Ord,
    V: Deserialize<'de>,
{
    let objects: BTreeMap<K, Object<V>> = map(from)?;
    Ok(objects.into_iter().map(|(key, Object(value))| (key, value)).collect())
}

struct Unique<K, V>(PhantomData<(K, V)>);

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Visitor<'de> for Unique<K, V> {
    type Value = BTreeMap<K, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut map = BTreeMap::new();
        while let Some((key, value)) = entries.next_entry()? {
            if map.insert(key, value).is_some() {
                return Err(Error::custom("a key is given twice; give each once"));
            }
        }
        Ok(map)
    }
}

/// A value that must be an object. Serde would also accept a list of its fields' values.
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(OfFields(PhantomData)).map(Object)
    }
}

struct OfFields<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OfFields<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields))
    }
}

/// An object; see [`Object`].
pub(super) fn object<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Object::deserialize(from).map(|Object(value)| value)
}

/// A list of at most [`BATCH`] objects; reading stops at the first one too many.
pub(super) fn list<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    from.deserialize_seq(Bounded::<T, BATCH>(PhantomData))
}

/// A list of at most [`FLOW_NODES`] objects; reading stops at the first one too many.
pub(super) fn nodes<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    from.deserialize_seq(Bounded::<T, FLOW_NODES>(PhantomData))
}

struct Bounded<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Bounded<T, MOST> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Object(entry)) = entries.next_element()? {
            if list.len() == MOST {
                let why = format!("has more than {MOST} entries; send several requests");
                return Err(Error::custom(why));
            }
            list.push(entry);
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Body {
        #[serde(default, deserialize_with = "json")]
        json: Option<Box<RawValue>>,
        #[serde(default, deserialize_with = "map")]
        map: BTreeMap<String, u8>,
        #[serde(default, deserialize_with = "list")]
        list: Vec<Entry>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Entry {
        #[serde(default)]
        n: u8,
    }

    fn read(text: &str) -> Result<Body, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn null_is_a_value_and_absence_is_none() {
        assert_eq!(read(r#"{"json":null}"#).unwrap().json.unwrap().get(), "null");
        assert!(read("{}").unwrap().json.is_none());
    }

    #[test]
    fn a_key_given_twice_is_refused() {
        assert_eq!(read(r#"{"map":{"a":1,"b":2}}"#).unwrap().map.len(), 2);
        assert!(read(r#"{"map":{"a":1,"b":2,"a":1}}"#).is_err());
    }

    #[test]
    fn a_list_of_values_is_no_object() {
        assert_eq!(read(r#"{"list":[{"n":7}]}"#).unwrap().list, [Entry { n: 7 }]);
        for bad in [r#"{"list":[[7]]}"#, r#"{"list":[[]]}"#, r#"{"list":[{"m":7}]}"#] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert!(serde_json::from_str::<Object<Entry>>("[7]").is_err());
        assert!(serde_json::from_str::<Object<Entry>>(r#"{"n":7}"#).is_ok());
    }

    #[test]
    fn a_list_that_is_too_long_is_refused() {
        let list = |len: usize| format!(r#"{{"list":[{}]}}"#, vec!["{}"; len].join(","));
        assert_eq!(read(&list(BATCH)).unwrap().list.len(), BATCH);
        assert!(read(&list(BATCH + 1)).is_err());
    }

    #[test]
    fn only_real_nesting_counts() {
        let nested = |open: &str, close: &str, n: usize| {
            format!(r#"{{"json":{}1{}}}"#, open.repeat(n), close.repeat(n))
        };
        for (open, close) in [("[", "]"), (r#"{"[\"[":"#, "}"), (" [ ", "\n]")] {
            assert!(read(&nested(open, close, DEPTH)).is_ok(), "{open}");
            assert!(read(&nested(open, close, DEPTH + 1)).is_err(), "{open}");
        }
        assert!(read(&format!(r#"{{"json":"{}"}}"#, r#"[{\\\""#.repeat(500))).is_ok());
        assert!(read(&format!(r#"{{"json":[{}]}}"#, vec!["[]"; 500].join(","))).is_ok());
    }
}
