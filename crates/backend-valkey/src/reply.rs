//! Reading what a function answered.

use bytes::Bytes;
use ff_core::Time;
use ff_store::StoreError;
use redis::Value;

/// A list.
pub(crate) fn list(value: Value) -> Result<Vec<Value>, StoreError> {
    match value {
        Value::Array(values) => Ok(values),
        other => Err(strange(&other)),
    }
}

/// A whole number, also when it comes as text.
pub(crate) fn number(value: &Value) -> Result<i64, StoreError> {
    match value {
        Value::Int(number) => Ok(*number),
        Value::BulkString(text) => score(text).ok_or_else(|| strange(value)),
        other => Err(strange(other)),
    }
}

/// A score as the server writes it: a double that is a whole number.
pub(crate) fn score(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    text.parse().ok().or_else(|| text.parse::<f64>().ok().map(|score| score as i64))
}

/// A number that is not negative.
pub(crate) fn count(value: &Value) -> Result<u64, StoreError> {
    u64::try_from(number(value)?).map_err(|_| strange(value))
}

/// A number, or `None` for an empty text.
pub(crate) fn maybe_number(value: &Value) -> Result<Option<i64>, StoreError> {
    match value {
        Value::BulkString(text) if text.is_empty() => Ok(None),
        other => number(other).map(Some),
    }
}

/// A moment.
pub(crate) fn time(value: &Value) -> Result<Time, StoreError> {
    Ok(Time::from_ms(u64::try_from(number(value)?).map_err(|_| strange(value))?))
}

/// The moment of an index entry. What cannot be one is as early as can be.
pub(crate) fn moment(value: &Value) -> Result<Time, StoreError> {
    let ms = u64::try_from(number(value)?).unwrap_or(0);
    Ok(Time::from_ms(ms.min(Time::MAX.as_ms())))
}

/// Bytes, or `None` where the server has nothing.
pub(crate) fn maybe_bytes(value: Value) -> Result<Option<Bytes>, StoreError> {
    match value {
        Value::BulkString(bytes) => Ok(Some(bytes.into())),
        Value::Nil | Value::Boolean(false) => Ok(None),
        other => Err(strange(&other)),
    }
}

/// Bytes that must be there.
pub(crate) fn bytes(value: Value) -> Result<Bytes, StoreError> {
    match value {
        Value::BulkString(bytes) => Ok(bytes.into()),
        other => Err(strange(&other)),
    }
}

/// A text that must be there.
pub(crate) fn text(value: Value) -> Result<String, StoreError> {
    match value {
        Value::BulkString(bytes) => {
            String::from_utf8(bytes).map_err(|_| StoreError::Corrupt("a text is not UTF-8".into()))
        }
        Value::SimpleString(text) => Ok(text),
        other => Err(strange(&other)),
    }
}

/// An answer of another shape than its function gives.
pub(crate) fn strange(value: &Value) -> StoreError {
    StoreError::Corrupt(format!("a function answered {value:?}"))
}

/// An answer that ends too early.
pub(crate) fn missing() -> StoreError {
    StoreError::Corrupt("a function answered too little".into())
}
