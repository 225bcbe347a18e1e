//! The service's documents, read, and ours, written.
//!
//! Lists are read from one page at a time (`xml/list.rs`), in one walk that allocates only what goes into the result.

mod list;

use percent_encoding::percent_decode_str;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::rules;
use crate::checksum::Crc64;
use crate::store::answer::{Broken, Step, code_of, opaque, walk};

pub(super) use list::{Part, PartPage, Upload, UploadPage, buckets, objects, parts, uploads};

/// Markers, versions and ids are some dozen bytes; the largest that is taken for one.
const TEXT_MAX: usize = 4096;

/// Whether a document tells of a failure, whatever the status before it says: what takes long begins to answer before it knows.
pub(super) fn is_error(document: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(document) else { return false };
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    while let Some(instruction) = rest.strip_prefix("<?") {
        rest = instruction.split_once("?>").map_or("", |(_, rest)| rest).trim_start();
    }
    let after = rest.strip_prefix("<Error");
    after.is_some_and(|after| after.starts_with(|c: char| c == '>' || c == '/' || c.is_ascii_whitespace()))
}

/// The id of a new upload.
pub(super) fn upload_id(document: &[u8], key: &str) -> Result<String, Broken> {
    let mut id = String::new();
    leaves(document, rules::CREATED, |name, text| {
        match name {
            "Key" if text != key => return Err(Broken("the upload is of another object".to_owned())),
            "UploadId" => id = text.to_owned(),
            _ => {}
        }
        Ok(())
    })?;
    if is_id(&id) { Ok(id) } else { Err(Broken("the answer names no upload".to_owned())) }
}

/// An object that has been made of others, or of parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) etag: String,
    /// CRC64 of the whole, where the service states one.
    pub(super) crc64: Option<Crc64>,
}

/// What has come of an upload, a copy or a part that was copied: `root` says which.
pub(super) fn made(document: &[u8], root: &str) -> Result<Made, Broken> {
    let mut made = Made::default();
    let mut whole = true;
    leaves(document, root, |name, text| {
        match name {
            "ETag" => made.etag = opaque(text).0.to_owned(),
            "ChecksumCRC64NVME" => made.crc64 = Crc64::from_s3(text),
            "ChecksumType" => whole = text == FULL_OBJECT,
            _ => {}
        }
        Ok(())
    })?;
    if made.etag.is_empty() || made.etag.len() > TEXT_MAX {
        return Err(Broken("the answer names no version (ETag)".to_owned()));
    }
    made.crc64 = made.crc64.filter(|_| whole);
    Ok(made)
}

/// The checksum is of the object, and not of the checksums of its parts.
pub(super) const FULL_OBJECT: &str = "FULL_OBJECT";

/// What became of one of the objects that were to be deleted.
pub(super) type Deletion = (String, Option<Refused>);

/// Why an object was not deleted: the service's word for it, if it is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused(pub(super) Option<String>);

/// Reads what became of objects that were to be deleted.
pub(super) fn deleted(document: &[u8]) -> Result<Vec<Deletion>, Broken> {
    let (mut found, mut key, mut code, mut inside) = (Vec::new(), None, None, None);
    walk(document, rules::DELETED, |step| {
        match step {
            Step::Begin(name @ ("Deleted" | "Error"), _) => (inside, key, code) = (Some(name), None, None),
            Step::Leaf("Key", _, text) if inside.is_some() => key = Some(text.plain()?.into_owned()),
            Step::Leaf("Code", _, text) if inside.is_some() => code = code_of(&text.plain()?),
            Step::End(name @ ("Deleted" | "Error")) if inside == Some(name) => {
                let key = key
                    .take()
                    .ok_or_else(|| Broken("the answer reports an object without a name".to_owned()))?;
                found.push((key, (name == "Error").then(|| Refused(code.take()))));
                inside = None;
            }
            Step::Leaf(..) | Step::Begin(..) | Step::End(..) => {}
        }
        Ok(())
    })?;
    Ok(found)
}

