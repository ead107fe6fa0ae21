//! The end of what a program wrote.

/// Keeps the last bytes of a stream.
pub(super) struct Tail {
    bytes: Vec<u8>,
    most: usize,
}

impl Tail {
    /// Keeps `most` bytes.
    pub(super) fn new(most: usize) -> Tail {
        Tail { bytes: Vec::new(), most }
    }

    /// Adds bytes and forgets the oldest.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        let surplus = self.bytes.len().saturating_sub(self.most);
        self.bytes.drain(..surplus);
    }

    /// The end of the stream as text of at most `most` bytes, without the white space around it.
    pub(super) fn text(&self, most: usize) -> String {
        // A character that was cut in half is dropped, not replaced.
        let whole = self.bytes.iter().position(|byte| byte & 0xc0 != 0x80).unwrap_or(0);
        let text = String::from_utf8_lossy(&self.bytes[whole..]);
        let text = text.trim();
        let mut from = text.len().saturating_sub(most);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        text[from..].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(most: usize, pieces: &[&[u8]]) -> Tail {
        let mut tail = Tail::new(most);
        pieces.iter().for_each(|piece| tail.push(piece));
        tail
    }

    #[test]
    fn the_last_bytes_are_kept() {
        assert_eq!(tail(4, &[b"abc", b"def"]).text(10), "cdef");
        assert_eq!(tail(4, &[b"abcdefgh"]).text(2), "gh");
        assert_eq!(tail(9, &[b" x \n"]).text(9), "x");
        assert_eq!(tail(4, &[]).text(4), "");
    }

    #[test]
    fn a_character_is_kept_whole_or_not_at_all() {
        assert_eq!(tail(3, &["aöö".as_bytes()]).text(9), "ö");
        assert_eq!(tail(9, &["aöö".as_bytes()]).text(3), "ö");
    }

    #[test]
    fn invalid_utf_8_is_replaced_within_the_bound() {
        let text = tail(9, &[b"\xff\xfe\xff"]).text(7);
        assert_eq!(text, "\u{fffd}\u{fffd}");
        assert_eq!(tail(9, &[b"\x80\x80"]).text(7), "\u{fffd}\u{fffd}");
    }
}
