//! Where an object is: `s3://bucket/key`. After the bucket every character counts as it stands.

use crate::error::{Error, ErrorKind, Result};

/// What is wrong with the name of a bucket, most often.
pub(super) const NAMES: &str = "bucket names have 3 to 63 lower-case letters, digits, dots and hyphens";

/// Where an object, prefix or bucket is. At which service, the options and the environment say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct S3Address {
    /// The bucket; empty for all that belong to the account.
    pub bucket: String,
    /// Object or prefix; empty for the bucket itself.
    pub key: String,
    /// The remote of the configuration that it was named by, and which says how it is reached.
    pub remote: Option<String>,
}

impl S3Address {
    /// Takes apart `s3://bucket/key`.
    ///
    /// # Errors
    /// `Usage` for what cannot be the name of a bucket, and for a key without one.
    pub fn parse(text: &str) -> Result<Self> {
        let rest = text.strip_prefix("s3://").unwrap_or(text);
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.contains('@') {
            // Before it may stand a secret that belongs nowhere, and what follows is not needed to find the mistake.
            return Err(Error::new(ErrorKind::Usage, "open", "s3://", "keys cannot stand in an s3:// URL")
                .hint("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"));
        }
        if bucket.is_empty() && !key.is_empty() {
            return Err(Error::new(ErrorKind::Usage, "open", text, "a key without a bucket")
                .hint("write s3://bucket/key"));
        }
        if !bucket.is_empty() && !is_bucket(bucket) {
            let cause = format!("`{bucket}` is no bucket name");
            return Err(Error::new(ErrorKind::Usage, "open", text, cause).hint(NAMES));
        }
        Ok(Self { bucket: bucket.to_owned(), key: key.to_owned(), remote: None })
    }
}

/// Whether this may be a bucket somewhere: services other than AWS's are less strict, but it must stand in a host and in a path
/// as it is.
pub(super) fn is_bucket(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=255).contains(&name.len()) && name.bytes().all(plain) && !matches!(name, "." | "..")
}

/// A name in a bucket as its user would write it.
pub(super) fn display(bucket: &str, key: &str) -> String {
    let slash = if key.is_empty() { "" } else { "/" };
    format!("s3://{bucket}{slash}{key}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_of_a_key_counts() {
        for (text, bucket, key) in [
            ("s3://", "", ""),
            ("s3://b", "b", ""),
            ("s3://b/", "b", ""),
            ("s3://b.c-d_1/a #b?c%41+ü.nc", "b.c-d_1", "a #b?c%41+ü.nc"),
            ("s3://b//a/../b/./", "b", "/a/../b/./"),
        ] {
            let parsed = S3Address::parse(text).unwrap();
            assert_eq!((parsed.bucket.as_str(), parsed.key.as_str()), (bucket, key), "{text}");
            assert_eq!(display(bucket, key), if text == "s3://b/" { "s3://b" } else { text });
        }
    }

    #[test]
    fn what_is_no_bucket_is_refused_and_no_key_told() {
        let wrong = |text: &str| S3Address::parse(text).unwrap_err();
        for text in ["s3:///k", "s3://b c/k", "s3://../k", "s3://b%2Fc/k", "s3://b:c/k"] {
            assert_eq!(wrong(text).kind(), ErrorKind::Usage, "{text}");
        }
        assert_eq!(wrong("s3://b c").hint_text(), Some(NAMES));
        assert_eq!(wrong("s3:///k").hint_text(), Some("write s3://bucket/key"));
        let error = wrong("s3://AKIAEXAMPLE:hunter2@b/k");
        assert!(!format!("{error:?}").contains("hunter2"));
        let hint = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE";
        assert_eq!(error.hint_text(), Some(hint));
    }
}