/// Calls `on` with name and text of every element that holds no other.
fn leaves(
    document: &[u8],
    root: &str,
    mut on: impl FnMut(&str, &str) -> Result<(), Broken>,
) -> Result<(), Broken> {
    walk(document, root, |step| match step {
        Step::Leaf(name, _, text) => on(name, &text.plain()?),
        Step::Begin(..) | Step::End(..) => Ok(()),
    })
}

/// What an object is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartMade {
    pub(super) number: u16,
    pub(super) etag: String,
    /// The checksum that was declared for the upload, as text.
    pub(super) checksum: Option<String>,
}

/// The body that makes an object of parts: number, ETag and checksum of each, by this algorithm.
pub(super) fn complete(parts: &[PartMade], algorithm: Option<&str>) -> String {
    let mut body =
        String::from("<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    for PartMade { number, etag, checksum } in parts {
        body.push_str(&format!("<Part><PartNumber>{number}</PartNumber><ETag>&quot;"));
        push_escaped(&mut body, etag);
        body.push_str("&quot;</ETag>");
        if let Some((checksum, algorithm)) = checksum.as_ref().zip(algorithm) {
            body.push_str(&format!("<Checksum{algorithm}>{checksum}</Checksum{algorithm}>"));
        }
        body.push_str("</Part>");
    }
    body.push_str("</CompleteMultipartUpload>");
    body
}

/// The body that deletes objects.
pub(super) fn delete<'a>(keys: impl Iterator<Item = &'a str>) -> String {
    let mut body = String::from("<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    for key in keys {
        body.push_str("<Object><Key>");
        push_escaped(&mut body, key);
        body.push_str("</Key></Object>");
    }
    body.push_str("</Delete>");
    body
}

/// Whether XML can hold a name as it is.
pub(super) fn holds(key: &str) -> bool {
    key.chars().all(|c| c >= ' ' && !matches!(c, '\u{fffe}' | '\u{ffff}'))
}

/// The body that makes a bucket in a region.
pub(super) fn location(region: &str) -> String {
    format!(
        "<CreateBucketConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
         <LocationConstraint>{region}</LocationConstraint></CreateBucketConfiguration>"
    )
}

fn push_escaped(body: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => body.push_str("&amp;"),
            '<' => body.push_str("&lt;"),
            '>' => body.push_str("&gt;"),
            '"' => body.push_str("&quot;"),
            c => body.push(c),
        }
    }
}

/// Whether this may be the id of an upload. A `?` would make the name of a leftover mean another upload.
fn is_id(text: &str) -> bool {
    (1..=TEXT_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'?')
}

/// A name from a list whose names are encoded as in the query of a URL: XML cannot hold all of them.
fn decoded(name: String) -> Result<String, Broken> {
    if memchr::memchr2(b'%', b'+', name.as_bytes()).is_none() {
        return Ok(name);
    }
    let plain = name.replace('+', " ");
    let plain = percent_decode_str(&plain).decode_utf8().map(std::borrow::Cow::into_owned);
    plain.map_err(|_| Broken("the list holds a name that is not UTF-8".to_owned()))
}

