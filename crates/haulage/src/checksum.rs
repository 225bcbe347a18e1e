//! Checksums: CRC-64/NVME by default, because the CRCs of blocks combine into the CRC of the
//! whole without another read, and MD5 on request.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use crc_fast::CrcAlgorithm::Crc64Nvme;
use md5::Digest as _;

/// A CRC-64/NVME value.
///
/// ```
/// use haulage::checksum::Crc64;
/// let (head, tail) = (Crc64::of(b"1234"), Crc64::of(b"56789"));
/// assert_eq!(head.combine(tail, 5), Crc64::of(b"123456789"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Crc64(u64);

impl Crc64 {
    /// The CRC of no bytes at all.
    pub const EMPTY: Crc64 = Crc64(0);

    /// The CRC of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(crc_fast::checksum(Crc64Nvme, bytes))
    }

    /// A CRC from its number.
    pub const fn from_u64(value: u64) -> Self {
        Self(value)
    }

    /// The CRC as a number.
    pub const fn to_u64(self) -> u64 {
        self.0
    }

    /// The CRC of this data followed by `next_len` bytes whose CRC is `next`.
    #[must_use]
    pub fn combine(self, next: Crc64, next_len: u64) -> Self {
        Self(crc_fast::checksum_combine(Crc64Nvme, self.0, next.0, next_len))
    }

    /// As Azure writes it in a header: Base64 of the eight bytes, least significant first.
    pub fn to_azure(self) -> String {
        BASE64_STANDARD.encode(self.0.to_le_bytes())
    }

    /// Reads Azure's form; `None` where it is not one.
    pub fn from_azure(text: &str) -> Option<Self> {
        let bytes = BASE64_STANDARD.decode(text).ok()?;
        Some(Self(u64::from_le_bytes(bytes.try_into().ok()?)))
    }

    /// Reads the 16 hexadecimal digits that [`fmt::Display`] writes.
    pub fn from_hex(text: &str) -> Option<Self> {
        (text.len() == 16).then(|| u64::from_str_radix(text, 16).ok().map(Self))?
    }
}

impl fmt::Display for Crc64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl serde::Serialize for Crc64 {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A CRC64 that takes its bytes piece by piece.
#[derive(Clone, Debug)]
pub struct Crc64Stream(crc_fast::Digest);

impl Default for Crc64Stream {
    fn default() -> Self {
        Self(crc_fast::Digest::new(Crc64Nvme))
    }
}

impl Crc64Stream {
    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The CRC of all bytes so far.
    pub fn value(&self) -> Crc64 {
        Crc64(self.0.finalize())
    }
}

/// An MD5 value.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Md5([u8; 16]);

impl Md5 {
    /// The MD5 of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(md5::Md5::digest(bytes).into())
    }

    /// As HTTP writes it: Base64 of the sixteen bytes.
    pub fn to_base64(self) -> String {
        BASE64_STANDARD.encode(self.0)
    }

    /// Reads HTTP's form; `None` where it is not one.
    pub fn from_base64(text: &str) -> Option<Self> {
        let bytes = BASE64_STANDARD.decode(text).ok()?;
        Some(Self(bytes.try_into().ok()?))
    }
}

impl fmt::Display for Md5 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Md5 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Md5({self})")
    }
}

impl serde::Serialize for Md5 {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// An MD5 that takes its bytes piece by piece, in order.
#[derive(Clone, Default)]
pub struct Md5Stream(md5::Md5);

impl Md5Stream {
    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The MD5 of all bytes so far.
    pub fn value(self) -> Md5 {
        Md5(self.0.finalize().into())
    }
}

/// Which checksum guards the bytes on the wire and is stored with the object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChecksumMode {
    /// CRC64 on every body and for the whole: nearly free, the default.
    #[default]
    Crc64,
    /// MD5 on every body and as the object's Content-MD5, and CRC64 for the whole.
    Md5,
    /// Nothing on the wire. CRC64 is still stored and compared: it costs nothing worth saving.
    None,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn check_values_are_the_published_ones() {
        assert_eq!(Crc64::of(b"123456789").to_u64(), 0xAE8B_1486_0A79_9888);
        assert_eq!(Crc64::of(b""), Crc64::EMPTY);
        assert_eq!(Md5::of(b"").to_string(), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(Md5::of(b"").to_base64(), "1B2M2Y8AsgTpgAmY7PhCfg==");
    }

    proptest! {
        #[test]
        fn blocks_combine_to_the_whole(blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8)) {
            let whole: Vec<u8> = blocks.concat();
            let mut combined = Crc64::EMPTY;
            let mut stream = Crc64Stream::default();
            for block in &blocks {
                combined = combined.combine(Crc64::of(block), block.len() as u64);
                stream.update(block);
            }
            prop_assert_eq!(combined, Crc64::of(&whole));
            prop_assert_eq!(stream.value(), combined);
        }

        #[test]
        fn text_forms_survive_a_round_trip(value in any::<u64>()) {
            let crc = Crc64::from_u64(value);
            prop_assert_eq!(Crc64::from_azure(&crc.to_azure()), Some(crc));
            prop_assert_eq!(Crc64::from_hex(&crc.to_string()), Some(crc));
        }
    }
}
