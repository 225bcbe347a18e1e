//! The service's lists, read from one page of XML at a time.
//!
//! A page holds up to 5,000 entries in some megabytes. The parser walks over it once and allocates only what
//! goes into the result.

use super::address::is_container;
use super::meta::{CRC64, DIRECTORY, is_folder};
use super::times;
use crate::checksum::{Crc64, Md5};
use crate::store::answer::{Broken, Step, Text, opaque, walk};
use crate::store::headers::http_date_ns;
use crate::store::{BlockId, ListPage, ObjectMeta, Properties, StagedPart, Tags, Token, folder};

/// The root of every list.
const LIST: &str = "EnumerationResults";

/// A page of blobs.
#[derive(Debug, Default)]
pub(super) struct BlobPage {
    pub(super) list: ListPage,
    /// The marker of the next page.
    pub(super) next: Option<String>,
    /// What the page says that it was asked for.
    pub(super) prefix: Option<String>,
    pub(super) container: Option<String>,
    pub(super) marker: Option<String>,
}

/// Entries of a page, of which we ask for no more than the service's 5,000. A page of short ones is small, but what is made
/// of it is not.
const ENTRIES_MAX: usize = 10_000;

/// Uncommitted blocks that the service keeps of a blob.
const BLOCKS_MAX: usize = 100_000;

fn too_many() -> Broken {
    Broken(format!("the page holds more than {ENTRIES_MAX} entries"))
}

/// What is known so far of the blob that is being read.
#[derive(Default)]
struct Reading {
    blob: ObjectMeta,
    time: times::Found,
    properties: Properties,
    sized: bool,
    directory: bool,
    /// Nobody has chosen the tier: it is the account's.
    tier_inferred: bool,
}

impl Reading {
    /// Adds the blob, if it is one and all is there that every blob has. What has only uncommitted blocks has less.
    fn take(&mut self, uncommitted: bool, list: &mut ListPage) -> Result<(), Broken> {
        let Self { mut blob, time, mut properties, sized, directory, tier_inferred } = std::mem::take(self);
        blob.source_modified_ns = time.ns();
        properties.tier = properties.tier.filter(|_| !tier_inferred);
        blob.properties = properties.kept();
        // A folder has no bytes; what has some is an object, whatever somebody wrote into its metadata.
        if directory && blob.size == 0 {
            list.markers.push(blob);
            return Ok(());
        }
        // Taken for 0 a size that is missing would pass for an empty object.
        let missing = match () {
            () if !sized && !uncommitted => "size",
            () if blob.etag.is_empty() && !uncommitted => "version (ETag)",
            () => {
                list.objects.push(blob);
                return Ok(());
            }
        };
        Err(Broken(format!("the list holds a blob without a {missing}")))
    }
}

