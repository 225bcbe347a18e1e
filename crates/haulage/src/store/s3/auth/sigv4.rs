//! Signing with AWS's Signature Version 4.
//!
//! The canonical request is the method, the path and the query as they are sent, the signed headers sorted, and the hash
//! of the body or a word in its place. Its hash, the time and the scope (day, region, service) are signed with a key that
//! is derived from the secret for that scope; it holds for a day, so that a request costs two hashes of a few hundred bytes.

mod presign;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit as _, Mac as _};
use http::HeaderValue;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName};
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;

use crate::error::{Error, ErrorKind, Result};
use crate::secret;

pub(super) const AMZ_DATE: HeaderName = HeaderName::from_static("x-amz-date");
pub(super) const AMZ_HASH: HeaderName = HeaderName::from_static("x-amz-content-sha256");
pub(super) const AMZ_TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");

/// Headers that are signed besides `host` and all that begin with `x-amz-`: what changes what a request means.
const SIGNED: [&str; 6] = ["content-md5", "content-type", "date", "if-match", "if-none-match", "range"];

/// The end of every scope.
const TERMINATION: &str = "aws4_request";

/// An access key and what proves that we hold it.
#[derive(Clone)]
pub(in crate::store::s3) struct Keys {
    id: String,
    secret: String,
    /// What goes along with keys that are good for a time only.
    token: Option<HeaderValue>,
}

impl Keys {
    /// # Errors
    /// `Permission` where they hold what no such keys hold, and HTTP could not carry.
    pub(in crate::store::s3) fn new(id: &str, secret: &str, token: Option<&str>) -> Result<Self> {
        secret::remember(secret);
        token.into_iter().for_each(secret::remember);
        let wrong = || {
            Error::new(ErrorKind::Permission, "sign", "s3://", "the access key is none").hint(
                "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or the profile's keys",
            )
        };
        let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'/' | b',' | b'=');
        if id.is_empty() || secret.is_empty() || !id.bytes().all(plain) {
            return Err(wrong());
        }
        let token = token.map(HeaderValue::from_str).transpose().map_err(|_| wrong())?;
        let token = token.map(|mut token| {
            token.set_sensitive(true);
            token
        });
        Ok(Self { id: id.to_owned(), secret: secret.to_owned(), token })
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({}, secret hidden)", self.id)
    }
}

/// A request before it is signed, all but its headers.
#[derive(Clone, Copy, Debug)]
pub(in crate::store::s3) struct Unsigned<'a> {
    pub(in crate::store::s3) method: &'a str,
    pub(in crate::store::s3) host: &'a HeaderValue,
    /// As sent.
    pub(in crate::store::s3) path: &'a str,
    /// As sent: sorted by name, and every name with its `=`.
    pub(in crate::store::s3) query: &'a str,
    pub(in crate::store::s3) region: &'a str,
}

/// Signs requests, and keeps what it derived from the secret.
#[derive(Debug, Default)]
pub(in crate::store::s3) struct Signer {
    key: RwLock<Option<Arc<DayKey>>>,
    now: Mutex<Stamp>,
}

/// A time in whole seconds, as requests write it.
#[derive(Clone, Debug, Default)]
struct Stamp {
    seconds: u64,
    /// `20130524T000000Z`; its first eight characters are the day.
    text: String,
}

impl Stamp {
    fn of(seconds: u64) -> Self {
        let at = i64::try_from(seconds).ok().and_then(|at| OffsetDateTime::from_unix_timestamp(at).ok());
        let at = at.unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let (date, time) = (at.date(), at.time());
        let text = format!(
            "{:04}{:02}{:02}T{:02}{:02}{:02}Z",
            date.year(),
            u8::from(date.month()),
            date.day(),
            time.hour(),
            time.minute(),
            time.second()
        );
        Self { seconds, text }
    }

    fn day(&self) -> &str {
        self.text.get(..8).unwrap_or_default()
    }
}

/// The key for one scope.
struct DayKey {
    id: String,
    scope: String,
    mac: Hmac<Sha256>,
}

impl Signer {
    /// Adds time, hash, token and signature to the headers. `hash` is that of the body, or what stands for it.
    pub(in crate::store::s3) fn sign(
        &self,
        keys: &Keys,
        request: Unsigned<'_>,
        hash: &HeaderValue,
        headers: &mut HeaderMap,
    ) {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let stamp = {
            let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
            if now.seconds != seconds {
                *now = Stamp::of(seconds);
            }
            now.clone()
        };
        self.sign_at(&stamp, keys, request, hash, headers);
    }

