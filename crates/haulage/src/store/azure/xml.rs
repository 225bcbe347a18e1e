//! The service's lists, read from one page of XML at a time.
//!
//! A page holds up to 5,000 entries in some megabytes. The parser walks over it once and allocates only what
//! goes into the result.

use std::borrow::Cow;
use std::time::UNIX_EPOCH;

use percent_encoding::percent_decode_str;
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

use crate::checksum::{Crc64, Md5};
use crate::store::{BlockId, ListPage, ObjectMeta};

/// Why a page cannot be read.
#[derive(Debug)]
pub(super) struct Malformed(pub(super) String);

impl From<quick_xml::Error> for Malformed {
    fn from(error: quick_xml::Error) -> Self {
        Self(error.to_string())
    }
}

/// Calls `on` for every element that begins and ends; with the text in it at its end.
fn walk(page: &[u8], mut on: impl FnMut(Step<'_>)) -> Result<(), Malformed> {
    let text = std::str::from_utf8(page).map_err(|_| Malformed("not UTF-8".to_owned()))?;
    let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}'));
    let mut content = Cow::Borrowed("");
    loop {
        match reader.read_event()? {
            Event::Start(start) => {
                on(Step::Begin(&start));
                content = Cow::Borrowed("");
            }
            Event::Text(text) => append(&mut content, text.xml10_content()),
            Event::CData(data) => append(&mut content, data.xml10_content()),
            Event::GeneralRef(reference) => content.to_mut().push_str(&resolve(&reference)?),
            Event::End(end) => {
                on(Step::End(end.name().0, &content));
                content = Cow::Borrowed("");
            }
            // `<Name/>`: an element without text, which says no more than a missing one.
            Event::Empty(_) => {}
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

enum Step<'a> {
    Begin(&'a BytesStart<'a>),
    End(&'a str, &'a str),
}

fn append<'a>(content: &mut Cow<'a, str>, more: Cow<'a, str>) {
    if content.is_empty() {
        *content = more;
    } else {
        content.to_mut().push_str(&more);
    }
}

fn resolve(reference: &BytesRef<'_>) -> Result<Cow<'static, str>, Malformed> {
    if let Some(character) = reference.resolve_char_ref()? {
        return Ok(Cow::Owned(character.to_string()));
    }
    let known = resolve_predefined_entity(reference);
    known.map(Cow::Borrowed).ok_or_else(|| Malformed(format!("unknown entity &{};", &**reference)))
}

/// Reads a page of blobs and the marker of the next page.
pub(super) fn blobs(page: &[u8]) -> Result<(ListPage, Option<String>), Malformed> {
    let mut list = ListPage::default();
    let mut marker = None;
    let mut blob = ObjectMeta::default();
    let (mut in_blob, mut in_metadata, mut encoded, mut directory) = (false, false, false, false);
    walk(page, |step| match step {
        Step::Begin(start) => match start.name().0 {
            // Metadata may have any names, also those of properties.
            _ if in_metadata => {}
            "Blob" => {
                (blob, in_blob, directory) = (ObjectMeta::default(), true, false);
            }
            "BlobPrefix" => in_blob = false,
            "Metadata" => in_metadata = true,
            // Names with characters that XML cannot hold come percent-encoded and say so.
            "Name" => encoded = start.attributes_raw().contains("Encoded=\"true\""),
            _ => {}
        },
        Step::End("Metadata", _) => in_metadata = false,
        Step::End(name, text) if in_metadata => match name {
            _ if name.eq_ignore_ascii_case("haulage_crc64") => blob.crc64 = Crc64::from_hex(text),
            _ if name.eq_ignore_ascii_case("haulage_mtime_ns") => blob.source_modified_ns = text.parse().ok(),
            // A folder of an account with a hierarchical namespace, not an object.
            _ if name.eq_ignore_ascii_case("hdi_isfolder") => directory = text.eq_ignore_ascii_case("true"),
            _ => {}
        },
        Step::End(name, text) => match name {
            "Name" => {
                let plain =
                    if encoded { percent_decode_str(text).decode_utf8_lossy() } else { Cow::Borrowed(text) };
                if in_blob {
                    blob.key = plain.into_owned();
                } else {
                    list.prefixes.push(plain.into_owned());
                }
            }
            "Content-Length" => blob.size = text.parse().unwrap_or_default(),
            "Etag" => blob.etag = text.trim_matches('"').to_owned(),
            "Last-Modified" => blob.modified_ns = http_date_ns(text).unwrap_or_default(),
            "Content-MD5" => blob.md5 = Md5::from_base64(text),
            "Content-Type" if !text.is_empty() => blob.content_type = Some(text.to_owned()),
            "ResourceType" => directory |= text == "directory",
            "Blob" => {
                in_blob = false;
                if !directory {
                    list.objects.push(std::mem::take(&mut blob));
                }
            }
            "NextMarker" if !text.is_empty() => marker = Some(text.to_owned()),
            _ => {}
        },
    })?;
    Ok((list, marker))
}

/// Reads a page of containers and the marker of the next page.
pub(super) fn containers(page: &[u8]) -> Result<(Vec<String>, Option<String>), Malformed> {
    let (mut names, mut marker, mut in_metadata) = (Vec::new(), None, false);
    walk(page, |step| match step {
        Step::Begin(start) if start.name().0 == "Metadata" => in_metadata = true,
        Step::End("Metadata", _) => in_metadata = false,
        Step::End("Name", text) if !in_metadata => names.push(text.to_owned()),
        Step::End("NextMarker", text) if !text.is_empty() => marker = Some(text.to_owned()),
        _ => {}
    })?;
    Ok((names, marker))
}

/// Reads the uncommitted blocks that we, on whatever machine, have staged.
pub(super) fn uncommitted_blocks(page: &[u8]) -> Result<Vec<BlockId>, Malformed> {
    let (mut blocks, mut uncommitted) = (Vec::new(), false);
    walk(page, |step| match step {
        Step::Begin(start) => match start.name().0 {
            "UncommittedBlocks" => uncommitted = true,
            "CommittedBlocks" => uncommitted = false,
            _ => {}
        },
        Step::End("Name", text) if uncommitted => blocks.extend(BlockId::decode(text)),
        Step::End(..) => {}
    })?;
    Ok(blocks)
}

/// The body of Put Block List.
pub(super) fn block_list(ids: &[String]) -> String {
    let mut body = String::with_capacity(80 + ids.len() * 80);
    body.push_str("<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
    for id in ids {
        // Base64 needs no escapes in XML.
        body.push_str("<Latest>");
        body.push_str(id);
        body.push_str("</Latest>");
    }
    body.push_str("</BlockList>");
    body
}

/// An HTTP date as nanoseconds since 1970.
pub(super) fn http_date_ns(text: &str) -> Option<i64> {
    let since = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_nanos()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::BlockRange;

    #[test]
    fn pages_give_names_properties_and_metadata() {
        let page = "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults ContainerName=\"c\"><Prefix>a&amp;</Prefix>\
            <Blobs><Blob><Name>a&amp;b &lt;c&gt; #?%+&#x20AC;.nc</Name><Properties><Creation-Time>x</Creation-Time>\
            <Last-Modified>Thu, 01 Jan 1970 00:00:02 GMT</Last-Modified><Etag>0x8D1</Etag><Content-Length>7</Content-Length>\
            <Content-Type>text/plain</Content-Type><Content-MD5>1B2M2Y8AsgTpgAmY7PhCfg==</Content-MD5><LeaseStatus>unlocked</LeaseStatus>\
            </Properties><Metadata><haulage_crc64>00000000000000ff</haulage_crc64><haulage_mtime_ns>-5</haulage_mtime_ns>\
            <Name>not the name</Name><Etag>nor this</Etag></Metadata><OrMetadata /></Blob>\
            <BlobPrefix><Name>a&amp;d/</Name></BlobPrefix>\
            <Blob><Name Encoded=\"true\">a&amp;e%EF%BF%BE%25</Name><Properties><Etag>\"2\"</Etag></Properties></Blob>\
            <Blob><Name>folder</Name><Properties><ResourceType>directory</ResourceType></Properties></Blob>\
            <Blob><Name>old</Name><Properties/><Metadata><hdi_isfolder>true</hdi_isfolder></Metadata></Blob>\
            </Blobs><NextMarker>2!8&amp;</NextMarker></EnumerationResults>";
        let (list, marker) = blobs(page.as_bytes()).unwrap();
        assert_eq!(marker.as_deref(), Some("2!8&"));
        assert_eq!(list.prefixes, ["a&d/"]);
        assert_eq!(list.objects.len(), 2);
        let blob = &list.objects[0];
        assert_eq!((blob.key.as_str(), blob.size), ("a&b <c> #?%+€.nc", 7));
        assert_eq!((blob.etag.as_str(), blob.modified_ns), ("0x8D1", 2_000_000_000));
        assert_eq!((blob.crc64, blob.source_modified_ns), (Some(Crc64::from_u64(255)), Some(-5)));
        assert_eq!((blob.md5, blob.content_type.as_deref()), (Some(Md5::of(b"")), Some("text/plain")));
        assert_eq!((list.objects[1].key.as_str(), list.objects[1].etag.as_str()), ("a&e\u{fffe}%", "2"));
    }

    #[test]
    fn empty_and_broken_pages_are_told_apart() {
        let empty = "<?xml version=\"1.0\"?><EnumerationResults><Blobs /><NextMarker /></EnumerationResults>";
        let (list, marker) = blobs(empty.as_bytes()).unwrap();
        assert!(list.objects.is_empty() && list.prefixes.is_empty() && marker.is_none());
        for broken in ["<a></b>", "<a>&nonsense;</a>", "\u{feff}<a"] {
            assert!(blobs(broken.as_bytes()).is_err(), "{broken}");
        }
        assert!(blobs(b"<a>\xff</a>").is_err());
    }

    #[test]
    fn only_our_uncommitted_blocks_count() {
        let id = BlockId { range: BlockRange { offset: 8, len: 4 }, crc64: Crc64::from_u64(9) };
        let page = format!(
            "<BlockList><CommittedBlocks><Block><Name>{0}</Name><Size>4</Size></Block></CommittedBlocks><UncommittedBlocks>\
             <Block><Name>Zm9yZWlnbg==</Name><Size>1</Size></Block><Block><Name>{0}</Name><Size>4</Size></Block>\
             </UncommittedBlocks></BlockList>",
            id.encode()
        );
        assert_eq!(uncommitted_blocks(page.as_bytes()).unwrap(), [id]);
    }

    #[test]
    fn containers_are_listed_by_name() {
        let page = "<EnumerationResults><Containers><Container><Name>one</Name><Properties/></Container><Container><Name>$web</Name>\
            </Container></Containers><NextMarker>m</NextMarker></EnumerationResults>";
        let (names, marker) = containers(page.as_bytes()).unwrap();
        assert_eq!((names, marker.as_deref()), (vec!["one".to_owned(), "$web".to_owned()], Some("m")));
    }
}
