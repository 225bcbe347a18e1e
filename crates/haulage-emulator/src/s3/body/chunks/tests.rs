//! The examples of Amazon's documentation of signed chunks, and ways to get them wrong.

use super::*;
use crate::s3::access::S3Access;
use crate::s3::auth::example_seal;

const SEED: &str = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9";
const TRAILER_SEED: &str = "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e";

/// 66,560 bytes in chunks of 64 KiB, with the signatures that the documentation has for them.
fn example(signatures: [&str; 3]) -> Vec<u8> {
    let mut wire = Vec::new();
    for (len, signature) in [65_536, 1024, 0].into_iter().zip(signatures) {
        wire.extend(format!("{len:x};chunk-signature={signature}\r\n").bytes());
        wire.extend(std::iter::repeat_n(b'a', len));
        if len > 0 {
            wire.extend(b"\r\n");
        }
    }
    wire
}

fn plain() -> Vec<u8> {
    let mut wire = example([
        "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
        "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
        "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
    ]);
    wire.extend(b"\r\n");
    wire
}

fn with_trailer() -> Vec<u8> {
    let mut wire = example([
        "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
        "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
        "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992",
    ]);
    wire.extend(b"x-amz-checksum-crc32c:sOO8/Q==\r\n");
    wire.extend(
        b"x-amz-trailer-signature:d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n\r\n",
    );
    wire
}

fn signed(seed: &str, trailer: bool) -> Chunks {
    Chunks::new(Some(example_seal(&S3Access::example(), seed)), trailer)
}

/// The content of a body that comes in frames of this size, and the trailers.
fn take_apart(mut chunks: Chunks, wire: &[u8], frame: usize) -> Result<(Vec<u8>, Chunks), &'static str> {
    let mut content = Vec::new();
    for part in wire.chunks(frame) {
        let mut part = Bytes::copy_from_slice(part);
        while let Step::Data(bytes) = chunks.step(&mut part).map_err(|error| error.kind.code)? {
            chunks.update(&bytes);
            content.extend_from_slice(&bytes);
        }
    }
    if chunks.is_done() && !chunks.lacks_signature() { Ok((content, chunks)) } else { Err("unfinished") }
}

#[test]
fn the_documented_chunks_hold_however_they_come() {
    for frame in [1, 7, 4096, 1 << 20] {
        let (content, _) = take_apart(signed(SEED, false), &plain(), frame).unwrap();
        assert_eq!(content, vec![b'a'; 66_560]);
        let (content, chunks) = take_apart(signed(TRAILER_SEED, true), &with_trailer(), frame).unwrap();
        assert_eq!(content.len(), 66_560);
        assert_eq!(chunks.trailers(), [("x-amz-checksum-crc32c".to_owned(), "sOO8/Q==".to_owned())]);
    }
}

#[test]
fn altered_chunks_are_refused() {
    let altered = |wire: &[u8], chunks: Chunks, at: usize| {
        let mut wire = wire.to_vec();
        wire[at] ^= 1;
        take_apart(chunks, &wire, 1000).err()
    };
    for at in [100, 65_000, 66_000] {
        assert_eq!(altered(&plain(), signed(SEED, false), at), Some("SignatureDoesNotMatch"), "{at}");
    }
    let wire = with_trailer();
    let checksum = wire.len() - 100;
    assert_eq!(altered(&wire, signed(TRAILER_SEED, true), checksum), Some("SignatureDoesNotMatch"));
    let other_seed = take_apart(signed(TRAILER_SEED, false), &plain(), 1000).err();
    assert_eq!(other_seed, Some("SignatureDoesNotMatch"));
}

proptest::proptest! {
    #[test]
    fn how_a_body_is_cut_into_frames_makes_no_difference(
        wire in "([0-9a-f]{1,2}(;x=y)?\r\n[ab\r\n]{0,20}){0,4}(0\r\n(x-a:b\r\n)?\r\n)?",
        frame in 1_usize..9,
    ) {
        let whole = crate::s3::body::content(wire.as_bytes(), wire.len().max(1));
        proptest::prop_assert_eq!(crate::s3::body::content(wire.as_bytes(), frame), whole);
    }
}

#[test]
fn chunks_without_signatures_may_have_trailers() {
    let unsigned = |wire: &str| take_apart(Chunks::new(None, true), wire.as_bytes(), 3);
    let (content, chunks) = unsigned("5\r\nhello\r\n0\r\nX-Amz-Checksum-CRC32: NhCmhg==\r\n\r\n").unwrap();
    assert_eq!((&content[..], chunks.trailers().len()), (&b"hello"[..], 1));
    for (wire, code) in [
        ("5\r\nhello\r\n0\r\n", "unfinished"),
        ("5\r\nhello!\r\n0\r\n\r\n", "IncompleteBody"),
        ("+5\r\nhello\r\n0\r\n\r\n", "IncompleteBody"),
        ("\r\n", "IncompleteBody"),
        ("5\r\nhello\r\n5\r\nhello\r\n0\r\n\r\n", "InvalidChunkSizeError"),
        ("0\r\nodd\r\n\r\n", "MalformedTrailerError"),
        ("0\r\nx-amz-trailer-signature:00\r\n\r\n", "MalformedTrailerError"),
        ("0\r\n\r\nmore", "IncompleteBody"),
        ("ffffffffffffffff\r\n", "unfinished"),
    ] {
        assert_eq!(unsigned(wire).err(), Some(code), "{wire:?}");
    }
}
