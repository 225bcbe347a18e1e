//! What files hold, as values of the service: a row of any Arrow columns.

use std::borrow::Cow;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array as _, ArrayRef};
use arrow_schema::{DataType, TimeUnit};

use super::column::Value;
use super::kind::Kind;
use super::template::KeyValue;
use super::time;
use super::written::Typed;

/// The value of a column in a row, as a key is made from it; `None` where there is none.
pub(super) fn key_value(array: &ArrayRef, row: usize) -> Option<KeyValue<'_>> {
    // A column that holds nothing at all has no bits that say so.
    if array.is_null(row) || *array.data_type() == DataType::Null {
        return None;
    }
    macro_rules! number {
        ($kind:ty) => {
            KeyValue::Whole(i128::from(array.as_primitive::<$kind>().value(row)))
        };
    }
    macro_rules! time {
        ($kind:ty, $ns:expr) => {
            KeyValue::Time(i128::from(array.as_primitive::<$kind>().value(row)) * $ns)
        };
    }
    Some(match array.data_type() {
        DataType::Utf8 => KeyValue::Text(Cow::Borrowed(array.as_string::<i32>().value(row))),
        DataType::LargeUtf8 => KeyValue::Text(Cow::Borrowed(array.as_string::<i64>().value(row))),
        DataType::Utf8View => KeyValue::Text(Cow::Borrowed(array.as_string_view().value(row))),
        DataType::Boolean => KeyValue::Boolean(array.as_boolean().value(row)),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float32 => KeyValue::Double(f64::from(array.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => KeyValue::Double(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(_, scale) => {
            KeyValue::Decimal { digits: array.as_primitive::<Decimal128Type>().value(row), scale: *scale }
        }
        DataType::Date32 => KeyValue::Date(array.as_primitive::<Date32Type>().value(row)),
        DataType::Date64 => time!(Date64Type, 1_000_000),
        DataType::Timestamp(TimeUnit::Second, _) => time!(TimestampSecondType, 1_000_000_000),
        DataType::Timestamp(TimeUnit::Millisecond, _) => time!(TimestampMillisecondType, 1_000_000),
        DataType::Timestamp(TimeUnit::Microsecond, _) => time!(TimestampMicrosecondType, 1_000),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => time!(TimestampNanosecondType, 1),
        DataType::Time32(TimeUnit::Second) => KeyValue::TimeOfDay(
            i64::from(array.as_primitive::<Time32SecondType>().value(row)) * 1_000_000_000,
        ),
        DataType::Time32(_) => KeyValue::TimeOfDay(
            i64::from(array.as_primitive::<Time32MillisecondType>().value(row)) * 1_000_000,
        ),
        DataType::Time64(TimeUnit::Microsecond) => {
            KeyValue::TimeOfDay(array.as_primitive::<Time64MicrosecondType>().value(row) * 1_000)
        }
        DataType::Time64(_) => KeyValue::TimeOfDay(array.as_primitive::<Time64NanosecondType>().value(row)),
        DataType::Binary => KeyValue::Binary(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => KeyValue::Binary(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => KeyValue::Binary(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(16) => {
            KeyValue::Uuid(array.as_fixed_size_binary().value(row).try_into().unwrap_or_default())
        }
        DataType::FixedSizeBinary(_) => KeyValue::Binary(array.as_fixed_size_binary().value(row)),
        _ => KeyValue::NoText,
    })
}

/// Whether a column of this type can be stored.
pub(super) fn can_be_stored(kind: &DataType) -> bool {
    match kind {
        DataType::Timestamp(..)
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::FixedSizeBinary(_)
        | DataType::Decimal128(..) => true,
        kind => matches!(
            kind,
            DataType::Utf8
                | DataType::LargeUtf8
                | DataType::Utf8View
                | DataType::Boolean
                | DataType::Int8
                | DataType::Int16
                | DataType::Int32
                | DataType::Int64
                | DataType::UInt8
                | DataType::UInt16
                | DataType::UInt32
                | DataType::UInt64
                | DataType::Float32
                | DataType::Float64
                | DataType::Date32
                | DataType::Date64
                | DataType::Binary
                | DataType::LargeBinary
                | DataType::BinaryView
                | DataType::Null
        ),
    }
}

/// The value as the service stores it, `said` being what its column says of its type; `None` where there is none.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn stored(array: &ArrayRef, row: usize, said: Option<Kind>) -> Result<Option<Typed<'_>>, String> {
    let Some(value) = key_value(array, row) else { return Ok(None) };
    let held = |value| Ok(Some(Typed::Held(value)));
    match value {
        KeyValue::Text(Cow::Borrowed(text)) => match said {
            Some(Kind::Guid) => held(Value::Guid(text)),
            Some(Kind::FarTime | Kind::Time) => match time::parse(text) {
                Some(Ok(ns)) => held(Value::Time(ns)),
                Some(Err(far)) => Ok(Some(Typed::FarTime(far))),
                None => Err(format!("`{}` is no time", text.chars().take(50).collect::<String>())),
            },
            _ => held(Value::Text(text)),
        },
        KeyValue::Text(Cow::Owned(text)) => Ok(Some(Typed::Text(text))),
        KeyValue::Boolean(value) => held(Value::Boolean(value)),
        KeyValue::Whole(number) => {
            let wide = matches!(array.data_type(), DataType::Int64 | DataType::UInt32 | DataType::UInt64);
            match (i32::try_from(number), i64::try_from(number)) {
                (Ok(number), _) if !wide => held(Value::Int32(number)),
                (_, Ok(number)) => held(Value::Int64(number)),
                _ => Err(format!("{number} does not fit in a signed 64-bit integer")),
            }
        }
        KeyValue::Double(number) => held(Value::Double(number)),
        KeyValue::Decimal { digits, scale } => Ok(Some(Typed::Text(decimal(digits, scale)))),
        KeyValue::Date(days) => Ok(Some(far_or_near(i128::from(days) * 86_400_000_000_000)?)),
        KeyValue::Time(ns) => Ok(Some(far_or_near(ns)?)),
        KeyValue::TimeOfDay(ns) => {
            let (second, rest) = (ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000));
            let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
            Ok(Some(Typed::Text(format!("{hour:02}:{minute:02}:{second:02}.{:07}", rest / 100))))
        }
        KeyValue::Uuid(_) if said != Some(Kind::Guid) => {
            held(Value::Binary(array.as_fixed_size_binary().value(row)))
        }
        KeyValue::Uuid(bytes) => Ok(Some(Typed::Guid(guid(bytes)))),
        KeyValue::Binary(bytes) => held(Value::Binary(bytes)),
        KeyValue::NoText => Err(format!("a value of type {} cannot be stored", array.data_type())),
    }
}

fn far_or_near(ns: i128) -> Result<Typed<'static>, String> {
    if let Ok(ns) = i64::try_from(ns) {
        return Ok(Typed::Held(Value::Time(ns)));
    }
    let far = time::write_far(ns).ok_or("the time is in no year from 1 to 9999")?;
    Ok(Typed::FarTime(far))
}

fn guid(bytes: [u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&at) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// All digits of a decimal's scale.
fn decimal(digits: i128, scale: i8) -> String {
    let sign = if digits < 0 { "-" } else { "" };
    let mut text = digits.unsigned_abs().to_string();
    if scale <= 0 {
        text.push_str(&"0".repeat(usize::from(scale.unsigned_abs())));
        return format!("{sign}{text}");
    }
    let scale = usize::from(scale.unsigned_abs());
    if text.len() <= scale {
        text.insert_str(0, &"0".repeat(scale + 1 - text.len()));
    }
    text.insert(text.len() - scale, '.');
    format!("{sign}{text}")
}
