//! SHA-256, its HMAC and hexadecimal digits.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

/// The SHA-256 of no bytes.
pub(crate) const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The digits of some bytes, in lower case.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The bytes of some digits; `None` where they are none.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pair = |two: &[u8]| match two {
        [high, low] => Some((digit(*high)? * 16 + digit(*low)?) as u8),
        _ => None,
    };
    text.as_bytes().chunks(2).map(pair).collect()
}

/// The digits of the SHA-256 of some bytes.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// A key that signs.
#[derive(Clone)]
pub(crate) struct SigningKey(Hmac<Sha256>);

impl SigningKey {
    pub(super) fn new(secret: &[u8]) -> Self {
        // HMAC takes keys of any length.
        Self(Hmac::new_from_slice(secret).unwrap_or_else(|_| Hmac::new(&Default::default())))
    }

    /// The key made from this one and a text.
    pub(super) fn derive(&self, text: &str) -> Self {
        let mut mac = self.0.clone();
        mac.update(text.as_bytes());
        Self::new(&mac.finalize().into_bytes())
    }

    /// Whether `signature`, in digits, is that of `text`, in a time that does not tell where they differ.
    pub(crate) fn verifies(&self, text: &str, signature: &str) -> bool {
        let mut mac = self.0.clone();
        mac.update(text.as_bytes());
        unhex(signature).is_some_and(|bytes| mac.verify_slice(&bytes).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_read_back() {
        assert_eq!(hex(&[0, 0xA5, 0xFF]), "00a5ff");
        assert_eq!(unhex("00A5ff"), Some(vec![0, 0xA5, 0xFF]));
        for bad in ["0", "zz", "+1", "é1"] {
            assert_eq!(unhex(bad), None, "{bad}");
        }
        assert_eq!(sha256(b""), EMPTY);
    }
}
