//! What the user wrote, taken apart: paths, URLs and streams.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;

use super::StoreOptions;
use super::azure::AzureAddress;
use super::local::special;
use super::s3::S3Address;
use super::stream::StreamEnd;
use crate::config::Remote;
use crate::error::{Error, ErrorKind, Result};

/// What the user wrote, taken apart. Parsing touches neither disk nor network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A file or folder.
    Local(PathBuf),
    /// A blob, prefix or container.
    Azure(AzureAddress),
    /// An object, prefix or bucket.
    S3(S3Address),
    /// An object in this process's memory: `mem://name/key`, for tests and examples.
    Memory {
        /// Which of the process's memory stores.
        name: String,
        /// Name within it.
        key: String,
    },
    /// Standard input or output: `-`.
    Stdio,
}

/// Other names of the process's own streams: opened anew they would be written from their beginning.
const STDIO: [&str; 7] =
    ["-", "/dev/stdin", "/dev/stdout", "/dev/fd/0", "/dev/fd/1", "/proc/self/fd/0", "/proc/self/fd/1"];

impl Address {
    /// The stream that a source with this name is read as; `None` for what has a size.
    pub(crate) fn source_stream(self) -> Option<StreamEnd> {
        match self {
            Self::Stdio => Some(StreamEnd::Stdio),
            Self::Local(path) if special::reads_as_stream(&path) => Some(StreamEnd::File(path)),
            _ => None,
        }
    }

    /// The stream that a destination with this name is written as.
    pub(crate) fn destination_stream(self) -> Option<StreamEnd> {
        match self {
            Self::Stdio => Some(StreamEnd::Stdio),
            Self::Local(path) if special::writes_as_stream(&path) => Some(StreamEnd::File(path)),
            _ => None,
        }
    }

    /// The same, with the name of the remote that says how it is reached.
    fn by_way_of(self, remote: &str) -> Self {
        let mut address = self;
        match &mut address {
            Self::Azure(address) => address.remote = Some(remote.to_owned()),
            Self::S3(address) => address.remote = Some(remote.to_owned()),
            Self::Local(_) | Self::Memory { .. } | Self::Stdio => {}
        }
        address
    }

    /// Takes apart a path or URL. Whatever begins like a URL is one: `az:x` is never a file, `./az:x` is.
    ///
    /// # Errors
    /// `Usage` for nothing at all, for a scheme that is not known or not followed by `//`, and for what the scheme does
    /// not allow.
    pub fn parse(text: &str, options: &StoreOptions) -> Result<Self> {
        check_name(text)?;
        if STDIO.contains(&text) {
            return Ok(Self::Stdio);
        }
        if let Some((remote, path)) = options.config.remote(text) {
            return Ok(Self::parse(&remote.url_of(path), &remote.options(options)?)?.by_way_of(remote.name()));
        }
        let Some((scheme, rest)) = scheme(text) else { return Ok(Self::Local(PathBuf::from(text))) };
        let Some(rest) = rest.strip_prefix("//") else {
            let cause = format!("`{scheme}:` begins like a URL, but no // follows");
            let remote = match options.config.own_file().filter(|_| Remote::may_be_called(&scheme)) {
                Some(file) => format!(", or define [remotes.{scheme}] in {}", file.display()),
                None => String::new(),
            };
            return Err(Error::new(ErrorKind::Usage, "open", text, cause)
                .hint(format!("write {scheme}://... for a URL, or ./{text} for a local file{remote}")));
        };
        match scheme.as_str() {
            "az" | "http" | "https" => {
                AzureAddress::parse(&format!("{scheme}://{rest}"), options).map(Self::Azure)
            }
            "abfs" | "abfss" => AzureAddress::lake(rest, options).map(Self::Azure),
            "mem" => {
                let (name, key) = rest.split_once('/').unwrap_or((rest, ""));
                Ok(Self::Memory { name: name.to_owned(), key: key.to_owned() })
            }
            "file" => file(rest).map(Self::Local),
            "s3" => S3Address::parse(&format!("s3://{rest}")).map(Self::S3),
            "az-table" => {
                Err(Error::new(ErrorKind::Usage, "open", text, "this is a table, whose rows are no objects")
                    .hint("haul table works with tables: haul table --help"))
            }
            _ => Err(Error::new(ErrorKind::Usage, "open", text, format!("unknown scheme {scheme}://")).hint(
                "write a local path, az://container/path, s3://bucket/key or https://host/container/path",
            )),
        }
    }
}

