//! Which server has a bucket, and how its name stands in requests: in the path, or in the host.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::error::{Error, ErrorKind, Result};
use crate::http::Origin;

/// Everything but what a URL never escapes; `/` stays, as it parts folders in names. What is signed is what is sent.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');

/// The region that AWS's tools take where none is named.
pub(super) const USUAL_REGION: &str = "us-east-1";

/// How the bucket is named in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Addressing {
    /// As the first part of the path: `https://host/bucket/key`.
    Path,
    /// As the first label of the host: `https://bucket.host/key`.
    Virtual,
}

/// The service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// AWS itself: a host for each region.
    Aws,
    /// A server that was named, and what comes before every path: nothing, or `/storage/v1/s3`.
    At(Origin, String),
}

/// Where requests for one bucket go.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Site {
    pub(super) origin: Origin,
    /// What signatures are made for.
    pub(super) region: String,
    /// What comes before the key in a path: that of the endpoint, and `/` and the bucket.
    prefix: String,
}

impl Endpoint {
    /// Reads `https://host[:port][/path]`.
    pub(super) fn parse(url: &str) -> Result<Self> {
        let wrong = |shown: &str, why: &str| {
            Error::new(ErrorKind::Usage, "open", shown, why)
                .hint("write the endpoint as https://host[:port][/path]")
        };
        if url.contains('@') {
            // Before it may stand a secret.
            return Err(wrong("the endpoint", "keys cannot stand in the URL of an endpoint"));
        }
        let shown = url.split('?').next().unwrap_or_default();
        let (scheme, rest) =
            url.split_once("://").ok_or_else(|| wrong(shown, "the endpoint has no scheme"))?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let path = path.trim_end_matches('/');
        let plain = |segment: &str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
            !matches!(segment, "" | "." | "..") && segment.bytes().all(plain)
        };
        if authority.contains(['?', '#']) || !(path.is_empty() || path.split('/').all(plain)) {
            return Err(wrong(shown, "more than a port and a plain path follows the host"));
        }
        let path = if path.is_empty() { String::new() } else { format!("/{path}") };
        Ok(Self::At(Origin::parse(&scheme.to_ascii_lowercase(), authority)?, path))
    }

    /// The region that the host of an endpoint names; `None` for hosts that are not AWS's.
    pub(super) fn region(&self) -> Option<&str> {
        let Self::At(origin, _) = self else { return None };
        let labels = aws_labels(origin)?;
        // Every region ends in a number; `s3` and `vpce` do not name one.
        let ends_in_number =
            |label: &&str| label.ends_with(|c: char| c.is_ascii_digit()) && label.contains('-');
        labels.rsplit('.').next().filter(ends_in_number).filter(|label| is_region(label))
    }

    /// Whether it is AWS itself.
    pub(super) fn is_aws(&self) -> bool {
        match self {
            Self::Aws => true,
            Self::At(origin, _) => aws_labels(origin).is_some(),
        }
    }

    /// Where a bucket of this region is; no bucket stands for the service as a whole.
    pub(super) fn site(&self, bucket: &str, region: &str, addressing: Option<Addressing>) -> Result<Site> {
        let (origin, path, aws) = match self {
            Self::At(origin, path) => (origin.clone(), path.as_str(), aws_labels(origin).is_some()),
            Self::Aws => {
                let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
                (Origin::parse("https", &format!("s3.{region}.{suffix}"))?, "", true)
            }
        };
        // No certificate is for two labels, and hosts have neither capitals nor underscores.
        let fits =
            bucket.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        let usual = if aws && fits { Addressing::Virtual } else { Addressing::Path };
        let region = region.to_owned();
        match addressing.unwrap_or(usual) {
            _ if bucket.is_empty() => Ok(Site { origin, region, prefix: path.to_owned() }),
            Addressing::Path => Ok(Site { origin, region, prefix: format!("{path}/{bucket}") }),
            Addressing::Virtual => {
                let (scheme, authority) = origin.to_string().split_once("://").map_or_else(
                    || (String::new(), String::new()),
                    |(scheme, authority)| (scheme.to_owned(), authority.to_owned()),
                );
                let origin = Origin::parse(&scheme, &format!("{bucket}.{authority}"))?;
                Ok(Site { origin, region, prefix: path.to_owned() })
            }
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Aws => f.write_str("AWS"),
            Self::At(origin, path) => write!(f, "{origin}{path}"),
        }
    }
}

impl Site {
    /// The path of an object, of the bucket where the key is empty: as it is sent, and as it is signed.
    pub(super) fn path(&self, key: &str) -> String {
        let mut path = String::with_capacity(self.prefix.len() + key.len() + key.len() / 4 + 64);
        path.push_str(&self.prefix);
        if path.is_empty() || !key.is_empty() {
            path.push('/');
        }
        path.extend(utf8_percent_encode(key, PATH));
        path
    }
}

