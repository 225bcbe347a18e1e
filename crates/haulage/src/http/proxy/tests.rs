use super::*;

const CALL: Call<'static> = Call { operation: "read", object: "thing", proxy: None };

fn by(choice: &ProxyChoice, variables: &[(&str, &str)]) -> Proxies {
    choice.proxies_by(|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    })
}

fn environment(variables: &[(&str, &str)]) -> Proxies {
    by(&ProxyChoice::Environment, variables)
}

/// The proxy that leads to `url`, as messages show it; empty for none.
fn leads(proxies: &Proxies, url: &str) -> String {
    let origin = Origin::of(&url.parse().unwrap()).unwrap();
    let way = proxies.way(&origin, CALL).unwrap();
    way.proxy.map(Proxy::to_string).unwrap_or_default()
}

#[test]
fn each_scheme_has_its_variable_and_small_letters_come_first() {
    let proxies = environment(&[
        ("HTTPS_PROXY", "http://one:3128"),
        ("HTTP_PROXY", "two"),
        ("ALL_PROXY", "http://never:1"),
    ]);
    assert_eq!(leads(&proxies, "https://store/"), "the proxy one:3128 (HTTPS_PROXY)");
    assert_eq!(leads(&proxies, "http://store/"), "the proxy two:80 (HTTP_PROXY)");

    let proxies = environment(&[
        ("HTTPS_PROXY", "http://never:1"),
        ("https_proxy", "https://one"),
        ("HTTP_PROXY", "never:1"),
        ("http_proxy", "[2001:db8::1]:8080/"),
    ]);
    assert_eq!(leads(&proxies, "https://store/"), "the proxy https://one:443 (https_proxy)");
    assert_eq!(leads(&proxies, "http://store/"), "the proxy [2001:db8::1]:8080 (http_proxy)");

    for all in ["ALL_PROXY", "all_proxy"] {
        let proxies = environment(&[(all, "p:1"), ("HTTPS_PROXY", " ")]);
        assert_eq!(leads(&proxies, "https://store/"), format!("the proxy p:1 ({all})"));
        assert_eq!(leads(&proxies, "http://store/"), format!("the proxy p:1 ({all})"));
    }
    assert_eq!(leads(&environment(&[("HTTP_PROXY", "p:1")]), "https://store/"), "");
    assert_eq!(leads(&environment(&[("HTTPS_PROXY", "p:1")]), "http://store/"), "");
    assert_eq!(leads(&environment(&[]), "https://store/"), "");
}

#[test]
fn http_proxy_in_capitals_is_a_header_of_a_client_in_cgi() {
    let cgi = ("REQUEST_METHOD", "GET");
    assert_eq!(leads(&environment(&[cgi, ("HTTP_PROXY", "evil:1")]), "http://store/"), "");
    let proxies = environment(&[cgi, ("HTTP_PROXY", "evil:1"), ("http_proxy", "p:1")]);
    assert_eq!(leads(&proxies, "http://store/"), "the proxy p:1 (http_proxy)");
}

#[test]
fn some_hosts_are_reached_without() {
    let proxies = environment(&[("ALL_PROXY", "p:1"), ("NO_PROXY", "inside.example,10.0.0.0/8")]);
    for url in [
        "https://inside.example/",
        "https://a.inside.example/",
        "https://10.1.1.1/",
        "http://127.0.0.1:10000/",
        "https://localhost/",
        "http://169.254.169.254/",
    ] {
        assert_eq!(leads(&proxies, url), "", "{url}");
    }
    assert_ne!(leads(&proxies, "https://outside.example/"), "");
    let proxies = environment(&[("ALL_PROXY", "p:1"), ("NO_PROXY", "a"), ("no_proxy", "b")]);
    assert_ne!(leads(&proxies, "https://a/"), "", "small letters come first");
    assert_eq!(leads(&proxies, "https://b/"), "");
    assert_eq!(leads(&environment(&[("ALL_PROXY", "p:1"), ("NO_PROXY", "*")]), "https://a/"), "");
}

