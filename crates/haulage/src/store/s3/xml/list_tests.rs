//! Pages as services write them, and as none may.

use super::*;

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";

fn page(inner: &str) -> String {
    format!("{HEAD}<Name>b</Name><IsTruncated>false</IsTruncated>{inner}</ListBucketResult>")
}

#[test]
fn pages_give_names_sizes_and_versions() {
    let text = format!(
        "{HEAD}<Name>b</Name><Prefix>a%26+</Prefix><KeyCount>3</KeyCount><MaxKeys>1000</MaxKeys><Delimiter>/</Delimiter>\
         <EncodingType>url</EncodingType><IsTruncated>true</IsTruncated><ContinuationToken>t0</ContinuationToken>\
         <NextContinuationToken>t1&amp;</NextContinuationToken>\
         <Contents><Key>a%26+b%2B%3C%E2%82%AC%01.nc</Key><LastModified>1970-01-01T00:00:02.000Z</LastModified>\
         <ETag>&quot;9b2cf5-3&quot;</ETag><ChecksumAlgorithm>CRC64NVME</ChecksumAlgorithm><Size>7</Size>\
         <StorageClass>STANDARD</StorageClass><Owner><ID>x</ID><DisplayName>Key</DisplayName></Owner></Contents>\
         <Contents><Key>a%26+c</Key><LastModified>1970-01-01T00:00:02.000Z</LastModified><ETag>\"e\"</ETag><Size>0</Size></Contents>\
         <CommonPrefixes><Prefix>a%26+d/</Prefix></CommonPrefixes></ListBucketResult>"
    );
    let ObjectPage { list, next, prefix, bucket, token } = objects(text.as_bytes()).unwrap();
    assert_eq!((bucket.as_deref(), prefix.as_deref()), (Some("b"), Some("a& ")));
    assert_eq!((token.as_deref(), next.as_deref()), (Some("t0"), Some("t1&")));
    assert_eq!(list.prefixes, ["a& d/"]);
    let [one, other] = &list.objects[..] else { panic!("{list:?}") };
    assert_eq!((one.key.as_str(), one.size), ("a& b+<€\u{1}.nc", 7));
    assert_eq!((one.etag.as_str(), one.modified_ns), ("9b2cf5-3", 2_000_000_000));
    assert_eq!((other.key.as_str(), other.etag.as_str(), other.size), ("a& c", "e", 0));
    assert_eq!((one.md5, one.crc64), (None, None), "an ETag is no MD5");
}

#[test]
fn names_are_decoded_only_where_the_page_says_that_they_are_encoded() {
    let object = "<Contents><Key>a+b%41</Key><ETag>e</ETag><Size>1</Size></Contents>";
    let key = |text: String| objects(text.as_bytes()).unwrap().list.objects.remove(0).key;
    assert_eq!(key(page(object)), "a+b%41");
    // Some services say so at the end.
    assert_eq!(key(page(&format!("{object}<EncodingType>url</EncodingType>"))), "a bA");
    let broken = page(
        "<EncodingType>url</EncodingType><Contents><Key>%FF</Key><ETag>e</ETag><Size>1</Size></Contents>",
    );
    assert!(objects(broken.as_bytes()).is_err());
}

#[test]
fn empty_and_broken_pages_are_told_apart() {
    let empty = objects(page("").as_bytes()).unwrap();
    assert!(empty.list.is_empty() && empty.next.is_none());
    let object = |inner: &str| page(&format!("<Contents><Key>a</Key>{inner}</Contents>"));
    objects(object("<ETag>e</ETag><Size>1</Size>").as_bytes()).unwrap();
    for broken in [
        object("<ETag>e</ETag>"),
        object("<Size>1</Size>"),
        object("<ETag>e</ETag><Size>-1</Size>"),
        object("<ETag>e</ETag><Size>18446744073709551616</Size>"),
        object("<ETag>e</ETag><Size>1</Size><Key>b</Key>"),
        object("<ETag>e</ETag><Size>1</Size><Size>2</Size>"),
        object("<ETag>e</ETag><Size>1</Size><Contents></Contents>"),
        object("<ETag>e</ETag><Size>1</Size><CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes>"),
        page("<Contents/>"),
        page("<CommonPrefixes/>"),
        page("<CommonPrefixes><Owner>x</Owner></CommonPrefixes>"),
        page("<EncodingType>base64</EncodingType>"),
        page("<IsTruncated>false</IsTruncated>"),
        page("text"),
        page(&"<CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes>".repeat(ENTRIES_MAX + 1)),
        page("").replace("false", "true"),
        page("").replace("false", "maybe"),
        page("").replace("<IsTruncated>false</IsTruncated>", ""),
        page("").replace("ListBucketResult", "Error"),
        page("")[..HEAD.len()].to_owned(),
        "<html><body>Sign in</body></html>".to_owned(),
        String::new(),
    ] {
        assert!(objects(broken.as_bytes()).is_err(), "{broken}");
    }
    assert!(objects(b"\xff").is_err());
    // A marker without more to come is none.
    let last = page("<NextContinuationToken>x</NextContinuationToken>");
    assert_eq!(objects(last.as_bytes()).unwrap().next, None);
}

