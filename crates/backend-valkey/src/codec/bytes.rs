//! Numbers and length-prefixed bytes, most significant byte first: what Lua's `struct` reads and
//! writes.

/// Writes numbers and bytes one after the other.
#[derive(Debug, Default)]
pub(crate) struct Packer(pub(crate) Vec<u8>);

impl Packer {
    /// The low `N` bytes of a number.
    pub(crate) fn number<const N: usize>(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_be_bytes()[8 - N..]);
    }

    /// The low `N` bytes of a signed number.
    pub(crate) fn signed<const N: usize>(&mut self, number: i64) {
        self.number::<N>(number as u64);
    }

    /// Bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// All of it, which has `N` bytes.
    ///
    /// # Panics
    /// If it has not.
    pub(crate) fn fixed<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.0);
        bytes
    }

    /// How many bytes there are, in `N` bytes, and the bytes.
    pub(crate) fn bytes<const N: usize>(&mut self, bytes: &[u8]) {
        debug_assert!((bytes.len() as u64) < 1 << (8 * N), "limits keep a section this short");
        self.number::<N>(bytes.len() as u64);
        self.raw(bytes);
    }
}

/// Reads numbers and bytes from the front.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unpacker<'a>(pub(crate) &'a [u8]);

/// The bytes end too early.
#[derive(Debug, thiserror::Error)]
#[error("it ends too early")]
pub(crate) struct Short;

impl<'a> Unpacker<'a> {
    /// A number of `N` bytes.
    pub(crate) fn number<const N: usize>(&mut self) -> Result<u64, Short> {
        let bytes = self.raw(N)?;
        Ok(bytes.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte)))
    }

    /// A signed number of `N` bytes.
    pub(crate) fn signed<const N: usize>(&mut self) -> Result<i64, Short> {
        let unused = 64 - 8 * N as u32;
        Ok(((self.number::<N>()? << unused) as i64) >> unused)
    }

    /// `N` bytes as they are.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Short> {
        self.raw(N)?.try_into().map_err(|_| Short)
    }

    /// Bytes as they are.
    pub(crate) fn raw(&mut self, len: usize) -> Result<&'a [u8], Short> {
        let (bytes, rest) = self.0.split_at_checked(len).ok_or(Short)?;
        self.0 = rest;
        Ok(bytes)
    }

    /// Bytes after their count.
    pub(crate) fn bytes<const N: usize>(&mut self) -> Result<&'a [u8], Short> {
        let len = self.number::<N>()?;
        self.raw(usize::try_from(len).map_err(|_| Short)?)
    }
}