/// Reads a page of blobs, `uncommitted` ones among them, and the marker of the next page.
pub(super) fn blobs(page: &[u8], uncommitted: bool) -> Result<BlobPage, Broken> {
    let mut found = BlobPage::default();
    let mut reading = Reading::default();
    let (mut in_blob, mut in_metadata) = (false, false);
    let (mut whole, mut ended) = (false, false);
    let (mut entries, mut in_prefix) = (0, None);
    let mut dated = (String::new(), 0);
    walk(page, LIST, |step| {
        match step {
            // Metadata may have any names, also those of properties.
            Step::Leaf(name, _, text) if in_metadata => match name {
                _ if name.eq_ignore_ascii_case(CRC64) => {
                    reading.blob.crc64 = Crc64::from_hex(&text.plain()?);
                }
                _ if let Some(form) = times::form(name) => reading.time.look(form, &text.plain()?),
                _ if is_folder(name) => reading.directory |= text.plain()?.eq_ignore_ascii_case("true"),
                _ => {
                    let value = text.plain()?.into_owned();
                    reading.properties.metadata.push((name.to_ascii_lowercase(), value));
                }
            },
            Step::Leaf("Name", ..) if in_blob && !reading.blob.key.is_empty() => return Err(misplaced()),
            Step::Leaf("Name", attributes, text) if in_blob => reading.blob.key = text.name(attributes)?,
            Step::Leaf("Name", attributes, text) if let Some(names) = &mut in_prefix => {
                *names += 1;
                found.list.prefixes.push(text.name(attributes)?);
            }
            Step::Leaf("Prefix", attributes, text) => found.prefix = Some(text.name(attributes)?),
            Step::Leaf("Marker", _, text) => found.marker = Some(text.plain()?.into_owned()),
            Step::Leaf("Content-Length", _, text) => {
                let size = text.plain()?.parse();
                reading.blob.size =
                    size.map_err(|_| Broken("the list holds a size that is no number".to_owned()))?;
                reading.sized = true;
            }
            Step::Leaf("Etag", _, text) => {
                let text = text.plain()?;
                let (etag, weak) = opaque(&text);
                (reading.blob.etag, reading.blob.weak) = (etag.to_owned(), weak);
            }
            Step::Leaf("Last-Modified", _, text) => {
                let text = text.plain()?;
                // Objects written one after the other share the second, and lie near each other.
                if dated.0 != text {
                    dated = (text.clone().into_owned(), http_date_ns(&text).unwrap_or_default());
                }
                reading.blob.modified_ns = dated.1;
            }
            Step::Leaf("Content-MD5", _, text) => reading.blob.md5 = Md5::from_base64(&text.plain()?),
            Step::Leaf("Content-Type", _, text) => {
                reading.blob.content_type = text.some()?;
            }
            Step::Leaf("Cache-Control", _, text) => reading.properties.cache_control = text.some()?,
            Step::Leaf("Content-Disposition", _, text) => {
                reading.properties.content_disposition = text.some()?;
            }
            Step::Leaf("Content-Encoding", _, text) => reading.properties.content_encoding = text.some()?,
            Step::Leaf("Content-Language", _, text) => reading.properties.content_language = text.some()?,
            Step::Leaf("TagCount", _, text) if in_blob => {
                reading.properties.tags = Tags::counted(Some(&text.plain()?));
            }
            Step::Leaf("AccessTier", _, text) if in_blob => reading.properties.tier = text.some()?,
            Step::Leaf("AccessTierInferred", _, text) => {
                reading.tier_inferred = text.0.eq_ignore_ascii_case("true");
            }
            Step::Leaf("ResourceType", _, text) => {
                reading.directory |= text.0.eq_ignore_ascii_case(DIRECTORY);
            }
            Step::Leaf("Blob" | "BlobPrefix", ..) => {
                return Err(Broken("the list holds an entry without a name".to_owned()));
            }
            Step::Leaf("Blobs", _, Text(text)) if !whole && text.trim().is_empty() => whole = true,
            Step::Leaf("Blobs", ..) => return Err(misplaced()),
            Step::Leaf("NextMarker", ..) if ended => return Err(misplaced()),
            Step::Leaf("NextMarker", _, text) => {
                ended = true;
                found.next = text.some()?;
            }
            Step::Begin(..) if in_metadata => {}
            Step::Begin("Blob" | "BlobPrefix", _) if in_blob || in_prefix.is_some() || whole => {
                return Err(misplaced());
            }
            Step::Begin("Blob" | "BlobPrefix", _) if entries == ENTRIES_MAX => return Err(too_many()),
            Step::Begin("Blob", _) => (reading, in_blob, entries) = (Reading::default(), true, entries + 1),
            Step::Begin("BlobPrefix", _) => (in_prefix, entries) = (Some(0), entries + 1),
            Step::Begin("Metadata", _) => in_metadata = true,
            Step::Begin(LIST, attributes) => found.container = attribute(attributes, "ContainerName"),
            Step::End("Metadata") => in_metadata = false,
            Step::End("Blob") => {
                in_blob = false;
                reading.take(uncommitted, &mut found.list)?;
            }
            Step::End("BlobPrefix") if in_prefix.take() != Some(1) => return Err(misplaced()),
            Step::End("Blobs") if whole => return Err(misplaced()),
            Step::End("Blobs") => whole = true,
            Step::Leaf(..) | Step::Begin(..) | Step::End(..) => {}
        }
        Ok(())
    })?;
    if !uncommitted {
        folder::part(&mut found.list);
    }
    if whole && ended { Ok(found) } else { Err(cut_short()) }
}

fn misplaced() -> Broken {
    Broken("the list holds an element twice, or where it does not belong".to_owned())
}

