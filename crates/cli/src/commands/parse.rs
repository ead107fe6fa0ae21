//! Values of flags that need more than their type's own parser.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use ff_api::Timestamp;
use ff_core::bounds::AMOUNT;
use ff_core::{Dimension, Refusal, TagKey, TagValue, Time};

use crate::error::Error;

/// `key=value`.
pub(crate) fn tag(text: &str) -> Result<(TagKey, TagValue), Refusal> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(Refusal::invalid("tag", "has no '='; give KEY=VALUE, for example team=core"));
    };
    Ok((TagKey::new(key)?, TagValue::new(value)?))
}

/// `dimension=amount`, the amount in whole units and not zero.
pub(crate) fn amount(text: &str) -> Result<(Dimension, u64), Refusal> {
    let Some((dimension, amount)) = text.split_once('=') else {
        let why = "has no '='; give DIMENSION=AMOUNT, for example tokens=2000";
        return Err(Refusal::invalid("amount", why));
    };
    let dimension = Dimension::new(dimension)?;
    let number = number(1, AMOUNT)(amount);
    Ok((dimension, number.map_err(|why| Refusal::invalid("amount", why))?))
}

/// A time in RFC 3339.
pub(crate) fn moment(text: &str) -> Result<Time, Refusal> {
    text.parse::<Timestamp>().map(|timestamp| timestamp.0)
}

/// Reads a whole number from `least` to `most`.
pub(crate) fn number<T: TryFrom<u64>>(
    least: u64,
    most: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| digits && (least..=most).contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            format!("'{text}' is not a whole number from {least} to {most}; give one")
        })
    }
}

/// Reads a whole number from `least` to `most`, either of which may be below zero.
pub(crate) fn integer<T: TryFrom<i64>>(
    least: i64,
    most: i64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let bare = text.strip_prefix('-').unwrap_or(text);
        let digits = !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| digits && (least..=most).contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            format!("'{text}' is not a whole number from {least} to {most}; give one")
        })
    }
}

/// The command for the page after `last`.
pub(crate) fn continued(command: &str, limit: usize, last: &str) -> String {
    let limit = if limit == 50 { String::new() } else { format!(" --limit {limit}") };
    format!("{command}{limit} --after {last}")
}

/// What was given, with every key once.
pub(crate) fn distinct<K: Ord + Display, V>(
    given: Vec<(K, V)>,
    field: &'static str,
) -> Result<BTreeMap<K, V>, Error> {
    let mut distinct = BTreeMap::new();
    for (key, value) in given {
        if distinct.contains_key(&key) {
            return Err(Error::usage(field, format!("{field} names {key} twice; give it once")));
        }
        distinct.insert(key, value);
    }
    Ok(distinct)
}

/// The names that were given, each once.
pub(crate) fn names<K: Ord + Display>(
    given: Vec<K>,
    field: &'static str,
) -> Result<BTreeSet<K>, Error> {
    let given = given.into_iter().map(|name| (name, ())).collect();
    Ok(distinct(given, field)?.into_keys().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_numbers_in_range_are_numbers() {
        let read = number::<u16>(1, 300);
        assert_eq!((read("1"), read("300")), (Ok(1), Ok(300)));
        for bad in ["", "0", "301", "-1", "+1", "1.0", "1e1", " 1", "NaN", "99999999999999999999"] {
            assert!(read(bad).unwrap_err().contains("from 1 to 300"), "{bad:?}");
        }
    }

    #[test]
    fn an_amount_is_a_dimension_and_a_whole_number() {
        let (dimension, number) = amount("tokens=2000").unwrap();
        assert_eq!((dimension.as_str(), number), ("tokens", 2_000));
        assert_eq!(amount("t=9007199254740992").unwrap().1, AMOUNT);
        for (bad, part) in [
            ("tokens", "DIMENSION=AMOUNT"),
            ("=5", "dimension is empty"),
            ("a b=5", "dimension has a character"),
            ("t=", "from 1 to 9007199254740992"),
            ("t=0", "from 1 to"),
            ("t=-1", "from 1 to"),
            ("t=1.5", "from 1 to"),
            ("t=1e3", "from 1 to"),
            ("t=9007199254740993", "from 1 to"),
            ("t=5=5", "from 1 to"),
        ] {
            let why = amount(bad).unwrap_err().to_string();
            assert!(why.contains(part), "{bad}: {why}");
        }
    }

    #[test]
    fn a_tag_is_split_at_its_first_equals_sign() {
        let (key, value) = tag("a=b=c").unwrap();
        assert_eq!((key.as_str(), value.as_str()), ("a", "b=c"));
        assert!(tag("a").is_err() && tag("=b").is_err());
    }
}
