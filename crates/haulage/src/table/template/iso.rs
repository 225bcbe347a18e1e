//! Times as the service counts them, in ticks of 100 ns since the year 1, and as ISO 8601 writes them.

use std::slice::SliceIndex;

/// Ticks in a second, and in a day.
const SECOND: u64 = 10_000_000;
pub(super) const DAY: u64 = 86_400 * SECOND;
/// Ticks from the year 1 to 1970.
pub(super) const EPOCH: u64 = 719_162 * DAY;
/// The last tick of the year 9999.
pub(super) const LAST_TICK: u64 = 3_155_378_975_999_999_999;

/// A time in UTC with seven digits of its second: `2024-02-03T04:05:06.1234567Z`.
pub(super) struct Iso([u8; 28]);

impl Iso {
    /// A time by its ticks.
    pub(super) fn of(ticks: u64) -> Self {
        let mut text = *b"0000-00-00T00:00:00.0000000Z";
        let (year, month, day) = date(ticks / DAY);
        let (seconds, fraction) = (ticks % DAY / SECOND, ticks % SECOND);
        put(&mut text[..4], year);
        put(&mut text[5..7], month);
        put(&mut text[8..10], day);
        put(&mut text[11..13], seconds / 3600);
        put(&mut text[14..16], seconds / 60 % 60);
        put(&mut text[17..19], seconds % 60);
        put(&mut text[20..27], fraction);
        Self(text)
    }

    /// Adds a stretch of it to a key.
    pub(super) fn push(&self, stretch: impl SliceIndex<[u8], Output = [u8]>, key: &mut String) {
        key.extend(self.0[stretch].iter().copied().map(char::from));
    }
}

/// Writes a number into all of a place, with zeros in front.
fn put(place: &mut [u8], mut number: u64) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// Year, month and day, by the days since the first one of the year 1: Howard Hinnant's `civil_from_days`
/// (<https://howardhinnant.github.io/date_algorithms.html>), whose years begin in March and whose eras have 400 of them.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 306;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}
