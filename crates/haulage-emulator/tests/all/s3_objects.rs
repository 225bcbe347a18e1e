//! S3's rules for buckets and objects, asked for over the wire.

use base64::Engine as _;
use haulage::checksum::Md5;
use haulage_emulator::Emulator;
use http::Method;

use crate::support::memory;
use crate::support::s3::{S3, crc32, crc64, element, elements, escaped, failure, sha256_base64};

async fn endpoint() -> (Emulator, S3) {
    let (emulator, _) = memory().await;
    let s3 = S3::connect(&emulator).await;
    (emulator, s3)
}

#[tokio::test]
async fn buckets_come_and_go() {
    let (_emulator, mut s3) = endpoint().await;
    let made = s3.send(Method::PUT, "/my.bucket", &[], "").await;
    assert_eq!((made.status.as_u16(), made.header("location")), (200, "/my.bucket"));
    let again = s3.send(Method::PUT, "/my.bucket", &[], "").await;
    assert_eq!(failure(&again), (409, "BucketAlreadyOwnedByYou"));
    let list = s3.get("/").await;
    assert_eq!(elements(&list, "Name"), ["box", "my.bucket"]);
    assert!(element(&list, "CreationDate").ends_with(".000Z"));
    let first = s3.get("/?max-buckets=1").await;
    let token = escaped(element(&first, "ContinuationToken"));
    assert_eq!(elements(&s3.get(&format!("/?continuation-token={token}")).await, "Name"), ["my.bucket"]);
    assert_eq!(s3.head("/my.bucket").await.header("x-amz-bucket-region"), "us-east-1");
    assert!(s3.get("/my.bucket?location=").await.text().ends_with("></LocationConstraint>"));
    assert!(s3.get("/my.bucket?versioning=").await.text().ends_with("></VersioningConfiguration>"));
    s3.send(Method::PUT, "/my.bucket/a", &[], "x").await;
    let full = s3.send(Method::DELETE, "/my.bucket", &[], "").await;
    assert_eq!(failure(&full), (409, "BucketNotEmpty"));
    assert_eq!(s3.send(Method::DELETE, "/my.bucket/a", &[], "").await.status, 204);
    assert_eq!(s3.send(Method::DELETE, "/my.bucket", &[], "").await.status, 204);
    assert_eq!(s3.head("/my.bucket").await.status, 404);
    assert_eq!(failure(&s3.get("/my.bucket").await), (404, "NoSuchBucket"));
    assert_eq!(failure(&s3.send(Method::PUT, "/No_Bucket", &[], "").await), (400, "InvalidBucketName"));
    let elsewhere = "<CreateBucketConfiguration><LocationConstraint>eu-west-1</LocationConstraint>\
                     </CreateBucketConfiguration>";
    let refused = s3.send(Method::PUT, "/other", &[], elsewhere).await;
    assert_eq!(failure(&refused), (400, "IllegalLocationConstraintException"));
    assert_eq!(failure(&s3.get("/box?lifecycle=").await), (501, "NotImplemented"));
}