fn check_name(text: &str) -> Result<()> {
    if text.is_empty() {
        return Err(Error::new(ErrorKind::Usage, "open", "\"\"", "the name is empty")
            .hint("name a file, a folder or a URL; an unset variable gives an empty name"));
    }
    if text.contains('\0') {
        return Err(Error::new(ErrorKind::Usage, "open", text, "the name holds a zero byte"));
    }
    Ok(())
}

/// Refuses what cannot be meant as a path on this machine: nothing at all, a stream, and whatever begins like a URL.
///
/// # Errors
/// `Usage`, for each of these.
pub fn check_local(path: &Path) -> Result<()> {
    // What is not UTF-8 is no URL.
    let Some(text) = path.to_str() else { return Ok(()) };
    check_name(text)?;
    let cause = match scheme(text) {
        _ if text == "-" => "a stream cannot be used here".to_owned(),
        Some((scheme, _)) => format!("`{scheme}:` begins like a URL, where only a local path will do"),
        None => return Ok(()),
    };
    Err(Error::new(ErrorKind::Usage, "open", text, cause)
        .hint(format!("write ./{text} for a file of that name")))
}

/// The scheme that a name begins with, in lower case, and what follows its colon.
fn scheme(text: &str) -> Option<(String, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(allowed);
    is_scheme.then(|| (scheme.to_ascii_lowercase(), rest))
}

/// The path of a `file://` URL: percent-decoded, on this machine.
fn file(rest: &str) -> Result<PathBuf> {
    let wrong = |cause: &str| {
        Error::new(ErrorKind::Usage, "open", format!("file://{rest}"), cause)
            .hint("write file:///path, or the path alone")
    };
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return Err(wrong("the URL names another machine, or no path at all"));
    }
    let path: Vec<u8> = percent_decode_str(path).collect();
    if path.contains(&0) {
        return Err(wrong("the path holds a zero byte"));
    }
    Ok(PathBuf::from(OsString::from_vec(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Address> {
        let endpoint = Some("http://127.0.0.1:1/acc".to_owned());
        Address::parse(text, &StoreOptions { endpoint, ..StoreOptions::default() })
    }

    #[test]
    fn what_begins_like_a_url_is_no_local_file() {
        for text in [
            "az:demo/x",
            "AZ:demo",
            "s3:x",
            "abfs:c",
            "abfs://c@a/x",
            "wasb://c@a/x",
            "gs:x",
            "file:x",
            "a.b+c-d:x",
            "x:",
        ] {
            let error = parse(text).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Usage | ErrorKind::Unsupported), "{text}: {error}");
        }
        for text in [
            "./az:demo",
            "/data/az:x",
            "1:2",
            "a_b:c",
            "wrfout_d01_2005-08-28_00:00:00",
            "a b:c",
            ":x",
            "~",
            ".",
        ] {
            assert_eq!(parse(text).unwrap(), Address::Local(text.into()), "{text}");
        }
    }

    #[test]
    fn schemes_are_read_in_any_case() {
        assert_eq!(parse("AZ://c/Key").unwrap(), parse("az://c/Key").unwrap());
        assert_eq!(
            parse("HTTP://127.0.0.1:1/acc/c/K").unwrap(),
            parse("http://127.0.0.1:1/acc/c/K").unwrap()
        );
        let key = S3Address { bucket: "b".into(), key: "Key/../x".into(), remote: None };
        assert_eq!(parse("S3://b/Key/../x").unwrap(), Address::S3(key));
    }

    #[test]
    fn nothing_empty_is_a_name() {
        for text in ["", "a\0b", "az://c/a\0b", "file:///a%00b"] {
            assert_eq!(parse(text).unwrap_err().kind(), ErrorKind::Usage, "{text:?}");
        }
        assert!(parse("").unwrap_err().to_string().contains("empty"));
    }

    #[test]
    fn file_urls_are_decoded_and_on_this_machine() {
        assert_eq!(parse("file:///a%20b/c").unwrap(), Address::Local("/a b/c".into()));
        assert_eq!(parse("file://localhost/a").unwrap(), Address::Local("/a".into()));
        for text in ["file://host/a", "file://a", "file://"] {
            assert_eq!(parse(text).unwrap_err().kind(), ErrorKind::Usage, "{text}");
        }
    }

    #[test]
    fn no_segment_of_a_key_walks() {
        for text in
            ["az://c/../d", "az://c/a/./b", "az://c/..", "az://c/.", "http://127.0.0.1:1/acc/c/%2e%2E/d"]
        {
            assert_eq!(parse(text).unwrap_err().kind(), ErrorKind::Usage, "{text}");
        }
        for text in ["az://c/%2e%2e/d", "az://c/a..b", "az://c/...", "az://c/.hidden"] {
            parse(text).unwrap();
        }
    }
}
