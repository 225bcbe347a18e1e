//! What an answer that is no success says: the service's word for it, a line of text, how long to wait.

use std::num::IntErrorKind;
use std::time::{Duration, SystemTime};

use http::header::{HeaderMap, RETRY_AFTER};
use quick_xml::Reader;
use quick_xml::events::Event;

use crate::error::Retry;

/// What the body of a refusal tells.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::store) struct Told {
    /// The service's word for it.
    pub(in crate::store) code: Option<String>,
    /// The first line of its message. The rest may repeat a signature.
    pub(in crate::store) message: Option<String>,
    /// Where the bucket is, if that was the trouble. Not judged.
    pub(in crate::store) region: Option<String>,
}

/// The service's word for a failure. It is shown and recorded, so that nothing else may pass for one.
pub(in crate::store) fn code_of(text: &str) -> Option<String> {
    // Those of a key service come with its name.
    let word = text.strip_prefix("KMS.").unwrap_or(text);
    let is_word = (1..=100).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_word.then(|| text.to_owned())
}

/// Reads the XML of a refusal, as far as it is that.
pub(in crate::store) fn told(body: &[u8]) -> Told {
    let mut told = Told::default();
    let Ok(text) = std::str::from_utf8(body) else { return told };
    let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}'));
    let mut inside = String::new();
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => inside = start.name().0.to_owned(),
            Ok(Event::End(_)) => inside.clear(),
            Ok(Event::Text(text)) => match inside.as_str() {
                "Code" => told.code = code_of(text.trim()),
                "Message" if told.message.is_none() => {
                    let line = text.trim().lines().next().unwrap_or_default();
                    let short: String = line.chars().take(200).collect();
                    told.message = (!short.is_empty() && !short.contains("sig=")).then_some(short);
                }
                "Region" => told.region = Some(text.trim().to_owned()),
                _ => {}
            },
            Ok(Event::Eof) | Err(_) => return told,
            Ok(_) => {}
        }
    }
}

/// When to try again: as the answer says, or else as usual.
pub(in crate::store) fn in_a_while(headers: &HeaderMap) -> Retry {
    let wait = headers.get(RETRY_AFTER).and_then(|value| retry_after(value.to_str().ok()?));
    wait.map_or(Retry::Backoff, Retry::After)
}

/// Reads `Retry-After`: seconds or a date. An hour is the most that anybody will be told to wait.
fn retry_after(text: &str) -> Option<Duration> {
    let text = text.trim();
    let wait = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Duration::MAX,
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(SystemTime::now()).unwrap_or_default(),
    };
    Some(wait.min(Duration::from_secs(3600)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_tells_code_message_and_region() {
        let body = "<?xml version=\"1.0\"?>\n<Error><Code>AuthorizationHeaderMalformed</Code>\n<Message>It is odd.\nMore</Message>\
                    <Region>eu-west-1</Region></Error>";
        let told = told(body.as_bytes());
        assert_eq!(told.code.as_deref(), Some("AuthorizationHeaderMalformed"));
        assert_eq!(
            (told.message.as_deref(), told.region.as_deref()),
            (Some("It is odd."), Some("eu-west-1"))
        );
        for text in ["", "no XML", "<Error><Code>two words</Code>", "<Error><Code/></Error>"] {
            assert_eq!(super::told(text.as_bytes()), Told::default(), "{text}");
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        assert_eq!(retry_after("7"), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("Fri, 01 Jan 2010 00:00:00 GMT"), Some(Duration::ZERO));
        let soon = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(30));
        assert!(retry_after(&soon).unwrap() > Duration::from_secs(25));
        assert_eq!(retry_after("soon"), None);
        assert_eq!(retry_after(&"9".repeat(40)), Some(Duration::from_secs(3600)));
    }
}