/// A time as the service writes it, in nanoseconds since 1970.
fn time_ns(text: &str) -> Option<i128> {
    OffsetDateTime::parse(text, &Rfc3339).ok().map(OffsetDateTime::unix_timestamp_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_success_may_be_a_failure() {
        for failure in [
            "<Error><Code>InternalError</Code></Error>",
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n   \n<Error xmlns=\"x\">",
            "  \n\n<?xml version=\"1.0\"?><Error>",
            "\u{feff}<Error/>",
        ] {
            assert!(is_error(failure.as_bytes()), "{failure}");
        }
        for other in ["", "<", "<?xml", "<CopyObjectResult/>", "<Errors>", "Error", "<?a?><b><Error/></b>"] {
            assert!(!is_error(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn an_upload_has_an_id_and_is_of_its_object() {
        let document = |inner: &str| {
            format!(
                "<?xml version=\"1.0\"?><InitiateMultipartUploadResult>{inner}</InitiateMultipartUploadResult>"
            )
        };
        let good = document("<Bucket>b</Bucket><Key>a&amp;b</Key><UploadId>VX.b-_~</UploadId>");
        assert_eq!(upload_id(good.as_bytes(), "a&b").unwrap(), "VX.b-_~");
        for broken in [
            document("<Key>other</Key><UploadId>x</UploadId>"),
            document("<UploadId></UploadId>"),
            document("<UploadId>a b</UploadId>"),
            document("<UploadId>a?uploadId=b</UploadId>"),
            document(&format!("<UploadId>{}</UploadId>", "x".repeat(TEXT_MAX + 1))),
            document(""),
            "<html/>".to_owned(),
        ] {
            assert!(upload_id(broken.as_bytes(), "a&b").is_err(), "{broken}");
        }
    }

    #[test]
    fn what_was_made_has_a_version_and_perhaps_a_checksum() {
        let document = |inner: &str| {
            format!("  \n<CompleteMultipartUploadResult>{inner}</CompleteMultipartUploadResult>")
        };
        let of = |inner: &str| made(document(inner).as_bytes(), rules::COMPLETED);
        let crc64 = "<ChecksumCRC64NVME>rosUhgp5mIg=</ChecksumCRC64NVME>";
        let etag = "<ETag>&quot;e-2&quot;</ETag>";
        let whole = of(&format!("{etag}{crc64}<ChecksumType>FULL_OBJECT</ChecksumType>")).unwrap();
        assert_eq!(whole, Made { etag: "e-2".to_owned(), crc64: Some(Crc64::of(b"123456789")) });
        assert_eq!(of(&format!("{etag}{crc64}")).unwrap().crc64, whole.crc64);
        assert_eq!(of(&format!("{etag}{crc64}<ChecksumType>COMPOSITE</ChecksumType>")).unwrap().crc64, None);
        assert!(of(crc64).is_err() && of("<ETag>\"\"</ETag>").is_err());
    }

    #[test]
    fn each_object_was_deleted_or_was_not() {
        let document = "<DeleteResult xmlns=\"x\"><Deleted><Key>a&amp;b</Key></Deleted><Error><Key>c</Key>\
            <Code>AccessDenied</Code><Message>Access Denied</Message></Error><Error><Key>d</Key><Code>two words</Code></Error></DeleteResult>";
        assert_eq!(
            deleted(document.as_bytes()).unwrap(),
            [
                ("a&b".to_owned(), None),
                ("c".to_owned(), Some(Refused(Some("AccessDenied".to_owned())))),
                ("d".to_owned(), Some(Refused(None))),
            ]
        );
        assert!(deleted(b"<DeleteResult><Deleted></Deleted></DeleteResult>").unwrap().is_empty());
        assert!(
            deleted(b"<DeleteResult><Deleted><VersionId>1</VersionId></Deleted></DeleteResult>").is_err()
        );
    }

    #[test]
    fn our_bodies_are_well_formed() {
        let part = |number, etag: &str, checksum: Option<&str>| PartMade {
            number,
            etag: etag.to_owned(),
            checksum: checksum.map(str::to_owned),
        };
        let body = complete(&[part(1, "a\"<", Some("rosUhgp5mIg=")), part(7, "b", None)], Some("CRC64NVME"));
        assert!(body.contains("<Part><PartNumber>1</PartNumber><ETag>&quot;a&quot;&lt;&quot;</ETag><ChecksumCRC64NVME>rosUhgp5mIg="));
        assert!(body.ends_with(
            "<Part><PartNumber>7</PartNumber><ETag>&quot;b&quot;</ETag></Part></CompleteMultipartUpload>"
        ));
        assert!(delete(["a&<b>"].into_iter()).contains("<Object><Key>a&amp;&lt;b&gt;</Key></Object>"));
        assert!(location("eu-west-1").contains("<LocationConstraint>eu-west-1<"));
        assert!(holds("a b#ü😀") && !holds("a\nb") && !holds("\u{1}") && !holds("\u{ffff}"));
    }
}
