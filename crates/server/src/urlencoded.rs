//! What a browser's form sends: `application/x-www-form-urlencoded`, in a query or in a body.

/// The fields of a form, in their order; a name may come several times.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Fields(Vec<(String, String)>);

/// Most fields of a form.
const FIELDS: usize = 256;

impl Fields {
    /// The fields in `text`; `None` if an escape is broken, it is not UTF-8, or there are too many.
    pub(crate) fn parse(text: &[u8]) -> Option<Fields> {
        let pairs = text.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
        let mut fields = Vec::new();
        for pair in pairs {
            let mut halves = pair.splitn(2, |byte| *byte == b'=');
            let name = decoded(halves.next()?)?;
            fields.push((name, decoded(halves.next().unwrap_or_default())?));
            if fields.len() > FIELDS {
                return None;
            }
        }
        Some(Fields(fields))
    }

    /// The first value of `name` that is not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut named = self.0.iter().filter(|(known, value)| known == name && !value.is_empty());
        named.next().map(|(_, value)| value.trim())
    }

    /// Every value of `name` that is not empty.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.0.iter().filter(move |(known, value)| known == name && !value.is_empty());
        named.map(|(_, value)| value.trim())
    }
}

/// Text without its escapes; `None` if one is broken or it is not UTF-8.
pub(crate) fn decoded(value: &[u8]) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.iter();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |digit: Option<&u8>| char::from(*digit?).to_digit(16);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                (high * 16 + low) as u8
            }
            plain => *plain,
        });
    }
    String::from_utf8(bytes).ok()
}

/// `text` as a value of a query.
pub(crate) fn encoded(text: &str) -> String {
    let mut query = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                query.push(char::from(byte));
            }
            other => query.push_str(&format!("%{other:02X}")),
        }
    }
    query
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded_again() {
        for text in ["", "a b+c", "100 % & =", "grün\n", "{<\"'>}"] {
            assert_eq!(decoded(encoded(text).as_bytes()).as_deref(), Some(text));
        }
    }

    #[test]
    fn fields_keep_their_order_and_empty_ones_count_as_absent() {
        let fields = Fields::parse(b"state=a&lane=&state=b+c&x").unwrap();
        assert_eq!(fields.all("state").collect::<Vec<_>>(), ["a", "b c"]);
        assert_eq!((fields.get("lane"), fields.get("x"), fields.get("y")), (None, None, None));
        for broken in [&b"a=%"[..], b"a=%zz", b"%ff=1"] {
            assert_eq!(Fields::parse(broken), None);
        }
        assert_eq!(Fields::parse("a=1&".repeat(FIELDS + 1).as_bytes()), None);
    }
}
