//! Tags in a query: `key=value`, several separated by commas. A comma or a backslash inside a value
//! has a backslash before it.

use ff_core::{Refusal, TagKey, TagValue};

/// The query for `tags`.
pub fn write_tags(tags: &[(TagKey, TagValue)]) -> String {
    let escaped = |value: &TagValue| value.as_str().replace('\\', "\\\\").replace(',', "\\,");
    let tags = tags.iter().map(|(key, value)| format!("{key}={}", escaped(value)));
    tags.collect::<Vec<_>>().join(",")
}

/// The tags of a query.
pub fn read_tags(text: &str) -> Result<Vec<(TagKey, TagValue)>, Refusal> {
    let bad = || Refusal::invalid("tags", "must be key=value, several separated by commas");
    let mut tags = Vec::new();
    let mut characters = text.chars();
    loop {
        let mut tag = String::new();
        let ended = loop {
            match characters.next() {
                Some('\\') => tag.push(characters.next().ok_or_else(bad)?),
                Some(',') => break false,
                Some(other) => tag.push(other),
                None => break true,
            }
        };
        let (key, value) = tag.split_once('=').ok_or_else(bad)?;
        tags.push((key.parse()?, value.parse()?));
        if ended {
            return Ok(tags);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_value_reads_back_as_it_was_written() {
        let tag = |value: &str| (TagKey::new("k").unwrap(), TagValue::new(value).unwrap());
        let tags = ["", "a", "a, b", "x,k=1", "\\", "\\,", "=", "größe"].map(tag);
        assert_eq!(read_tags(&write_tags(&tags)).unwrap(), tags);
    }

    #[test]
    fn an_invalid_tag_is_refused() {
        for bad in ["", "a", "a=1,", ",a=1", "a=1\\", "a b=1"] {
            assert!(read_tags(bad).is_err(), "{bad:?}");
        }
    }
}
