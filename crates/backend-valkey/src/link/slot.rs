//! Which slot of a cluster a key belongs to.

/// How many slots a cluster has.
pub(crate) const SLOTS: usize = 16_384;

/// The slot of `key`: of the text in its first braces, unless that is empty.
pub(crate) fn of(key: &[u8]) -> u16 {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let close = rest.iter().position(|byte| *byte == b'}')?;
        (close > 0).then(|| &rest[..close])
    });
    crc16(tag.unwrap_or(key)) % SLOTS as u16
}

/// CRC-16/XMODEM, by half bytes: keys are short and the table is small.
fn crc16(bytes: &[u8]) -> u16 {
    const TABLE: [u16; 16] = [
        0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7, 0x8108, 0x9129, 0xa14a,
        0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef,
    ];
    let step = |crc: u16, half: u16| (crc << 4) ^ TABLE[usize::from((crc >> 12) ^ half)];
    bytes.iter().fold(0, |crc, byte| {
        let byte = u16::from(*byte);
        step(step(crc, byte >> 4), byte & 0xf)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        for (key, slot) in [("", 0), ("foo", 12_182), ("somekey", 11_058), ("foo{hash_tag}", 2_515)]
        {
            assert_eq!(of(key.as_bytes()), slot, "{key}");
        }
    }

    #[test]
    fn only_the_first_filled_braces_count() {
        for (key, same) in [
            ("{user1000}.following", "user1000"),
            ("foo{bar}{zap}", "bar"),
            ("foo{{bar}}zap", "{bar"),
            ("foo{}{bar}", "foo{}{bar}"),
            ("foo{bar", "foo{bar"),
        ] {
            assert_eq!(of(key.as_bytes()), crc16(same.as_bytes()) % SLOTS as u16, "{key}");
        }
    }
}
