//! The S3 client against servers that answer as some do, and as none should.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use haulage::ErrorKind;
use haulage::checksum::{ChecksumMode, Crc64};
use haulage::error::Retry;
use haulage::http::{HttpClient, HttpOptions};
use haulage::store::s3::S3Store;
use haulage::store::{
    Attributes, BlockRange, CopySource, GetOptions, ListRequest, Payload, PutOptions, Store, StoreOptions,
    Trace, Version,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What was asked, head and body, in order.
type Asked = Arc<Mutex<Vec<String>>>;

/// A server that gives these answers, one after the other, and a bucket of it.
async fn server(answers: Vec<String>) -> (S3Store, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let asked = Asked::default();
    let seen = asked.clone();
    tokio::spawn(async move {
        let mut answers = answers.into_iter();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            while let Some(request) = take(&mut stream).await {
                seen.lock().unwrap().push(request);
                let answer = answers.next().expect("no more was to be asked");
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        }
    });
    let options = StoreOptions { endpoint: Some(endpoint), unsigned: true, ..StoreOptions::default() };
    let store = S3Store::open("bucket", &options, HttpClient::new(HttpOptions::default()).unwrap());
    (store.unwrap(), asked)
}

/// Reads one request; `None` at the end of the connection.
async fn take(stream: &mut TcpStream) -> Option<String> {
    let mut seen = Vec::new();
    loop {
        if let Some(head) = seen.windows(4).position(|window| window == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&seen[..head]).to_lowercase();
            let len = text.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
            if seen.len() >= head + 4 + len.map_or(0, |len| len.parse().unwrap()) {
                return Some(String::from_utf8_lossy(&seen).into_owned());
            }
        }
        let mut piece = vec![0; 64 << 10];
        match stream.read(&mut piece).await {
            Ok(read @ 1..) => seen.extend_from_slice(&piece[..read]),
            _ => return None,
        }
    }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

fn error(status: &str, code: &str) -> String {
    answer(
        status,
        "",
        &format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>No.</Message></Error>"),
    )
}

fn page(inner: &str) -> String {
    answer(
        "200 OK",
        "",
        &format!("<ListBucketResult><IsTruncated>false</IsTruncated>{inner}</ListBucketResult>"),
    )
}

fn trace() -> Trace {
    Trace::detached()
}

async fn put(store: &S3Store, options: &PutOptions) -> haulage::Result<bool> {
    let put = store.put("k", Bytes::from_static(b"123456789").into(), options, &trace()).await;
    put.map(|put| put.confirmed)
}

const TAKEN: &str = "etag: \"e\"\r\n";

#[tokio::test]
async fn a_service_that_ignores_a_checksum_gets_the_next() {
    let crc32c = format!("{TAKEN}x-amz-checksum-crc32c: 4waSgw==\r\n");
    let answers = vec![
        answer("200 OK", TAKEN, ""),
        answer("200 OK", &crc32c, ""),
        // Once is no rule.
        answer("200 OK", TAKEN, ""),
        answer("200 OK", &crc32c, ""),
    ];
    let (store, asked) = server(answers).await;
    for confirmed in [false, true, false, true] {
        assert_eq!(put(&store, &PutOptions::default()).await.unwrap(), confirmed);
    }
    let asked = asked.lock().unwrap();
    assert!(asked[0].contains("\r\nx-amz-checksum-crc64nvme: rosUhgp5mIg=\r\n"), "{}", asked[0]);
    for request in &asked[1..] {
        assert!(request.contains("\r\nx-amz-checksum-crc32c: 4waSgw==\r\n"), "{request}");
        assert!(!request.contains("crc64nvme"), "one of them only: {request}");
    }
}

#[tokio::test]
async fn a_service_that_refuses_every_checksum_gets_an_md5() {
    let mut answers =
        vec![error("400 Bad Request", "InvalidRequest"), error("501 Not Implemented", "NotImplemented")];
    answers.push(error("400 Bad Request", "InvalidArgument"));
    answers.push(answer("200 OK", TAKEN, ""));
    let (store, asked) = server(answers).await;
    assert!(!put(&store, &PutOptions::default()).await.unwrap(), "nobody states it");
    let asked = asked.lock().unwrap();
    assert!(asked[3].contains("\r\ncontent-md5: JfnnlDI7RTiF9RgfG2JNCw==\r\n"), "{}", asked[3]);
    assert!(!asked[3].contains("x-amz-checksum"), "{}", asked[3]);
}

#[tokio::test]
async fn what_the_service_received_is_compared() {
    let wrong = format!("{TAKEN}x-amz-checksum-crc64nvme: AAAAAAAAAAA=\r\n");
    let (store, _) = server(vec![answer("200 OK", &wrong, ""), error("400 Bad Request", "BadDigest")]).await;
    for _ in 0..2 {
        let error = put(&store, &PutOptions::default()).await.unwrap_err();
        assert_eq!((error.kind(), error.retry_advice()), (ErrorKind::Integrity, Retry::Backoff));
    }
}

#[tokio::test]
async fn with_no_checksum_none_is_sent() {
    let (store, asked) = server(vec![answer("200 OK", TAKEN, "")]).await;
    let options = PutOptions { checksum: ChecksumMode::None, ..PutOptions::default() };
    assert!(!put(&store, &options).await.unwrap());
    let request = asked.lock().unwrap().remove(0);
    assert!(!request.contains("x-amz-checksum") && !request.contains("content-md5"), "{request}");
}

#[tokio::test]
async fn another_region_is_asked_once_and_no_redirect_is_followed() {
    let moved =
        answer("301 Moved", "x-amz-bucket-region: eu-west-1\r\nlocation: http://127.0.0.1:9/\r\n", "");
    let (store, asked) = server(vec![moved.clone(), page("")]).await;
    let list = async |store: &S3Store| store.list(ListRequest::default()).next_page(&trace()).await;
    list(&store).await.unwrap();
    assert_eq!(asked.lock().unwrap().len(), 2);
    // By the body, as some say it; and once only.
    let malformed = answer(
        "400 Bad Request",
        "",
        "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>",
    );
    let (store, asked) = server(vec![malformed.clone(), malformed]).await;
    let error = list(&store).await.unwrap_err();
    assert_eq!(error.hint_text(), Some("set --region, or check the endpoint"));
    assert_eq!(asked.lock().unwrap().len(), 2);
    let elsewhere = answer("307 Temporary Redirect", "location: http://127.0.0.1:9/\r\n", "");
    let (store, asked) = server(vec![elsewhere]).await;
    assert_eq!(list(&store).await.unwrap_err().kind(), ErrorKind::Service);
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn what_claims_success_and_is_none_is_not_believed() {
    let login = answer("200 OK", "content-type: text/html\r\n", "<html>Sign in</html>");
    let cut = answer("200 OK", "", "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>");
    let twice = page(&"<Contents><Key>a</Key><ETag>e</ETag><Size>1</Size></Contents>".repeat(2));
    let other = page("<Name>other</Name>");
    for answer in
        [login, cut, twice, other, page("<Contents/>"), "HTTP/1.1 204 No Content\r\n\r\n".to_owned()]
    {
        let (store, _) = server(vec![answer.clone()]).await;
        let error = store.list(ListRequest::default()).next_page(&trace()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{answer}");
    }
    for status in ["201 Created", "204 No Content"] {
        let (store, _) = server(vec![answer(status, TAKEN, "")]).await;
        assert_eq!(put(&store, &PutOptions::default()).await.unwrap_err().kind(), ErrorKind::Protocol);
    }
    let (store, _) = server(vec![answer("200 OK", "", "")]).await;
    assert_eq!(
        put(&store, &PutOptions::default()).await.unwrap_err().kind(),
        ErrorKind::Protocol,
        "no version"
    );
}

#[tokio::test]
async fn a_range_is_exactly_the_one_that_was_asked_for() {
    let range = Some(BlockRange { offset: 2, len: 3 });
    let get = async |answer: String| {
        let (store, _) = server(vec![answer]).await;
        let options = GetOptions { range, if_match: Some("e".to_owned().into()), ..GetOptions::default() };
        store.get("k", &options, &trace()).await
    };
    let with = |headers: &str| answer("206 Partial Content", &format!("{TAKEN}{headers}"), "345");
    let got =
        get(with("content-range: bytes 2-4/9\r\nx-amz-checksum-crc64nvme: rosUhgp5mIg=\r\n")).await.unwrap();
    assert_eq!((got.meta.size, got.crc64), (9, None));
    assert_eq!(got.meta.crc64, None, "some services state that of a part");
    for (wrong, kind) in [
        (with("content-range: bytes 3-5/9\r\n"), ErrorKind::Protocol),
        (with(""), ErrorKind::Protocol),
        (with("content-range: bytes 2-4/9\r\n").replace("\"e\"", "\"other\""), ErrorKind::SourceChanged),
        (answer("200 OK", TAKEN, "123456789"), ErrorKind::Protocol),
    ] {
        assert_eq!(get(wrong.clone()).await.unwrap_err().kind(), kind, "{wrong}");
    }
}

#[tokio::test]
async fn what_an_answer_does_not_say_is_known_from_a_list_or_asked_of_a_range() {
    const DATED: &str = "x-amz-request-id: 1\r\nlast-modified: Thu, 01 Jan 1970 00:00:02 GMT\r\n";
    let chunked = |headers: &str| {
        format!("HTTP/1.1 200 OK\r\n{headers}transfer-encoding: chunked\r\n\r\n9\r\n123456789\r\n0\r\n\r\n")
    };
    let (etag, weak) = (TAKEN, "etag: W/\"e\"\r\n");
    let range = |etag: &str| {
        answer("206 Partial Content", &format!("{etag}content-range: bytes 0-8/9\r\n"), "123456789")
    };
    let packed = answer("200 OK", &format!("{weak}content-encoding: gzip\r\n"), "packed");
    let listed = Version { modified_s: 2, ..Version::from("e".to_owned()) };
    let get = async |answers: Vec<String>, version: &Version, size| {
        let requests = answers.len();
        let (store, asked) = server(answers).await;
        let options = GetOptions { if_match: Some(version.clone()), size, ..GetOptions::default() };
        let got = store.get("k", &options, &trace()).await?;
        assert_eq!((got.meta.size, asked.lock().unwrap().len()), (9, requests));
        let conditions = asked.lock().unwrap().iter().filter(|one| one.contains("if-match: \"e\"")).count();
        assert_eq!(conditions > 0, version.condition().is_some());
        got.payload.collect().await
    };
    let head = format!("HTTP/1.1 200 OK\r\n{etag}\r\n");
    let first = answer("206 Partial Content", &format!("{etag}content-range: bytes 0-0/9\r\n"), "1");
    for (answers, version, size) in [
        (vec![chunked(etag)], listed.clone(), Some(9)),
        (vec![chunked(etag), head, first, range(etag)], listed.clone(), None),
        (vec![chunked(&format!("{weak}{DATED}"))], listed.clone(), Some(9)),
        (vec![chunked(weak)], Version { weak: true, ..listed.clone() }, Some(9)),
        (vec![chunked(DATED)], Version { etag: String::new(), ..listed.clone() }, Some(9)),
        (vec![packed.clone(), range(etag)], listed.clone(), Some(9)),
        (vec![packed.replace("W/", ""), range(etag)], listed.clone(), Some(9)),
    ] {
        assert_eq!(get(answers.clone(), &version, size).await.unwrap(), "123456789", "{answers:?}");
    }
    let later = DATED.replace(":02", ":03");
    for (answer, kind) in [
        (chunked(etag).replace("9\r\n1", "8\r\n"), ErrorKind::Integrity),
        (chunked(&format!("{weak}{later}")), ErrorKind::SourceChanged),
        (chunked(&later), ErrorKind::SourceChanged),
        (chunked(""), ErrorKind::Protocol),
        (chunked(&format!("{DATED}content-type: text/html\r\n")), ErrorKind::Protocol),
        (chunked(&DATED[21..]), ErrorKind::Protocol),
    ] {
        assert_eq!(get(vec![answer.clone()], &listed, Some(9)).await.unwrap_err().kind(), kind, "{answer}");
    }
}

/// Answers to the beginning of an upload of one part, which confirms its CRC64.
fn begun() -> Vec<String> {
    let uploads = "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>";
    let created = "<InitiateMultipartUploadResult><Bucket>bucket</Bucket><Key>k</Key><UploadId>u</UploadId></InitiateMultipartUploadResult>";
    let sent = format!("{TAKEN}x-amz-checksum-crc64nvme: rosUhgp5mIg=\r\n");
    vec![answer("200 OK", "", uploads), answer("200 OK", "", created), answer("200 OK", &sent, "")]
}

async fn commit(answers: Vec<String>) -> (haulage::Result<bool>, Vec<String>) {
    let (store, asked) = server(begun().into_iter().chain(answers).collect()).await;
    let writer = store.begin("k", Some(9), &PutOptions::default(), &trace()).await.unwrap();
    let range = BlockRange { offset: 0, len: 9 };
    let block = Payload::Bytes(Bytes::from_static(b"123456789"));
    let stored = writer.put_block(range, block, &trace()).await.unwrap();
    assert!(stored.confirmed);
    let attributes = Attributes { crc64: Some(Crc64::of(b"123456789")), ..Attributes::default() };
    let committed = writer.commit(&[stored.part], &attributes, &trace()).await;
    let asked = asked.lock().unwrap().clone();
    (committed.map(|put| put.confirmed), asked)
}

fn completed(crc64: &str) -> String {
    format!(
        "<CompleteMultipartUploadResult><ETag>\"e-1\"</ETag><ChecksumCRC64NVME>{crc64}</ChecksumCRC64NVME>\
         <ChecksumType>FULL_OBJECT</ChecksumType></CompleteMultipartUploadResult>"
    )
}

#[tokio::test]
async fn an_upload_declares_its_checksum_and_the_service_compares_the_whole() {
    let (committed, asked) = commit(vec![answer("200 OK", "", &completed("rosUhgp5mIg="))]).await;
    assert!(committed.unwrap());
    assert!(asked[0].starts_with("GET /bucket?encoding-type=url&prefix=k&uploads= "), "{}", asked[0]);
    assert!(asked[1].starts_with("POST /bucket/k?uploads= "), "{}", asked[1]);
    for header in ["x-amz-checksum-algorithm: CRC64NVME", "x-amz-checksum-type: FULL_OBJECT"] {
        assert!(asked[1].contains(&format!("\r\n{header}\r\n")), "{}", asked[1]);
    }
    assert!(asked[2].starts_with("PUT /bucket/k?partNumber=1&uploadId=u "), "{}", asked[2]);
    let last = &asked[3];
    for text in [
        "\r\nx-amz-checksum-crc64nvme: rosUhgp5mIg=\r\n",
        "\r\nx-amz-mp-object-size: 9\r\n",
        "<PartNumber>1</PartNumber><ETag>&quot;e&quot;</ETag><ChecksumCRC64NVME>rosUhgp5mIg=</ChecksumCRC64NVME>",
    ] {
        assert!(last.contains(text), "{last}");
    }
}

#[tokio::test]
async fn a_commit_that_begins_well_may_end_badly() {
    let failure =
        "  \n \n<?xml version=\"1.0\"?>\n<Error><Code>InternalError</Code><Message>Again.</Message></Error>";
    let (committed, _) = commit(vec![answer("200 OK", "content-type: application/xml\r\n", failure)]).await;
    let error = committed.unwrap_err();
    assert_eq!((error.kind(), error.retry_advice()), (ErrorKind::Service, Retry::Backoff));
    assert_eq!(error.service_code(), Some("InternalError"));
    let (committed, _) = commit(vec![answer("200 OK", "", &completed("AAAAAAAAAAA="))]).await;
    assert_eq!(committed.unwrap_err().kind(), ErrorKind::Integrity);
    // White space before a success is none of our business.
    let late = format!("   \n{}", completed("rosUhgp5mIg="));
    assert!(commit(vec![answer("200 OK", "", &late)]).await.0.unwrap());
}

#[tokio::test]
async fn a_part_that_arrived_again_is_named_as_it_is_now() {
    let refused = || error("400 Bad Request", "InvalidPart");
    let listed = |crc64: &str, etag: &str| {
        let part = format!(
            "<Part><PartNumber>1</PartNumber><Size>9</Size><ETag>\"{etag}\"</ETag>\
             <ChecksumCRC64NVME>{crc64}</ChecksumCRC64NVME></Part>"
        );
        answer(
            "200 OK",
            "",
            &format!("<ListPartsResult><IsTruncated>false</IsTruncated>{part}</ListPartsResult>"),
        )
    };
    let done = answer("200 OK", "", &completed("rosUhgp5mIg="));
    let (committed, asked) = commit(vec![refused(), listed("rosUhgp5mIg=", "again"), done]).await;
    assert!(committed.unwrap());
    assert!(asked[5].contains("<ETag>&quot;again&quot;</ETag>"), "{}", asked[5]);
    // Another content, or the same as was named.
    for there in [listed("AAAAAAAAAAA=", "again"), listed("rosUhgp5mIg=", "e")] {
        let error = commit(vec![refused(), there]).await.0.unwrap_err();
        assert_eq!(error.service_code(), Some("InvalidPart"));
    }
}

#[tokio::test]
async fn an_upload_without_a_declared_checksum_gets_md5s() {
    let mut answers = begun();
    answers[0] = answer(
        "200 OK",
        "",
        "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated><Upload><Key>k</Key><UploadId>u</UploadId>\
         <Initiated>2030-01-01T00:00:00Z</Initiated></Upload></ListMultipartUploadsResult>",
    );
    answers[1] = answer("200 OK", "", "<ListPartsResult><IsTruncated>false</IsTruncated></ListPartsResult>");
    answers[2] = answer("200 OK", TAKEN, "");
    let (store, asked) = server(answers).await;
    let writer = store.begin("k", Some(9), &PutOptions::default(), &trace()).await.unwrap();
    let block = Payload::Bytes(Bytes::from_static(b"123456789"));
    writer.put_block(BlockRange { offset: 0, len: 9 }, block, &trace()).await.unwrap();
    let asked = asked.lock().unwrap();
    assert!(asked[1].starts_with("GET /bucket/k?max-parts=1000&uploadId=u "), "{}", asked[1]);
    assert!(asked[2].contains("\r\ncontent-md5: JfnnlDI7RTiF9RgfG2JNCw==\r\n"), "{}", asked[2]);
    assert!(!asked[2].contains("x-amz-checksum"), "{}", asked[2]);
}

#[tokio::test]
async fn a_service_that_copies_no_part_without_its_checksum_gets_an_upload_that_declares_none() {
    // MinIO's answer where the upload declared one, though no such request could bring it.
    let refused = || error("400 Bad Request", "InvalidArgument");
    let gone = || answer("204 No Content", "", "");
    let copied = answer("200 OK", "", "<CopyPartResult><ETag>\"e\"</ETag></CopyPartResult>");
    let mut answers = begun();
    let created = answers[1].clone();
    answers.truncate(2);
    answers.extend([refused(), created.clone(), gone(), copied]);
    // It is remembered; and what is refused nevertheless is refused.
    answers.extend([begun()[0].clone(), created, refused()]);
    let (store, asked) = server(answers).await;
    let source = CopySource { store: &store, key: "s", size: 9, etag: "e", crc64: None };
    let options = PutOptions { by_service: true, ..PutOptions::default() };
    let range = BlockRange { offset: 0, len: 9 };
    let writer = store.begin("k", Some(9), &options, &trace()).await.unwrap();
    assert!(writer.copy_block(range, &source, &trace()).await.unwrap().part.unstated);
    let writer = store.begin("k", Some(9), &options, &trace()).await.unwrap();
    let error = writer.copy_block(range, &source, &trace()).await.unwrap_err();
    assert_eq!(error.service_code(), Some("InvalidArgument"));
    let asked = asked.lock().unwrap();
    let declares = |request: usize| asked[request].contains("x-amz-checksum-algorithm: CRC64NVME");
    assert!(declares(1) && !declares(3) && !declares(7), "{asked:?}");
    assert!(asked[4].starts_with("DELETE /bucket/k?uploadId=u "), "{}", asked[4]);
    assert!(asked[5].starts_with("PUT /bucket/k?partNumber=1&uploadId=u "), "{}", asked[5]);
}

#[tokio::test]
async fn leftovers_below_a_prefix_are_found_where_the_service_lists_only_those_of_all() {
    let upload = |key: &str| format!("<Upload><Key>{key}</Key><UploadId>u</UploadId></Upload>");
    let page = |inner: &str| {
        let inner = format!("<IsTruncated>false</IsTruncated>{inner}");
        answer("200 OK", "", &format!("<ListMultipartUploadsResult>{inner}</ListMultipartUploadsResult>"))
    };
    // Not in the order of their names either, as MinIO lists them.
    let all = ["data/b", "other", "data/a"].map(upload).concat();
    let (store, asked) = server(vec![page(""), page(&all), page(&upload("data/a"))]).await;
    for expected in [&["data/b?uploadId=u", "data/a?uploadId=u"][..], &["data/a?uploadId=u"]] {
        let request = ListRequest { prefix: "data/".into(), leftovers: true, ..ListRequest::default() };
        let mut lister = store.list(request);
        let found = lister.next_page(&trace()).await.unwrap().unwrap().objects;
        assert_eq!(found.iter().map(|one| one.key.as_str()).collect::<Vec<_>>(), expected);
        assert!(lister.next_page(&trace()).await.unwrap().is_none());
    }
    let asked = asked.lock().unwrap();
    assert!(asked[1].starts_with("GET /bucket?encoding-type=url&uploads= "), "{}", asked[1]);
    assert_eq!(asked.len(), 3, "what is found by its prefix is not looked for again");
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_known_by_what_it_made() {
    let gone = error("404 Not Found", "NoSuchUpload");
    let there = |crc64: &str| {
        format!(
            "HTTP/1.1 200 OK\r\n{TAKEN}content-length: 9\r\nx-amz-checksum-crc64nvme: {crc64}\r\n\
             x-amz-checksum-type: FULL_OBJECT\r\n\r\n"
        )
    };
    let (committed, asked) = commit(vec![gone.clone(), there("rosUhgp5mIg=")]).await;
    assert!(committed.unwrap());
    assert!(asked[4].starts_with("HEAD /bucket/k "), "{}", asked[4]);
    let (committed, _) = commit(vec![gone, there("AAAAAAAAAAA=")]).await;
    let error = committed.unwrap_err();
    let hint = "another client has finished or removed it; run the same command again";
    assert_eq!((error.service_code(), error.hint_text()), (Some("NoSuchUpload"), Some(hint)));
}

#[tokio::test]
async fn many_are_deleted_by_one_request_and_each_is_told_of() {
    let document = "<DeleteResult><Deleted><Key>a</Key></Deleted><Error><Key>b</Key><Code>AccessDenied</Code></Error></DeleteResult>";
    let (store, asked) = server(vec![answer("200 OK", "", document), answer("204 No Content", "", "")]).await;
    let keys = ["a", "b", "c", "d\u{1}"].map(str::to_owned);
    let outcomes = store.delete_many(&keys, &trace()).await.unwrap();
    let kinds: Vec<_> =
        outcomes.iter().map(|outcome| outcome.as_ref().err().map(haulage::Error::kind)).collect();
    assert_eq!(kinds, [None, Some(ErrorKind::Permission), Some(ErrorKind::Protocol), None]);
    let hint = outcomes[1].as_ref().unwrap_err().hint_text().map(str::to_owned);
    assert_eq!(hint.as_deref(), Some("ask for the permission s3:DeleteObject on s3://bucket"));
    let asked = asked.lock().unwrap();
    assert!(
        asked[0].starts_with("POST /bucket?delete= ") && asked[0].contains("\r\ncontent-md5: "),
        "{}",
        asked[0]
    );
    assert!(asked[1].starts_with("DELETE /bucket/d%01 "), "{}", asked[1]);
}

#[tokio::test]
async fn a_bucket_is_removed_by_one_request_and_nothing_in_it_by_any() {
    let answers = vec![error("409 Conflict", "BucketNotEmpty"), answer("204 No Content", "", "")];
    let (store, asked) = server(answers).await;
    assert!(!store.deletes_full());
    let refused = store.delete_container(&trace()).await.unwrap_err();
    assert_eq!(refused.service_code(), Some("BucketNotEmpty"));
    store.delete_container(&trace()).await.unwrap();
    let asked = asked.lock().unwrap();
    assert!(asked.iter().all(|request| request.starts_with("DELETE /bucket HTTP/1.1")), "{asked:?}");
}

#[tokio::test]
async fn what_an_answer_without_a_body_cannot_say_is_asked_for_aloud() {
    let (store, asked) =
        server(vec![answer("400 Bad Request", "", ""), error("400 Bad Request", "ExpiredToken")]).await;
    let refused = store.head("k", &trace()).await.unwrap_err();
    assert_eq!((refused.kind(), refused.service_code()), (ErrorKind::Permission, Some("ExpiredToken")));
    assert!(asked.lock().unwrap()[1].starts_with("GET /bucket/k "));
    // Where nothing more is said, it stays what it was.
    let (store, _) = server(vec![answer("400 Bad Request", "", ""), answer("400 Bad Request", "", "")]).await;
    assert_eq!(store.head("k", &trace()).await.unwrap_err().service_code(), None);
}

#[tokio::test]
async fn a_bucket_that_has_had_no_upload_has_none() {
    let (store, _) = server(vec![error("404 Not Found", "NoSuchUpload")]).await;
    let request = ListRequest { leftovers: true, ..ListRequest::default() };
    let page = store.list(request).next_page(&trace()).await.unwrap();
    assert!(page.is_none_or(|page| page.is_empty()));
}

fn listed(key: &str) -> String {
    page(&format!(
        "<Contents><Key>{key}</Key><Size>9</Size><ETag>\"e\"</ETag>\
         <LastModified>2021-01-01T00:00:00Z</LastModified></Contents>"
    ))
}

#[tokio::test]
async fn a_name_that_a_service_takes_for_another_is_refused_before_or_after_it_is_written() {
    let body = || Bytes::from_static(b"123456789").into();
    // It has `a/b`, and shows it under this name too: nothing is written.
    let (store, asked) = server(vec![page(""), answer("200 OK", TAKEN, "")]).await;
    let refused = store.put("a//b", body(), &PutOptions::default(), &trace()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    assert!(refused.hint_text().is_some_and(|hint| hint.starts_with("rename it at the source")));
    assert!(asked.lock().unwrap().iter().all(|request| !request.starts_with("PUT ")));
    // It has nothing, and keeps it as something else.
    let put = format!("{TAKEN}x-amz-checksum-crc64nvme: rosUhgp5mIg=\r\n");
    let gone = || error("404 Not Found", "NoSuchKey");
    let (store, _) = server(vec![page(""), gone(), answer("200 OK", &put, ""), page("")]).await;
    let refused = store.put("a//b", body(), &PutOptions::default(), &trace()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    // It keeps such names: that is asked once.
    let answers =
        vec![page(""), gone(), answer("200 OK", &put, ""), listed("a//b"), answer("200 OK", &put, "")];
    let (store, asked) = server(answers).await;
    for key in ["a//b", "c//d"] {
        store.put(key, body(), &PutOptions::default(), &trace()).await.unwrap();
    }
    assert_eq!(asked.lock().unwrap().len(), 5);
    // Who may not list may write.
    let denied = error("403 Forbidden", "AccessDenied");
    let (store, _) = server(vec![denied, answer("200 OK", &put, "")]).await;
    store.put("a//b", body(), &PutOptions::default(), &trace()).await.unwrap();
}
