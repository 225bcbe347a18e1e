//! The condition of `x-ms-if-tags`: comparisons such as `"status" = 'done'`, joined by AND and OR.
//!
//! AND binds first; there are no parentheses. A tag that is not there meets no comparison.

use std::cmp::Ordering;

/// Comparisons in groups: those of one group must all hold, and one group is enough.
#[derive(Debug)]
pub(crate) struct TagCondition<'a>(Vec<Vec<Comparison<'a>>>);

/// How a tag's value must compare with the one given.
type Test = fn(Ordering) -> bool;

/// A tag's key, and what its value must be, compared as text.
#[derive(Debug)]
struct Comparison<'a> {
    key: &'a str,
    test: Test,
    value: &'a str,
}

/// The longer ones first: they begin like the others.
const OPERATORS: [(&str, Test); 6] = [
    ("<>", Ordering::is_ne),
    (">=", Ordering::is_ge),
    ("<=", Ordering::is_le),
    ("=", Ordering::is_eq),
    (">", Ordering::is_gt),
    ("<", Ordering::is_lt),
];

impl<'a> TagCondition<'a> {
    /// Reads the header's text; `None` where it is no condition.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let mut groups = vec![Vec::new()];
        let mut rest = text;
        loop {
            let (comparison, after) = comparison(rest)?;
            groups.last_mut()?.push(comparison);
            let after = after.trim_start();
            if after.is_empty() {
                return Some(Self(groups));
            }
            let (joint, next) = after.split_once(char::is_whitespace)?;
            if joint.eq_ignore_ascii_case("or") {
                groups.push(Vec::new());
            } else if !joint.eq_ignore_ascii_case("and") {
                return None;
            }
            rest = next;
        }
    }

    /// Whether tags meet it.
    pub(crate) fn holds(&self, tags: &[(String, String)]) -> bool {
        self.0.iter().any(|group| group.iter().all(|comparison| comparison.holds(tags)))
    }
}

impl Comparison<'_> {
    fn holds(&self, tags: &[(String, String)]) -> bool {
        let tag = tags.iter().find(|(key, _)| key == self.key);
        tag.is_some_and(|(_, value)| (self.test)(value.as_str().cmp(self.value)))
    }
}

/// The comparison at the beginning of `text`, and what follows it.
fn comparison(text: &str) -> Option<(Comparison<'_>, &str)> {
    let text = text.trim_start();
    let (key, rest) = match text.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?,
        None => text.split_at(text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?),
    };
    let rest = rest.trim_start();
    let (test, rest) =
        OPERATORS.into_iter().find_map(|(operator, test)| Some((test, rest.strip_prefix(operator)?)))?;
    let (value, rest) = rest.trim_start().strip_prefix('\'')?.split_once('\'')?;
    (!key.is_empty()).then_some((Comparison { key, test, value }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn holds(condition: &str) -> Option<bool> {
        let tags = [("status", "done"), ("rank", "015"), ("Status", "new")];
        let tags = tags.map(|(key, value)| (key.to_owned(), value.to_owned()));
        TagCondition::parse(condition).map(|condition| condition.holds(&tags))
    }

    #[test]
    fn conditions_are_compared_as_text() {
        for condition in [
            "\"status\" = 'done'",
            "status='done'",
            "status <> 'new' AND Status = 'new'",
            "rank >= '010' and rank < '100'",
            "status = 'new' OR rank = '015'",
            "none = 'x' AND status = 'new' OR rank > '0'",
        ] {
            assert_eq!(holds(condition), Some(true), "{condition}");
        }
        for condition in ["status = 'Done'", "rank > '015'", "none <> 'x'", "status = 'done' AND none = ''"] {
            assert_eq!(holds(condition), Some(false), "{condition}");
        }
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for bad in [
            "",
            "status",
            "status = done",
            "= 'done'",
            "\"\" = 'x'",
            "status == 'done'",
            "status = 'done",
            "status = 'done' AND",
            "status = 'done' XOR rank = '1'",
            "(status = 'done')",
        ] {
            assert_eq!(holds(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_but_never_panics(text in "[a\"'<>= ANDOR_é]{0,40}") {
            let _ = holds(&text);
        }
    }
}
