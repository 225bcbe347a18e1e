//! Where a list goes on: names and keys in the opaque form that the service gives them in headers.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::error::INVALID_INPUT;
use crate::wire::error::Answer;

/// A key as a continuation carries it: `1!4!YWJj`, with the length of what follows.
pub(super) fn encode(key: &str) -> String {
    let text = BASE64_URL_SAFE_NO_PAD.encode(key);
    format!("1!{}!{text}", text.len())
}

/// Reads it again.
pub(super) fn decode(token: &str) -> Answer<String> {
    let read = || {
        let (len, text) = token.strip_prefix("1!")?.split_once('!')?;
        let whole = len.parse() == Ok(text.len());
        String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(text).ok().filter(|_| whole)?).ok()
    };
    read().ok_or_else(|| INVALID_INPUT.saying("A continuation token is not one of this service."))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn tokens_read_back(key: String) {
            let token = encode(&key);
            prop_assert!(token.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert_eq!(decode(&token).ok(), Some(key));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for bad in ["", "a", "1!4!", "1!3!YWJj", "2!4!YWJj", "1!4!____"] {
            assert!(decode(bad).is_err(), "{bad}");
        }
    }
}