/// The value of an attribute.
fn attribute(attributes: &str, name: &str) -> Option<String> {
    let rest = attributes.split_once(name)?.1.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    rest[1..].split_once(quote).map(|(value, _)| value.to_owned())
}

/// Without its marker nobody knows whether more pages follow.
fn cut_short() -> Broken {
    Broken("the list is not whole: its entries or the marker of the next page are missing".to_owned())
}

/// Reads a page of containers and the marker of the next page.
pub(super) fn containers(page: &[u8]) -> Result<(Vec<String>, Option<String>), Broken> {
    let (mut names, mut marker, mut in_metadata) = (Vec::new(), None, false);
    let (mut whole, mut ended) = (false, false);
    walk(page, LIST, |step| {
        match step {
            Step::Begin("Metadata", _) => in_metadata = true,
            Step::End("Metadata") => in_metadata = false,
            Step::Leaf("Name", _, text) if !in_metadata => {
                let name = text.plain()?;
                if name.is_empty() || !is_container(&name) {
                    return Err(Broken(format!("the list holds `{name}`, which is no container name")));
                }
                if names.len() == ENTRIES_MAX {
                    return Err(too_many());
                }
                names.push(name.into_owned());
            }
            Step::Leaf("Containers", ..) | Step::End("Containers") => whole = true,
            Step::Leaf("NextMarker", ..) if ended => return Err(misplaced()),
            Step::Leaf("NextMarker", _, text) => {
                ended = true;
                marker = Some(text.plain()?.into_owned()).filter(|text| !text.is_empty());
            }
            _ => {}
        }
        Ok(())
    })?;
    if whole && ended { Ok((names, marker)) } else { Err(cut_short()) }
}

/// Reads the uncommitted blocks that we, on whatever machine, have staged. Their names say what they should hold; one that the
/// service gives another size, or none, does not.
pub(super) fn uncommitted_blocks(page: &[u8]) -> Result<Vec<StagedPart>, Broken> {
    let (mut blocks, mut uncommitted) = (Vec::new(), false);
    let (mut named, mut size) = (None, None);
    walk(page, "BlockList", |step| {
        match step {
            Step::Begin("UncommittedBlocks", _) => uncommitted = true,
            Step::Begin("CommittedBlocks", _) => uncommitted = false,
            Step::Begin("Block", _) => (named, size) = (None, None),
            Step::Leaf("Name", _, text) if uncommitted => named = staged(&text.plain()?),
            Step::Leaf("Size", _, text) => size = text.plain()?.parse().ok(),
            Step::End("Block") if blocks.len() == BLOCKS_MAX => {
                return Err(Broken(format!("the list holds more than {BLOCKS_MAX} uncommitted blocks")));
            }
            Step::End("Block") => {
                blocks.extend(named.take().filter(|block: &StagedPart| size == Some(block.range.len)));
            }
            Step::Leaf(..) | Step::Begin(..) | Step::End(..) => {}
        }
        Ok(())
    })?;
    Ok(blocks)
}

