use proptest::prelude::*;

use super::*;
use crate::table::key;
use crate::table::names::Names;
use crate::table::row::{Builder, Row};
use crate::table::value::Stored;

fn person(names: &mut Names) -> Row {
    let mut row = Builder::new(&key::encode("p", "r"), 639_000_000_000_000_000);
    row.push_named(names, "Name", Stored::String("O'Hara"));
    row.push_named(names, "Age", Stored::Int32(41));
    row.push_named(names, "Long", Stored::Int64(1 << 40));
    row.push_named(names, "Rate", Stored::Double(1.5));
    row.push_named(names, "Odd", Stored::Double(f64::NAN));
    row.push_named(names, "Active", Stored::Boolean(true));
    row.push_named(
        names,
        "Born",
        Stored::DateTime(crate::table::ticks::parse("1985-02-03T00:00:00.5Z").unwrap()),
    );
    row.push_named(names, "Id", Stored::Guid(&[0x11; 16]));
    row.push_named(names, "Raw", Stored::Binary(&[0, 255]));
    row.finish()
}

fn matches(text: &str) -> bool {
    let mut names = Names::default();
    let row = person(&mut names);
    let filter = Filter::parse(text).unwrap_or_else(|_| panic!("{text} is no filter"));
    let matched = Matcher::new(&filter, &names).matches(&row);
    assert!(!matched || filter.range().contains(row.key()), "{text}");
    matched
}

#[test]
fn filters_hold_or_not() {
    for yes in [
        "Name eq 'O''Hara'",
        "PartitionKey eq 'p' and RowKey eq 'r'",
        "'p' le PartitionKey",
        "Age gt 40 and (Rate lt 2 or Rate gt 3)",
        "Long eq 1099511627776L",
        "Long eq 1099511627776",
        "Age eq 41.0",
        "Active",
        "not not Active",
        "Active eq true and not (Age eq 40)",
        "Born gt datetime'1985-02-03T00:00:00Z'",
        "Id eq guid'11111111-1111-1111-1111-111111111111'",
        "Raw eq X'00ff' and Raw eq binary'00FF'",
        "Odd ne 1.0",
        "not (Missing eq 1)",
        "Timestamp gt datetime'2020-01-01'",
        "true",
        "1 lt 2 AND Age NE -1",
    ] {
        assert!(matches(yes), "{yes}");
    }
    for no in [
        "Name eq 'O'",
        "Age lt 41",
        "Missing ne 1",
        "Name ne 1",
        "Odd eq 1.0",
        "Odd lt 1.0 or Odd ge 1.0",
        "not Active",
        "Born lt datetime'1985-02-03T00:00:00.5Z'",
        "Age eq '41'",
        "PartitionKey gt 'p'",
        "PartitionKey eq 'p\u{1}'",
    ] {
        assert!(!matches(no), "{no}");
    }
}

#[test]
fn what_is_no_filter_is_refused() {
    let deep = format!("{}Age eq 1{}", "(".repeat(10_000), ")".repeat(10_000));
    let nots = format!("{}Age eq 1", "not ".repeat(10_000));
    for bad in [
        "",
        "(",
        "Age",
        "Age eq",
        "eq 1",
        "Age eq 1 and",
        "Age eq 1)",
        "Age eq 'x",
        "Age eq guid'1'",
        "Age eq 1x",
        "Age eq Rate",
        "Age is 1",
        "Age eq 1 2",
        "5",
        "Age eq odd'1'",
        &deep,
        &nots,
    ] {
        assert!(Filter::parse(bad).is_err() != (bad == "Age"), "{bad:.40}");
    }
    let wide = vec!["Age eq 1"; 10_000].join(" or ");
    assert!(Filter::parse(&wide).is_ok());
}

fn range(text: &str) -> Range {
    Filter::parse(text).ok().unwrap().range()
}

#[test]
fn bounds_on_keys_become_a_range() {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let of = |low, high| Range { low, high };
    let key = |text: &str| text.as_bytes().to_vec();
    assert_eq!(range("PartitionKey eq 'a'"), of(Included(key("a\0")), Excluded(key("a\u{1}"))));
    assert_eq!(
        range("PartitionKey eq 'a' and RowKey gt 'r' and RowKey le 's' and Age eq 1"),
        of(Excluded(key("a\0r")), Included(key("a\0s")))
    );
    assert_eq!(
        range("(PartitionKey ge 'a' and PartitionKey gt 'a') and 'c' gt PartitionKey"),
        of(Included(key("a\u{1}")), Excluded(key("c\0")))
    );
    assert_eq!(range("PartitionKey le 'c' and RowKey ge 'x'"), of(Unbounded, Excluded(key("c\u{1}"))));
    for whole in ["RowKey eq 'a'", "PartitionKey eq 'a' or PartitionKey eq 'b'", "not (PartitionKey eq 'a')"]
    {
        assert_eq!(range(whole), Range::ALL, "{whole}");
    }
    assert!(range("PartitionKey gt 'b' and PartitionKey lt 'a'").is_empty());
    assert!(range("PartitionKey gt 'a' and PartitionKey lt 'a'").is_empty());
}

fn filters() -> impl Strategy<Value = String> {
    let leaf = ("PartitionKey|RowKey", "eq|ne|gt|ge|lt|le", "[ab\u{1}]{0,2}")
        .prop_map(|(name, how, text)| format!("{name} {how} '{text}'"));
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), "and|or", inner.clone()).prop_map(|(a, word, b)| format!("({a}) {word} {b}")),
            inner.prop_map(|inner| format!("not ({inner})")),
        ]
    })
}

proptest! {
    #[test]
    fn no_entity_that_matches_lies_outside_the_range(text in filters(), partition in "[ab]{0,3}", row in "[ab]{0,3}") {
        let filter = Filter::parse(&text).map_err(|_| TestCaseError::fail(text.clone()))?;
        let row = Builder::new(&key::encode(&partition, &row), 0).finish();
        let matched = Matcher::new(&filter, &Names::default()).matches(&row);
        prop_assert!(!matched || filter.range().contains(row.key()), "{} {:?}", text, filter.range());
    }

    #[test]
    fn no_text_upsets_it(text in ".{0,60}", words in prop::collection::vec("and|or|not|\\(|\\)|eq|Age|'|1|X'0'", 0..30)) {
        let _ = (Filter::parse(&text), Filter::parse(&words.join(" ")));
    }
}
