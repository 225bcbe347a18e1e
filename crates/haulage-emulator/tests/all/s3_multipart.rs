//! Uploads in parts through the S3 interface.

use haulage::checksum::Md5;
use haulage_emulator::Emulator;
use http::Method;

use crate::support::memory;
use crate::support::s3::{S3, crc32, crc64, element, elements, failure, sha256_base64};

const MIB5: usize = 5 << 20;

async fn endpoint() -> (Emulator, S3) {
    let (emulator, _) = memory().await;
    let s3 = S3::connect(&emulator).await;
    (emulator, s3)
}

/// 5 MiB and a little more, and the whole.
fn pieces() -> [Vec<u8>; 3] {
    let first: Vec<u8> = (0..MIB5).map(|at| (at * 7) as u8).collect();
    let last = b"the end".to_vec();
    let whole = [&first[..], &last].concat();
    [first, last, whole]
}

#[tokio::test]
async fn parts_become_an_object() {
    let (_emulator, mut s3) = endpoint().await;
    let [first, last, whole] = pieces();
    let headers = [("x-amz-meta-a", "1"), ("content-type", "text/x"), ("x-amz-tagging", "t=1")];
    let id = s3.begin("/box/a", &headers).await;
    let one = s3.part("/box/a", &id, 1, &[], first.clone()).await;
    let etags = [Md5::of(&first).to_string(), Md5::of(&last).to_string()];
    assert_eq!(one.header("etag"), format!("\"{}\"", etags[0]));
    s3.part("/box/a", &id, 7, &[], "an earlier one").await;
    s3.part("/box/a", &id, 7, &[], last.clone()).await;
    let listed = s3.get(&format!("/box/a?uploadId={id}&max-parts=1")).await;
    assert_eq!((elements(&listed, "PartNumber"), element(&listed, "IsTruncated")), (vec!["1"], "true"));
    let listed = s3.get(&format!("/box/a?uploadId={id}&part-number-marker=1")).await;
    assert_eq!((elements(&listed, "Size"), element(&listed, "IsTruncated")), (vec!["7"], "false"));
    assert!(!listed.text().contains("Checksum"), "none was declared");
    assert_eq!(s3.head("/box/a").await.status, 404);

    let done = s3.complete("/box/a", &id, &[], &[(1, &etags[0], ""), (7, &etags[1], "")]).await;
    assert_eq!(done.status, 200, "{}", done.text());
    let md5s: Vec<u8> =
        etags.iter().flat_map(|etag| u128::from_str_radix(etag, 16).unwrap().to_be_bytes()).collect();
    let etag = format!("\"{}-2\"", Md5::of(&md5s));
    assert_eq!(element(&done, "ETag"), etag.replace('"', "&quot;"));
    assert_eq!(
        (element(&done, "ChecksumCRC64NVME"), element(&done, "ChecksumType")),
        (&*crc64(&whole), "FULL_OBJECT")
    );
    let got = s3.send(Method::GET, "/box/a", &[("x-amz-checksum-mode", "ENABLED")], "").await;
    assert_eq!((got.body == whole, got.header("etag")), (true, &*etag));
    assert_eq!(got.header("x-amz-checksum-crc64nvme"), crc64(&whole));
    assert_eq!((got.header("x-amz-meta-a"), got.header("x-amz-tagging-count")), ("1", "1"));
    let second = s3.get("/box/a?partNumber=7").await;
    assert_eq!(
        (second.status.as_u16(), second.text(), second.header("x-amz-mp-parts-count")),
        (206, "the end", "2")
    );
    let again = s3.complete("/box/a", &id, &[], &[(1, &etags[0], "")]).await;
    assert_eq!(failure(&again), (404, "NoSuchUpload"));
    let wanted = [("x-amz-object-attributes", "ObjectParts")];
    let told = s3.send(Method::GET, "/box/a?attributes=", &wanted, "").await;
    assert_eq!(element(&told, "PartsCount"), "2");
}

