//! Which bytes of an object are asked for.

use std::ops::Range;

use http::header::{CONTENT_RANGE, HeaderValue};

use super::error::{INVALID_PART_NUMBER, INVALID_RANGE, INVALID_REQUEST, bad_argument};
use super::request::Call;
use crate::store::{Blob, PartFacts};
use crate::wire::error::{Answer, ServiceError};

/// The most parts that an object has.
pub(super) const MOST_PARTS: u16 = 10_000;

/// A stretch of an object.
pub(super) struct Slice<'a> {
    pub(super) bytes: Range<u64>,
    /// Whether the client asked for a stretch, be it all of it.
    pub(super) is_partial: bool,
    /// The part that was asked for by its number, where the object has parts.
    pub(super) part: Option<&'a PartFacts>,
}

impl<'a> Slice<'a> {
    pub(super) fn asked(call: &Call<'_>, blob: &'a Blob) -> Answer<Self> {
        let whole = Self { bytes: 0..blob.size, is_partial: false, part: None };
        match (call.header("range"), call.parameter("partNumber")) {
            (Some(_), Some(_)) => {
                Err(INVALID_REQUEST.saying("Cannot specify both Range header and partNumber query parameter"))
            }
            (None, Some(number)) => Self::of_part(number_of_part(number)?, blob),
            (Some(text), None) => Ok(match within(text, blob.size)? {
                Some(bytes) => Self { bytes, is_partial: true, part: None },
                None => whole,
            }),
            (None, None) => Ok(whole),
        }
    }

    fn of_part(number: u16, blob: &'a Blob) -> Answer<Self> {
        let parts = blob.s3.as_ref().map(|facts| &*facts.parts).unwrap_or_default();
        if parts.is_empty() && number == 1 {
            return Ok(Self { bytes: 0..blob.size, is_partial: blob.size > 0, part: None });
        }
        let mut start = 0;
        for part in parts {
            if part.number == number {
                return Ok(Self {
                    bytes: start..start + part.len,
                    is_partial: part.len > 0,
                    part: Some(part),
                });
            }
            start += part.len;
        }
        let count = parts.len().max(1).to_string();
        Err(INVALID_PART_NUMBER
            .detail("PartNumberRequested", number.to_string())
            .detail("ActualPartCount", count))
    }

    pub(super) fn len(&self) -> u64 {
        self.bytes.end - self.bytes.start
    }
}

/// The number of a part in a query.
pub(super) fn number_of_part(text: &str) -> Answer<u16> {
    let number = text.parse().ok().filter(|number| (1..=MOST_PARTS).contains(number));
    number.ok_or_else(|| {
        bad_argument("partNumber", text, "Part number must be an integer between 1 and 10000, inclusive")
    })
}

/// A range's text for an object of `size` bytes. What is not of the forms `bytes=A-B`, `bytes=A-` and
/// `bytes=-N` is ignored, as HTTP would have it.
fn within(text: &str, size: u64) -> Answer<Option<Range<u64>>> {
    let Some((first, last)) = parse(text) else { return Ok(None) };
    let range = match (first, last) {
        (Some(first), last) => first..last.map_or(size, |last| last.saturating_add(1).min(size)),
        (None, count) => size - count.unwrap_or_default().min(size)..size,
    };
    if range.start < range.end {
        return Ok(Some(range));
    }
    let error = INVALID_RANGE.detail("RangeRequested", text).detail("ActualObjectSize", size.to_string());
    Err(with_size(error, size))
}

fn with_size(error: ServiceError, size: u64) -> ServiceError {
    match HeaderValue::try_from(format!("bytes */{size}")) {
        Ok(value) => error.header(CONTENT_RANGE, value),
        Err(_) => error,
    }
}

/// First and last byte, or the number of bytes at the end in place of the last.
fn parse(text: &str) -> Option<(Option<u64>, Option<u64>)> {
    let (first, last) = text.trim().strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| match text.trim() {
        "" => Some(None),
        digits => digits.parse().ok().map(Some),
    };
    let (first, last) = (number(first)?, number(last)?);
    let orderly = match (first, last) {
        (Some(first), Some(last)) => first <= last,
        (None, None) => false,
        _ => true,
    };
    orderly.then_some((first, last))
}

/// The range of a part that is copied: both ends, and within the source.
pub(super) fn of_copy(text: &str, size: u64) -> Answer<Range<u64>> {
    let Some((Some(first), Some(last))) = parse(text) else {
        let message = "The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the zero-based offsets of the first and last bytes to copy";
        return Err(bad_argument("x-amz-copy-source-range", text, message));
    };
    if last >= size {
        let message = format!("Range specified is not valid for source object of size: {size}");
        return Err(bad_argument("x-amz-copy-source-range", text, message));
    }
    Ok(first..last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_or_ignored() {
        let read = |text| within(text, 10).map_err(|error| error.kind.code);
        assert_eq!(read("bytes=5-9"), Ok(Some(5..10)));
        assert_eq!(read("bytes=5-99"), Ok(Some(5..10)));
        assert_eq!(read("bytes=5-"), Ok(Some(5..10)));
        assert_eq!(read("bytes=-3"), Ok(Some(7..10)));
        assert_eq!(read("bytes=-30"), Ok(Some(0..10)));
        for beyond in ["bytes=10-", "bytes=10-11", "bytes=-0"] {
            assert_eq!(read(beyond), Err("InvalidRange"), "{beyond}");
        }
        for ignored in ["bytes=9-5", "5-9", "bytes=a-b", "bytes=1-2,4-5", "bytes=-", "bytes=--1"] {
            assert_eq!(read(ignored), Ok(None), "{ignored}");
        }
        assert_eq!(within("bytes=0-", 0).map_err(|error| error.kind.code), Err("InvalidRange"));
    }

    #[test]
    fn ranges_of_copies_are_strict() {
        let read = |text| of_copy(text, 10).map_err(|error| error.kind.code);
        assert_eq!(read("bytes=0-9"), Ok(0..10));
        for bad in ["bytes=0-10", "bytes=0-", "bytes=-3", "0-9"] {
            assert_eq!(read(bad), Err("InvalidArgument"), "{bad}");
        }
    }
}
