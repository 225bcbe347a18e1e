//! A shared access signature: a query that grants access by itself. Whoever has it is let in, so it
//! never appears in any text.

use std::borrow::Cow;
use std::fmt;

use percent_encoding::percent_decode_str;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::secret;

/// A SAS and the parts of it that may be told.
#[derive(Clone)]
pub(crate) struct Sas {
    query: String,
    /// When it ends, as written in it.
    pub(crate) expires: Option<String>,
    /// What it allows, one letter each.
    pub(crate) permissions: Option<String>,
}

impl Sas {
    /// Takes the query as it stands in a URL, with or without its `?`.
    pub(crate) fn new(text: &str) -> Self {
        let query = text.trim().trim_start_matches('?').to_owned();
        let part = |name: &str| {
            let found =
                query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name);
            found.map(|(_, value)| percent_decode_str(value).decode_utf8_lossy()).map(Cow::into_owned)
        };
        let (expires, permissions) = (part("se"), part("sp"));
        if let Some(signature) = part("sig") {
            secret::remember(&signature);
        }
        Self { query, expires, permissions }
    }

    /// The query, to be sent and to be shown to nobody.
    pub(crate) fn query(&self) -> &str {
        &self.query
    }

    /// Whether it has ended.
    pub(crate) fn has_expired(&self) -> bool {
        let Some(text) = &self.expires else { return false };
        // A date alone, and a time without seconds, are allowed too.
        let full = match (text.len(), text.strip_suffix('Z')) {
            (10, _) => format!("{text}T00:00:00Z"),
            (17, Some(minutes)) => format!("{minutes}:00Z"),
            _ => text.clone(),
        };
        OffsetDateTime::parse(&full, &Rfc3339).is_ok_and(|end| end <= OffsetDateTime::now_utc())
    }

    /// Whether it allows what `letter` stands for; `true` where it does not say (a stored policy may).
    pub(crate) fn allows(&self, letter: char) -> bool {
        self.permissions.as_ref().is_none_or(|permissions| permissions.contains(letter))
    }
}

impl fmt::Debug for Sas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sas")
            .field("expires", &self.expires)
            .field("permissions", &self.permissions)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiry_and_permissions_are_read() {
        let sas = Sas::new("?sv=2021-12-02&se=2020-01-01T00%3A00%3A00Z&sp=rl&sig=c2VjcmV0");
        assert_eq!(sas.expires.as_deref(), Some("2020-01-01T00:00:00Z"));
        assert!(sas.has_expired());
        assert!(sas.allows('r') && !sas.allows('w'));
        assert!(sas.query().starts_with("sv="));
        assert!(!format!("{sas:?}").contains("c2VjcmV0"));
        for (end, expired) in
            [("2020-01-01", true), ("2999-01-01T00:00Z", false), ("2020-01-01T00:00Z", true)]
        {
            assert_eq!(Sas::new(&format!("se={end}")).has_expired(), expired, "{end}");
        }
    }

    #[test]
    fn an_end_that_is_no_time_has_not_come() {
        for end in ["2020-01-01T00:0\u{e9}", "soon", "2020-01-01T00:00x"] {
            assert!(!Sas::new(&format!("se={end}")).has_expired(), "{end}");
        }
    }
}
