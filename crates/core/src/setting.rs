//! Settings of a store: small values that the first caller fixes for all, such as how many partitions
//! there are.
//!
//! A setting belongs to the store and to no namespace. It never changes: callers that give another value
//! learn the one that holds, and decide what that means.

use bytes::Bytes;

use crate::bounds::SETTING_BYTES;
use crate::name::SettingName;
use crate::refusal::Refusal;

/// A setting, and the value that it gets if it has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    name: SettingName,
    value: Bytes,
}

impl Setting {
    /// Checks `name`, and that `value` has at most [`SETTING_BYTES`].
    pub fn new(name: &str, value: impl Into<Bytes>) -> Result<Setting, Refusal> {
        let (name, value) = (SettingName::new(name)?, value.into());
        Refusal::cap("value of a setting", value.len(), SETTING_BYTES, "bytes")?;
        Ok(Setting { name, value })
    }

    /// Which setting.
    pub fn name(&self) -> &SettingName {
        &self.name
    }

    /// The value that it gets if it has none.
    pub fn value(&self) -> &Bytes {
        &self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::Code;

    #[test]
    fn names_and_values_are_bounded() {
        let code = |name: &str, bytes: usize| {
            Setting::new(name, vec![0; bytes]).map_err(|refusal| refusal.code()).err()
        };
        assert_eq!(code("ring.k1", SETTING_BYTES), None);
        assert_eq!(code("ring.k1", 0), None);
        assert_eq!(code("ring.k1", SETTING_BYTES + 1), Some(Code::TooLarge));
        for name in ["", "a:b", "a/b", "{p:1}", "a b", ".."] {
            assert_eq!(code(name, 1), Some(Code::InvalidArgument), "{name:?}");
        }
    }
}
