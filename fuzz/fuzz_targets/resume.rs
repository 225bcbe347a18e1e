//! What an interrupted run has left: block ids, the list beside a partial file, and what is cut from both.
//! Input: the size of the object, then a line for each range.

#![no_main]

use haulage::fuzz::{cut, join, local};
use haulage::store::{BlockId, Kept};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (size, lines) = text.split_once('\n').unwrap_or(("", text));
    // Some MiB, so that blocks are few.
    let size = size.parse::<u64>().unwrap_or(1 << 24) % (1 << 26);
    let ids: Vec<BlockId> = text.split(['\n', ' ']).filter_map(BlockId::decode).collect();
    for id in &ids {
        assert_eq!(BlockId::decode(&id.encode()), Some(*id));
        assert!(id.range.offset.checked_add(id.range.len).is_some(), "{id:?}");
    }
    if let Some((_, end)) = join(&ids) {
        assert_eq!(end, ids.iter().map(|id| id.range.len).sum::<u64>());
    }
    let found = local::ranges(&(local::list("file", "etag", size, &[]) + lines), "file", "etag", size);
    let found = found.expect("its head is the right one");
    for Kept { id, .. } in &found {
        assert!(id.range.len > 0 && id.range.end() <= size, "{:?} of {size} bytes", id.range);
    }
    for other in [("fil", "etag", size), ("file", "e", size), ("file", "etag", size + 1)] {
        let of_another = local::list(other.0, other.1, other.2, &found);
        assert!(local::ranges(&of_another, "file", "etag", size).is_none());
    }
    let again = local::ranges(&local::list("file", "etag", size, &found), "file", "etag", size);
    assert!(
        again.is_some_and(|again| again.len() == found.len() && found.iter().all(|one| again.contains(one)))
    );
    let mut sizes = data.iter().cycle();
    let pieces = cut(size, &ids, || 1 << (16 + sizes.next().map_or(0, |byte| byte % 8)));
    let end = pieces.iter().fold(0, |end, piece| {
        assert_eq!(piece.offset, end);
        piece.end()
    });
    assert_eq!(end, size);
});