/// Whether this may be the name of a region. It becomes part of a host, and servers say it.
pub(super) fn is_region(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(plain)
}

/// What comes before AWS's own domain: `s3.eu-west-1`.
fn aws_labels(origin: &Origin) -> Option<&str> {
    let host = origin.host();
    host.strip_suffix(".amazonaws.com").or_else(|| host.strip_suffix(".amazonaws.com.cn"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(endpoint: &str, bucket: &str, region: &str, addressing: Option<Addressing>) -> (String, String) {
        let endpoint = if endpoint.is_empty() { Endpoint::Aws } else { Endpoint::parse(endpoint).unwrap() };
        let site = endpoint.site(bucket, region, addressing).unwrap();
        (site.origin.to_string(), site.path("a b/../c%"))
    }

    #[test]
    fn buckets_stand_in_the_host_at_aws_and_in_the_path_elsewhere() {
        use Addressing::{Path, Virtual};
        let key = "/a%20b/../c%25";
        for (endpoint, bucket, region, addressing, origin, before) in [
            ("", "b", "eu-west-1", None, "https://b.s3.eu-west-1.amazonaws.com", ""),
            ("", "b", "cn-north-1", None, "https://b.s3.cn-north-1.amazonaws.com.cn", ""),
            ("", "b.c", "us-east-1", None, "https://s3.us-east-1.amazonaws.com", "/b.c"),
            ("", "Old_one", "us-east-1", None, "https://s3.us-east-1.amazonaws.com", "/Old_one"),
            ("", "b", "us-east-1", Some(Path), "https://s3.us-east-1.amazonaws.com", "/b"),
            ("", "", "us-east-1", None, "https://s3.us-east-1.amazonaws.com", ""),
            ("http://127.0.0.1:7070", "b", "us-east-1", None, "http://127.0.0.1:7070", "/b"),
            ("https://store.example/", "b", "x", Some(Virtual), "https://b.store.example", ""),
            ("https://store.example/v1/s3/", "b", "x", None, "https://store.example", "/v1/s3/b"),
            ("https://store.example/v1/s3", "b", "x", Some(Virtual), "https://b.store.example", "/v1/s3"),
            (
                "https://s3.eu-north-1.amazonaws.com",
                "b",
                "x",
                None,
                "https://b.s3.eu-north-1.amazonaws.com",
                "",
            ),
        ] {
            let expected = (origin.to_owned(), format!("{before}{key}"));
            assert_eq!(site(endpoint, bucket, region, addressing), expected, "{endpoint} {bucket}");
        }
    }

    #[test]
    fn a_bucket_alone_has_a_path_too() {
        let path = |bucket: &str, addressing| Endpoint::Aws.site(bucket, "r", addressing).unwrap().path("");
        assert_eq!(path("b", Some(Addressing::Path)), "/b");
        assert_eq!(path("b", None), "/");
        assert_eq!(path("", None), "/");
        let below = Endpoint::parse("https://store.example/v1/s3").unwrap();
        assert_eq!(below.to_string(), "https://store.example/v1/s3");
        let path = |bucket: &str| below.site(bucket, "r", None).unwrap().path("");
        assert_eq!((path("b").as_str(), path("").as_str()), ("/v1/s3/b", "/v1/s3"));
    }

    #[test]
    fn an_endpoint_of_aws_names_its_region() {
        for (url, region) in [
            ("https://s3.eu-west-1.amazonaws.com", Some("eu-west-1")),
            ("https://s3.dualstack.us-west-2.amazonaws.com", Some("us-west-2")),
            ("https://s3.amazonaws.com", None),
            ("https://bucket.vpce-1a2b.s3.us-east-1.vpce.amazonaws.com", None),
            ("https://s3.eu-west-1.example.com", None),
            ("http://127.0.0.1:9000", None),
        ] {
            assert_eq!(Endpoint::parse(url).unwrap().region(), region, "{url}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_a_hint() {
        for url in [
            "host",
            "ftp://host",
            "https://host/a/../b",
            "https://host/a//b",
            "https://host/a%2Fb",
            "https://host/a b",
            "https://host/a?x",
            "https://host?x",
            "https://me:hunter2@host",
        ] {
            let error = Endpoint::parse(url).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{url}");
            assert!(!format!("{error:?}").contains("hunter2"));
        }
        let error = Endpoint::parse("host").unwrap_err();
        assert_eq!(error.hint_text(), Some("write the endpoint as https://host[:port][/path]"));
        assert!(is_region("eu-west-1"));
        for region in ["", "eu/west", "EU", "evil.example", "a b"] {
            assert!(!is_region(region), "{region}");
        }
    }
}
