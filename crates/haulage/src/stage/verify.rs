//! Whether what arrived is what was sent. Pure.

use std::fmt::Display;

use crate::checksum::{ChecksumMode, Crc64, Md5};
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::event::Proof;
use crate::store::{BlockId, ObjectMeta, join};

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

fn differs(name: &str, checksum: &str, arrived: &dyn Display, stated: &dyn Display) -> Error {
    let cause = format!("{checksum} of what arrived is {arrived}, the source says {stated}");
    Error::new(ErrorKind::Integrity, "verify", name, cause)
        .hint("the bytes changed on the way; nothing wrong was kept, so run the same command again")
        .retry(Retry::Backoff)
}

/// The CRC64 of the whole from its blocks, which must be in order and leave no gap.
pub(crate) fn combine(name: &str, blocks: &[BlockId], size: u64) -> Result<Crc64> {
    let end = match join(blocks) {
        Ok((whole, end)) if end == size => return Ok(whole),
        Ok((_, end)) | Err((end, _)) => end,
    };
    Err(Error::new(ErrorKind::Integrity, "verify", name, format!("the blocks end at byte {end} of {size}")))
}

/// What proves a copy. `ranges_checked` says that the source vouched for every range that was read.
pub(crate) fn proof(
    source: &ObjectMeta,
    from_local: bool,
    to_local: bool,
    mode: ChecksumMode,
    ranges_checked: bool,
) -> Proof {
    let stated = match (source.crc64, source.md5) {
        (Some(_), _) => Proof::Crc64,
        (None, Some(_)) => Proof::Md5,
        (None, None) if ranges_checked => Proof::Crc64,
        (None, None) => Proof::Length,
    };
    // A local source is read by us: what counts is what the destination confirms.
    match (from_local, to_local, mode) {
        (true, true, _) | (true, false, ChecksumMode::Crc64) => Proof::Crc64,
        (true, false, ChecksumMode::Md5) => Proof::Md5,
        (true, false, ChecksumMode::None) => Proof::Length,
        (false, _, _) => stated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::BlockRange;

    #[test]
    fn blocks_with_a_gap_do_not_make_an_object() {
        let id = |offset, bytes: &[u8]| BlockId {
            range: BlockRange { offset, len: bytes.len() as u64 },
            crc64: Crc64::of(bytes),
        };
        assert_eq!(combine("a", &[id(0, b"12"), id(2, b"345")], 5).unwrap(), Crc64::of(b"12345"));
        assert_eq!(combine("a", &[], 0).unwrap(), Crc64::EMPTY);
        for blocks in [vec![id(0, b"12"), id(3, b"45")], vec![id(0, b"12")], vec![id(2, b"345")]] {
            assert_eq!(combine("a", &blocks, 5).unwrap_err().kind(), ErrorKind::Integrity);
        }
    }

    #[test]
    fn a_flipped_byte_is_an_integrity_failure_worth_another_try() {
        let error = check_crc64("a", Crc64::of(b"x"), Some(Crc64::of(b"y"))).unwrap_err();
        assert_eq!((error.kind(), error.retry_advice()), (ErrorKind::Integrity, Retry::Backoff));
        check_crc64("a", Crc64::of(b"x"), None).unwrap();
    }
}
