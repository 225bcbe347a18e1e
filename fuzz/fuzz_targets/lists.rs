//! Pages of the service: blobs, containers, block lists.

#![no_main]

use haulage::fuzz::azure;
use haulage_emulator::fuzz as emulator;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    any_page(data);
    if let Ok(text) = std::str::from_utf8(data) {
        names_read_back(text);
        a_size_is_a_number(text);
    }
});

/// Whatever a page is, what comes of it is no longer than it.
fn any_page(page: &[u8]) {
    if let Some((list, marker)) = azure::blobs(page) {
        let of_objects = list.objects.iter().chain(&list.markers).map(|object| {
            object.key.len() + object.etag.len() + object.content_type.as_ref().map_or(0, String::len)
        });
        let of_prefixes = list.prefixes.iter().map(String::len);
        let held: usize = of_objects.chain(of_prefixes).sum();
        assert!(held + marker.map_or(0, |marker| marker.len()) <= page.len());
        // `<Blob></Blob>` is the shortest object, `<Name></Name>` the shortest prefix.
        assert!((list.objects.len() + list.markers.len() + list.prefixes.len()) * 13 <= page.len());
    }
    if let Some((names, _)) = azure::containers(page) {
        assert!(names.iter().map(|name| name.len() + 13).sum::<usize>() <= page.len());
    }
    if let Some(tags) = azure::tags(page) {
        assert!(tags.iter().map(|(name, value)| name.len() + value.len() + 13).sum::<usize>() <= page.len());
        assert!(tags.windows(2).all(|two| two[0].0 < two[1].0), "each once, in order");
    }
    for id in azure::uncommitted_blocks(page).unwrap_or_default() {
        assert!(id.range.offset.checked_add(id.range.len).is_some(), "{id:?}");
    }
}

/// Names come back as they were, as our endpoint writes them.
fn names_read_back(text: &str) {
    let names: Vec<&str> = text.split('|').collect();
    let properties = "<Properties><Etag>1</Etag><Content-Length>1</Content-Length></Properties>";
    let blob = |name: &&str| format!("<Blob>{}{properties}</Blob>", emulator::name(name));
    let page = format!(
        "<EnumerationResults>{}<Blobs>{}</Blobs>{}</EnumerationResults>",
        emulator::element("Prefix", text),
        names.iter().map(blob).collect::<String>(),
        emulator::element("NextMarker", names[0])
    );
    // A prefix cannot be escaped where XML has no form for it; names can.
    let Some((list, marker)) = azure::blobs(page.as_bytes()) else { panic!("unreadable: {page:?}") };
    assert!(list.objects.iter().map(|object| object.key.as_str()).eq(names.iter().copied()), "{page:?}");
    assert_eq!(marker.unwrap_or_default(), names[0]);
}

fn a_size_is_a_number(text: &str) {
    let page = format!(
        "<EnumerationResults><Blobs><Blob><Name>a</Name><Etag>1</Etag>{}</Blob></Blobs><NextMarker/></EnumerationResults>",
        emulator::element("Content-Length", text)
    );
    if let Some((list, _)) = azure::blobs(page.as_bytes()) {
        assert_eq!(text.parse(), Ok(list.objects[0].size), "{text:?}");
    }
}