    fn sign_at(
        &self,
        stamp: &Stamp,
        keys: &Keys,
        request: Unsigned<'_>,
        hash: &HeaderValue,
        headers: &mut HeaderMap,
    ) {
        // Digits and letters only.
        if let Ok(date) = HeaderValue::from_str(&stamp.text) {
            headers.insert(AMZ_DATE, date);
        }
        headers.insert(AMZ_HASH, hash.clone());
        if let Some(token) = &keys.token {
            headers.insert(AMZ_TOKEN, token.clone());
        }
        let (names, canonical) = canonical(request, hash, headers);
        let key = self.key(keys, stamp.day(), request.region);
        let mut to_sign = format!("AWS4-HMAC-SHA256\n{}\n{}\n", stamp.text, key.scope);
        push_hex(&mut to_sign, &Sha256::digest(canonical));
        let signature = mac(&key.mac, to_sign.as_bytes());
        secret::remember_mac(signature);
        let mut text = format!(
            "AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={names}, Signature=",
            keys.id, key.scope
        );
        push_hex(&mut text, &signature);
        if let Ok(mut value) = HeaderValue::from_str(&text) {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
    }

    /// The key of this day, region and access key: derived once.
    fn key(&self, keys: &Keys, day: &str, region: &str) -> Arc<DayKey> {
        let scope = format!("{day}/{region}/s3/{TERMINATION}");
        let held = self.key.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(held) = held.filter(|held| held.scope == scope && held.id == keys.id) {
            return held;
        }
        let first = hmac(format!("AWS4{}", keys.secret).as_bytes());
        let derive = |key: Hmac<Sha256>, text: &str| hmac(&mac(&key, text.as_bytes()));
        let mac = [day, region, "s3", TERMINATION].into_iter().fold(first, derive);
        let derived = Arc::new(DayKey { id: keys.id.clone(), scope, mac });
        *self.key.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&derived));
        derived
    }
}

impl fmt::Debug for DayKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DayKey({}, hidden)", self.scope)
    }
}

/// The names of the signed headers, and the text that is hashed.
fn canonical(request: Unsigned<'_>, hash: &HeaderValue, headers: &HeaderMap) -> (String, String) {
    let is_signed = |name: &str| name.starts_with("x-amz-") || SIGNED.contains(&name);
    let signed = headers.iter().filter(|(name, _)| is_signed(name.as_str()));
    let mut signed: Vec<(&str, &HeaderValue)> = signed.map(|(name, value)| (name.as_str(), value)).collect();
    signed.push(("host", request.host));
    signed.sort_unstable_by_key(|(name, _)| *name);
    let mut text = String::with_capacity(1024);
    for part in [request.method, request.path, request.query] {
        text.push_str(part);
        text.push('\n');
    }
    let mut names = String::with_capacity(128);
    for (name, value) in signed {
        text.push_str(name);
        text.push(':');
        push_trimmed(&mut text, value.to_str().unwrap_or_default());
        text.push('\n');
        if !names.is_empty() {
            names.push(';');
        }
        names.push_str(name);
    }
    text.push('\n');
    text.push_str(&names);
    text.push('\n');
    text.push_str(hash.to_str().unwrap_or_default());
    (names, text)
}

/// A value as it is signed: no space at its ends, and one where there are several.
fn push_trimmed(text: &mut String, value: &str) {
    let value = value.trim();
    if !value.contains("  ") {
        return text.push_str(value);
    }
    let words = value.split(' ').filter(|word| !word.is_empty());
    for (number, word) in words.enumerate() {
        if number > 0 {
            text.push(' ');
        }
        text.push_str(word);
    }
}

fn hmac(key: &[u8]) -> Hmac<Sha256> {
    // Keys of any length will do.
    Hmac::<Sha256>::new_from_slice(key).unwrap_or_else(|_| Hmac::<Sha256>::new(&Default::default()))
}

fn mac(key: &Hmac<Sha256>, text: &[u8]) -> [u8; 32] {
    let mut mac = key.clone();
    mac.update(text);
    mac.finalize().into_bytes().into()
}

/// The hash of a body, as a header.
pub(in crate::store::s3) fn hash_of(body: &[u8]) -> HeaderValue {
    let mut text = String::with_capacity(64);
    push_hex(&mut text, &Sha256::digest(body));
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("UNSIGNED-PAYLOAD"))
}