#[tokio::test]
async fn lists_of_parts_must_be_true() {
    let (_emulator, mut s3) = endpoint().await;
    let id = s3.begin("/box/a", &[]).await;
    let mut etags = Vec::new();
    for number in 1..=3 {
        let part = s3.part("/box/a", &id, number, &[], format!("part {number}")).await;
        etags.push(part.header("etag").to_owned());
    }
    let try_parts = async |s3: &mut S3, parts: &[(u32, &str)]| {
        let parts: Vec<_> = parts.iter().map(|(number, etag)| (*number, *etag, "")).collect();
        element(&s3.complete("/box/a", &id, &[], &parts).await, "Code").to_owned()
    };
    assert_eq!(try_parts(&mut s3, &[]).await, "MalformedXML");
    assert_eq!(try_parts(&mut s3, &[(2, &etags[1]), (1, &etags[0])]).await, "InvalidPartOrder");
    assert_eq!(try_parts(&mut s3, &[(1, &etags[0]), (1, &etags[0])]).await, "InvalidPartOrder");
    assert_eq!(try_parts(&mut s3, &[(1, &etags[1])]).await, "InvalidPart");
    assert_eq!(try_parts(&mut s3, &[(4, &etags[1])]).await, "InvalidPart");
    assert_eq!(try_parts(&mut s3, &[(1, &etags[0]), (2, &etags[1])]).await, "EntityTooSmall");
    let size = [("x-amz-mp-object-size", "7")];
    let wrong = s3.complete("/box/a", &id, &size, &[(2, &etags[1], "")]).await;
    assert_eq!(failure(&wrong), (400, "InvalidRequest"));
    s3.put("a", "x").await;
    let new_only = s3.complete("/box/a", &id, &[("if-none-match", "*")], &[(2, &etags[1], "")]).await;
    assert_eq!(failure(&new_only), (412, "PreconditionFailed"));
    // Parts may be left out.
    assert_eq!(try_parts(&mut s3, &[(2, &etags[1])]).await, "");
    assert_eq!(s3.get("/box/a").await.text(), "part 2");
    assert_eq!(failure(&s3.part("/box/a", &id, 1, &[], "x").await), (404, "NoSuchUpload"));
    assert_eq!(failure(&s3.part("/box/a", "none", 0, &[], "x").await), (400, "InvalidArgument"));
}

#[tokio::test]
async fn a_declared_checksum_of_the_whole_is_combined_and_compared() {
    let (_emulator, mut s3) = endpoint().await;
    let [first, last, whole] = pieces();
    type Sum = fn(&[u8]) -> String;
    for (name, algorithm, of) in [("crc64nvme", "CRC64NVME", crc64 as Sum), ("crc32", "CRC32", crc32 as Sum)]
    {
        let declared = [("x-amz-checksum-algorithm", algorithm), ("x-amz-checksum-type", "FULL_OBJECT")];
        let id = s3.begin("/box/a", &declared).await;
        let header = format!("x-amz-checksum-{name}");
        let wrong = s3.part("/box/a", &id, 1, &[(&header, &of(b"other"))], first.clone()).await;
        assert_eq!(failure(&wrong), (400, "BadDigest"));
        let one = s3.part("/box/a", &id, 1, &[(&header, &of(&first))], first.clone()).await;
        assert_eq!(one.header(&header), of(&first));
        let two = s3.part("/box/a", &id, 2, &[], last.clone()).await;
        let listed = s3.get(&format!("/box/a?uploadId={id}")).await;
        assert_eq!(elements(&listed, &format!("Checksum{algorithm}")), [of(&first), of(&last)]);
        assert_eq!(
            (element(&listed, "ChecksumAlgorithm"), element(&listed, "ChecksumType")),
            (algorithm, "FULL_OBJECT")
        );
        let etags = [one.header("etag").to_owned(), two.header("etag").to_owned()];
        let parts = [(1, &*etags[0], ""), (2, &*etags[1], "")];
        let (bad, composite) = ([(&*header, &*of(b"other"))], [("x-amz-checksum-type", "COMPOSITE")]);
        assert_eq!(failure(&s3.complete("/box/a", &id, &bad, &parts).await), (400, "BadDigest"));
        assert_eq!(failure(&s3.complete("/box/a", &id, &composite, &parts).await), (400, "InvalidRequest"));
        let gap = s3.complete("/box/a", &id, &[], &parts[1..]).await;
        assert_eq!(failure(&gap), (400, "InvalidPartOrder"));
        let sum = of(&whole);
        let right = [(&*header, &*sum), ("x-amz-checksum-type", "FULL_OBJECT")];
        let done = s3.complete("/box/a", &id, &right, &parts).await;
        assert_eq!(element(&done, &format!("Checksum{algorithm}")), sum, "{}", done.text());
    }
}

#[tokio::test]
async fn a_composite_checksum_is_made_of_those_of_the_parts() {
    let (_emulator, mut s3) = endpoint().await;
    let [first, last, _] = pieces();
    let id = s3.begin("/box/a", &[("x-amz-checksum-algorithm", "SHA256")]).await;
    let sums = [sha256_base64(&first), sha256_base64(&last)];
    let bare = s3.part("/box/a", &id, 1, &[], "x").await;
    assert_eq!(failure(&bare), (400, "InvalidRequest"));
    assert!(
        element(&bare, "Message").ends_with("expected checksum Type: sha256, actual checksum Type: null")
    );
    let header = "x-amz-checksum-sha256";
    let one = s3.part("/box/a", &id, 1, &[(header, &sums[0])], first).await.header("etag").to_owned();
    let two = s3.part("/box/a", &id, 2, &[(header, &sums[1])], last).await.header("etag").to_owned();
    let missing = s3.complete("/box/a", &id, &[], &[(1, &one, ""), (2, &two, "")]).await;
    assert_eq!(failure(&missing), (400, "InvalidRequest"));
    let said = sums.each_ref().map(|sum| format!("<ChecksumSHA256>{sum}</ChecksumSHA256>"));
    let swapped = s3.complete("/box/a", &id, &[], &[(1, &one, &said[1]), (2, &two, &said[0])]).await;
    assert_eq!(failure(&swapped), (400, "InvalidPart"));
    let done = s3.complete("/box/a", &id, &[], &[(1, &one, &said[0]), (2, &two, &said[1])]).await;
    let value = element(&done, "ChecksumSHA256").to_owned();
    assert!(value.ends_with("-2"), "{}", done.text());
    let head = s3.send(Method::HEAD, "/box/a?partNumber=2", &[("x-amz-checksum-mode", "ENABLED")], "").await;
    assert_eq!(head.header(header), sums[1]);
    let wanted = [("x-amz-object-attributes", "Checksum,ObjectParts"), ("x-amz-max-parts", "1")];
    let told = s3.send(Method::GET, "/box/a?attributes=", &wanted, "").await;
    assert_eq!(elements(&told, "ChecksumSHA256"), [value, sums[0].clone()]);
    assert_eq!((element(&told, "NextPartNumberMarker"), element(&told, "IsTruncated")), ("1", "true"));
    for (algorithm, scope) in [("SHA256", "FULL_OBJECT"), ("CRC64NVME", "COMPOSITE"), ("ODD", "COMPOSITE")] {
        let declared = [("x-amz-checksum-algorithm", algorithm), ("x-amz-checksum-type", scope)];
        let refused = s3.send(Method::POST, "/box/b?uploads=", &declared, "").await;
        assert_eq!(failure(&refused), (400, "InvalidRequest"), "{algorithm}");
    }
}