#[tokio::test]
async fn an_object_comes_back_with_its_properties() {
    let (_emulator, mut s3) = endpoint().await;
    let headers = [
        ("content-type", "text/x"),
        ("cache-control", "no-cache"),
        ("content-encoding", "gzip,aws-chunked"),
        ("expires", "Fri, 02 Jan 2026 00:00:00 GMT"),
        ("x-amz-meta-kind", "test"),
        ("x-amz-storage-class", "STANDARD_IA"),
        ("x-amz-tagging", "a=1&b+c=%C3%A9"),
    ];
    let put = s3.send(Method::PUT, "/box/a", &headers, "hello").await;
    assert_eq!(put.header("etag"), format!("\"{}\"", Md5::of(b"hello")));
    assert_eq!(put.header("x-amz-checksum-crc64nvme"), crc64(b"hello"));
    assert_eq!(put.header("x-amz-checksum-type"), "FULL_OBJECT");
    for got in [s3.get("/box/a").await, s3.head("/box/a").await] {
        assert_eq!((got.status.as_u16(), got.header("etag")), (200, put.header("etag")));
        for (name, value) in &headers[..1] {
            assert_eq!(got.header(name), *value);
        }
        assert_eq!((got.header("content-encoding"), got.header("cache-control")), ("gzip", "no-cache"));
        assert_eq!((got.header("x-amz-meta-kind"), got.header("content-length")), ("test", "5"));
        assert_eq!(
            (got.header("x-amz-storage-class"), got.header("x-amz-tagging-count")),
            ("STANDARD_IA", "2")
        );
        assert_eq!(got.header("expires"), "Fri, 02 Jan 2026 00:00:00 GMT");
        assert!(got.header("x-amz-checksum-crc64nvme").is_empty(), "it was not asked for");
    }
    let asked = s3.send(Method::HEAD, "/box/a", &[("x-amz-checksum-mode", "ENABLED")], "").await;
    assert_eq!(asked.header("x-amz-checksum-crc64nvme"), crc64(b"hello"));
    let uri = "/box/a?response-content-type=text%2Fy&response-cache-control=max-age%3D1";
    let other = s3.get(uri).await;
    assert_eq!((other.header("content-type"), other.header("cache-control")), ("text/y", "max-age=1"));
    assert_eq!(s3.put("plain", "x").await.status, 200);
    assert_eq!(s3.get("/box/plain").await.header("content-type"), "binary/octet-stream");
    let none = s3.get("/box/none").await;
    assert_eq!((failure(&none), element(&none, "Key")), ((404, "NoSuchKey"), "none"));
    let much = [("x-amz-meta-a", &*"x".repeat(2100))];
    assert_eq!(failure(&s3.send(Method::PUT, "/box/a", &much, "").await), (400, "MetadataTooLarge"));
    let odd = [("x-amz-storage-class", "ODD")];
    assert_eq!(failure(&s3.send(Method::PUT, "/box/a", &odd, "").await), (400, "InvalidStorageClass"));
}

#[tokio::test]
async fn bodies_must_match_their_checksums() {
    let (_emulator, mut s3) = endpoint().await;
    let md5 = Md5::of(b"right").to_base64();
    let (c32, c64, sha) = (crc32(b"right"), crc64(b"right"), sha256_base64(b"right"));
    let all = [
        ("content-md5", &*md5),
        ("x-amz-checksum-crc32", &*c32),
        ("x-amz-checksum-crc32c", "wO4J9g=="),
        ("x-amz-checksum-crc64nvme", &*c64),
        ("x-amz-checksum-sha1", "fPCdbjspyXaBaM7P4Jsj2N1JY6o="),
        ("x-amz-checksum-sha256", &*sha),
    ];
    for (name, value) in all {
        let wrong = s3.send(Method::PUT, "/box/wrong", &[(name, value)], "wrong").await;
        assert_eq!(failure(&wrong), (400, "BadDigest"), "{name}");
        let odd = s3.send(Method::PUT, "/box/wrong", &[(name, "AAA=")], "right").await;
        assert_eq!(odd.status, 400, "{name}");
        if matches!(name, "x-amz-checksum-crc32c" | "x-amz-checksum-sha1") {
            continue;
        }
        let right = s3.send(Method::PUT, "/box/right", &[(name, value)], "right").await;
        assert_eq!(right.status, 200, "{}", right.text());
        if name != "content-md5" {
            assert_eq!(right.header(name), value);
            let got = s3.send(Method::GET, "/box/right", &[("x-amz-checksum-mode", "ENABLED")], "").await;
            assert_eq!(got.header(name), value);
        }
    }
    assert_eq!(s3.head("/box/wrong").await.status, 404);
    let two = [("x-amz-checksum-crc32", &*c32), ("x-amz-checksum-sha256", &*sha)];
    assert_eq!(failure(&s3.send(Method::PUT, "/box/a", &two, "right").await), (400, "InvalidRequest"));
    let other = [("x-amz-sdk-checksum-algorithm", "SHA256"), ("x-amz-checksum-crc32", &*c32)];
    assert_eq!(failure(&s3.send(Method::PUT, "/box/a", &other, "right").await), (400, "InvalidRequest"));
}

