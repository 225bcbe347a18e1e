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
/// The service writes XML of the plainest kind, so a cut at every `<` and `>` does: a tenth of the time of a parser
/// of all of XML, of which a list of a million names needs a gigabyte. What is not of that kind is refused.
/// The marks are found 32 bytes at a time in one pass: a search for each of them, a few bytes on, cost
/// a third of the whole list.
fn walk<'a>(page: &'a [u8], mut on: impl FnMut(Step<'a>) -> Result<(), Malformed>) -> Result<(), Malformed> {
    let wrong = |why: &str| Malformed(why.to_owned());
    let page = std::str::from_utf8(page).map_err(|_| wrong("not UTF-8"))?;
    let page = page.trim_start_matches('\u{feff}').trim_start();
    let mut marks = memchr::memchr2_iter(b'<', b'>', page.as_bytes());
    let mut open: Vec<&'a str> = Vec::with_capacity(8);
    // Where the text of the last tag begins, until another tag follows.
    let mut text_from: Option<usize> = None;
    let mut end = 0;
    while let Some(from) = marks.next() {
        if page.as_bytes()[from] == b'>' {
            // Text may hold it as it is.
            continue;
        }
        let to = marks.next().filter(|to| page.as_bytes()[*to] == b'>');
        let to = to.ok_or_else(|| wrong("it ends in the middle"))?;
        let tag = &page[from + 1..to];
        if end == 0 && from > 0 {
            return Err(wrong("text before the first element"));
        }
        end = to + 1;
        let text = text_from.take();
        match tag.as_bytes().first() {
            Some(b'/') => {
                let name = &tag[1..];
                if open.pop() != Some(name) {
                    return Err(wrong("an end without its beginning"));
                }
                // What follows another end stands between elements: white space.
                let text = text.map_or("", |text| &page[text..from]);
                on(Step::End(name, Text(text)))?;
            }
            Some(b'?') => {}
            None | Some(b'!') => return Err(wrong("not the plain XML of the service")),
            Some(_) if tag.ends_with('/') => {}
            Some(_) => {
                let space = tag.as_bytes().iter().position(|byte| *byte == b' ');
                let (name, attributes) = space.map_or((tag, ""), |at| (&tag[..at], &tag[at + 1..]));
                on(Step::Begin(name, attributes))?;
                open.push(name);
                text_from = Some(end);
            }
        }
    }
    if open.is_empty() && end > 0 && page[end..].trim().is_empty() {
        Ok(())
    } else {
        Err(wrong("it ends in the middle"))
    }
}

enum Step<'a> {
    /// Name and attributes.
    Begin(&'a str, &'a str),
    /// Name and, of an element without others in it, its text.
    End(&'a str, Text<'a>),
}

/// Text as it stands in the page.
#[derive(Clone, Copy)]
struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    /// What it says. Most of what a page holds is skipped and need not be read for escapes.
    fn plain(self) -> Result<Cow<'a, str>, Malformed> {
        if memchr::memchr(b'&', self.0.as_bytes()).is_none() {
            return Ok(Cow::Borrowed(self.0));
        }
        unescape(self.0).map_err(|error| Malformed(error.to_string()))
    }
}

