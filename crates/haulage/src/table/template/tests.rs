use std::cmp::Ordering;
use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::*;
use crate::error::ErrorKind;

/// What every implementation has to agree with.
const SHARED: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/table_keys.json"));

fn shared(part: &str) -> Vec<Value> {
    let mut all: Value = serde_json::from_str(SHARED).unwrap();
    let Value::Array(found) = all[part].take() else { panic!("no {part}") };
    assert!(found.len() >= 8, "{part}");
    found
}

/// A value as the examples write it.
fn value<'a>(cell: &'a Value, bytes: &'a [u8]) -> Option<KeyValue<'a>> {
    let (kind, value) = (cell["type"].as_str().unwrap(), &cell["value"]);
    let text = value.as_str().unwrap_or_default();
    let time = |text: &str| OffsetDateTime::parse(text, &Rfc3339).unwrap().unix_timestamp_nanos();
    Some(match kind {
        "null" => return None,
        "string" => KeyValue::Text(text.into()),
        "int64" => KeyValue::Whole(value.as_i64().unwrap().into()),
        "uint64" => KeyValue::Whole(value.as_u64().unwrap().into()),
        "double" => KeyValue::Double(value.as_f64().unwrap_or_else(|| text.parse().unwrap())),
        "decimal" => {
            let scale = text.split_once('.').map_or(0, |(_, behind)| behind.len() as i8);
            KeyValue::Decimal { digits: text.replace('.', "").parse().unwrap(), scale }
        }
        "bool" => KeyValue::Boolean(value.as_bool().unwrap()),
        "date" => KeyValue::Date((time(&format!("{text}T00:00:00Z")) / 86_400_000_000_000) as i32),
        "timestamp" => KeyValue::Time(time(text)),
        "time" => KeyValue::TimeOfDay(time(&format!("1970-01-01T{text}Z")) as i64),
        "uuid" => KeyValue::Uuid(bytes.try_into().unwrap()),
        "binary" => KeyValue::Binary(bytes),
        "list" => KeyValue::NoText,
        kind => panic!("{kind}"),
    })
}

