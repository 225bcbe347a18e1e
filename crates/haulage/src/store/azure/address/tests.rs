//! Addresses as people write them, and what of them is a secret.

use super::*;

fn options(endpoint: Option<&str>) -> StoreOptions {
    StoreOptions { endpoint: endpoint.map(str::to_owned), ..StoreOptions::default() }
}

fn settings(account: Option<&str>) -> Settings {
    Settings { account: account.map(str::to_owned), ..Settings::default() }
}

#[test]
fn only_accounts_of_one_cloud_hand_over_to_each_other() {
    let endpoint = |url: &str| Endpoint::parse(url, Some("acc")).unwrap();
    let same = |one: &str, other: &str| endpoint(one).same_service(&endpoint(other));
    let public = "https://one.blob.core.windows.net";
    assert!(same(public, "https://two.blob.core.windows.net"));
    assert!(same("http://127.0.0.1:1/one", "http://127.0.0.1:1/two"));
    for other in [
        "https://two.blob.core.chinacloudapi.cn",
        "http://two.blob.core.windows.net",
        "https://evil.example/one",
        "http://127.0.0.1:1/one",
    ] {
        assert!(!same(public, other), "{other}");
    }
    assert!(!same("http://127.0.0.1:1/one", "http://127.0.0.1:2/one"));
}