#[tokio::test]
async fn ranges_are_kept() {
    let (_emulator, mut s3) = endpoint().await;
    s3.put("a", "0123456789").await;
    s3.put("empty", "").await;
    for (range, bytes, content_range) in [
        ("bytes=2-4", "234", "bytes 2-4/10"),
        ("bytes=7-", "789", "bytes 7-9/10"),
        ("bytes=-2", "89", "bytes 8-9/10"),
        ("bytes=0-99", "0123456789", "bytes 0-9/10"),
    ] {
        let part = s3.send(Method::GET, "/box/a", &[("range", range)], "").await;
        assert_eq!((part.status.as_u16(), part.text()), (206, bytes), "{range}");
        assert_eq!(part.header("content-range"), content_range);
    }
    let beyond = s3.send(Method::GET, "/box/a", &[("range", "bytes=10-")], "").await;
    assert_eq!((failure(&beyond), beyond.header("content-range")), ((416, "InvalidRange"), "bytes */10"));
    assert_eq!(s3.send(Method::GET, "/box/empty", &[("range", "bytes=0-")], "").await.status, 416);
    let head = s3.send(Method::HEAD, "/box/a", &[("range", "bytes=2-4")], "").await;
    assert_eq!((head.status.as_u16(), head.header("content-length")), (206, "3"));
    let mode = [("range", "bytes=2-4"), ("x-amz-checksum-mode", "ENABLED")];
    let part = s3.send(Method::GET, "/box/a", &mode, "").await;
    assert!(part.header("x-amz-checksum-crc64nvme").is_empty(), "it is that of the whole");
    assert_eq!(s3.get("/box/a?partNumber=1").await.text(), "0123456789");
    assert_eq!(failure(&s3.get("/box/a?partNumber=2").await), (416, "InvalidPartNumber"));
}

#[tokio::test]
async fn conditions_hold() {
    let (_emulator, mut s3) = endpoint().await;
    let etag = s3.put("a", "x").await.header("etag").to_owned();
    let new_only = [("if-none-match", "*")];
    assert_eq!(failure(&s3.send(Method::PUT, "/box/a", &new_only, "y").await), (412, "PreconditionFailed"));
    assert_eq!(s3.send(Method::PUT, "/box/b", &new_only, "y").await.status, 200);
    let same = s3.send(Method::GET, "/box/a", &[("if-none-match", &etag)], "").await;
    assert_eq!((same.status.as_u16(), same.body.len(), same.header("etag")), (304, 0, &*etag));
    let matching = [("if-match", &*etag)];
    assert_eq!(s3.send(Method::PUT, "/box/a", &matching, "z").await.status, 200);
    assert_eq!(s3.send(Method::GET, "/box/a", &matching, "").await.status, 412);
    assert_eq!(failure(&s3.send(Method::PUT, "/box/a", &matching, "x").await), (412, "PreconditionFailed"));
    assert_eq!(failure(&s3.send(Method::PUT, "/box/none", &matching, "x").await), (404, "NoSuchKey"));
    assert_eq!(failure(&s3.send(Method::DELETE, "/box/a", &matching, "").await), (412, "PreconditionFailed"));
    let since = [("if-modified-since", "Fri, 01 Jan 2100 00:00:00 GMT")];
    assert_eq!(s3.send(Method::GET, "/box/a", &since, "").await.status, 304);
    let before = [("if-unmodified-since", "Fri, 01 Jan 2010 00:00:00 GMT")];
    assert_eq!(s3.send(Method::HEAD, "/box/a", &before, "").await.status, 412);
}

