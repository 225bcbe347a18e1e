//! The service's lists, read from one page of XML at a time.
//!
//! A page holds up to 5,000 entries in some megabytes. The parser walks over it once and allocates only what
//! goes into the result.

use std::borrow::Cow;
use std::time::UNIX_EPOCH;

use percent_encoding::percent_decode_str;
use quick_xml::escape::unescape;

use crate::checksum::{Crc64, Md5};
use crate::store::{BlockId, ListPage, ObjectMeta};

/// Why a page cannot be read.
#[derive(Debug)]
pub(super) struct Malformed(pub(super) String);

/// Calls `on` for every element that begins and ends; with the text in it at its end.
///
/// The service writes XML of the plainest kind, so a cut at every `<` and `>` does: five times as fast as a parser
/// of all of XML, of which a list of a million names needs a gigabyte. What is not of that kind is refused.
fn walk<'a>(page: &'a [u8], mut on: impl FnMut(Step<'_>)) -> Result<(), Malformed> {
    let wrong = |why: &str| Malformed(why.to_owned());
    let page = std::str::from_utf8(page).map_err(|_| wrong("not UTF-8"))?;
    let mut rest = page.trim_start_matches('\u{feff}').trim_start();
    let mut open: Vec<&'a str> = Vec::with_capacity(8);
    let mut text = "";
    while let Some((tag, after)) = rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        let (content, next) = after.split_at(after.find('<').unwrap_or(after.len()));
        rest = next;
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(wrong("an end without its beginning"));
            }
            if text.contains('&') {
                on(Step::End(name, &unescape(text).map_err(|error| Malformed(error.to_string()))?));
            } else {
                on(Step::End(name, text));
            }
            // What follows stands between elements: white space.
            text = "";
        } else if tag.starts_with('!') {
            return Err(wrong("not the plain XML of the service"));
        } else if !tag.starts_with('?') && !tag.ends_with('/') {
            let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
            on(Step::Begin(name, attributes));
            open.push(name);
            text = content;
        }
    }
    if open.is_empty() && rest.trim().is_empty() { Ok(()) } else { Err(wrong("it ends in the middle")) }
}

enum Step<'a> {
    /// Name and attributes.
    Begin(&'a str, &'a str),
    /// Name and, of an element without others in it, its text.
    End(&'a str, &'a str),
}

/// Reads a page of blobs and the marker of the next page.
pub(super) fn blobs(page: &[u8]) -> Result<(ListPage, Option<String>), Malformed> {
    let mut list = ListPage::default();
    let mut marker = None;
    let mut blob = ObjectMeta::default();
    let (mut in_blob, mut in_metadata, mut encoded, mut directory) = (false, false, false, false);
    walk(page, |step| match step {
        Step::Begin(name, attributes) => match name {
            // Metadata may have any names, also those of properties.
            _ if in_metadata => {}
            "Blob" => {
                (blob, in_blob, directory) = (ObjectMeta::default(), true, false);
            }
            "BlobPrefix" => in_blob = false,
            "Metadata" => in_metadata = true,
            // Names with characters that XML cannot hold come percent-encoded and say so.
            "Name" => encoded = attributes.contains("Encoded=\"true\""),
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
        Step::Begin("Metadata", _) => in_metadata = true,
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
        Step::Begin("UncommittedBlocks", _) => uncommitted = true,
        Step::Begin("CommittedBlocks", _) => uncommitted = false,
        Step::End("Name", text) if uncommitted => blocks.extend(BlockId::decode(text)),
        Step::Begin(..) | Step::End(..) => {}
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
        for broken in [
            "<a></b>",
            "<a>&nonsense;</a>",
            "\u{feff}<a",
            "<a><b>1</b>",
            "<a>1</a",
            "<!DOCTYPE x><a/>",
            "text",
        ] {
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