#[test]
fn a_sas_does_not_become_a_name() {
    for text in ["az://c?sv=1&sig=secret", "az://c/a.nc?sv=1&SIG=secret"] {
        let error = AzureAddress::parse_with(text, &options(None), &settings(Some("acc"))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[test]
fn a_presigned_url_of_s3_is_not_taken_for_an_account() {
    for query in [
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=secret",
        "x-amz-signature=secret",
        "AWSAccessKeyId=id&Signature=secret&Expires=1",
        "GoogleAccessId=id&Expires=1&Signature=secret",
        "X-Goog-Signature=secret",
    ] {
        let error = AzureAddress::url(&format!("https://b.s3.amazonaws.com/c/k?{query}")).unwrap_err();
        assert_eq!(error.cause(), "this is a presigned URL of S3, which Haulage does not read", "{query}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    // A SAS has none of these, and a name may be called anything.
    for query in ["sv=1&sig=x", "sv=1&rsct=Signature&sig=x", "Signature=x"] {
        AzureAddress::url(&format!("https://acc.blob.core.windows.net/c/X-Amz-Signature?{query}")).unwrap();
    }
}

#[test]
fn short_addresses_are_literal() {
    let parsed =
        AzureAddress::parse_with("az://c/a #b?c%41+ü.nc", &options(None), &settings(Some("acc"))).unwrap();
    assert_eq!((parsed.container.as_str(), parsed.key.as_str()), ("c", "a #b?c%41+ü.nc"));
    assert_eq!(parsed.endpoint.to_string(), "https://acc.blob.core.windows.net");
    assert_eq!(parsed.name(&parsed.key), "az://c/a #b?c%41+ü.nc");
    let account = AzureAddress::parse_with("az://", &options(None), &settings(Some("acc"))).unwrap();
    assert_eq!((account.container.as_str(), account.key.as_str()), ("", ""));
}

#[test]
fn urls_name_the_account_by_host_or_path() {
    for (url, endpoint, account, container, key) in [
        (
            "https://acc.blob.core.windows.net/c/a/b.nc",
            "https://acc.blob.core.windows.net",
            "acc",
            "c",
            "a/b.nc",
        ),
        (
            "https://acc.blob.core.usgovcloudapi.net/c",
            "https://acc.blob.core.usgovcloudapi.net",
            "acc",
            "c",
            "",
        ),
        ("http://127.0.0.1:1/acc/c/k", "http://127.0.0.1:1/acc", "acc", "c", "k"),
        ("http://localhost:1/acc/c/", "http://localhost:1/acc", "acc", "c", ""),
        ("https://storage.example.org/acc/c/k%20%23", "https://storage.example.org/acc", "acc", "c", "k #"),
        ("http://[::1]:10000/acc", "http://[::1]:10000/acc", "acc", "", ""),
    ] {
        let parsed = AzureAddress::parse(url, &options(None)).unwrap();
        assert_eq!(parsed.endpoint.to_string(), endpoint, "{url}");
        assert_eq!(
            (parsed.endpoint.account.as_str(), parsed.container.as_str()),
            (account, container),
            "{url}"
        );
        assert_eq!(parsed.key, key, "{url}");
    }
}

#[test]
fn a_data_lake_is_reached_by_the_door_of_its_blobs() {
    for (text, endpoint, container, key) in [
        (
            "abfss://c@acc.dfs.core.windows.net/a b%20?#.nc",
            "https://acc.blob.core.windows.net",
            "c",
            "a b%20?#.nc",
        ),
        ("abfs://c@acc.dfs.core.windows.net", "https://acc.blob.core.windows.net", "c", ""),
        ("abfss://c@acc.blob.core.windows.net/a/", "https://acc.blob.core.windows.net", "c", "a/"),
        ("abfss://c@acc.dfs.core.chinacloudapi.cn/a", "https://acc.blob.core.chinacloudapi.cn", "c", "a"),
        ("abfss://c@acc.z1.dfs.storage.azure.net/a", "https://acc.z1.blob.storage.azure.net", "c", "a"),
        ("https://acc.dfs.core.windows.net/c/a%20b", "https://acc.blob.core.windows.net", "c", "a b"),
        ("https://acc.dfs.core.usgovcloudapi.net/c", "https://acc.blob.core.usgovcloudapi.net", "c", ""),
        (
            "https://acc.privatelink.dfs.core.windows.net/c/a",
            "https://acc.privatelink.blob.core.windows.net",
            "c",
            "a",
        ),
    ] {
        let Ok(crate::store::Address::Azure(parsed)) = crate::store::Address::parse(text, &options(None))
        else {
            panic!("{text}")
        };
        assert_eq!(parsed.endpoint.to_string(), endpoint, "{text}");
        assert_eq!(
            (&*parsed.endpoint.account, &*parsed.container, &*parsed.key),
            ("acc", container, key),
            "{text}"
        );
    }
    let given = Endpoint::parse("https://acc.dfs.core.windows.net", None).unwrap();
    assert_eq!(given.to_string(), "https://acc.blob.core.windows.net");
    let short = crate::store::Address::parse("abfs://c/a", &options(Some("http://127.0.0.1:1/acc"))).unwrap();
    let same = crate::store::Address::parse("az://c/a", &options(Some("http://127.0.0.1:1/acc"))).unwrap();
    assert_eq!(short, same);
    // The names of other hosts stay: they are no data lake of ours.
    let other = AzureAddress::parse("https://a.dfs.example.org/acc/c", &options(None)).unwrap();
    assert_eq!(other.endpoint.to_string(), "https://a.dfs.example.org/acc");
    for text in [
        "abfss://c@storage.example.org/a",
        "abfss://c@acc.dfs.core.windows.net/../a",
        "abfss://Bad_Name@acc.dfs.core.windows.net/a",
        "abfss://@acc.dfs.core.windows.net/a",
        "abfss://c@acc.dfs.core.windows.net/a?sv=1&sig=secret",
    ] {
        let error = crate::store::Address::parse(text, &options(None)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{text}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[test]
fn a_sas_is_kept_apart_and_never_shown() {
    let parsed =
        AzureAddress::parse("https://acc.blob.core.windows.net/c/a%3Fb%25?sv=1&sig=s%3D", &options(None))
            .unwrap();
    assert_eq!(parsed.key, "a?b%");
    assert_eq!(parsed.sas.as_deref(), Some("sv=1&sig=s%3D"));
    assert_eq!(parsed.name(&parsed.key), "https://acc.blob.core.windows.net/c/a%3Fb%25");
    assert!(!format!("{parsed:?}").contains("sig"));
    let back = AzureAddress::parse(&parsed.name(&parsed.key), &options(None)).unwrap();
    assert_eq!(back.key, parsed.key);
}

#[test]
fn endpoints_come_with_or_without_the_account() {
    for (url, account, shown) in [
        ("http://127.0.0.1:10000", None, "http://127.0.0.1:10000/devstoreaccount1"),
        ("http://127.0.0.1:10000/", Some("acc"), "http://127.0.0.1:10000/acc"),
        ("http://127.0.0.1:10000/other", Some("acc"), "http://127.0.0.1:10000/other"),
        ("https://acc.blob.core.windows.net/", None, "https://acc.blob.core.windows.net"),
        ("https://cdn.example.org", Some("acc"), "https://cdn.example.org"),
    ] {
        assert_eq!(Endpoint::parse(url, account).unwrap().to_string(), shown, "{url}");
    }
    assert_eq!(Endpoint::parse("https://cdn.example.org", None).unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn what_is_missing_is_said_with_a_hint() {
    let error = AzureAddress::parse_with("az://c/k", &options(None), &settings(None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.hint_text().unwrap().contains("AZURE_STORAGE_ACCOUNT"));
    for url in ["https://host", "http://127.0.0.1:1/", "https://acc.blob.core.windows.net/Bad_Name/k"] {
        assert_eq!(AzureAddress::parse(url, &options(None)).unwrap_err().kind(), ErrorKind::Usage, "{url}");
    }
}

#[test]
fn an_account_that_needs_escapes_is_refused() {
    for url in ["http://127.0.0.1:1/a%3Fb/c", "http://127.0.0.1:1/../c/k", "https://host/a%20b/c"] {
        assert!(AzureAddress::parse(url, &options(None)).is_err(), "{url}");
    }
    for (url, account) in [("http://127.0.0.1:1/a%b", None), ("http://127.0.0.1:1", Some("a b"))] {
        assert_eq!(Endpoint::parse(url, account).unwrap_err().kind(), ErrorKind::Usage, "{url}");
    }
}

#[test]
fn a_password_before_an_endpoint_is_not_told() {
    for url in ["me:hunter2@host/acc", "ftp://me:hunter2@host/acc", "https://me:hunter2@host"] {
        let error = Endpoint::parse(url, None).unwrap_err();
        assert!(!format!("{error:?}").contains("hunter2"), "{error}");
    }
    let short = AzureAddress::parse_with("az://me:hunter2@c/k", &options(None), &settings(Some("acc")));
    assert!(!format!("{short:?}").contains("hunter2"));
}