/// What a block is by its id; `None` where somebody else has named it.
fn staged(id: &str) -> Option<StagedPart> {
    let copied = || {
        let range = BlockId::decode_copied(id)?.range;
        Some(StagedPart { range, checksum: None, token: Token::from(id) })
    };
    let unvouched = || {
        let of = BlockId::decode_unvouched(id)?;
        Some(StagedPart { token: Token::from(id), ..StagedPart::from(of) })
    };
    BlockId::decode(id).map(StagedPart::from).or_else(unvouched).or_else(copied)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::BlockRange;

    #[test]
    fn pages_give_names_properties_and_metadata() {
        let page = "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults ContainerName=\"c\"><Prefix>a&amp;</Prefix>\
            <Blobs><Blob><Name>a&amp;b &lt;c&gt; #?%+&#x20AC;.nc</Name><Properties><Creation-Time>x</Creation-Time>\
            <Last-Modified>Thu, 01 Jan 1970 00:00:02 GMT</Last-Modified><Etag>0x8D1</Etag><Content-Length>7</Content-Length>\
            <Content-Type>text/plain</Content-Type><Content-Encoding>gzip</Content-Encoding><Cache-Control /><Content-MD5>1B2M2Y8AsgTpgAmY7PhCfg==</Content-MD5><LeaseStatus>unlocked</LeaseStatus>\
            </Properties><Metadata><haulage_crc64>00000000000000ff</haulage_crc64><haulage_mtime_ns>-5</haulage_mtime_ns>\
            <Name>not the name</Name><Etag>nor this</Etag></Metadata><OrMetadata /></Blob>\
            <BlobPrefix><Name>a&amp;d/</Name><Properties><ResourceType>directory</ResourceType><Content-Length>0</Content-Length></Properties></BlobPrefix>\
            <Blob><Name Encoded=\"true\">a&amp;e%EF%BF%BE%25</Name><Properties><Etag>\"2\"</Etag>\
            <Content-Length>0</Content-Length></Properties><Metadata><mtime>1970-01-01T00:00:00.000000007Z</mtime></Metadata></Blob>\
            <Blob><Name>folder</Name><Properties><ResourceType>directory</ResourceType></Properties></Blob>\
            <Blob><Name>old</Name><Properties/><Metadata><Hdi_isfolder>True</Hdi_isfolder></Metadata></Blob>\
            <Blob><Name>older</Name><Properties/><Metadata><asv_isfolder>true</asv_isfolder></Metadata></Blob>\
            <Blob><Name>said/once</Name><Properties><ResourceType>directory</ResourceType></Properties><Metadata><hdi_isfolder>false</hdi_isfolder></Metadata></Blob>\
            </Blobs><NextMarker>2!8&amp;</NextMarker></EnumerationResults>";
        let BlobPage { list, next, prefix, container, marker } = blobs(page.as_bytes(), false).unwrap();
        assert_eq!((container.as_deref(), marker), (Some("c"), None));
        assert_eq!((next.as_deref(), prefix.as_deref()), (Some("2!8&"), Some("a&")));
        assert_eq!(list.prefixes, ["a&d/"]);
        assert_eq!(list.objects.len(), 2);
        let markers: Vec<&str> = list.markers.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(markers, ["folder", "old", "older", "said/once"]);
        let blob = &list.objects[0];
        assert_eq!((blob.key.as_str(), blob.size), ("a&b <c> #?%+€.nc", 7));
        assert_eq!((blob.etag.as_str(), blob.modified_ns), ("0x8D1", 2_000_000_000));
        assert_eq!((blob.crc64, blob.source_modified_ns), (Some(Crc64::from_u64(255)), Some(-5)));
        assert_eq!((blob.md5, blob.content_type.as_deref()), (Some(Md5::of(b"")), Some("text/plain")));
        assert_eq!((list.objects[1].key.as_str(), list.objects[1].etag.as_str()), ("a&e\u{fffe}%", "2"));
        assert_eq!((list.objects[1].source_modified_ns, &list.objects[1].properties), (Some(7), &None));
        let properties = blob.properties.as_deref().unwrap();
        assert_eq!(properties.content_encoding.as_deref(), Some("gzip"));
        let other = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(properties.metadata, [other("etag", "nor this"), other("name", "not the name")]);
    }

    #[test]
    fn empty_and_broken_pages_are_told_apart() {
        let empty = "<?xml version=\"1.0\"?><EnumerationResults><Blobs /><NextMarker /></EnumerationResults>";
        let page = blobs(empty.as_bytes(), false).unwrap();
        assert!(page.list.is_empty() && page.next.is_none() && page.prefix.is_none());
        let whole = |inner: &str| {
            format!("<EnumerationResults><Blobs>{inner}</Blobs><NextMarker/></EnumerationResults>")
        };
        let blob = |properties: &str| {
            whole(&format!("<Blob><Name>a</Name><Properties>{properties}</Properties></Blob>"))
        };
        blobs(blob("<Etag>1</Etag><Content-Length>1</Content-Length>").as_bytes(), false).unwrap();
        for broken in [
            whole("text"),
            whole("<a>text<b/></a>"),
            whole("<a/>text"),
            whole("<BlobPrefix></BlobPrefix>"),
            whole("<BlobPrefix><Name>a/</Name><Name>b/</Name></BlobPrefix>"),
            whole("<BlobPrefix><Name>a/</Name><Blob></Blob></BlobPrefix>"),
            whole(&"<BlobPrefix><Name>a/</Name></BlobPrefix>".repeat(ENTRIES_MAX + 1)),
            empty.replace("<NextMarker />", "<NextMarker /><NextMarker />"),
            empty.replace("<Blobs />", "<Blobs /><Blobs />"),
            whole("</b>"),
            whole("<b>1"),
            whole("<a <b>></a>"),
            whole("<BlobPrefix><Name>&nonsense;</Name></BlobPrefix>"),
            whole(&("<a>".repeat(17) + &"</a>".repeat(17))),
            blob("<Etag>1</Etag>"),
            blob("<Content-Length>1</Content-Length>"),
            blob("<Etag>1</Etag><Content-Length>-1</Content-Length>"),
            blob("<Etag>1</Etag><Content-Length>18446744073709551616</Content-Length>"),
            blob("<Etag>1</Etag><Content-Length/>"),
            format!("text{empty}"),
            format!("{empty}text"),
            format!("{empty}{empty}"),
            format!("<!DOCTYPE x>{empty}"),
            format!("<a>{empty}</a>"),
            empty[..empty.len() - 1].to_owned(),
            empty.replace("<Blobs />", ""),
            empty.replace("<NextMarker />", ""),
            "<html><body>Sign in</body></html>".to_owned(),
            "\u{feff}<a".to_owned(),
            "text".to_owned(),
            String::new(),
        ] {
            assert!(blobs(broken.as_bytes(), false).is_err(), "{broken}");
        }
        assert!(blobs(b"<EnumerationResults>\xff</EnumerationResults>", false).is_err());
        // Called a folder, but with bytes in it.
        let folder =
            blob("<Etag>1</Etag><Content-Length>1</Content-Length><ResourceType>directory</ResourceType>");
        assert_eq!(blobs(folder.as_bytes(), false).unwrap().list.objects.len(), 1);
        // What has only uncommitted blocks has neither size nor version.
        blobs(blob("").as_bytes(), true).unwrap();
    }

    #[test]
    fn only_our_uncommitted_blocks_count() {
        let id = BlockId { range: BlockRange { offset: 8, len: 4 }, crc64: Crc64::from_u64(9) };
        let page = format!(
            "<BlockList><CommittedBlocks><Block><Name>{0}</Name><Size>4</Size></Block></CommittedBlocks><UncommittedBlocks>\
             <Block><Name>Zm9yZWlnbg==</Name><Size>1</Size></Block><Block><Name>{0}</Name><Size>4</Size></Block>\
             <Block><Name>{0}</Name><Size>3</Size></Block><Block><Name>{0}</Name></Block>\
             </UncommittedBlocks></BlockList>",
            id.encode()
        );
        assert_eq!(uncommitted_blocks(page.as_bytes()).unwrap(), [StagedPart::from(id)]);
        let sent = page.replace(&id.encode(), &id.encode_unvouched());
        let unvouched = StagedPart { token: id.encode_unvouched().as_str().into(), ..StagedPart::from(id) };
        assert_eq!(uncommitted_blocks(sent.as_bytes()).unwrap(), [unvouched]);
        let copied = page.replace(&id.encode(), &id.encode_copied());
        let staged = uncommitted_blocks(copied.as_bytes()).unwrap();
        assert_eq!(
            staged,
            [StagedPart { range: id.range, checksum: None, token: id.encode_copied().as_str().into() }]
        );
    }

    #[test]
    fn containers_are_listed_by_name() {
        assert!(containers(b"<EnumerationResults><Containers/></EnumerationResults>").is_err());
        for name in ["", "a/b", "../c", "UPPER", "a\0"] {
            let page = format!(
                "<EnumerationResults><Containers><Name>{name}</Name></Containers><NextMarker/></EnumerationResults>"
            );
            assert!(containers(page.as_bytes()).is_err(), "{name}");
        }
        let page = "<EnumerationResults><Containers><Container><Name>one</Name><Properties/></Container><Container><Name>$web</Name>\
            </Container></Containers><NextMarker>m</NextMarker></EnumerationResults>";
        let (names, marker) = containers(page.as_bytes()).unwrap();
        assert_eq!((names, marker.as_deref()), (vec!["one".to_owned(), "$web".to_owned()], Some("m")));
    }
}
