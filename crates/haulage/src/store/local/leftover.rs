//! The names of what an interrupted write leaves in a folder; none of it is content.

/// Every leftover's name begins so ...
const PREFIX: &str = ".haul-";

/// ... goes on with as many hexadecimal digits ...
const DIGITS: usize = 16;

/// ... and ends so: a partial file ...
const PARTIAL: &str = ".partial";

/// ... or what was written to be looked for elsewhere ...
const WITNESS: &str = ".witness";

/// ... or the list of the ranges in it.
const LIST: &str = ".ranges.partial";

/// The mark of a folder that is being written to; the digits are its initials, four times.
pub(super) const MARK: &str = ".haul-6d61726b6d61726b.partial";

/// The name of a partial file.
pub(super) fn partial_name(number: u64) -> String {
    format!("{PREFIX}{number:016x}{PARTIAL}")
}

/// The name of something that is written to be looked for elsewhere.
pub(crate) fn witness_name() -> String {
    format!("{PREFIX}{:016x}{WITNESS}", fastrand::u64(..))
}

/// Whether a key is one that was written to be looked for elsewhere: no content, in no store.
pub(crate) fn is_witness(key: &str) -> bool {
    parts(key.rsplit('/').next().unwrap_or(key)).is_some_and(|(_, ending)| ending == WITNESS)
}

/// The list of ranges that lies beside a partial file.
pub(super) fn list_of(partial: &str) -> String {
    partial.strip_suffix(PARTIAL).unwrap_or(partial).to_owned() + LIST
}

/// The digits and the ending of a name that we may have given.
fn parts(name: &str) -> Option<(&str, &str)> {
    let (digits, ending) = name.strip_prefix(PREFIX)?.split_at_checked(DIGITS)?;
    let plain = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    plain.then_some((digits, ending))
}

/// The partial file that this is, or that this list is of; `None` for any other name.
pub(super) fn partial_of(name: &str) -> Option<String> {
    let (digits, ending) = parts(name)?;
    matches!(ending, PARTIAL | LIST).then(|| format!("{PREFIX}{digits}{PARTIAL}"))
}

/// Whether nothing is written under this key, for it would be no content.
pub(super) fn is_none_of_content(key: &str) -> bool {
    is_leftover(key.rsplit('/').next().unwrap_or(key))
}

/// Whether a name is that of a leftover.
pub(super) fn is_leftover(name: &str) -> bool {
    partial_of(name).is_some() || is_witness(name)
}

/// Whether a leftover is a list of ranges.
pub(super) fn is_list(name: &str) -> bool {
    name.ends_with(LIST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_no_content() {
        assert!(is_leftover(MARK) && !is_list(MARK));
    }

    #[test]
    fn only_names_that_we_give_are_leftovers() {
        let partial = partial_name(0x1234);
        assert_eq!(partial, ".haul-0000000000001234.partial");
        assert!(
            is_leftover(&witness_name())
                && is_witness(&format!("a/{}", witness_name()))
                && !is_witness(&partial)
        );
        assert_eq!(list_of(&partial), ".haul-0000000000001234.ranges.partial");
        assert_eq!(partial_of(&partial).as_ref(), Some(&partial));
        assert_eq!(partial_of(&list_of(&partial)).as_ref(), Some(&partial));
        for name in [
            "a",
            ".haul-abc.partial",
            ".haul-000000000000123G.partial",
            ".haul-0000000000001234.partial.nc",
            "x.haul-0000000000001234.partial",
            ".haul-0000000000001234",
            ".haul-ä00000000000123.partial",
        ] {
            assert!(!is_leftover(name), "{name}");
        }
    }

    #[test]
    fn nothing_is_written_where_it_would_be_no_content() {
        for key in [".haul-0000000000001234.partial", "a/.haul-0000000000001234.ranges.partial"] {
            assert!(is_none_of_content(key), "{key}");
        }
        for key in ["a", "a/.haul-0000000000001234.held", ".haul-0000000000001234.partial/b"] {
            assert!(!is_none_of_content(key), "{key}");
        }
    }
}
