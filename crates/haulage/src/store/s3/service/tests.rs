//! What goes over the wire, and where to.

use super::*;
use crate::http::HttpOptions;
use crate::store::s3::rules;

const ASKED: Asked<'_> = Asked {
    operation: "read",
    object: "s3://b/k",
    container: "s3://b",
    permission: "s3:GetObject",
    unmet: ErrorKind::SourceChanged,
};

fn service(endpoint: Option<&str>, options: &StoreOptions) -> Service {
    let options = StoreOptions { endpoint: endpoint.map(str::to_owned), ..options.clone() };
    let settings = Settings::from_lookup(&options, |_| None, |_| None).unwrap();
    let credential = match options.unsigned {
        true => Credential::Unsigned,
        false => Credential::Keys(super::super::auth::Keys::new("id", "secret", None).unwrap()),
    };
    let http = HttpClient::new(HttpOptions::default()).unwrap();
    Service::new("b", settings, credential, &options, http).unwrap()
}

async fn request(
    service: &Service,
    key: &str,
    query: &[(&str, &str)],
    body: &'static [u8],
) -> Request<Bytes> {
    let operation = Operation {
        rule: rules::GET_OBJECT,
        method: if body.is_empty() { Method::GET } else { Method::PUT },
        key,
        query,
        headers: HeaderMap::new(),
        body: Bytes::from_static(body),
        signed_body: false,
    };
    service.request(&service.site(), &operation, ASKED).await.unwrap()
}

#[tokio::test]
async fn names_are_escaped_once_and_never_folded() {
    let service = service(Some("http://127.0.0.1:1"), &StoreOptions::default());
    for (key, path) in [
        ("a/b.nc", "/b/a/b.nc"),
        ("a b+c%41?#&=ü", "/b/a%20b%2Bc%2541%3F%23%26%3D%C3%BC"),
        ("/a//b/./../c/", "/b//a//b/./../c/"),
        ("~-_.!*'()", "/b/~-_.%21%2A%27%28%29"),
    ] {
        assert_eq!(request(&service, key, &[], b"").await.uri().to_string(), path, "{key}");
    }
    let listed = request(&service, "", &[("list-type", "2"), ("prefix", "a b/+")], b"").await;
    assert_eq!(listed.uri().to_string(), "/b?list-type=2&prefix=a%20b%2F%2B");
}

#[tokio::test]
async fn bytes_are_signed_where_nothing_else_protects_them() {
    let hash = async |endpoint: Option<&str>, body: &'static [u8]| {
        let request = request(&service(endpoint, &StoreOptions::default()), "k", &[], body).await;
        request.headers()["x-amz-content-sha256"].to_str().unwrap().to_owned()
    };
    for endpoint in [None, Some("https://store.example"), Some("http://127.0.0.1:1")] {
        assert_eq!(hash(endpoint, b"body").await, "UNSIGNED-PAYLOAD");
        assert_eq!(hash(endpoint, b"").await, EMPTY_HASH.to_str().unwrap());
    }
    assert_eq!(hash(Some("http://store.example"), b"body").await, hash_of(b"body").to_str().unwrap());
}

#[tokio::test]
async fn nobody_signs_where_nobody_shall_and_the_requester_pays_where_told() {
    let open = StoreOptions { unsigned: true, requester_pays: true, ..StoreOptions::default() };
    let sent = request(&service(None, &open), "k", &[], b"").await;
    assert!(!sent.headers().contains_key(AUTHORIZATION) && !sent.headers().contains_key("x-amz-date"));
    assert_eq!(sent.headers()[PAYER], "requester");
}

#[test]
fn a_bucket_moves_to_the_region_that_the_service_names_and_nowhere_else() {
    let aws = service(None, &StoreOptions::default());
    let first = aws.site();
    for region in ["us-east-1", "evil.example/", "", "EU"] {
        assert!(!aws.move_to(region, &first), "{region}");
    }
    assert!(aws.move_to("eu-west-1", &first));
    assert_eq!(aws.site().origin.to_string(), "https://b.s3.eu-west-1.amazonaws.com");
    // A server that was named stays, whatever it says: only the signature is another.
    let named = service(Some("https://store.example"), &StoreOptions::default());
    assert!(named.move_to("eu-west-1", &named.site()));
    assert_eq!(
        (named.site().origin.to_string(), &*named.site().region),
        ("https://store.example".into(), "eu-west-1")
    );
}
