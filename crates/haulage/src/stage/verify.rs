//! Whether what arrived is what was sent. Pure.

use std::fmt::Display;

use crate::checksum::{ChecksumMode, Crc64, Md5};
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::event::Proof;
use crate::store::{ObjectMeta, Part, join_parts};

/// Compares the CRC64 of what arrived with what the other side states, where it states one.
///
/// # Errors
/// `Integrity`, to be sent again: most often the link flipped a bit.
pub(crate) fn check_crc64(name: &str, arrived: Crc64, stated: Option<Crc64>) -> Result<()> {
    match stated {
        Some(stated) if stated != arrived => Err(differs(name, "CRC64", &arrived, &stated)),
        _ => Ok(()),
    }
}

/// The same by MD5, where both are known.
pub(crate) fn check_md5(name: &str, arrived: Option<Md5>, stated: Option<Md5>) -> Result<()> {
    match (arrived, stated) {
        (Some(arrived), Some(stated)) if arrived != stated => Err(differs(name, "MD5", &arrived, &stated)),
        _ => Ok(()),
    }
}

/// What a source states of one version in several places: its list, an answer's headers, a checksum of the body.
///
/// # Errors
/// `Integrity` where two of them do not agree: then nobody can say which of them the bytes should fit.
pub(crate) fn agreed<T: Copy + PartialEq + Display, const N: usize>(
    name: &str,
    checksum: &str,
    stated: [Option<T>; N],
) -> Result<Option<T>> {
    let mut all = stated.into_iter().flatten();
    let first = all.next();
    match first.and_then(|first| all.find(|other| *other != first).map(|other| (first, other))) {
        None => Ok(first),
        Some((first, other)) => {
            let cause = format!("the source states {checksum} {first} and {other} of the same version");
            Err(Error::new(ErrorKind::Integrity, "verify", name, cause)
                .hint("no damaged data was kept; run the same command again")
                .retry(Retry::Backoff))
        }
    }
}

/// Says what to do where bytes may have left before they were found to be wrong, as they do to standard output: nobody can take them
/// back.
pub(crate) fn written_already(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Integrity => {
            error.hint("what was written may be damaged: discard it, and run the same command again")
        }
        _ => error,
    }
}

fn differs(name: &str, checksum: &str, arrived: &dyn Display, stated: &dyn Display) -> Error {
    let cause = format!("{checksum} of what arrived is {arrived}, the source says {stated}");
    Error::new(ErrorKind::Integrity, "verify", name, cause)
        .hint("what arrived was discarded; run the same command again; if it says the same, the checksum stored with the object is wrong")
        .retry(Retry::Backoff)
}

/// The CRC64 of the whole from its blocks, which must be in order and leave no gap. `None` where the service has made blocks and
/// not said what they come to.
pub(crate) fn combine(name: &str, parts: &[Part], size: u64) -> Result<Option<Crc64>> {
    let end = match join_parts(parts) {
        Ok((whole, end)) if end == size => return Ok(whole),
        Ok((_, end)) | Err((end, _)) => end,
    };
    Err(Error::new(ErrorKind::Integrity, "verify", name, format!("the blocks end at byte {end} of {size}")))
}

/// What is known of a copy's two ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    /// The source states no checksums: what was read of it is what it holds.
    pub(crate) from_plain: bool,
    /// Nor does the destination: it takes what it is given.
    pub(crate) to_plain: bool,
    /// The source vouched for every range that was read.
    pub(crate) vouched: bool,
    /// The destination stated a checksum of everything it took, and it was ours.
    pub(crate) confirmed: bool,
}

/// What proves a copy of `source`: the weaker of what is known of its two ends.
pub(crate) fn proof(source: &ObjectMeta, ends: Ends, mode: ChecksumMode) -> Proof {
    let read = match (source.crc64, source.md5) {
        _ if ends.from_plain => Proof::Crc64,
        (Some(_), _) => Proof::Crc64,
        (None, Some(_)) => Proof::Md5,
        (None, None) if ends.vouched => Proof::Crc64,
        (None, None) => Proof::Length,
    };
    let written = match mode {
        // What arrived was compared on the way in.
        _ if ends.to_plain && !ends.from_plain => Proof::Crc64,
        ChecksumMode::None => Proof::Length,
        _ if !ends.confirmed => Proof::Sent,
        ChecksumMode::Md5 => Proof::Md5,
        ChecksumMode::Crc64 => Proof::Crc64,
    };
    match (read, written) {
        (Proof::Length, _) | (_, Proof::Length) => Proof::Length,
        (_, Proof::Sent) => Proof::Sent,
        (Proof::Md5, _) | (_, Proof::Md5) => Proof::Md5,
        _ => Proof::Crc64,
    }
}