#[test]
fn the_option_comes_before_the_variables_but_no_proxy_holds() {
    let variables = [("ALL_PROXY", "p:1"), ("NO_PROXY", "inside")];
    let choice: ProxyChoice = "http://q:2".parse().unwrap();
    let proxies = by(&choice, &variables);
    assert_eq!(leads(&proxies, "https://store/"), "the proxy q:2 (--proxy)");
    assert_eq!(leads(&proxies, "http://store/"), "the proxy q:2 (--proxy)");
    assert_eq!(leads(&proxies, "https://inside/"), "");
    for none in ["none", "None"] {
        assert_eq!(leads(&by(&none.parse().unwrap(), &variables), "https://store/"), "");
    }
}

#[test]
fn what_makes_no_sense_is_told_where_it_is_needed_and_never_repeated() {
    for (text, kind) in [
        ("socks5://me:hunter22@host:1080", ErrorKind::Unsupported),
        ("ftp://host", ErrorKind::Unsupported),
        ("http://me:hunter22@host:port", ErrorKind::Usage),
        ("http://me:hunter22@", ErrorKind::Usage),
        ("me:hunter22", ErrorKind::Usage),
        ("http://[::1", ErrorKind::Usage),
        ("http://a b", ErrorKind::Usage),
        ("@", ErrorKind::Usage),
    ] {
        let proxies = environment(&[("HTTPS_PROXY", text), ("NO_PROXY", "inside")]);
        let origin = |url: &str| Origin::of(&url.parse().unwrap()).unwrap();
        let error = proxies.way(&origin("https://store/"), CALL).unwrap_err();
        assert_eq!(error.kind(), kind, "{text}");
        assert!(error.cause().contains("HTTPS_PROXY"), "{error}");
        let option = text.parse::<ProxyChoice>().unwrap_err();
        assert_eq!(option.kind(), kind, "{text}");
        for said in [format!("{error} {error:?}"), format!("{option} {option:?}"), format!("{proxies:?}")] {
            assert!(!said.contains("hunter22"), "{said}");
        }
        for url in ["https://inside/", "https://127.0.0.1/", "http://store/"] {
            assert!(proxies.way(&origin(url), CALL).is_ok(), "{url}");
        }
    }
    for text in ["", " "] {
        assert!(text.parse::<ProxyChoice>().is_err());
    }
}

fn authorization(text: &str) -> Option<String> {
    let proxy = Proxy::parse(text, OPTION).unwrap();
    let value = proxy.authorization()?.to_str().unwrap().strip_prefix("Basic ").unwrap().to_owned();
    Some(String::from_utf8(BASE64_STANDARD.decode(value).unwrap()).unwrap())
}

