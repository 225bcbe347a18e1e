//! S3's additional checksums: of what was sent at once, of parts, and of objects made of parts.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use crc_fast::CrcAlgorithm::{Crc32Iscsi, Crc32IsoHdlc, Crc64Nvme};
use haulage::checksum::Crc64;
use serde::{Deserialize, Serialize};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

/// How a checksum is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Algorithm {
    Crc32,
    Crc32c,
    Crc64Nvme,
    Sha1,
    Sha256,
}

/// What the checksum of an object made of parts is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Scope {
    /// The checksums of the parts.
    Composite,
    /// All bytes of the object.
    FullObject,
}

/// The checksum of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checksum {
    pub(crate) algorithm: Algorithm,
    pub(crate) scope: Scope,
    /// In Base64, with the number of parts behind it where it is composite.
    pub(crate) value: Box<str>,
}

impl Algorithm {
    pub(crate) const ALL: [Self; 5] = [Self::Crc32, Self::Crc32c, Self::Crc64Nvme, Self::Sha1, Self::Sha256];

    /// As `x-amz-checksum-algorithm` has it, in any case.
    pub(super) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name().eq_ignore_ascii_case(text))
    }

    /// The algorithm whose checksums this header, or trailer, carries.
    pub(super) fn of_header(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.header().eq_ignore_ascii_case(name))
    }

    /// In documents.
    pub(super) fn name(self) -> &'static str {
        &self.element()["Checksum".len()..]
    }

    /// The header of its checksums.
    pub(super) fn header(self) -> &'static str {
        match self {
            Self::Crc32 => "x-amz-checksum-crc32",
            Self::Crc32c => "x-amz-checksum-crc32c",
            Self::Crc64Nvme => "x-amz-checksum-crc64nvme",
            Self::Sha1 => "x-amz-checksum-sha1",
            Self::Sha256 => "x-amz-checksum-sha256",
        }
    }

    /// The element of its checksums.
    pub(super) fn element(self) -> &'static str {
        match self {
            Self::Crc32 => "ChecksumCRC32",
            Self::Crc32c => "ChecksumCRC32C",
            Self::Crc64Nvme => "ChecksumCRC64NVME",
            Self::Sha1 => "ChecksumSHA1",
            Self::Sha256 => "ChecksumSHA256",
        }
    }

    /// How many bytes a checksum has.
    fn len(self) -> usize {
        match self {
            Self::Crc32 | Self::Crc32c => 4,
            Self::Crc64Nvme => 8,
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// Whether objects made of parts may have one of this scope.
    pub(super) fn allows(self, scope: Scope) -> bool {
        match self {
            Self::Crc32 | Self::Crc32c => true,
            Self::Crc64Nvme => scope == Scope::FullObject,
            Self::Sha1 | Self::Sha256 => scope == Scope::Composite,
        }
    }

    /// What objects made of parts have where the client does not say.
    pub(super) fn usual_scope(self) -> Scope {
        if self == Self::Crc64Nvme { Scope::FullObject } else { Scope::Composite }
    }

    /// Whether this is a checksum in Base64.
    pub(super) fn is_value(self, text: &str) -> bool {
        self.bytes(text).is_some()
    }

    fn bytes(self, text: &str) -> Option<Vec<u8>> {
        BASE64_STANDARD.decode(text).ok().filter(|bytes| bytes.len() == self.len())
    }

    /// The checksum of two stretches after one another, from theirs; only CRCs have one.
    fn combine(self, first: u64, next: u64, next_len: u64) -> Option<u64> {
        match self {
            Self::Crc32 => Some(crc_fast::checksum_combine(Crc32IsoHdlc, first, next, next_len)),
            Self::Crc32c => Some(crc_fast::checksum_combine(Crc32Iscsi, first, next, next_len)),
            Self::Crc64Nvme => Some(Crc64::from_u64(first).combine(Crc64::from_u64(next), next_len).to_u64()),
            Self::Sha1 | Self::Sha256 => None,
        }
    }

    /// The checksum of all bytes, from the checksums and lengths of the parts; `None` where they do not tell.
    pub(super) fn of_whole<'a>(self, parts: impl IntoIterator<Item = (&'a str, u64)>) -> Option<String> {
        let mut whole = 0;
        for (text, len) in parts {
            whole = self.combine(whole, number(&self.bytes(text)?), len)?;
        }
        let bytes = whole.to_be_bytes();
        Some(BASE64_STANDARD.encode(&bytes[bytes.len() - self.len()..]))
    }

    /// The checksum of the parts' checksums, and how many there are.
    pub(super) fn of_parts<'a>(self, parts: impl IntoIterator<Item = &'a str>) -> Option<String> {
        let mut hasher = Hasher::new(self);
        let mut count = 0;
        for text in parts {
            hasher.update(&self.bytes(text)?);
            count += 1;
        }
        Some(format!("{}-{count}", hasher.value()))
    }
}