/// The bytes of hexadecimal digits; of anything else, none.
fn bytes(cell: &Value) -> Vec<u8> {
    let text = cell["value"].as_str().unwrap_or_default().replace('-', "");
    let pairs = text.as_bytes().chunks(2);
    pairs.map_while(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

fn render(template: &str, value: &KeyValue<'_>) -> Result<String, UnmadeKind> {
    Template::parse(template).unwrap().render(|_| Some(value.clone())).map_err(|unmade| unmade.kind)
}

fn key(template: &str, value: &KeyValue<'_>) -> String {
    render(template, value).unwrap()
}

#[test]
fn all_examples_give_their_key_or_error() {
    for example in shared("examples") {
        let template = Template::parse(example["template"].as_str().unwrap()).unwrap();
        let row = example["row"].as_object().unwrap();
        let held: BTreeMap<_, _> = row.iter().map(|(name, cell)| (name, bytes(cell))).collect();
        let made = template.render(|column| value(row.get(column)?, &held[&column.to_owned()]));
        match (made, example["key"].as_str()) {
            (Ok(key), expected) => assert_eq!(Some(&*key), expected, "{example}"),
            (Err(unmade), None) => assert_eq!(unmade.kind.code(), example["error"], "{example}"),
            (Err(unmade), Some(_)) => panic!("{unmade}: {example}"),
        }
    }
}

#[test]
fn all_entries_of_an_index_have_their_key() {
    for entry in shared("index_entries") {
        let text = |name: &str| entry[name].as_str().unwrap();
        assert_eq!(index_row_key(text("partition_key"), text("row_key")), text("index_row_key"));
    }
}

#[test]
fn what_is_no_template_is_a_usage_error() {
    for text in shared("no_templates") {
        let error = Template::parse(text.as_str().unwrap()).unwrap_err();
        assert_eq!((error.kind(), error.object_name()), (ErrorKind::Usage, text.as_str().unwrap()));
    }
    for (text, hint) in [
        ("{a", "write {column}, {column:format}, or {{ for a brace"),
        ("a}", "write }} for a brace"),
        ("{a:minute}", "formats are 0N, signedN, hashN, reversed, iso, year, month, day, hour"),
    ] {
        assert_eq!(Template::parse(text).unwrap_err().hint_text(), Some(hint));
    }
    let error = Template::parse("x_{a:minute}").unwrap_err();
    assert_eq!((error.operation(), error.cause()), ("read the key template", "`minute` is not a format"));
    for text in
        ["{a:+1}", "{a:0+3}", "{a:signed01}", "{a:hash }", "{a:reversed2}", "{a?:}", "{\"a\"b}", "{a:0٣}"]
    {
        assert!(Template::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_template_tells_its_columns_once_and_whether_it_is_one() {
    let columns =
        |text: &str| Template::parse(text).unwrap().columns().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(columns("{id:hash16}-{id}_{\"a\"\"}\"?:02}x{id?}"), ["id", "a\"}"]);
    assert!(columns("{{id}}").is_empty());
    let column = |text: &str| Template::parse(text).unwrap().as_column().map(str::to_owned);
    assert_eq!(column("{PartitionKey}").as_deref(), Some("PartitionKey"));
    for text in ["", "a", "{a:iso}", "{a}{b}", "x{a}", "{a?}"] {
        assert_eq!(column(text), None, "{text}");
    }
}

#[test]
fn braces_next_to_fields_are_read_from_the_left() {
    let a = KeyValue::Whole(1);
    assert_eq!(key("{{{a}}}", &a), "{1}");
    assert_eq!(key("{a}}}{{", &a), "1}{");
    assert_eq!(key("{\"\"\"\"}", &a), "1");
}

#[test]
fn a_row_without_key_says_why() {
    let said = |template: &str, value: Option<KeyValue<'_>>| {
        Template::parse(template).unwrap().render(|_| value.clone()).unwrap_err().to_string()
    };
    assert_eq!(said("x{a}", None), "column `a`: the value is missing");
    assert_eq!(
        said("{a}", Some(KeyValue::NoText)),
        "column `a`: the template cannot write values of this type"
    );
    let number = Some(KeyValue::Whole(7));
    assert_eq!(
        said("{a:01}{b:signed1}{c:year}", number.clone()),
        "column `c`: the template cannot write values of this type"
    );
    let large = Some(KeyValue::Whole(10));
    assert_eq!(said("{a:01}", large), "column `a`: the number or time is out of range for the template");
    let long = KeyValue::Text("x".repeat(300).into());
    assert_eq!(
        said("{a}{a}", Some(long.clone())),
        "column `a`: the key is longer than 512 UTF-16 code units"
    );
    assert_eq!(said("{a}{b}", Some(long)), "the key is longer than 512 UTF-16 code units");
}

#[test]
fn the_length_is_that_after_escaping_in_utf16() {
    let length =
        |text: String| render("{a}", &KeyValue::Text(text.into())).map(|key| key.encode_utf16().count());
    assert_eq!(length("/".repeat(170)), Ok(510));
    assert_eq!(length("/".repeat(171)), Err(UnmadeKind::Length));
    assert_eq!(length("東".repeat(512)), Ok(512));
    assert_eq!(length("東".repeat(513)), Err(UnmadeKind::Length));
    assert_eq!(length("🌍".repeat(256)), Ok(512));
}

#[test]
fn decimals_have_all_digits_of_their_scale() {
    let decimal = |digits, scale| KeyValue::Decimal { digits, scale };
    for (digits, scale, text) in
        [(-5, 2, "-0.05"), (0, 2, "0.00"), (12, -2, "1200"), (0, -2, "0"), (-7, 0, "-7"), (100, 1, "10.0")]
    {
        assert_eq!(key("{a}", &decimal(digits, scale)), text);
    }
    let small = key("{a}", &decimal(i128::MAX, 127));
    assert_eq!((small.len(), small.ends_with(&i128::MAX.to_string())), (129, true));
    let whole = |digits, scale| {
        render("{a:038}", &decimal(digits, scale)).map(|key| key.trim_start_matches('0').to_owned())
    };
    assert_eq!(whole(700, 2).as_deref(), Ok("7"));
    assert_eq!(whole(7, -2).as_deref(), Ok("700"));
    assert_eq!(whole(0, 127).as_deref(), Ok(""));
    for (digits, scale, kind) in [
        (750, 2, UnmadeKind::Type),
        (i128::MIN, 127, UnmadeKind::Type),
        (7, -127, UnmadeKind::Range),
        (i128::MAX, -1, UnmadeKind::Range),
        (i128::MAX, 0, UnmadeKind::Range),
        (-700, 2, UnmadeKind::Range),
    ] {
        assert_eq!(whole(digits, scale), Err(kind), "{digits} {scale}");
    }
}

#[test]
fn numbers_have_their_bounds() {
    for (number, made) in [
        (9_007_199_254_740_991.0, Ok("9007199254740991")),
        (9_007_199_254_740_992.0, Err(UnmadeKind::Type)),
        (f64::INFINITY, Err(UnmadeKind::Type)),
        (f64::NAN, Err(UnmadeKind::Type)),
        (-0.0, Ok("0000000000000000")),
        (-1.0, Err(UnmadeKind::Range)),
    ] {
        assert_eq!(render("{a:016}", &KeyValue::Double(number)).as_deref().map_err(|kind| *kind), made);
    }
    assert_eq!(render("{a}", &KeyValue::Double(f64::NEG_INFINITY)), Err(UnmadeKind::Range));
    assert_eq!(render("{a:hash7}", &KeyValue::Double(f64::NAN)), Err(UnmadeKind::Range));
    assert_eq!(key("{a}", &KeyValue::Double(5e-324)).len(), 326);
    assert_eq!(key("{a}", &KeyValue::Whole(i128::MIN)), i128::MIN.to_string());
    assert_eq!(key("{a:038}", &KeyValue::Whole(10_i128.pow(38) - 1)), "9".repeat(38));
    assert_eq!(render("{a:signed18}", &KeyValue::Whole(i128::MIN)), Err(UnmadeKind::Range));
    assert_eq!(render("{a:reversed}", &KeyValue::Whole(1 << 63)), Err(UnmadeKind::Range));
    assert_eq!(key("{a:hash65536}", &KeyValue::Boolean(true)).len(), 5);
}

#[test]
fn times_are_those_of_the_years_1_to_9999() {
    const DAY_NS: i128 = 86_400_000_000_000;
    let first = -719_162 * DAY_NS;
    let end = first + 3_652_059 * DAY_NS;
    assert_eq!(key("{t}", &KeyValue::Time(first)), "0001-01-01T00:00:00.0000000Z");
    assert_eq!(key("{t}", &KeyValue::Time(end - 1)), "9999-12-31T23:59:59.9999999Z");
    assert_eq!(key("{t:reversed}", &KeyValue::Time(end - 1)), "0".repeat(19));
    assert_eq!(key("{t}", &KeyValue::Date(2_932_896)), "9999-12-31");
    for time in [first - 1, end, i128::MIN, i128::MAX] {
        for template in ["{t}", "{t:year}", "{t:reversed}", "{t:hash16}"] {
            assert_eq!(render(template, &KeyValue::Time(time)), Err(UnmadeKind::Range), "{template} {time}");
        }
    }
    for days in [-719_163, 2_932_897, i32::MIN, i32::MAX] {
        assert_eq!(render("{t}", &KeyValue::Date(days)), Err(UnmadeKind::Range));
    }
    assert_eq!(key("{t}", &KeyValue::TimeOfDay(86_399_999_999_999)), "23:59:59.9999999");
    for ns in [-1, 86_400_000_000_000, i64::MIN, i64::MAX] {
        assert_eq!(render("{t}", &KeyValue::TimeOfDay(ns)), Err(UnmadeKind::Range));
    }
    for template in ["{t:iso}", "{t:hour}", "{t:reversed}", "{t:02}"] {
        assert_eq!(render(template, &KeyValue::TimeOfDay(0)), Err(UnmadeKind::Type));
    }
}

#[test]
fn what_escape_did_not_write_stays_in_a_key() {
    for key in ["%FF", "%C3", "100%", "%2", "%zz", "%é"] {
        assert_eq!(unescape(key), key);
    }
    assert_eq!(unescape("%2f%c3%a9"), "/é");
    assert_eq!(unescape("%%2F%"), "%/%");
}

/// Text with much that has to be escaped, or looks as if it were.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[%/25fF?\\\\#\u{0}\u{7f}\u{80}\u{9f}\u{a0}é]{0,12}"]
}

/// Nanoseconds from the year 1 to 9999.
fn times() -> impl Strategy<Value = i128> {
    -62_135_596_800_000_000_000_i128..253_402_300_800_000_000_000
}

fn order(template: &str, one: &KeyValue<'_>, other: &KeyValue<'_>) -> Ordering {
    key(template, one).cmp(&key(template, other))
}

proptest! {
    #[test]
    fn escapes_are_reversible(text in texts(), other in texts()) {
        let escaped = escape(&text);
        prop_assert_eq!(unescape(&escaped), text.as_str());
        prop_assert!(!escaped.contains(|letter: char| "/\\#?".contains(letter) || letter.is_control()));
        prop_assert_eq!(escape(&other) == escaped, other == text);
        prop_assert_eq!(escape::escaped(text), escaped);
    }

    #[test]
    fn anything_can_be_read_as_template_or_key(text in "[{}a:?\"0-9%é]{0,12}") {
        unescape(&text);
        if let Ok(template) = Template::parse(&text) {
            let _ = template.render(|_| Some(KeyValue::Whole(7)));
        }
    }

    #[test]
    fn no_two_rows_share_an_entry(
        one in ("[|%a7C]{0,6}", "[|%a7C]{0,6}"),
        other in ("[|%a7C]{0,6}", "[|%a7C]{0,6}"),
    ) {
        prop_assert_eq!(index_row_key(&one.0, &one.1) == index_row_key(&other.0, &other.1), one == other);
    }

    #[test]
    fn padded_numbers_keep_their_order(one in 0..10_i128.pow(12), other in 0..10_i128.pow(12)) {
        prop_assert_eq!(order("{a:012}", &KeyValue::Whole(one), &KeyValue::Whole(other)), one.cmp(&other));
    }

    #[test]
    fn signed_numbers_keep_their_order(one in -999_999_999..=999_999_999_i128, other in -999_999_999..=999_999_999_i128) {
        prop_assert_eq!(order("{a:signed9}", &KeyValue::Whole(one), &KeyValue::Whole(other)), one.cmp(&other));
    }

    #[test]
    fn reversed_numbers_turn_their_order_round(one in 0..=i64::MAX, other in 0..=i64::MAX) {
        let (a, b) = (KeyValue::Whole(one.into()), KeyValue::Whole(other.into()));
        prop_assert_eq!(order("{a:reversed}", &a, &b), other.cmp(&one));
    }

    #[test]
    fn times_keep_their_order_by_ticks(one in times(), other in times()) {
        let ticks = one.div_euclid(100).cmp(&other.div_euclid(100));
        let (one, other) = (KeyValue::Time(one), KeyValue::Time(other));
        prop_assert_eq!(order("{t}", &one, &other), ticks);
        prop_assert_eq!(order("{t:reversed}", &one, &other), ticks.reverse());
        for template in ["{t:year}", "{t:month}", "{t:day}", "{t:hour}"] {
            prop_assert!(matches!(order(template, &one, &other), same if same == ticks || same.is_eq()));
        }
    }

    #[test]
    fn times_are_written_as_the_time_crate_reads_them(ns in times()) {
        let read = OffsetDateTime::parse(&key("{t:iso}", &KeyValue::Time(ns)), &Rfc3339).unwrap();
        prop_assert_eq!(read.unix_timestamp_nanos(), ns.div_euclid(100) * 100);
    }

    #[test]
    fn integers_are_written_as_the_standard_library_does(number in any::<i128>()) {
        prop_assert_eq!(key("{a}", &KeyValue::Whole(number)), number.to_string());
    }

    #[test]
    fn doubles_read_back(number in any::<f64>()) {
        prop_assume!(number.is_finite());
        match render("{a}", &KeyValue::Double(number)) {
            Ok(text) => {
                prop_assert_eq!(text.parse::<f64>().unwrap(), number);
                prop_assert!(text.bytes().all(|byte| b"-.0123456789".contains(&byte)));
            }
            Err(kind) => prop_assert_eq!(kind, UnmadeKind::Length),
        }
    }
}