#[test]
fn user_and_password_are_decoded_and_never_shown() {
    for (text, user) in [
        ("http://me:secret01@host:3128", Some("me:secret01")),
        ("me:secret01@host", Some("me:secret01")),
        ("https://me@host", Some("me:")),
        ("http://do%6Dain%5Cme:p%40ss%3Aw%2Frd%25@host", Some("domain\\me:p@ss:w/rd%")),
        // Characters that should have been encoded.
        ("http://me:p@ss/w#rd?@host:1", Some("me:p@ss/w#rd?")),
        ("http://me:100%sure@host", Some("me:100%sure")),
        ("http://@host", None),
        ("http://host", None),
    ] {
        assert_eq!(authorization(text).as_deref(), user, "{text}");
    }
    let proxy = Proxy::parse("http://someone:correct%20horse@host:3128", "ALL_PROXY").unwrap();
    let choice = ProxyChoice::Through(proxy.clone());
    let shown = format!("{proxy} {proxy:?} {choice:?} {:?} {:?}", by(&choice, &[]), proxy.authorization());
    for secret in ["correct", "someone", "c29tZW9uZ"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(shown.contains("the proxy host:3128 (ALL_PROXY)"), "{shown}");
}

#[test]
fn a_password_is_known_to_whatever_is_shown() {
    Proxy::parse("http://someone:tr0ub4dor%2B53cret@host", OPTION).unwrap();
    let encoded = BASE64_STANDARD.encode("someone:tr0ub4dor+53cret");
    for told in ["tr0ub4dor+53cret", "tr0ub4dor%2B53cret", &encoded] {
        let error = Error::new(ErrorKind::Service, "read", "thing", format!("you said {told} to me"));
        assert_eq!(error.cause(), "you said REDACTED to me", "{told}");
    }
}

fn said_no(address: &str, status: u16, asked: &'static str) -> Error {
    let proxy = Proxy::parse(address, "HTTPS_PROXY").unwrap();
    let origin = Origin::parse("https", "store.example").unwrap();
    let mut headers = http::HeaderMap::new();
    headers.insert("proxy-authenticate", HeaderValue::from_static(asked));
    refused(CALL, &proxy, &origin, http::StatusCode::from_u16(status).unwrap(), &headers)
}

#[test]
fn a_refusal_says_who_and_why() {
    use crate::error::Retry;
    for (status, kind, retry, why) in [
        (401, ErrorKind::Permission, Retry::Never, "does not allow a connection to store.example:443"),
        (403, ErrorKind::Permission, Retry::Never, "does not allow a connection to store.example:443"),
        (407, ErrorKind::Permission, Retry::Never, "asks for a user name and a password"),
        (500, ErrorKind::Connection, Retry::Backoff, "cannot reach store.example:443"),
        (502, ErrorKind::Connection, Retry::Backoff, "cannot reach store.example:443"),
        (503, ErrorKind::Connection, Retry::Backoff, "cannot reach store.example:443"),
        (504, ErrorKind::Connection, Retry::Backoff, "cannot reach store.example:443"),
        (204, ErrorKind::Protocol, Retry::Few, "does not answer as a proxy does"),
        (302, ErrorKind::Protocol, Retry::Few, "does not answer as a proxy does"),
        (404, ErrorKind::Protocol, Retry::Few, "does not answer as a proxy does"),
        (405, ErrorKind::Protocol, Retry::Few, "does not answer as a proxy does"),
    ] {
        let error = said_no("http://p:3128", status, "Basic realm=\"x\"");
        assert_eq!((error.kind(), error.retry_advice()), (kind, retry), "{status}");
        assert!(error.cause().starts_with("the proxy p:3128 (HTTPS_PROXY) "), "{error}");
        assert!(error.cause().contains(why) && error.cause().contains(&status.to_string()), "{error}");
        assert!(error.hint_text().is_some());
    }
    let error = said_no("http://p:3128", 403, "");
    assert!(error.hint_text().unwrap().ends_with("or NO_PROXY=store.example"), "{error}");
    let error = said_no("http://me:secret01@p:3128", 407, "Basic");
    assert!(error.cause().contains("does not accept this user name and password"), "{error}");
    assert!(!error.to_string().contains("secret01"), "{error}");
    // Only known words of a header are shown: the rest may be what was sent.
    let error = said_no("http://me:secret01@p:3128", 407, "Negotiate, NTLM, secret01, x");
    assert!(error.cause().contains("asks for Negotiate or NTLM, which is not supported"), "{error}");
    assert!(!error.to_string().contains("secret01"), "{error}");
}

#[test]
fn a_request_is_addressed_with_its_whole_url() {
    let proxy = Proxy::parse("http://me:secret01@p", OPTION).unwrap();
    for (authority, url) in [
        ("store.example", "http://store.example/c/k?a=b"),
        ("store.example:8080", "http://store.example:8080/c/k?a=b"),
        ("[2001:db8::1]:8080", "http://[2001:db8::1]:8080/c/k?a=b"),
    ] {
        let mut request = Request::get("/c/k?a=b").body(Bytes::new()).unwrap();
        proxy.address(&Origin::parse("http", authority).unwrap(), &mut request, CALL).unwrap();
        assert_eq!(request.uri().to_string(), url);
        assert!(request.headers().get("proxy-authorization").is_some_and(HeaderValue::is_sensitive));
    }
}
