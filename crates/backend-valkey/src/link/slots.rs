//! The reply of CLUSTER SLOTS.

use std::ops::RangeInclusive;

use redis::Value;

use super::dial::Address;

/// Slots that one primary serves.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) slots: RangeInclusive<usize>,
    pub(crate) primary: Address,
}

/// Reads the reply of a node that was reached at `host`: a node without a name has
/// that host.
pub(crate) fn parse(reply: Value, host: &str) -> Option<Vec<Range>> {
    let Value::Array(ranges) = reply else { return None };
    ranges.into_iter().map(|range| parse_range(range, host)).collect()
}

fn parse_range(range: Value, reached_at: &str) -> Option<Range> {
    let Value::Array(parts) = range else { return None };
    let [Value::Int(first), Value::Int(last), Value::Array(primary), ..] = parts.as_slice() else {
        return None;
    };
    let slots = usize::try_from(*first).ok()?..=usize::try_from(*last).ok()?;
    let [name, Value::Int(port), ..] = primary.as_slice() else { return None };
    let host = match name {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok()?,
        _ => "",
    };
    let host = if matches!(host, "" | "?") { reached_at } else { host };
    let address = Address { host: host.to_owned(), port: u16::try_from(*port).ok()? };
    Some(Range { slots, primary: address })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    fn range(first: i64, last: i64, name: Value, port: i64) -> Value {
        let node = Value::Array(vec![name, Value::Int(port), text("id"), Value::Array(vec![])]);
        let replica = node.clone();
        Value::Array(vec![Value::Int(first), Value::Int(last), node, replica])
    }

    fn primary(host: &str, port: u16) -> Address {
        Address { host: host.into(), port }
    }

    #[test]
    fn ranges_name_their_primary() {
        let reply = Value::Array(vec![
            range(0, 5_460, text("10.0.0.1"), 7_001),
            range(5_461, 16_383, text(""), 7_002),
            range(9, 9, Value::Nil, 7_003),
            range(10, 10, text("?"), 7_004),
        ]);
        let ranges = parse(reply, "seed").unwrap();
        assert_eq!(ranges[0], Range { slots: 0..=5_460, primary: primary("10.0.0.1", 7_001) });
        assert_eq!(ranges[1], Range { slots: 5_461..=16_383, primary: primary("seed", 7_002) });
        assert_eq!(ranges[2].primary, primary("seed", 7_003));
        assert_eq!(ranges[3].primary, primary("seed", 7_004));
    }

    #[test]
    fn nonsense_is_no_map() {
        for reply in [
            Value::Nil,
            Value::Array(vec![Value::Int(1)]),
            Value::Array(vec![range(-1, 5, text("h"), 1)]),
            Value::Array(vec![range(1, 5, text("h"), 70_000)]),
        ] {
            assert_eq!(parse(reply, "seed"), None);
        }
    }
}
