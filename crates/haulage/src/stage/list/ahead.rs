//! How many connections to open while names are asked for. Pure.

use crate::store::ListPage;

/// Before anything is known of a source, and for a folder.
pub(super) const BLIND: usize = 4;
pub(super) const TREE: usize = 8;

/// For one object a connection for so many bytes, up to the most.
const EACH: u64 = 1 << 20;
const MOST: u64 = 16;

/// For a folder whose first names are known, one for two objects and for so many bytes, up to the most.
const OBJECTS_EACH: usize = 2;
const EACH_OF_MANY: u64 = 768 << 10;
const MOST_OF_MANY: usize = 32;

/// For one object of `size` bytes.
pub(super) fn for_one(size: u64) -> usize {
    size.div_ceil(EACH).min(MOST) as usize
}

/// For a folder that begins with this page: about as many as the controller will begin with when it knows the way.
pub(super) fn for_these(page: &ListPage) -> usize {
    let bytes = page.objects.iter().fold(0_u64, |sum, meta| sum.saturating_add(meta.size));
    let of_bytes = usize::try_from(bytes / EACH_OF_MANY).unwrap_or(MOST_OF_MANY);
    (page.objects.len() / OBJECTS_EACH).min(of_bytes).clamp(TREE, MOST_OF_MANY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ObjectMeta;

    #[test]
    fn a_folder_of_many_bytes_gets_more_and_one_of_few_no_more_than_before() {
        let page = |objects: usize, size: u64| {
            let meta = ObjectMeta { size, ..ObjectMeta::default() };
            for_these(&ListPage { objects: vec![meta; objects], ..ListPage::default() })
        };
        assert_eq!(page(128, 256 << 10), 32);
        assert_eq!(page(32, 256 << 10), 10);
        assert_eq!(page(1000, 4096), TREE);
        assert_eq!(page(2, u64::MAX), TREE, "a list may claim any size");
    }

    #[test]
    fn one_object_gets_as_many_as_it_has_mebibytes() {
        assert_eq!((for_one(0), for_one(1), for_one(5 << 20), for_one(1 << 40)), (0, 1, 5, 16));
    }
}