#[tokio::test]
async fn lists_come_in_pages() {
    let (_emulator, mut s3) = endpoint().await;
    for name in ["a b", "a/1", "a/2", "a/b/3", "b&<", "c/1"] {
        s3.put(name, "x").await;
    }
    let (mut keys, mut prefixes, mut uri) =
        (Vec::new(), Vec::new(), "/box?list-type=2&max-keys=2".to_owned());
    loop {
        let page = s3.get(&format!("{uri}&delimiter=%2F&encoding-type=url")).await;
        assert_eq!(
            element(&page, "KeyCount").parse::<usize>().unwrap(),
            elements(&page, "Key").len() + elements(&page, "Prefix").len() - 1
        );
        keys.extend(elements(&page, "Key").iter().map(|key| (*key).to_owned()));
        prefixes.extend(elements(&page, "Prefix")[1..].iter().map(|prefix| (*prefix).to_owned()));
        if element(&page, "IsTruncated") == "false" {
            break;
        }
        let token = element(&page, "NextContinuationToken").replace('=', "%3D");
        uri = format!("/box?list-type=2&max-keys=2&continuation-token={token}");
    }
    assert_eq!(
        (keys, prefixes),
        (vec!["a+b".to_owned(), "b%26%3C".to_owned()], vec!["a/".to_owned(), "c/".to_owned()])
    );

    let first = s3.get("/box?max-keys=2&delimiter=%2F").await;
    assert_eq!((element(&first, "NextMarker"), elements(&first, "Key")), ("a/", vec!["a b"]));
    assert_eq!(element(&first, "DisplayName"), "devstoreaccount1");
    let second = s3.get("/box?max-keys=2&delimiter=%2F&marker=a%2F").await;
    assert_eq!((elements(&second, "Key"), elements(&second, "Prefix")), (vec!["b&amp;&lt;"], vec!["", "c/"]));
    let after = s3.get("/box?list-type=2&start-after=a%2F1&fetch-owner=true&prefix=a").await;
    assert_eq!(elements(&after, "Key"), ["a/2", "a/b/3"]);
    assert_eq!(elements(&after, "DisplayName").len(), 2);
    assert!(after.text().contains("<ChecksumType>FULL_OBJECT</ChecksumType><Size>1</Size>"));
    let none = s3.get("/box?list-type=2&max-keys=0").await;
    assert_eq!((element(&none, "IsTruncated"), element(&none, "KeyCount")), ("false", "0"));
    assert_eq!(failure(&s3.get("/box?list-type=2&max-keys=-1").await), (400, "InvalidArgument"));
    assert_eq!(failure(&s3.get("/none?list-type=2").await), (404, "NoSuchBucket"));
}

#[tokio::test]
async fn many_are_deleted_at_once() {
    let (_emulator, mut s3) = endpoint().await;
    for name in ["a", "b c", "d&"] {
        s3.put(name, "x").await;
    }
    let body = "<Delete><Object><Key>a</Key></Object><Object><Key>b c</Key></Object>\
                <Object><Key>none</Key></Object><Object><Key>d&amp;</Key><ETag>\"x\"</ETag></Object></Delete>";
    let bare = s3.send(Method::POST, "/box?delete=", &[], body).await;
    assert_eq!(failure(&bare), (400, "InvalidRequest"));
    let checksum = crc32(body.as_bytes());
    let done = s3.send(Method::POST, "/box?delete=", &[("x-amz-checksum-crc32", &checksum)], body).await;
    assert_eq!(elements(&done, "Key"), ["a", "b c", "none", "d&amp;"]);
    assert_eq!(elements(&done, "Code"), ["PreconditionFailed"]);
    assert_eq!(elements(&s3.get("/box").await, "Key"), ["d&amp;"]);
    let body = "<Delete><Quiet>true</Quiet><Object><Key>d&amp;</Key></Object></Delete>";
    let md5 = Md5::of(body.as_bytes()).to_base64();
    let quiet = s3.send(Method::POST, "/box?delete=", &[("content-md5", &md5)], body).await;
    assert!(quiet.text().ends_with("\"></DeleteResult>"), "{}", quiet.text());
    let body = "<Delete></Delete>";
    let md5 = Md5::of(body.as_bytes()).to_base64();
    let empty = s3.send(Method::POST, "/box?delete=", &[("content-md5", &md5)], body).await;
    assert_eq!(failure(&empty), (400, "MalformedXML"));
}