/// What proves a copy that the service has made by itself: `made` is what it states of the copy as a whole, or of its blocks
/// together. It has `answered` for the copy where it states a checksum of anything that it made.
pub(crate) fn proof_by_service(
    source: &ObjectMeta,
    made: (Option<Crc64>, Option<Md5>),
    answered: bool,
) -> Proof {
    match (source.crc64.zip(made.0), source.md5.zip(made.1)) {
        (Some((there, here)), _) if there == here => Proof::Crc64,
        (_, Some((there, here))) if there == here => Proof::Md5,
        _ if answered => Proof::Service,
        _ => Proof::Length,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{BlockId, BlockRange, Token};

    #[test]
    fn blocks_with_a_gap_do_not_make_an_object() {
        let id = |offset, bytes: &[u8]| {
            let range = BlockRange { offset, len: bytes.len() as u64 };
            Part::from(BlockId { range, crc64: Crc64::of(bytes) })
        };
        assert_eq!(combine("a", &[id(0, b"12"), id(2, b"345")], 5).unwrap(), Some(Crc64::of(b"12345")));
        assert_eq!(combine("a", &[], 0).unwrap(), Some(Crc64::EMPTY));
        let unstated = Part::unstated(BlockRange { offset: 2, len: 3 }, Token::default());
        assert_eq!(combine("a", &[id(0, b"12"), unstated], 5).unwrap(), None);
        for blocks in [vec![id(0, b"12"), id(3, b"45")], vec![id(0, b"12")], vec![id(2, b"345")]] {
            assert_eq!(combine("a", &blocks, 5).unwrap_err().kind(), ErrorKind::Integrity);
        }
    }

    #[test]
    fn a_proof_says_no_more_than_is_known() {
        let ends =
            |from_plain, to_plain, vouched, confirmed| Ends { from_plain, to_plain, vouched, confirmed };
        let (plain, stated) =
            (ObjectMeta::default(), ObjectMeta { crc64: Some(Crc64::EMPTY), ..ObjectMeta::default() });
        let by = |source: &ObjectMeta, ends| proof(source, ends, ChecksumMode::Crc64);
        // Up.
        assert_eq!(by(&plain, ends(true, false, false, true)), Proof::Crc64);
        assert_eq!(by(&plain, ends(true, false, false, false)), Proof::Sent);
        assert_eq!(proof(&plain, ends(true, false, false, true), ChecksumMode::Md5), Proof::Md5);
        assert_eq!(proof(&plain, ends(true, false, false, false), ChecksumMode::None), Proof::Length);
        // Down.
        assert_eq!(by(&plain, ends(false, true, true, false)), Proof::Crc64);
        assert_eq!(by(&plain, ends(false, true, false, false)), Proof::Length);
        assert_eq!(by(&stated, ends(false, true, false, false)), Proof::Crc64);
        // Across, and within this machine.
        assert_eq!(by(&stated, ends(false, false, false, true)), Proof::Crc64);
        assert_eq!(by(&stated, ends(false, false, false, false)), Proof::Sent);
        assert_eq!(by(&plain, ends(false, false, false, true)), Proof::Length);
        assert_eq!(by(&plain, ends(true, true, false, false)), Proof::Sent);
    }

    #[test]
    fn what_the_service_says_is_compared_where_both_sides_say_it() {
        let (crc64, md5) = (Some(Crc64::of(b"a")), Some(Md5::of(b"a")));
        let source = |crc64, md5| ObjectMeta { crc64, md5, ..ObjectMeta::default() };
        let by = |crc64, md5, made, answered| proof_by_service(&source(crc64, md5), made, answered);
        assert_eq!(by(crc64, None, (crc64, None), true), Proof::Crc64);
        assert_eq!(by(None, md5, (None, md5), true), Proof::Md5);
        assert_eq!(by(None, None, (crc64, md5), true), Proof::Service);
        assert_eq!(by(crc64, None, (None, None), true), Proof::Service);
        assert_eq!(by(crc64, md5, (None, None), false), Proof::Length);
    }

    #[test]
    fn what_is_stated_twice_is_stated_alike() {
        assert_eq!(agreed("a", "MD5", [None, Some(1), None, Some(1)]).unwrap(), Some(1));
        assert_eq!(agreed::<u8, 2>("a", "MD5", [None, None]).unwrap(), None);
        assert_eq!(agreed("a", "MD5", [Some(1), None, Some(2)]).unwrap_err().kind(), ErrorKind::Integrity);
    }

    #[test]
    fn a_flipped_byte_is_an_integrity_failure_worth_another_try() {
        let error = check_crc64("a", Crc64::of(b"x"), Some(Crc64::of(b"y"))).unwrap_err();
        assert_eq!((error.kind(), error.retry_advice()), (ErrorKind::Integrity, Retry::Backoff));
        let hint = "what arrived was discarded; run the same command again; if it says the same, the checksum stored with the object is wrong";
        assert_eq!(error.hint_text(), Some(hint));
        // What was written to standard output is not discarded.
        let hint = "what was written may be damaged: discard it, and run the same command again";
        assert_eq!(written_already(error).hint_text(), Some(hint));
        let gone = written_already(Error::new(ErrorKind::NotFound, "read", "a", "it is gone"));
        assert_eq!(gone.hint_text(), Some("check the name"));
        check_crc64("a", Crc64::of(b"x"), None).unwrap();
    }
}
