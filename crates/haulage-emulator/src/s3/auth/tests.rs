//! The examples of Amazon's documentation of signature version 4 for S3, and ways to get them wrong.

use super::*;
use crate::wire::time::parse_basic;

const HOST: &str = "examplebucket.s3.amazonaws.com";
const DATE: &str = "20130524T000000Z";

fn at(text: &str) -> SystemTime {
    parse_basic(text).unwrap()
}

fn request(method: &str, uri: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = http::Request::builder().method(method).uri(uri).header("host", HOST);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

/// The `Authorization` header of the examples.
fn authorization(signed: &str, signature: &str) -> String {
    format!(
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,\
         SignedHeaders={signed},Signature={signature}"
    )
}

fn outcome(parts: &Parts, now: SystemTime) -> Result<Payload, &'static str> {
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    authorize(parts, &query, &S3Access::example(), now).map_err(|error| error.kind.code)
}

fn code(parts: &Parts) -> &'static str {
    outcome(parts, at(DATE)).err().unwrap_or("ok")
}

#[test]
fn the_documented_signatures_hold() {
    let dated = [("x-amz-date", DATE), ("x-amz-content-sha256", hash::EMPTY)];
    let get = authorization(
        "host;range;x-amz-content-sha256;x-amz-date",
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    );
    let headers = [dated[0], dated[1], ("range", "bytes=0-9"), ("authorization", &*get)];
    assert_eq!(code(&request("GET", "/test.txt", &headers)), "ok");

    let put = authorization(
        "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
    );
    let headers = [
        ("date", "Fri, 24 May 2013 00:00:00 GMT"),
        ("x-amz-date", DATE),
        ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ("x-amz-content-sha256", "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"),
        ("authorization", &put),
    ];
    let payload = outcome(&request("PUT", "/test%24file.text", &headers), at(DATE));
    assert!(matches!(payload, Ok(Payload::Hash(digits)) if digits.starts_with("44ce7dd6")));

    for (query, signature) in [
        ("lifecycle", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        ("max-keys=2&prefix=J", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ] {
        let by = authorization("host;x-amz-content-sha256;x-amz-date", signature);
        let headers = [dated[0], dated[1], ("authorization", &*by)];
        assert_eq!(code(&request("GET", &format!("/?{query}"), &headers)), "ok", "{query}");
    }
}

const PRESIGNED: &str = "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256\
    &X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request\
    &X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host\
    &X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";

#[test]
fn a_signature_in_the_query_holds_until_it_expires() {
    let asked = |uri: &str, now: &str| outcome(&request("GET", uri, &[]), at(now)).err().unwrap_or("ok");
    assert_eq!(asked(PRESIGNED, "20130524T235959Z"), "ok");
    assert_eq!(asked(PRESIGNED, "20130525T000001Z"), "AccessDenied");
    assert_eq!(asked(PRESIGNED, "20130523T230000Z"), "RequestTimeTooSkewed");
    assert_eq!(asked(&PRESIGNED.replace("test", "tesu"), DATE), "SignatureDoesNotMatch");
    assert_eq!(asked(&PRESIGNED.replace("86400", "604801"), DATE), "AuthorizationQueryParametersError");
    assert_eq!(
        asked(&PRESIGNED.replace("&X-Amz-Expires=86400", ""), DATE),
        "AuthorizationQueryParametersError"
    );
    assert_eq!(
        asked(&PRESIGNED.replace("us-east-1", "eu-west-1"), DATE),
        "AuthorizationQueryParametersError"
    );
    let with_more = request("GET", PRESIGNED, &[("x-amz-meta-a", "b")]);
    assert_eq!(code(&with_more), "AccessDenied", "a header of the service was not signed");
}

#[test]
fn wrong_signatures_are_refused_for_what_is_wrong() {
    let signed = "host;x-amz-content-sha256;x-amz-date";
    let right = authorization(signed, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
    let asked = |by: &str, date: &str, now: &str| {
        let headers = [("x-amz-date", date), ("x-amz-content-sha256", hash::EMPTY), ("authorization", by)];
        let parts = request("GET", "/?max-keys=2&prefix=J", &headers);
        outcome(&parts, at(now)).err().unwrap_or("ok")
    };
    assert_eq!(asked(&right, DATE, DATE), "ok");
    assert_eq!(asked(&right, DATE, "20130524T001459Z"), "ok");
    assert_eq!(asked(&right, DATE, "20130524T001501Z"), "RequestTimeTooSkewed");
    assert_eq!(asked(&right, "20130524T000001Z", DATE), "SignatureDoesNotMatch");
    assert_eq!(asked(&right, "today", DATE), "AccessDenied");
    assert_eq!(asked(&right.replace("34b4", "34b5"), DATE, DATE), "SignatureDoesNotMatch");
    assert_eq!(asked(&right.replace("AKIA", "BKIA"), DATE, DATE), "InvalidAccessKeyId");
    assert_eq!(asked(&right.replace("us-east-1", "eu-west-1"), DATE, DATE), "AuthorizationHeaderMalformed");
    assert_eq!(asked(&right.replace("/s3/", "/ec2/"), DATE, DATE), "AuthorizationHeaderMalformed");
    assert_eq!(asked(&right.replace("Signature=", "X="), DATE, DATE), "AuthorizationHeaderMalformed");
    assert_eq!(asked(&right.replace("host;", ""), DATE, DATE), "AccessDenied");
    assert_eq!(asked("AWS AKIA:xyz", DATE, DATE), "InvalidRequest");
    assert_eq!(code(&request("GET", "/", &[])), "AccessDenied");
    assert_eq!(code(&request("GET", PRESIGNED, &[("authorization", &*right)])), "InvalidRequest");
}

#[test]
fn the_region_is_told_to_those_who_ask_elsewhere() {
    let by = authorization("host", "00").replace("us-east-1", "eu-west-1");
    let parts = request("GET", "/", &[("authorization", &by)]);
    let error = authorize(&parts, &Query::parse(""), &S3Access::example(), at(DATE)).err().unwrap();
    assert!(error.message().ends_with("the region 'eu-west-1' is wrong; expecting 'us-east-1'"));
}