#[tokio::test]
async fn an_object_is_copied_with_or_without_what_belongs_to_it() {
    let (_emulator, mut s3) = endpoint().await;
    let headers = [
        ("x-amz-meta-a", "1"),
        ("content-type", "text/x"),
        ("x-amz-tagging", "t=1"),
        ("x-amz-checksum-crc32", "NhCmhg=="),
    ];
    let put = s3.send(Method::PUT, "/box/a%20b", &headers, "hello").await;
    let source = ("x-amz-copy-source", "/box/a%20b");
    let copied = s3.send(Method::PUT, "/box/c", &[source], "").await;
    assert_eq!(
        (copied.status.as_u16(), element(&copied, "ETag")),
        (200, &*put.header("etag").replace('"', "&quot;"))
    );
    assert_eq!(element(&copied, "ChecksumCRC32"), "NhCmhg==");
    let head = s3.head("/box/c").await;
    assert_eq!((head.header("x-amz-meta-a"), head.header("content-type")), ("1", "text/x"));
    assert_eq!(head.header("x-amz-tagging-count"), "1");
    let replaced = [
        source,
        ("x-amz-metadata-directive", "REPLACE"),
        ("x-amz-tagging-directive", "REPLACE"),
        ("x-amz-meta-b", "2"),
        ("x-amz-checksum-algorithm", "SHA256"),
    ];
    let copied = s3.send(Method::PUT, "/box/c", &replaced, "").await;
    assert_eq!(element(&copied, "ChecksumSHA256"), sha256_base64(b"hello"));
    let head = s3.head("/box/c").await;
    assert_eq!((head.header("x-amz-meta-a"), head.header("x-amz-meta-b")), ("", "2"));
    assert_eq!(head.header("x-amz-tagging-count"), "");
    let itself = [("x-amz-copy-source", "box/c")];
    assert_eq!(failure(&s3.send(Method::PUT, "/box/c", &itself, "").await), (400, "InvalidRequest"));
    let exists = [source, ("if-none-match", "*")];
    assert_eq!(failure(&s3.send(Method::PUT, "/box/c", &exists, "").await), (412, "PreconditionFailed"));
    let changed = [source, ("x-amz-copy-source-if-match", "\"x\"")];
    assert_eq!(failure(&s3.send(Method::PUT, "/box/d", &changed, "").await), (412, "PreconditionFailed"));
    for (bad, code) in [("box", "InvalidArgument"), ("/none/a", "NoSuchBucket"), ("/box/none", "NoSuchKey")] {
        let refused = s3.send(Method::PUT, "/box/d", &[("x-amz-copy-source", bad)], "").await;
        assert_eq!(element(&refused, "Code"), code, "{bad}");
    }
}

#[tokio::test]
async fn tags_lists_of_access_and_attributes_are_told() {
    let (_emulator, mut s3) = endpoint().await;
    let etag = s3.put("a", "hello").await.header("etag").trim_matches('"').to_owned();
    let tags = "<Tagging><TagSet><Tag><Key>k &amp;</Key><Value> v</Value></Tag></TagSet></Tagging>";
    assert_eq!(s3.send(Method::PUT, "/box/a?tagging=", &[], tags).await.status, 200);
    let got = s3.get("/box/a?tagging=").await;
    assert_eq!((element(&got, "Key"), element(&got, "Value")), ("k &amp;", " v"));
    assert_eq!(s3.send(Method::DELETE, "/box/a?tagging=", &[], "").await.status, 204);
    assert!(s3.get("/box/a?tagging=").await.text().ends_with("<TagSet></TagSet></Tagging>"));
    let twice =
        "<Tagging><TagSet><Tag><Key>k</Key><Value/></Tag><Tag><Key>k</Key><Value/></Tag></TagSet></Tagging>";
    assert_eq!(failure(&s3.send(Method::PUT, "/box/a?tagging=", &[], twice).await), (400, "InvalidTag"));
    assert_eq!(failure(&s3.send(Method::PUT, "/box/a?tagging=", &[], "<x/>").await), (400, "MalformedXML"));

    assert_eq!(element(&s3.get("/box/a?acl=").await, "Permission"), "FULL_CONTROL");
    assert_eq!(s3.send(Method::PUT, "/box/a?acl=", &[("x-amz-acl", "private")], "").await.status, 200);
    assert_eq!(failure(&s3.get("/box/none?acl=").await), (404, "NoSuchKey"));

    let wanted = [("x-amz-object-attributes", "ETag,Checksum,ObjectParts,StorageClass,ObjectSize")];
    let told = s3.send(Method::GET, "/box/a?attributes=", &wanted, "").await;
    assert_eq!((element(&told, "ETag"), element(&told, "ObjectSize")), (&*etag, "5"));
    assert_eq!(element(&told, "ChecksumCRC64NVME"), crc64(b"hello"));
    assert!(!told.text().contains("ObjectParts"));
    let odd = [("x-amz-object-attributes", "Odd")];
    assert_eq!(
        failure(&s3.send(Method::GET, "/box/a?attributes=", &odd, "").await),
        (400, "InvalidArgument")
    );
}

#[tokio::test]
async fn metadata_need_not_be_ascii() {
    let (_emulator, mut s3) = endpoint().await;
    s3.send(Method::PUT, "/box/a", &[("x-amz-meta-a", "é")], "").await;
    let told = s3.head("/box/a").await;
    let expected = base64::prelude::BASE64_STANDARD.encode("é");
    assert_eq!(told.header("x-amz-meta-a"), format!("=?UTF-8?B?{expected}?="));
}
