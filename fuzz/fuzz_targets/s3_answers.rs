//! What S3 answers to what was asked: pages of objects, buckets, uploads and parts, what became of objects that were to be deleted,
//! a new upload. Nothing outside of what was asked for is believed, and every list gets on.

#![no_main]

use haulage::fuzz::s3;
use haulage::store::ListRequest;
use libfuzzer_sys::fuzz_target;

const NAMED: [&str; 3] = ["in/a", "in/b", "in/c&d"];

fuzz_target!(|data: &[u8]| {
    for hierarchical in [false, true] {
        objects(data, hierarchical);
    }
    parts(data);
    uploads(data);
    deleted(data);
    if let Some(id) = s3::upload_id(data, "in/a") {
        assert!(is_id(&id), "{id:?}");
    }
});

fn objects(page: &[u8], hierarchical: bool) {
    let request = ListRequest { prefix: "in/".into(), hierarchical, ..ListRequest::default() };
    let Some((list, next)) = s3::believed_objects(page, &request, "box", Some("token")) else { return };
    for object in list.objects.iter().chain(&list.markers) {
        assert!(object.key.starts_with("in/") && object.key.len() <= 4096, "{:?}", object.key);
        assert!(!object.etag.is_empty() && object.etag.len() <= 4096, "{:?}", object.etag);
        assert!(!hierarchical || !object.key["in/".len()..].contains('/'), "{:?}", object.key);
    }
    assert!(hierarchical || list.prefixes.is_empty());
    for folder in &list.prefixes {
        assert!(folder.starts_with("in/") && folder.ends_with('/'), "{folder:?}");
    }
    let mut keys: Vec<&str> = list.objects.iter().chain(&list.markers).map(|object| object.key.as_str()).collect();
    keys.sort_unstable();
    assert!(keys.windows(2).all(|two| two[0] != two[1]), "{keys:?}");
    assert!(next.is_none_or(|next| !next.is_empty()), "an empty token leads to the first page again");
}

fn parts(page: &[u8]) {
    for after in [0, 2] {
        let Some((numbers, next)) = s3::believed_parts(page, "in/a", "upload", after) else { continue };
        assert!(
            numbers.iter().all(|number| *number > after) && numbers.is_sorted(),
            "{numbers:?} after {after}"
        );
        if let Some(next) = next {
            assert!(
                next > after && numbers.last().is_some_and(|last| next >= *last),
                "{numbers:?}, then {next}"
            );
        }
    }
}

fn uploads(page: &[u8]) {
    for (key, id) in s3::uploads(page).unwrap_or_default() {
        assert!(!key.is_empty() && is_id(&id), "{key:?} {id:?}");
    }
}

/// An id stands in URLs and in the names of leftovers.
fn is_id(id: &str) -> bool {
    (1..=4096).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'?')
}

fn deleted(document: &[u8]) {
    let Some(outcomes) = s3::believed_deleted(document, &NAMED) else { return };
    assert!(outcomes.len() <= NAMED.len());
    assert!(outcomes.iter().all(|(key, _)| NAMED.contains(&key.as_str())), "{outcomes:?}");
    // Whatever else stands there: for what is called gone, nothing says that it is not.
    let told = s3::deleted(document).unwrap_or_default();
    assert!(outcomes.iter().all(|(key, gone)| !gone || told.contains(key)), "{outcomes:?}");
}