#[test]
fn buckets_are_listed_by_name() {
    let list = |inner: &str| format!("<ListAllMyBucketsResult>{inner}</ListAllMyBucketsResult>");
    let text = list(
        "<Owner><ID>x</ID><DisplayName>Name</DisplayName></Owner><Buckets><Bucket><Name>one</Name>\
         <CreationDate>2020-01-01T00:00:00Z</CreationDate></Bucket><Bucket><Name>two.b</Name></Bucket></Buckets>\
         <ContinuationToken>t</ContinuationToken>",
    );
    let (names, next) = buckets(text.as_bytes()).unwrap();
    assert_eq!((names, next.as_deref()), (vec!["one".to_owned(), "two.b".to_owned()], Some("t")));
    assert_eq!(buckets(list("<Buckets/>").as_bytes()).unwrap(), (Vec::new(), None));
    assert!(buckets(list("").as_bytes()).is_err());
    for name in ["", "a/b", "..", "a@b"] {
        let text = list(&format!("<Buckets><Bucket><Name>{name}</Name></Bucket></Buckets>"));
        assert!(buckets(text.as_bytes()).is_err(), "{name}");
    }
}

#[test]
fn uploads_have_name_id_and_beginning() {
    let list = |inner: &str| {
        format!("<ListMultipartUploadsResult><Bucket>b</Bucket>{inner}</ListMultipartUploadsResult>")
    };
    let upload = "<Upload><Key>a+b</Key><UploadId>u1</UploadId><Initiator><ID>Key</ID></Initiator><Owner><ID>x</ID></Owner>\
        <StorageClass>STANDARD</StorageClass><Initiated>1970-01-01T00:00:03Z</Initiated></Upload>";
    let text = list(&format!(
        "<EncodingType>url</EncodingType><NextKeyMarker>a+b</NextKeyMarker><NextUploadIdMarker>u1</NextUploadIdMarker>\
         <IsTruncated>true</IsTruncated>{upload}"
    ));
    let page = uploads(text.as_bytes()).unwrap();
    assert_eq!(page.next, Some(("a b".to_owned(), "u1".to_owned())));
    let expected = Upload { key: "a b".to_owned(), id: "u1".to_owned(), begun_ns: 3_000_000_000 };
    assert_eq!(page.uploads, [expected]);
    let last = uploads(list("<IsTruncated>false</IsTruncated>").as_bytes()).unwrap();
    assert!(last.uploads.is_empty() && last.next.is_none());
    for broken in [
        list(""),
        list("<IsTruncated>true</IsTruncated>"),
        list("<IsTruncated>false</IsTruncated><Upload><Key>a</Key><UploadId></UploadId></Upload>"),
        list("<IsTruncated>false</IsTruncated><Upload><Key></Key><UploadId>u</UploadId></Upload>"),
        list("<IsTruncated>false</IsTruncated><Upload><Key>a</Key><UploadId>u\n</UploadId></Upload>"),
        list(
            "<IsTruncated>false</IsTruncated><Upload><Key>a</Key><UploadId>u?uploadId=v</UploadId></Upload>",
        ),
    ] {
        assert!(uploads(broken.as_bytes()).is_err(), "{broken}");
    }
}

#[test]
fn parts_come_in_order_each_once_and_whole() {
    let list = |inner: &str| {
        format!(
            "<ListPartsResult><Key>k</Key><UploadId>u</UploadId><IsTruncated>false</IsTruncated>{inner}</ListPartsResult>"
        )
    };
    let part = |number: &str, inner: &str| format!("<Part><PartNumber>{number}</PartNumber>{inner}</Part>");
    let whole = "<LastModified>x</LastModified><ETag>\"e\"</ETag><Size>9</Size>";
    let text = list(&format!(
        "<ChecksumAlgorithm>CRC64NVME</ChecksumAlgorithm><ChecksumType>FULL_OBJECT</ChecksumType>{}{}",
        part("2", &format!("{whole}<ChecksumCRC64NVME>rosUhgp5mIg=</ChecksumCRC64NVME>")),
        part("10000", whole)
    ));
    let page = parts(text.as_bytes()).unwrap();
    assert_eq!((page.key.as_deref(), page.id.as_deref(), page.next), (Some("k"), Some("u"), None));
    assert_eq!(page.algorithm.as_deref(), Some("CRC64NVME"));
    let crc64 = Some(Crc64::of(b"123456789"));
    let part_of = |number, crc64| Part { number, size: 9, etag: "e".to_owned(), crc64 };
    assert_eq!(page.parts, [part_of(2, crc64), part_of(10_000, None)]);
    let more = list("<NextPartNumberMarker>7</NextPartNumberMarker>").replace("false", "true");
    assert_eq!(parts(more.as_bytes()).unwrap().next, Some(7));
    for broken in [
        list(&part("0", whole)),
        list(&part("x", whole)),
        list(&part("70000", whole)),
        list(&part("1", "<ETag>e</ETag>")),
        list(&part("1", "<Size>1</Size>")),
        list(&format!("{}{}", part("2", whole), part("2", whole))),
        list(&format!("{}{}", part("2", whole), part("1", whole))),
        list("").replace("false", "true"),
        list("").replace("<IsTruncated>false</IsTruncated>", ""),
    ] {
        assert!(parts(broken.as_bytes()).is_err(), "{broken}");
    }
}
