//! URLs that carry their signature in the query.

use std::time::{SystemTime, UNIX_EPOCH};

use http::HeaderValue;
use http::header::HeaderMap;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest as _, Sha256};

use super::{Keys, Signer, Stamp, Unsigned, canonical, mac, push_hex};
use crate::secret;

/// What stands for a body that nobody has hashed.
const UNSIGNED_BODY: HeaderValue = HeaderValue::from_static("UNSIGNED-PAYLOAD");

/// What a query escapes.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

impl Signer {
    /// The query of a URL that is good by itself for so many seconds, with its signature: for a request without a body that is
    /// signed, and with no header but `host`.
    pub(in crate::store::s3) fn presign(
        &self,
        keys: &Keys,
        request: Unsigned<'_>,
        seconds: u64,
        payer: bool,
    ) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        self.presign_at(&Stamp::of(now), keys, request, seconds, payer)
    }

    fn presign_at(
        &self,
        stamp: &Stamp,
        keys: &Keys,
        request: Unsigned<'_>,
        seconds: u64,
        payer: bool,
    ) -> String {
        let key = self.key(keys, stamp.day(), request.region);
        let escaped = |text: &str| utf8_percent_encode(text, QUERY).to_string();
        let credential = escaped(&format!("{}/{}", keys.id, key.scope));
        let mut query = format!(
            "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={credential}&X-Amz-Date={}&X-Amz-Expires={seconds}",
            stamp.text
        );
        if let Some(token) = keys.token.as_ref().and_then(|token| token.to_str().ok()) {
            query.push_str(&format!("&X-Amz-Security-Token={}", escaped(token)));
        }
        query.push_str("&X-Amz-SignedHeaders=host");
        if payer {
            query.push_str("&x-amz-request-payer=requester");
        }
        let request = Unsigned { query: &query, ..request };
        let hash = UNSIGNED_BODY;
        let (_, canonical) = canonical(request, &hash, &HeaderMap::new());
        let mut to_sign = format!("AWS4-HMAC-SHA256\n{}\n{}\n", stamp.text, key.scope);
        push_hex(&mut to_sign, &Sha256::digest(canonical));
        let signature = mac(&key.mac, to_sign.as_bytes());
        secret::remember_mac(signature);
        query.push_str("&X-Amz-Signature=");
        push_hex(&mut query, &signature);
        query
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_signed_as_those_of_the_reference() {
        let keys =
            |token| Keys::new("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", token);
        let host = HeaderValue::from_static("examplebucket.s3.amazonaws.com");
        let request =
            Unsigned { method: "GET", host: &host, path: "/test.txt", query: "", region: "us-east-1" };
        let (signer, stamp) = (Signer::default(), Stamp::of(1_369_353_600));
        assert_eq!(
            signer.presign_at(&stamp, &keys(None).unwrap(), request, 86_400, false),
            "X-Amz-Algorithm=AWS4-HMAC-SHA256\
             &X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request\
             &X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host\
             &X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
        );
        let with_more = signer.presign_at(&stamp, &keys(Some("a+b/c=")).unwrap(), request, 60, true);
        let names: Vec<&str> = with_more.split('&').filter_map(|pair| pair.split('=').next()).collect();
        assert!(names[..names.len() - 1].is_sorted() && names.contains(&"x-amz-request-payer"), "{names:?}");
        assert!(with_more.contains("&X-Amz-Security-Token=a%2Bb%2Fc%3D&"));
    }
}
