//! Values of rows as text of keys: numbers, times and the rest, each in one way.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::UnmadeKind;
use super::iso::{DAY, EPOCH, Iso, LAST_TICK};

/// From here on not every whole number is a double.
const NOT_WHOLE: f64 = 9_007_199_254_740_992.0;

/// The value of a column in a row.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::table) enum KeyValue<'a> {
    /// Text.
    Text(Cow<'a, str>),
    /// An integer of any width.
    Whole(i128),
    /// A float, widened to 64 bits.
    Double(f64),
    /// `digits` · 10^-`scale`.
    Decimal { digits: i128, scale: i8 },
    /// A boolean.
    Boolean(bool),
    /// Days since 1970.
    Date(i32),
    /// Nanoseconds since 1970, in UTC.
    Time(i128),
    /// Nanoseconds since midnight.
    TimeOfDay(i64),
    /// A UUID.
    Uuid([u8; 16]),
    /// Bytes.
    Binary(&'a [u8]),
    /// What has no text: lists, structs and the like.
    NoText,
}

impl KeyValue<'_> {
    /// Adds the text that it has without a format to a key.
    pub(super) fn push_text(&self, key: &mut String) -> Result<(), UnmadeKind> {
        match self {
            Self::Text(text) => key.push_str(text),
            Self::Whole(number) => {
                push_sign(key, *number);
                push_digits(key, number.unsigned_abs(), 1);
            }
            Self::Double(number) => push_double(key, *number)?,
            Self::Decimal { digits, scale } => push_decimal(key, *digits, *scale),
            Self::Boolean(value) => key.push_str(if *value { "true" } else { "false" }),
            Self::Date(_) => Iso::of(self.ticks()?).push(..10, key),
            Self::Time(_) => Iso::of(self.ticks()?).push(.., key),
            Self::TimeOfDay(ns) => {
                let ticks = u64::try_from(*ns).map_or(DAY, |ns| ns / 100);
                if ticks >= DAY {
                    return Err(UnmadeKind::Range);
                }
                Iso::of(ticks).push(11..27, key);
            }
            Self::Uuid(bytes) => {
                for (at, byte) in bytes.iter().enumerate() {
                    if let 4 | 6 | 8 | 10 = at {
                        key.push('-');
                    }
                    push_hex(key, *byte);
                }
            }
            Self::Binary(bytes) => {
                key.reserve(2 * bytes.len());
                bytes.iter().for_each(|byte| push_hex(key, *byte));
            }
            Self::NoText => return Err(UnmadeKind::Type),
        }
        Ok(())
    }

    /// A whole number, also one that stands in a double or decimal.
    pub(super) fn whole(&self) -> Result<i128, UnmadeKind> {
        match *self {
            Self::Whole(number) => Ok(number),
            // What is not a number or not finite has a fraction that is not zero.
            Self::Double(number) if number.fract() == 0.0 && number.abs() < NOT_WHOLE => Ok(number as i128),
            Self::Decimal { digits, scale } => whole_decimal(digits, scale),
            _ => Err(UnmadeKind::Type),
        }
    }

    /// A time or date as ticks since the year 1, at most [`LAST_TICK`].
    pub(super) fn ticks(&self) -> Result<u64, UnmadeKind> {
        let ticks = match *self {
            Self::Date(days) => i128::from(days) * i128::from(DAY),
            // A division of 128 bits takes tens of nanoseconds, and hardly any time needs one.
            Self::Time(ns) => match i64::try_from(ns) {
                Ok(ns) => i128::from(ns.div_euclid(100)),
                Err(_) => ns.div_euclid(100),
            },
            _ => return Err(UnmadeKind::Type),
        };
        let ticks = u64::try_from(ticks + i128::from(EPOCH)).map_err(|_| UnmadeKind::Range)?;
        if ticks > LAST_TICK { Err(UnmadeKind::Range) } else { Ok(ticks) }
    }
}

/// Adds a number with zeros in front, so that it has at least so many digits.
pub(super) fn push_digits(key: &mut String, mut number: u128, width: usize) {
    // As many as the largest number has.
    let mut digits = [0; 39];
    let mut from = digits.len();
    let mut low = loop {
        // Divisions of 128 bits are slow, and few numbers need them.
        if let Ok(low) = u64::try_from(number) {
            break low;
        }
        from -= 1;
        digits[from] = b'0' + (number % 10) as u8;
        number /= 10;
    };
    loop {
        from -= 1;
        digits[from] = b'0' + (low % 10) as u8;
        low /= 10;
        if low == 0 {
            break;
        }
    }
    let digits = &digits[from..];
    key.extend(std::iter::repeat_n('0', width.saturating_sub(digits.len())));
    key.extend(digits.iter().copied().map(char::from));
}

fn push_sign(key: &mut String, number: i128) {
    if number < 0 {
        key.push('-');
    }
}

/// The shortest digits that read back as the same number, never with an exponent, as the standard library writes them.
fn push_double(key: &mut String, number: f64) -> Result<(), UnmadeKind> {
    if !number.is_finite() {
        return Err(UnmadeKind::Range);
    }
    // Zero has a sign.
    let number = if number == 0.0 { 0.0 } else { number };
    // Text grows without fail.
    let _ = write!(key, "{number}");
    Ok(())
}

fn push_decimal(key: &mut String, digits: i128, scale: i8) {
    let places = usize::from(scale.unsigned_abs());
    push_sign(key, digits);
    if scale > 0 {
        push_digits(key, digits.unsigned_abs(), places + 1);
        key.insert(key.len() - places, '.');
    } else {
        push_digits(key, digits.unsigned_abs(), 1);
        key.extend(std::iter::repeat_n('0', if digits == 0 { 0 } else { places }));
    }
}

fn whole_decimal(digits: i128, scale: i8) -> Result<i128, UnmadeKind> {
    match 10_i128.checked_pow(u32::from(scale.unsigned_abs())) {
        Some(power) if scale < 0 => digits.checked_mul(power).ok_or(UnmadeKind::Range),
        Some(power) if digits % power == 0 => Ok(digits / power),
        None if digits == 0 => Ok(0),
        // More digits than any format writes.
        None if scale < 0 => Err(UnmadeKind::Range),
        _ => Err(UnmadeKind::Type),
    }
}

fn push_hex(key: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    key.push(char::from(DIGITS[usize::from(byte >> 4)]));
    key.push(char::from(DIGITS[usize::from(byte & 15)]));
}
