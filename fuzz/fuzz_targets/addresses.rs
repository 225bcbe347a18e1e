//! Addresses, endpoints, connection strings and signatures as people and environments write them.

#![no_main]

use haulage::Error;
use haulage::fuzz::azure;
use haulage::store::azure::AzureAddress;
use haulage::store::{Address, StoreOptions};
use http::{HeaderMap, StatusCode};
use libfuzzer_sys::fuzz_target;

const SECRET: &str = "c2VjcmV0c2VjcmV0";

fuzz_target!(|text: &str| {
    let _ = Address::parse(text, &StoreOptions::default());
    let lines: Vec<&str> = text.lines().collect();
    let line = |at: usize| lines.get(at).copied().unwrap_or_default();
    addresses_read_back(line(0), line(1));
    endpoints_read_back(line(0), line(1));
    no_secret_is_told(line(0), line(1));
    // Whether a signature has expired is asked where the service refuses it.
    let _ = azure::error(
        StatusCode::FORBIDDEN,
        &HeaderMap::new(),
        b"",
        &format!("se={}&sp={}", line(0), line(1)),
    );
});

fn parse(text: &str, account: &str) -> Result<AzureAddress, Error> {
    azure::address(text, None, |name| (name == "AZURE_STORAGE_ACCOUNT").then(|| account.to_owned()))
}

/// What we print, people paste.
fn addresses_read_back(text: &str, account: &str) {
    let Ok(address) = parse(text, account) else { return };
    let printed = azure::name(&address);
    let Ok(again) = parse(&printed, account) else { panic!("{text:?} printed as {printed:?}") };
    let parts =
        |address: &AzureAddress| (address.endpoint.clone(), address.container.clone(), address.key.clone());
    assert_eq!(parts(&again), parts(&address), "{text:?} printed as {printed:?}");
}

fn endpoints_read_back(url: &str, account: &str) {
    let Ok(endpoint) = azure::endpoint(url, Some(account)) else { return };
    let again = azure::endpoint(&endpoint.to_string(), Some(&endpoint.account));
    assert_eq!(again.ok(), Some(endpoint), "{url:?} of {account:?}");
}

/// No error and no `Debug` repeats a signature, a key or a password, wherever it stood.
fn no_secret_is_told(one: &str, two: &str) {
    let told = |result: Result<AzureAddress, Error>| match result {
        Ok(address) => format!("{address:?} {}", azure::name(&address)),
        Err(error) => format!("{error} {error:?}"),
    };
    let word: String = two.chars().filter(char::is_ascii_alphanumeric).collect();
    let signed = format!("{one}?{word}&sig={SECRET}&{two}");
    for text in [signed.clone(), format!("{one}://{word}:{SECRET}@{two}"), format!("{one}://{SECRET}@{two}")]
    {
        if let Err(error) = Address::parse(&text, &StoreOptions::default()) {
            assert!(!format!("{error} {error:?}").contains(SECRET), "{error}");
        }
        let parsed = parse(&text, "account");
        // After the host, and after az://, what looks like a password may be a name.
        if parsed.is_err() || text == signed && !text.starts_with("az://") {
            assert!(!told(parsed).contains(SECRET), "{text:?}");
        }
    }
    let host: String = one.chars().filter(|c| *c != ':').collect();
    for text in [
        format!("{one}?sig={SECRET}"),
        format!("{word}:{SECRET}@{host}"),
        format!("{one}://{word}:{SECRET}@{two}"),
    ] {
        assert!(!told(azure::address("az://c/k", Some(text.clone()), |_| None)).contains(SECRET), "{text:?}");
    }
    for text in [
        format!("AccountKey={SECRET};{one}"),
        format!("{one};SharedAccessSignature=sig={SECRET};{two}"),
        format!("BlobEndpoint=https://h/a?sig={SECRET};{one}"),
    ] {
        let lookup = |name: &str| (name == "AZURE_STORAGE_CONNECTION_STRING").then(|| text.clone());
        assert!(!told(azure::address("az://c/k", None, lookup)).contains(SECRET), "{text:?}");
    }
}
