//! MD5, for those who must have it.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use md5::Digest as _;

use super::lanes;

/// An MD5 value.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Md5([u8; 16]);

impl Md5 {
    /// The MD5 of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(md5::Md5::digest(bytes).into())
    }

    /// The MD5 of each of `inputs`, in their order.
    ///
    /// Several are hashed at once where the processor can, best 8 or 16 of about the same length: 8 take
    /// hardly longer than one. One alone, or without AVX2, is no quicker than [`Md5::of`].
    ///
    /// ```
    /// use haulage::checksum::Md5;
    /// assert_eq!(Md5::of_many(&[b"1234", b""]), [Md5::of(b"1234"), Md5::of(b"")]);
    /// ```
    pub fn of_many(inputs: &[&[u8]]) -> Vec<Self> {
        lanes::digests(inputs).into_iter().map(Self).collect()
    }

    /// Reads 32 hexadecimal digits; `None` where it is not that.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u128::from_str_radix(text, 16).ok().filter(|_| digits).map(|value| Self(value.to_be_bytes()))
    }

    pub(crate) fn to_bytes(self) -> [u8; 16] {
        self.0
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

impl<'de> serde::Deserialize<'de> for Md5 {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Self::from_hex(&text).ok_or_else(|| serde::de::Error::custom("expected 32 hexadecimal digits"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_values_are_the_published_ones() {
        assert_eq!(Md5::of(b"").to_string(), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(Md5::of(b"").to_base64(), "1B2M2Y8AsgTpgAmY7PhCfg==");
    }
}