fn push_hex(text: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    text.extend(digits.map(|digit| char::from(DIGITS[usize::from(digit)])));
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    /// The request of one of the examples of "Authenticating Requests: Using the Authorization Header" in S3's reference.
    fn signature(
        method: &str,
        path: &str,
        query: &str,
        hash: &str,
        more: &[(&'static str, &'static str)],
    ) -> String {
        let pairs =
            more.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let mut headers: HeaderMap = pairs.collect();
        let keys =
            Keys::new("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", None).unwrap();
        let host = HeaderValue::from_static("examplebucket.s3.amazonaws.com");
        let request = Unsigned { method, host: &host, path, query, region: "us-east-1" };
        let stamp = Stamp::of(1_369_353_600);
        let signer = Signer::default();
        let hash = HeaderValue::from_str(hash).unwrap();
        signer.sign_at(&stamp, &keys, request, &hash, &mut headers);
        // Again, with the key that is kept.
        let first = headers[AUTHORIZATION].clone();
        signer.sign_at(&stamp, &keys, request, &hash, &mut headers);
        assert_eq!(headers[AUTHORIZATION], first);
        assert_eq!(headers[AMZ_DATE], "20130524T000000Z");
        first.to_str().unwrap().to_owned()
    }

    #[test]
    fn signatures_are_those_of_the_reference() {
        let authorization = signature("GET", "/test.txt", "", EMPTY, &[("range", "bytes=0-9")]);
        assert_eq!(
            authorization,
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, \
             SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, \
             Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        );
        let hash = hash_of(b"Welcome to Amazon S3.");
        assert_eq!(hash, "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072");
        let more = [("date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")];
        let authorization = signature("PUT", "/test%24file.text", "", hash.to_str().unwrap(), &more);
        assert!(authorization.ends_with("=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
        assert!(authorization.contains("=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class,"));
        let authorization = signature("GET", "/", "lifecycle=", EMPTY, &[]);
        assert!(authorization.ends_with("=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
        let authorization = signature("GET", "/", "max-keys=2&prefix=J", EMPTY, &[]);
        assert!(authorization.ends_with("=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
        assert_eq!(hash_of(b""), EMPTY);
    }

    #[test]
    fn a_token_goes_along_and_spaces_are_folded() {
        let keys = Keys::new("id", "secret", Some("the-session-token")).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert("x-amz-meta-a", HeaderValue::from_static(" b   c "));
        headers.insert("user-agent", HeaderValue::from_static("haulage"));
        let host = HeaderValue::from_static("h");
        let request = Unsigned { method: "GET", host: &host, path: "/", query: "", region: "r" };
        let hash = HeaderValue::from_static("UNSIGNED-PAYLOAD");
        Signer::default().sign(&keys, request, &hash, &mut headers);
        let (names, text) = canonical(request, &hash, &headers);
        assert_eq!(names, "host;x-amz-content-sha256;x-amz-date;x-amz-meta-a;x-amz-security-token");
        assert!(text.contains("\nx-amz-meta-a:b c\n") && text.ends_with("\nUNSIGNED-PAYLOAD"), "{text}");
        assert!(text.contains("\nx-amz-security-token:the-session-token\n"));
    }

    #[test]
    fn another_day_region_or_key_takes_another_signature() {
        let signer = Signer::default();
        let key = |id: &str, day: &str, region: &str| {
            let key = signer.key(&Keys::new(id, "secret", None).unwrap(), day, region);
            (key.scope.clone(), mac(&key.mac, b"text"))
        };
        let first = key("a", "20130524", "us-east-1");
        assert_ne!(key("a", "20130525", "us-east-1").1, first.1);
        assert_ne!(key("a", "20130524", "us-west-1").1, first.1);
        assert_eq!(key("b", "20130524", "us-east-1"), first, "the secret is the same");
        assert_eq!(key("a", "20130524", "us-east-1"), first);
    }

    #[test]
    fn keys_are_hidden_and_odd_ones_refused() {
        let keys = Keys::new("AKIA", "very-secret-key", Some("very-secret-token")).unwrap();
        assert!(!format!("{keys:?}").contains("very-secret"));
        for (id, secret, token) in
            [("", "s", None), ("a", "", None), ("a/b", "s", None), ("a", "s", Some("a\nb"))]
        {
            let error = Keys::new(id, secret, token).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Permission);
            let hint =
                "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or the profile's keys";
            assert_eq!(error.hint_text(), Some(hint));
        }
    }
}