/// The number that the bytes, most significant first, stand for.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The CRC-64/NVME as S3 writes it: most significant byte first.
pub(super) fn crc64_text(crc64: Crc64) -> String {
    BASE64_STANDARD.encode(crc64.to_u64().to_be_bytes())
}

impl Scope {
    /// In headers and documents.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Composite => "COMPOSITE",
            Self::FullObject => "FULL_OBJECT",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        [Self::Composite, Self::FullObject].into_iter().find(|scope| scope.name() == text)
    }
}

impl Checksum {
    /// Of all bytes of an object.
    pub(super) fn of_object(algorithm: Algorithm, value: String) -> Self {
        Self { algorithm, scope: Scope::FullObject, value: value.into() }
    }
}

/// A checksum that takes its bytes piece by piece.
pub(super) enum Hasher {
    Crc(Algorithm, crc_fast::Digest),
    Sha1(Sha1),
    Sha256(Sha256),
}

impl Hasher {
    pub(super) fn new(algorithm: Algorithm) -> Self {
        let crc = |kind| Self::Crc(algorithm, crc_fast::Digest::new(kind));
        match algorithm {
            Algorithm::Crc32 => crc(Crc32IsoHdlc),
            Algorithm::Crc32c => crc(Crc32Iscsi),
            Algorithm::Crc64Nvme => crc(Crc64Nvme),
            Algorithm::Sha1 => Self::Sha1(Sha1::default()),
            Algorithm::Sha256 => Self::Sha256(Sha256::default()),
        }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Crc(_, digest) => digest.update(bytes),
            Self::Sha1(digest) => digest.update(bytes),
            Self::Sha256(digest) => digest.update(bytes),
        }
    }

    /// The checksum in Base64.
    pub(super) fn value(self) -> String {
        match self {
            Self::Crc(algorithm, digest) => {
                let bytes = digest.finalize().to_be_bytes();
                BASE64_STANDARD.encode(&bytes[bytes.len() - algorithm.len()..])
            }
            Self::Sha1(digest) => BASE64_STANDARD.encode(digest.finalize()),
            Self::Sha256(digest) => BASE64_STANDARD.encode(digest.finalize()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(algorithm: Algorithm, bytes: &[u8]) -> String {
        let mut hasher = Hasher::new(algorithm);
        hasher.update(bytes);
        hasher.value()
    }

    #[test]
    fn check_values_are_the_published_ones() {
        let checks = [
            (Algorithm::Crc32, "y/Q5Jg=="),
            (Algorithm::Crc32c, "4waSgw=="),
            (Algorithm::Crc64Nvme, "rosUhgp5mIg="),
            (Algorithm::Sha1, "98O8HYCOBHMq32eZZczDTKeuNEE="),
            (Algorithm::Sha256, "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU="),
        ];
        for (algorithm, value) in checks {
            let computed = of(algorithm, b"123456789");
            assert_eq!(computed, value, "{algorithm:?}");
            assert!(algorithm.is_value(&computed));
            assert_eq!(Algorithm::parse(algorithm.name()), Some(algorithm));
        }
        assert_eq!(crc64_text(Crc64::of(b"123456789")), "rosUhgp5mIg=");
        assert!(!Algorithm::Crc32.is_value("y/Q5"));
    }

    proptest! {
        #[test]
        fn parts_combine_to_the_whole(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..6)) {
            for algorithm in [Algorithm::Crc32, Algorithm::Crc32c, Algorithm::Crc64Nvme] {
                let sums: Vec<String> = parts.iter().map(|part| of(algorithm, part)).collect();
                let told = sums.iter().zip(&parts).map(|(sum, part)| (&**sum, part.len() as u64));
                prop_assert_eq!(algorithm.of_whole(told), Some(of(algorithm, &parts.concat())));
            }
        }
    }

    #[test]
    fn a_composite_checksum_is_one_of_checksums() {
        let sums = [of(Algorithm::Sha256, b"a"), of(Algorithm::Sha256, b"b")];
        let raw: Vec<u8> = sums.iter().flat_map(|sum| BASE64_STANDARD.decode(sum).unwrap()).collect();
        let whole = Algorithm::Sha256.of_parts(sums.iter().map(|sum| &**sum)).unwrap();
        assert_eq!(whole, format!("{}-2", of(Algorithm::Sha256, &raw)));
        assert_eq!(Algorithm::Sha256.of_whole([(&*sums[0], 1)]), None);
    }
}
