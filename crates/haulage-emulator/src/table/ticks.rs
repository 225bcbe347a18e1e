//! Times of the table service: hundreds of nanoseconds since the year 1, and their text.

const SECOND: u64 = 10_000_000;
const DAY: u64 = 86_400 * SECOND;
/// The first moment that the service keeps: 1601-01-01.
pub(crate) const FIRST: u64 = 584_388 * DAY;
/// The first moment after the last that can be written.
const END: u64 = 3_652_059 * DAY;

/// Reads `2026-01-02T03:04:05.1234567Z`: the fraction may be missing or longer, the zone may be missing (UTC)
/// or an offset, and a date may stand alone. `None` where it is no time.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let bytes = text.trim().as_bytes();
    let (date, rest) = bytes.split_at_checked(10)?;
    let (year, month, day) = (number(&date[..4])?, number(&date[5..7])?, number(&date[8..])?);
    if date[4] != b'-' || date[7] != b'-' || !(1..=9999).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    if !(1..=days_in(year, month)).contains(&day) {
        return None;
    }
    let midnight = days_before(year, month, day) * DAY;
    let Some((b'T' | b't' | b' ', rest)) = rest.split_first() else {
        return rest.is_empty().then_some(midnight);
    };
    let (time, rest) = rest.split_at_checked(8)?;
    let (hour, minute, second) = (number(&time[..2])?, number(&time[3..5])?, number(&time[6..])?);
    if time[2] != b':' || time[5] != b':' || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (fraction, zone) = fraction(rest)?;
    let ticks = midnight + (hour * 3600 + minute * 60 + second) * SECOND + fraction;
    let ticks = match zone {
        b"" | b"Z" | b"z" => ticks,
        [sign @ (b'+' | b'-'), zone @ ..] if zone.len() == 5 && zone[2] == b':' => {
            let (hours, minutes) = (number(&zone[..2])?, number(&zone[3..])?);
            let offset = (hours * 60 + minutes) * 60 * SECOND;
            if *sign == b'+' { ticks.checked_sub(offset)? } else { ticks + offset }
        }
        _ => return None,
    };
    (ticks < END).then_some(ticks)
}

/// A fraction of a second in ticks, and what stands after it.
fn fraction(rest: &[u8]) -> Option<(u64, &[u8])> {
    let Some((b'.', rest)) = rest.split_first() else { return Some((0, rest)) };
    let len = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, zone) = rest.split_at(len);
    let kept = number(&digits[..len.min(7)])?;
    Some((kept * 10_u64.pow(7 - len.min(7) as u32), zone))
}

fn number(digits: &[u8]) -> Option<u64> {
    let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    plain.then(|| digits.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')))
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 0001-01-01 to this date. Years begin in March for it, so that the odd day comes last.
fn days_before(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 306
}

/// Year, month and day so many days after 0001-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 306;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

/// How a time ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Digits {
    /// Seven digits, as the service's own times have them.
    Seven,
    /// As many as are needed, as a property's time is written.
    Needed,
}

/// Appends a time in UTC.
pub(crate) fn push(out: &mut Vec<u8>, ticks: u64, digits: Digits) {
    let ((year, month, day), seconds) = (date(ticks / DAY), ticks % DAY / SECOND);
    let mut text = *b"0000-00-00T00:00:00.0000000";
    put(&mut text[0..4], year);
    put(&mut text[5..7], month);
    put(&mut text[8..10], day);
    put(&mut text[11..13], seconds / 3600);
    put(&mut text[14..16], seconds / 60 % 60);
    put(&mut text[17..19], seconds % 60);
    let fraction = ticks % SECOND;
    put(&mut text[20..27], fraction);
    let len = match digits {
        Digits::Seven => 27,
        Digits::Needed if fraction == 0 => 19,
        Digits::Needed => text.iter().rposition(|byte| *byte != b'0').map_or(27, |at| at + 1),
    };
    out.extend_from_slice(&text[..len]);
    out.push(b'Z');
}

fn put(place: &mut [u8], mut value: u64) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

/// The time as text.
pub(crate) fn text(ticks: u64, digits: Digits) -> String {
    let mut out = Vec::with_capacity(28);
    push(&mut out, ticks, digits);
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_read_in_their_forms() {
        let day = parse("2026-01-02T00:00:00Z").unwrap();
        for same in
            ["2026-01-02", "2026-01-02T00:00:00", "2026-01-02T00:00:00.000Z", "2026-01-02T02:00:00+02:00"]
        {
            assert_eq!(parse(same), Some(day), "{same}");
        }
        assert_eq!(parse("2026-01-02T00:00:00.1234567Z"), Some(day + 1_234_567));
        assert_eq!(parse("2026-01-02T00:00:00.12345679Z"), Some(day + 1_234_567));
        for bad in
            ["", "now", "2026-02-29", "2026-13-01", "0000-01-01", "2026-01-02T24:00:00Z", "2026-01-02T1"]
        {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert_eq!(parse("1601-01-01"), Some(FIRST));
        assert_eq!(parse("0001-01-01"), Some(0));
        assert_eq!(parse("9999-12-31T23:59:59.9999999Z"), Some(END - 1));
        assert_eq!(parse("9999-12-31T23:59:59-01:00"), None);
    }

    #[test]
    fn digits_end_where_they_are_told() {
        let time = parse("2026-01-02T03:04:05.12Z").unwrap();
        assert_eq!(text(time, Digits::Seven), "2026-01-02T03:04:05.1200000Z");
        assert_eq!(text(time, Digits::Needed), "2026-01-02T03:04:05.12Z");
        assert_eq!(text(time / SECOND * SECOND, Digits::Needed), "2026-01-02T03:04:05Z");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(ticks in 0..END) {
            prop_assert_eq!(parse(&text(ticks, Digits::Seven)), Some(ticks));
            prop_assert_eq!(parse(&text(ticks, Digits::Needed)), Some(ticks));
        }

        #[test]
        fn no_text_upsets_it(text in ".{0,40}") {
            let _ = parse(&text);
        }
    }
}
