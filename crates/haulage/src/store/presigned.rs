//! URLs that let whoever has them do one thing for a while.

use std::time::{Duration, SystemTime};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::error::{Error, ErrorKind, Result};

/// What a signed URL allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// To read an object; of a container, to list it too.
    #[default]
    Read,
    /// To write an object; of a container, to list it too.
    Write,
}

/// A URL that carries its own permission. Its `Debug` does not show the signature.
#[derive(Clone, PartialEq, Eq)]
pub struct Presigned {
    /// The URL: whoever has it is let in.
    pub url: String,
    /// The object or container that it is for.
    pub object: String,
    /// The method of the request that it is for: `GET` or `PUT`.
    pub method: &'static str,
    /// Headers that the request needs besides.
    pub headers: Vec<(&'static str, &'static str)>,
    /// When it ends.
    pub expires: SystemTime,
    /// When what signs it ends, where that is sooner: the URL is of no use after that.
    pub ends: Option<SystemTime>,
}

impl std::fmt::Debug for Presigned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { object, method, expires, .. } = self;
        f.debug_struct("Presigned")
            .field("object", object)
            .field("method", method)
            .field("expires", expires)
            .finish_non_exhaustive()
    }
}

/// How long a URL may be good that keys of a role, or AWS, sign.
pub(super) const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

/// Refuses a life of less than a second, and of more than what signs allows.
pub(super) fn check_life(life: Duration, most: Duration, object: &str) -> Result<()> {
    let wrong = |cause: String| Error::new(ErrorKind::Usage, "sign a URL for", object, cause);
    if life.as_secs() == 0 {
        return Err(wrong("a URL must be good for a second at least".to_owned()).hint("write --expires 1h"));
    }
    if life > most {
        let days = most.as_secs() / (24 * 3600);
        return Err(wrong(format!("the service allows {days} days at most"))
            .hint(format!("write --expires {days}d or less")));
    }
    Ok(())
}

/// The end of a life that begins now, in whole seconds.
pub(super) fn end_of(life: Duration) -> SystemTime {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_secs(now.as_secs()) + life
}

/// A time as services write it: to the second, in UTC.
pub(super) fn written(time: SystemTime) -> String {
    let time = OffsetDateTime::from(time);
    time.replace_nanosecond(0).ok().and_then(|time| time.format(&Rfc3339).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_good_for_a_second_at_least_and_as_long_as_the_service_allows() {
        let hint = |life: u64| {
            let refused = check_life(Duration::from_secs(life), WEEK, "az://c/k").err();
            refused.map(|error| error.hint_text().unwrap().to_owned())
        };
        assert_eq!(hint(0).as_deref(), Some("write --expires 1h"));
        assert_eq!(hint(7 * 86_400), None);
        assert_eq!(hint(7 * 86_400 + 1).as_deref(), Some("write --expires 7d or less"));
    }

    #[test]
    fn times_are_written_to_the_second_and_signatures_not_at_all() {
        let expires = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_900);
        assert_eq!(written(expires), "2023-11-14T22:13:20Z");
        let url = Presigned {
            url: "https://h/c/k?sig=secret".to_owned(),
            object: "az://c/k".to_owned(),
            method: "GET",
            headers: Vec::new(),
            expires,
            ends: None,
        };
        assert!(!format!("{url:?}").contains("secret"));
    }
}