#[tokio::test]
async fn parts_may_be_copied() {
    let (_emulator, mut s3) = endpoint().await;
    let [first, last, whole] = pieces();
    s3.put("whole", whole.clone()).await;
    let id = s3.begin("/box/a", &[("x-amz-checksum-algorithm", "CRC64NVME")]).await;
    let mut etags = Vec::new();
    for (number, range, bytes) in [(1, "bytes=0-5242879", &first), (2, "bytes=5242880-5242886", &last)] {
        let headers = [("x-amz-copy-source", "box/whole"), ("x-amz-copy-source-range", range)];
        let copied = s3.part("/box/a", &id, number, &headers, "").await;
        assert_eq!(element(&copied, "ChecksumCRC64NVME"), crc64(bytes), "{}", copied.text());
        etags.push(element(&copied, "ETag").replace("&quot;", "\""));
        assert_eq!(etags.last().unwrap().trim_matches('"'), Md5::of(bytes).to_string());
    }
    let beyond = [("x-amz-copy-source", "box/whole"), ("x-amz-copy-source-range", "bytes=0-5242887")];
    assert_eq!(failure(&s3.part("/box/a", &id, 3, &beyond, "").await), (400, "InvalidArgument"));
    let done = s3.complete("/box/a", &id, &[], &[(1, &etags[0], ""), (2, &etags[1], "")]).await;
    assert_eq!(element(&done, "ChecksumCRC64NVME"), crc64(&whole));
    assert_eq!(s3.get("/box/a").await.body, whole);
    // A copy of the whole has no parts, so its ETag is an MD5.
    let copied = s3.send(Method::PUT, "/box/b", &[("x-amz-copy-source", "box/a")], "").await;
    assert_eq!(element(&copied, "ETag"), format!("&quot;{}&quot;", Md5::of(&whole)));
}

#[tokio::test]
async fn uploads_are_listed_until_they_end() {
    let (_emulator, mut s3) = endpoint().await;
    let mut ids = Vec::new();
    for name in ["a", "a", "d/1", "d/2", "e%20f"] {
        ids.push(s3.begin(&format!("/box/{name}"), &[]).await);
    }
    let all = s3.get("/box?uploads=&encoding-type=url").await;
    assert_eq!(elements(&all, "Key"), ["a", "a", "d/1", "d/2", "e+f"]);
    assert_eq!(elements(&all, "UploadId"), ids);
    let first = s3.get("/box?uploads=&max-uploads=1").await;
    assert_eq!((element(&first, "NextKeyMarker"), element(&first, "NextUploadIdMarker")), ("a", &*ids[0]));
    let next = s3
        .get(&format!("/box?uploads=&max-uploads=2&delimiter=%2F&key-marker=a&upload-id-marker={}", ids[0]))
        .await;
    assert_eq!((elements(&next, "UploadId"), elements(&next, "Prefix")), (vec![&*ids[1]], vec!["", "d/"]));
    assert_eq!(element(&next, "NextKeyMarker"), "d/");
    let rest = s3.get("/box?uploads=&delimiter=%2F&key-marker=d%2F").await;
    assert_eq!(elements(&rest, "Key"), ["e f"]);
    assert_eq!(elements(&s3.get("/box?uploads=&prefix=d").await, "Key"), ["d/1", "d/2"]);
    let gone = s3.send(Method::DELETE, &format!("/box/a?uploadId={}", ids[0]), &[], "").await;
    assert_eq!(gone.status, 204);
    let again = s3.send(Method::DELETE, &format!("/box/a?uploadId={}", ids[0]), &[], "").await;
    assert_eq!(failure(&again), (404, "NoSuchUpload"));
    assert_eq!(elements(&s3.get("/box?uploads=").await, "Key").len(), 4);
}
