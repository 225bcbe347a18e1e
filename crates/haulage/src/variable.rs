//! What people put into variables and files, in the forms in which it gets there.

/// What a variable or a file was meant to hold: without blanks, line ends and a byte order mark around it, nor quotes around all of it,
/// which a shell would have taken away and a file of variables leaves. `None` for nothing.
pub(crate) fn meant(text: &str) -> Option<String> {
    let bare = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let quoted = ['"', '\''].into_iter().find_map(|quote| bare.strip_prefix(quote)?.strip_suffix(quote));
    let text = quoted.map_or(bare, str::trim);
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_around_a_secret_is_no_part_of_it() {
        for text in ["a b", " a b\r\n", "\u{feff}a b", "\"a b\"", "'a b'\n", "\u{feff}\" a b \""] {
            assert_eq!(meant(text).as_deref(), Some("a b"), "{text:?}");
        }
        for text in ["", " \n", "\"\"", "\u{feff}"] {
            assert_eq!(meant(text), None, "{text:?}");
        }
        assert_eq!(meant("\"a'").as_deref(), Some("\"a'"));
    }
}
