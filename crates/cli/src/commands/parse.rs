//! Values of flags that need more than their type's own parser.

use ff_api::Timestamp;
use ff_core::{Refusal, TagKey, TagValue, Time};

use crate::error::Error;

/// `key=value`.
pub(crate) fn tag(text: &str) -> Result<(TagKey, TagValue), Refusal> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(Refusal::invalid("tag", "has no '='; give KEY=VALUE, for example team=core"));
    };
    Ok((TagKey::new(key)?, TagValue::new(value)?))
}

/// A moment in RFC 3339.
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

/// The command for the page after `last`.
pub(crate) fn continued(command: &str, limit: usize, last: &str) -> String {
    let limit = if limit == 50 { String::new() } else { format!(" --limit {limit}") };
    format!("{command}{limit} --after {last}")
}

/// Tags with every key once.
pub(crate) fn distinct(
    tags: Vec<(TagKey, TagValue)>,
    field: &'static str,
) -> Result<ff_core::record::Tags, Error> {
    let mut distinct = ff_core::record::Tags::new();
    for (key, value) in tags {
        if distinct.contains_key(&key) {
            return Err(Error::usage(field, format!("{field} names {key} twice; give it once")));
        }
        distinct.insert(key, value);
    }
    Ok(distinct)
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
    fn a_tag_is_split_at_its_first_equals_sign() {
        let (key, value) = tag("a=b=c").unwrap();
        assert_eq!((key.as_str(), value.as_str()), ("a", "b=c"));
        assert!(tag("a").is_err() && tag("=b").is_err());
    }
}
