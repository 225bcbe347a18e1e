//! Who may do what with tables, and pages of other origins.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use haulage_emulator::{WELL_KNOWN_ACCOUNT as ACCOUNT, WELL_KNOWN_KEY};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{Method, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::Sha256;

use crate::support::Client;
use crate::support::tables::{PLAIN, tables};

fn sign(text: &str) -> String {
    let key = BASE64_STANDARD.decode(WELL_KNOWN_KEY).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(text.as_bytes());
    BASE64_STANDARD.encode(mac.finalize().into_bytes())
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// A signature for the table `People`.
fn table_sas(permissions: &str, policy: &str, bounds: [&str; 4]) -> String {
    let expiry = if policy.is_empty() { "2099-01-01T00:00:00Z" } else { "" };
    let [spk, srk, epk, erk] = bounds;
    let text = format!(
        "{permissions}\n\n{expiry}\n/table/{ACCOUNT}/people\n{policy}\n\n\n2019-02-02\n{spk}\n{srk}\n{epk}\n{erk}"
    );
    let mut query = "sv=2019-02-02&tn=People".to_owned();
    for (name, value) in [
        ("sp", permissions),
        ("se", expiry),
        ("si", policy),
        ("spk", spk),
        ("srk", srk),
        ("epk", epk),
        ("erk", erk),
        ("sig", &sign(&text)),
    ] {
        if !value.is_empty() {
            query.push_str(&format!("&{name}={}", escaped(value)));
        }
    }
    query
}

#[tokio::test]
async fn keys_sign_in_two_schemes() {
    let (emulator, _) = tables("").await;
    let mut client = Client::connect_with(emulator.address(), "x=1".to_owned()).await;
    let path = "/People()?$filter=A%20eq%201";
    let date = httpdate::fmt_http_date(SystemTime::now());
    let resource = format!("/{ACCOUNT}/{ACCOUNT}/People()");
    for (scheme, text) in [
        ("SharedKey", format!("GET\n\n\n{date}\n{resource}")),
        ("SharedKeyLite", format!("{date}\n{resource}")),
    ] {
        let authorization = format!("{scheme} {ACCOUNT}:{}", sign(&text));
        let headers = [PLAIN, ("x-ms-date", &*date), ("authorization", &*authorization)];
        let got = client.send(Method::GET, path, &headers, "").await;
        assert_eq!(got.status, StatusCode::OK, "{}", got.text());
        let post = client.send(Method::POST, "/People()", &headers, "{}").await;
        let expected =
            if scheme == "SharedKey" { (403, "AuthenticationFailed") } else { (400, "PropertiesNeedValue") };
        assert_eq!(post.refusal(), expected);
    }
    let old = httpdate::fmt_http_date(SystemTime::now() - Duration::from_secs(3600));
    let authorization = format!("SharedKeyLite {ACCOUNT}:{}", sign(&format!("{old}\n{resource}")));
    let headers = [PLAIN, ("x-ms-date", &*old), ("authorization", &*authorization)];
    assert_eq!(client.send(Method::GET, path, &headers, "").await.refusal(), (403, "AuthenticationFailed"));
    assert_eq!(
        client.send(Method::GET, path, &[PLAIN], "").await.refusal(),
        (401, "NoAuthenticationInformation")
    );
    // The settings of the service are asked for in the same words as those of blobs.
    let text = format!("GET\n\n\n{date}\n/{ACCOUNT}/{ACCOUNT}/?comp=properties");
    let authorization = format!("SharedKey {ACCOUNT}:{}", sign(&text));
    let headers = [("x-ms-date", &*date), ("authorization", &*authorization)];
    let got = client.send(Method::GET, "/?restype=service&comp=properties", &headers, "").await;
    assert_eq!(got.status, StatusCode::OK, "{}", got.text());
    assert_eq!(emulator.stats().requests("GetTableServiceProperties"), 1);
}

#[tokio::test]
async fn account_signatures_allow_what_they_say() {
    let (emulator, mut owner) = tables("").await;
    owner.insert("p", "r", "").await;
    let sas = |letters| emulator.sas(letters, SystemTime::now() + Duration::from_secs(60));
    let mismatch = (403, "AuthorizationPermissionMismatch");
    let mut reader = Client::connect_with(emulator.address(), sas("r")).await;
    assert_eq!(reader.entity("p", "r").await.status, StatusCode::OK);
    assert_eq!(reader.insert("p", "s", "").await.refusal(), mismatch);
    assert_eq!(reader.send(Method::GET, "/Tables", &[PLAIN], "").await.refusal(), mismatch);
    let mut adder = Client::connect_with(emulator.address(), sas("a")).await;
    assert_eq!(adder.insert("p", "s", "").await.status, StatusCode::CREATED);
    assert_eq!(adder.entity("p", "r").await.refusal(), mismatch);
    let path = "/People(PartitionKey='p',RowKey='s')";
    let mut updater = Client::connect_with(emulator.address(), sas("u")).await;
    let json = ("content-type", "application/json");
    assert_eq!(updater.send(Method::PUT, path, &[json], "{}").await.refusal(), mismatch, "might insert");
    let put = updater.send(Method::PUT, path, &[json, ("if-match", "*")], "{}").await;
    assert_eq!(put.status, StatusCode::NO_CONTENT);
    let delete = |row: &str| {
        ("DELETE", format!("/People(PartitionKey='p',RowKey='{row}')"), "If-Match: *\r\n", String::new())
    };
    let denied = adder.transaction(&[delete("s")]).await;
    assert!(denied.text().contains("AuthorizationPermissionMismatch"), "{}", denied.text());
    let past = emulator.sas("r", SystemTime::now() - Duration::from_secs(5));
    let mut late = Client::connect_with(emulator.address(), past).await;
    assert_eq!(late.entity("p", "r").await.refusal(), (403, "AuthenticationFailed"));
}

#[tokio::test]
async fn signatures_of_a_table_open_a_part_of_it() {
    let (emulator, mut owner) = tables("").await;
    owner.make_table("Others").await;
    for partition in ["a", "b", "c"] {
        for row in ["1", "2", "3"] {
            owner.insert(partition, row, "").await;
        }
    }
    let sas = table_sas("ra", "", ["a", "2", "b", "2"]);
    let mut part = Client::connect_with(emulator.address(), sas).await;
    assert_eq!(part.all("").await.0, ["a/2", "a/3", "b/1", "b/2"]);
    assert_eq!(part.all("$filter=PartitionKey ge 'b'").await.0, ["b/1", "b/2"]);
    let mismatch = (403, "AuthorizationPermissionMismatch");
    assert_eq!(part.entity("b", "2").await.status, StatusCode::OK);
    assert_eq!(part.entity("b", "3").await.refusal(), mismatch);
    assert_eq!(part.insert("b", "11", "").await.status, StatusCode::CREATED);
    assert_eq!(part.insert("d", "1", "").await.refusal(), mismatch);
    assert_eq!(part.send(Method::GET, "/Others()", &[PLAIN], "").await.refusal(), mismatch);
    assert_eq!(part.send(Method::GET, "/Tables", &[PLAIN], "").await.refusal(), mismatch);
    let mut whole = Client::connect_with(emulator.address(), table_sas("r", "", ["c", "", "c", ""])).await;
    assert_eq!(whole.all("").await.0, ["c/1", "c/2", "c/3"]);
    let widened = table_sas("r", "", ["a", "", "", ""]).replace("sp=r", "sp=ra");
    let mut widened = Client::connect_with(emulator.address(), widened).await;
    assert_eq!(widened.entity("a", "1").await.refusal(), (403, "AuthenticationFailed"));

    let policies = "<SignedIdentifiers><SignedIdentifier><Id>readers</Id><AccessPolicy>\
                    <Expiry>2099-01-01T00:00:00Z</Expiry><Permission>r</Permission></AccessPolicy>\
                    </SignedIdentifier></SignedIdentifiers>";
    let stored = table_sas("", "readers", [""; 4]);
    let mut by_policy = Client::connect_with(emulator.address(), stored.clone()).await;
    assert_eq!(by_policy.entity("a", "1").await.refusal(), (403, "AuthenticationFailed"));
    let date = httpdate::fmt_http_date(SystemTime::now());
    let text = format!("PUT\n\n\n{date}\n/{ACCOUNT}/{ACCOUNT}/People?comp=acl");
    let authorization = format!("SharedKey {ACCOUNT}:{}", sign(&text));
    let headers = [("x-ms-date", &*date), ("authorization", &*authorization)];
    let mut keyed = Client::connect_with(emulator.address(), "x=1".to_owned()).await;
    let set = keyed.send(Method::PUT, "/People?comp=acl", &headers, policies).await;
    assert_eq!(set.status, StatusCode::NO_CONTENT, "{}", set.text());
    assert_eq!(by_policy.entity("a", "1").await.status, StatusCode::OK);
    assert_eq!(by_policy.insert("a", "9", "").await.refusal(), mismatch);
}

#[tokio::test]
async fn pages_of_other_origins_see_what_rules_say() {
    let (_emulator, mut client) = tables("").await;
    for row in ["1", "2"] {
        client.insert("p", row, "").await;
    }
    let asks = [
        ("origin", "http://page.test"),
        ("access-control-request-method", "GET"),
        ("access-control-request-headers", "accept,x-ms-version"),
    ];
    let refused = client.send(Method::OPTIONS, "/People()", &asks, "").await;
    assert_eq!(refused.refusal(), (403, "CorsPreflightFailure"));
    let rules = "<?xml version=\"1.0\"?><StorageServiceProperties><Cors><CorsRule><AllowedOrigins>http://page.test</AllowedOrigins>\
                 <AllowedMethods>GET,PUT</AllowedMethods><AllowedHeaders>accept,x-ms-*</AllowedHeaders>\
                 <ExposedHeaders>x-ms-continuation-*,etag</ExposedHeaders><MaxAgeInSeconds>60</MaxAgeInSeconds>\
                 </CorsRule></Cors></StorageServiceProperties>";
    let agent = ("user-agent", "azsdk-python-data-tables/12.7.0");
    let path = "/?restype=service&comp=properties";
    let set = client.send(Method::PUT, path, &[agent], rules).await;
    assert_eq!(set.status, StatusCode::ACCEPTED, "{}", set.text());
    let told = client.send(Method::GET, path, &[agent], "").await;
    assert!(told.text().contains("<AllowedHeaders>accept,x-ms-*</AllowedHeaders>"), "{}", told.text());
    assert!(told.text().contains("<HourMetrics><Version>1.0</Version>"), "{}", told.text());

    let allowed = client.send(Method::OPTIONS, "/People()", &asks, "").await;
    assert_eq!(allowed.status, StatusCode::OK);
    for (name, value) in [
        ("access-control-allow-origin", "http://page.test"),
        ("access-control-allow-methods", "GET"),
        ("access-control-allow-headers", "accept,x-ms-version"),
        ("access-control-max-age", "60"),
    ] {
        assert_eq!(allowed.header(name), value);
    }
    let page = client.send(Method::GET, "/People()?$top=1", &[PLAIN, asks[0]], "").await;
    assert_eq!(page.header("access-control-allow-origin"), "http://page.test");
    let exposed = page.header("access-control-expose-headers");
    assert!(exposed.contains("x-ms-continuation-nextpartitionkey"), "{exposed}");
    let refused = client.send(Method::GET, "/Nobody()", &[PLAIN, asks[0]], "").await;
    assert_eq!(refused.header("access-control-allow-origin"), "http://page.test", "a page sees failures too");
    let other = client.send(Method::GET, "/People()", &[PLAIN, ("origin", "http://other.test")], "").await;
    assert_eq!(other.header("access-control-allow-origin"), "");
    for preflight in
        [[("origin", "http://other.test"), asks[1]], [asks[0], ("access-control-request-method", "POST")]]
    {
        let refused = client.send(Method::OPTIONS, "/People", &preflight, "").await;
        assert_eq!(refused.refusal(), (403, "CorsPreflightFailure"));
    }
    let broken = client.send(Method::PUT, path, &[agent], "<StorageServiceProperties>").await;
    assert_eq!(broken.refusal(), (400, "InvalidXmlDocument"));
    let stats = client.send(Method::GET, "/?restype=service&comp=stats", &[agent], "").await;
    assert!(stats.text().contains("<Status>live</Status>"), "{}", stats.text());
}
