//! Integers as JSON has them: where an integer is expected, `30000.0` and `3e4` are 30000.
//!
//! Many languages have one type of number and write whole ones either way. A number with a fraction,
//! or one beyond the integers that a double represents exactly, is no integer.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, EnumAccess, Error, MapAccess, SeqAccess, Visitor};

/// Up to here a double represents every integer exactly: 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads what `D` reads, and integers also where they are written as floating point.
pub(crate) struct Whole<D>(pub(crate) D);

macro_rules! pass {
    ($is_integer:literal: $($method:ident)+) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.0.$method(Values::<V, $is_integer>(visitor))
        }
    )+ };
}

macro_rules! pass_named {
    ($($method:ident($($argument:ident: $of:ty),+))+) => { $(
        fn $method<V: Visitor<'de>>(self, $($argument: $of,)+ visitor: V) -> Result<V::Value, D::Error> {
            self.0.$method($($argument,)+ Values::<V, false>(visitor))
        }
    )+ };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Whole<D> {
    type Error = D::Error;

    pass!(true: deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
          deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128);
    pass!(false: deserialize_any deserialize_bool deserialize_f32 deserialize_f64 deserialize_char
          deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf
          deserialize_option deserialize_unit deserialize_seq deserialize_map
          deserialize_identifier deserialize_ignored_any);
    pass_named! {
        deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

/// Passes on a value; whether an integer is expected.
struct Values<V, const IS_INTEGER: bool>(V);

macro_rules! visit {
    ($($method:ident($of:ty))+) => { $(
        fn $method<E: Error>(self, value: $of) -> Result<V::Value, E> {
            self.0.$method(value)
        }
    )+ };
}

impl<'de, V: Visitor<'de>, const IS_INTEGER: bool> Visitor<'de> for Values<V, IS_INTEGER> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    visit! {
        visit_bool(bool) visit_i64(i64) visit_i128(i128) visit_u64(u64) visit_u128(u128)
        visit_str(&str) visit_borrowed_str(&'de str) visit_string(String)
        visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        match IS_INTEGER && value.fract() == 0.0 && value.abs() <= EXACT {
            true if value < 0.0 => self.0.visit_i64(value as i64),
            true => self.0.visit_u64(value as u64),
            false => self.0.visit_f64(value),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Whole(from))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Whole(from))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Whole(entries))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Whole(entries))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(variant)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Whole<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Whole(seed))
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Whole<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Whole(seed))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Whole<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Whole(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::value::RawValue;

    #[derive(Debug, Deserialize)]
    struct Body {
        #[serde(default)]
        small: Option<u8>,
        #[serde(default)]
        signed: Vec<i16>,
        #[serde(default)]
        large: u64,
        #[serde(default)]
        raw: Option<Box<RawValue>>,
    }

    fn read(text: &str) -> Result<Body, serde_json::Error> {
        Body::deserialize(Whole(&mut serde_json::Deserializer::from_str(text)))
    }

    #[test]
    fn a_whole_number_is_an_integer_however_it_is_written() {
        let body = read(r#"{"small":7.0,"signed":[-2.0,3e2,4],"large":9007199254740992.0}"#);
        let Body { small, signed, large, .. } = body.unwrap();
        assert_eq!((small, signed, large), (Some(7), vec![-2, 300, 4], 1 << 53));
    }

    #[test]
    fn a_fraction_a_number_out_of_range_and_a_text_are_no_integers() {
        for bad in ["7.5", "256.0", "-1.0", "1e300", "\"7\"", "true"] {
            assert!(read(&format!(r#"{{"small":{bad}}}"#)).is_err(), "{bad}");
        }
        assert!(read(r#"{"large":9007199254740994.0}"#).is_err());
        assert!(read(r#"{"large":18446744073709551615}"#).is_ok());
    }

    #[test]
    fn a_payload_keeps_its_bytes() {
        let body = read(r#"{"raw": {"n" : 1.0,"m":[2.50]}}"#).unwrap();
        assert_eq!(body.raw.unwrap().get(), r#"{"n" : 1.0,"m":[2.50]}"#);
    }
}