/// Reads a page of blobs and the marker of the next page.
pub(super) fn blobs(page: &[u8]) -> Result<(ListPage, Option<String>), Malformed> {
    let mut list = ListPage::default();
    let mut marker = None;
    let mut blob = ObjectMeta::default();
    let (mut in_blob, mut in_metadata, mut encoded, mut directory) = (false, false, false, false);
    let mut dated = (String::new(), 0);
    walk(page, |step| {
        match step {
            // Metadata may have any names, also those of properties.
            Step::Begin(..) if in_metadata => {}
            Step::Begin("Blob", _) => (blob, in_blob, directory) = (ObjectMeta::default(), true, false),
            Step::Begin("BlobPrefix", _) => in_blob = false,
            Step::Begin("Metadata", _) => in_metadata = true,
            // Names with characters that XML cannot hold come percent-encoded and say so.
            Step::Begin("Name", attributes) => encoded = attributes.contains("Encoded=\"true\""),
            Step::Begin(..) => {}
            Step::End("Metadata", _) => in_metadata = false,
            Step::End(name, text) if in_metadata => match name {
                _ if name.eq_ignore_ascii_case("haulage_crc64") => {
                    blob.crc64 = Crc64::from_hex(&text.plain()?);
                }
                _ if name.eq_ignore_ascii_case("haulage_mtime_ns") => {
                    blob.source_modified_ns = text.plain()?.parse().ok();
                }
                // A folder of an account with a hierarchical namespace, not an object.
                _ if name.eq_ignore_ascii_case("hdi_isfolder") => {
                    directory = text.plain()?.eq_ignore_ascii_case("true");
                }
                _ => {}
            },
            Step::End("Name", text) => {
                let text = text.plain()?;
                let plain =
                    if encoded { percent_decode_str(&text).decode_utf8_lossy() } else { text.clone() };
                if in_blob {
                    blob.key = plain.into_owned();
                } else {
                    list.prefixes.push(plain.into_owned());
                }
            }
            Step::End("Content-Length", text) => {
                // Taken for 0 it would pass for an empty object.
                let size = text.plain()?.parse();
                blob.size = size.map_err(|_| Malformed("a size that is no number".to_owned()))?;
            }
            Step::End("Etag", text) => blob.etag = text.plain()?.trim_matches('"').to_owned(),
            Step::End("Last-Modified", text) => {
                let text = text.plain()?;
                // Objects written one after the other share the second, and lie near each other.
                if dated.0 != text {
                    dated = (text.clone().into_owned(), http_date_ns(&text).unwrap_or_default());
                }
                blob.modified_ns = dated.1;
            }
            Step::End("Content-MD5", text) => blob.md5 = Md5::from_base64(&text.plain()?),
            Step::End("Content-Type", text) => {
                blob.content_type = Some(text.plain()?.into_owned()).filter(|text| !text.is_empty());
            }
            Step::End("ResourceType", text) => directory |= text.0 == "directory",
            Step::End("Blob", _) => {
                in_blob = false;
                if !directory {
                    list.objects.push(std::mem::take(&mut blob));
                }
            }
            Step::End("NextMarker", text) => {
                marker = Some(text.plain()?.into_owned()).filter(|text| !text.is_empty());
            }
            Step::End(..) => {}
        }
        Ok(())
    })?;
    Ok((list, marker))
}

/// Reads a page of containers and the marker of the next page.
pub(super) fn containers(page: &[u8]) -> Result<(Vec<String>, Option<String>), Malformed> {
    let (mut names, mut marker, mut in_metadata) = (Vec::new(), None, false);
    walk(page, |step| {
        match step {
            Step::Begin("Metadata", _) => in_metadata = true,
            Step::End("Metadata", _) => in_metadata = false,
            Step::End("Name", text) if !in_metadata => names.push(text.plain()?.into_owned()),
            Step::End("NextMarker", text) => {
                marker = Some(text.plain()?.into_owned()).filter(|text| !text.is_empty());
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok((names, marker))
}

/// Reads the uncommitted blocks that we, on whatever machine, have staged.
pub(super) fn uncommitted_blocks(page: &[u8]) -> Result<Vec<BlockId>, Malformed> {
    let (mut blocks, mut uncommitted) = (Vec::new(), false);
    walk(page, |step| {
        match step {
            Step::Begin("UncommittedBlocks", _) => uncommitted = true,
            Step::Begin("CommittedBlocks", _) => uncommitted = false,
            Step::End("Name", text) if uncommitted => blocks.extend(BlockId::decode(&text.plain()?)),
            Step::Begin(..) | Step::End(..) => {}
        }
        Ok(())
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
            "text<a></a>",
            "\u{feff}<a",
            "<a><b>1</b>",
            "<a>1</a",
            "<!DOCTYPE x><a/>",
            "<a <b>></a>",
            "<a><Name>&nonsense;</Name></a>",
            "<a><Content-Length>-1</Content-Length></a>",
            "<a><Content-Length>18446744073709551616</Content-Length></a>",
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
