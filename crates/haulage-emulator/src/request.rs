//! A request taken apart: whose, what and where.

use std::borrow::Cow;

use http::Method;
use http::request::Parts;
use percent_encoding::percent_decode_str;

use crate::fault::Nature;
use crate::store::Key;
use crate::wire::error::{
    ACCOUNT_NOT_FOUND, Answer, INVALID_RESOURCE_NAME, INVALID_URI, NOT_IMPLEMENTED, OUT_OF_RANGE_NAME,
    ServiceError, UNSUPPORTED_VERB,
};

/// An enumeration of operations that can be counted by their names.
macro_rules! operations {
    ($($name:ident)*) => {
        /// What a request asks for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Operation { $($name,)* }

        impl Operation {
            pub(crate) const ALL: [Self; Self::COUNT] = [$(Self::$name,)*];
            pub(crate) const COUNT: usize = [$(stringify!($name),)*].len();

            /// The name under which requests are counted.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }
        }
    };
}
pub(crate) use operations;

operations! {
    AccountInformation ServiceProperties ListContainers
    CreateContainer DeleteContainer ContainerProperties SetContainerMetadata ListBlobs
    PutBlob PutBlobFromUrl PutBlock PutBlockFromUrl PutBlockList GetBlockList GetBlob BlobProperties BlobMetadata
    SetBlobMetadata SetBlobProperties BlobTags SetBlobTags SetBlobTier DeleteBlob CopyBlob
    AppendBlock AppendBlockFromUrl SealBlob
}

impl Operation {
    /// How it moves data.
    pub(crate) fn nature(self) -> Nature {
        let carries_blob_bytes =
            matches!(self, Self::PutBlob | Self::PutBlock | Self::AppendBlock | Self::GetBlob);
        let copies = matches!(self, Self::PutBlobFromUrl | Self::PutBlockFromUrl | Self::AppendBlockFromUrl);
        Nature {
            moves_data: carries_blob_bytes || copies || matches!(self, Self::PutBlockList | Self::ListBlobs),
            carries_blob_bytes,
            commits: matches!(self, Self::PutBlob | Self::PutBlobFromUrl | Self::PutBlockList),
            is_upload: matches!(
                self,
                Self::PutBlob | Self::PutBlock | Self::AppendBlock | Self::PutBlockList
            ),
        }
    }
}

/// A request with its names decoded.
pub(crate) struct Call<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) query: Query<'a>,
    pub(crate) operation: Operation,
    container: Option<Cow<'a, str>>,
    blob: Option<Cow<'a, str>>,
}

impl<'a> Call<'a> {
    /// Takes a request apart; refuses what the service does not know.
    pub(crate) fn parse(parts: &'a Parts, account: &str) -> Answer<Self> {
        let path = parts.uri.path().strip_prefix('/').unwrap_or_default();
        let (asked, rest) = path.split_once('/').unwrap_or((path, ""));
        if asked != account {
            return Err((&ACCOUNT_NOT_FOUND).into());
        }
        let (container, blob) = rest.split_once('/').unwrap_or((rest, ""));
        let named = |text: &'a str| -> Answer<Option<Cow<'a, str>>> {
            let name = percent_decode_str(text).decode_utf8().map_err(|_| &INVALID_URI)?;
            Ok((!text.is_empty()).then_some(name))
        };
        let (container, blob) = (named(container)?, named(blob)?);
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let operation = operation(parts, &query, container.is_some(), blob.is_some())?;
        if container.as_deref().is_some_and(|name| !(3..=63).contains(&name.len())) {
            return Err((&OUT_OF_RANGE_NAME).into());
        }
        if container.as_deref().is_some_and(|name| !is_container_name(name))
            || blob.as_deref().is_some_and(|name| name.chars().count() > 1024)
        {
            return Err((&INVALID_RESOURCE_NAME).into());
        }
        Ok(Self { parts, query, operation, container, blob })
    }

    /// The container's name; empty where the request has none.
    pub(crate) fn container(&self) -> &str {
        self.container.as_deref().unwrap_or_default()
    }

    /// Container and blob; empty where the request has none.
    pub(crate) fn key(&self) -> Key<'_> {
        Key { container: self.container(), blob: self.blob.as_deref().unwrap_or_default() }
    }

    /// A header's text, if it is there and is text.
    pub(crate) fn header(&self, name: &str) -> Option<&'a str> {
        self.parts.headers.get(name)?.to_str().ok()
    }

    /// Whether a list is asked to carry `what` too.
    pub(crate) fn includes(&self, what: &str) -> bool {
        self.query.get("include").is_some_and(|list| list.split(',').any(|item| item.trim() == what))
    }

    /// A header that the operation cannot do without.
    pub(crate) fn required(&self, name: &'static str) -> Answer<&'a str> {
        self.header(name).ok_or_else(|| crate::wire::error::MISSING_HEADER.detail("HeaderName", name))
    }
}

/// Which operation the request's form stands for.
fn operation(parts: &Parts, query: &Query<'_>, container: bool, blob: bool) -> Answer<Operation> {
    use Operation as Op;
    let (restype, comp) = (query.get("restype"), query.get("comp"));
    let has = |name| parts.headers.contains_key(name);
    let (get, head) = (parts.method == Method::GET, parts.method == Method::HEAD);
    let (put, delete) = (parts.method == Method::PUT, parts.method == Method::DELETE);
    if !(get || head || put || delete) {
        let posts = parts.method == Method::POST;
        return Err(if posts { unknown(query) } else { ServiceError::from(&UNSUPPORTED_VERB) });
    }
    if query.get("snapshot").or(query.get("versionid")).is_some() {
        return Err(NOT_IMPLEMENTED.detail("Reason", "Snapshots and versions are not kept here."));
    }
    Ok(match (restype, comp) {
        (Some("account"), Some("properties")) if get || head => Op::AccountInformation,
        (Some("service"), Some("properties")) if get && !container => Op::ServiceProperties,
        (None, Some("list")) if get && !container => Op::ListContainers,
        (Some("container"), None) if put && container && !blob => Op::CreateContainer,
        (Some("container"), None) if delete && container && !blob => Op::DeleteContainer,
        (Some("container"), None | Some("metadata")) if (get || head) && container && !blob => {
            Op::ContainerProperties
        }
        (Some("container"), Some("metadata")) if put && container && !blob => Op::SetContainerMetadata,
        (Some("container"), Some("list")) if get && container && !blob => Op::ListBlobs,
        (None, _) if !blob => {
            return Err(if comp.is_none() { (&INVALID_URI).into() } else { unknown(query) });
        }
        (None, None) if put && has("x-ms-copy-source") && has("x-ms-blob-type") => Op::PutBlobFromUrl,
        (None, None) if put && has("x-ms-copy-source") => Op::CopyBlob,
        (None, None) if put => Op::PutBlob,
        (None, None) if get => Op::GetBlob,
        (None, None) if head => Op::BlobProperties,
        (None, None) if delete => Op::DeleteBlob,
        (None, Some("block")) if put && has("x-ms-copy-source") => Op::PutBlockFromUrl,
        (None, Some("block")) if put => Op::PutBlock,
        (None, Some("appendblock")) if put && has("x-ms-copy-source") => Op::AppendBlockFromUrl,
        (None, Some("appendblock")) if put => Op::AppendBlock,
        (None, Some("seal")) if put => Op::SealBlob,
        (None, Some("blocklist")) if put => Op::PutBlockList,
        (None, Some("blocklist")) if get => Op::GetBlockList,
        (None, Some("metadata")) if put => Op::SetBlobMetadata,
        (None, Some("metadata")) if get || head => Op::BlobMetadata,
        (None, Some("properties")) if put => Op::SetBlobProperties,
        (None, Some("tags")) if put => Op::SetBlobTags,
        (None, Some("tags")) if get => Op::BlobTags,
        (None, Some("tier")) if put => Op::SetBlobTier,
        _ => return Err(unknown(query)),
    })
}

/// Says what was asked for, so that nobody has to guess.
fn unknown(query: &Query<'_>) -> ServiceError {
    let part = |name| query.get(name).unwrap_or("-").to_owned();
    NOT_IMPLEMENTED
        .detail("Reason", format!("restype={} comp={} is not known here.", part("restype"), part("comp")))
}

/// Whether the service would take this as a container's name.
pub(crate) fn is_container_name(name: &str) -> bool {
    let plain = (3..=63).contains(&name.len())
        && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--");
    plain || matches!(name, "$root" | "$web" | "$logs")
}

/// The query's names and decoded values, in the order of the request.
pub(crate) struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Query<'a> {
    pub(crate) fn parse(text: &'a str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let decoded = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        });
        Self(decoded.collect())
    }

    /// The first value of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }

    /// All pairs, in the order of the request.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// All pairs, names in lower case, sorted by name and then value.
    pub(crate) fn sorted(&self) -> Vec<(String, &str)> {
        let mut pairs: Vec<_> =
            self.0.iter().map(|(name, value)| (name.to_ascii_lowercase(), &**value)).collect();
        pairs.sort_unstable();
        pairs
    }
}

/// Percent escapes, and `+` for a space as Go's clients write it.
fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('+') {
        return percent_decode_str(text).decode_utf8_lossy();
    }
    let spaced = text.replace('+', " ");
    Cow::Owned(percent_decode_str(&spaced).decode_utf8_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(method: &str, uri: &str) -> Result<(Operation, String, String), &'static str> {
        let parts = http::Request::builder().method(method).uri(uri).body(()).unwrap().into_parts().0;
        let call = Call::parse(&parts, "acc").map_err(|error| error.kind.code)?;
        Ok((call.operation, call.key().container.to_owned(), call.key().blob.to_owned()))
    }

    #[test]
    fn requests_are_told_apart() {
        let named = |op, container: &str, blob: &str| Ok((op, container.to_owned(), blob.to_owned()));
        assert_eq!(parse("GET", "/acc?comp=list"), named(Operation::ListContainers, "", ""));
        assert_eq!(
            parse("GET", "/acc/box?restype=container&comp=list"),
            named(Operation::ListBlobs, "box", "")
        );
        assert_eq!(parse("PUT", "/acc/box/a%20b/c%2Bd//?x=1"), named(Operation::PutBlob, "box", "a b/c+d//"));
        assert_eq!(
            parse("PUT", "/acc/box/a?comp=block&blockid=QQ%3D%3D"),
            named(Operation::PutBlock, "box", "a")
        );
        assert_eq!(parse("PUT", "/acc/box/a?comp=tags"), named(Operation::SetBlobTags, "box", "a"));
        assert_eq!(parse("GET", "/other/box/a"), Err("ResourceNotFound"));
        assert_eq!(parse("PUT", "/acc/box/a?comp=lease"), Err("NotImplemented"));
        assert_eq!(parse("PUT", "/acc/Bad_Name/a"), Err("InvalidResourceName"));
        assert_eq!(parse("PATCH", "/acc/box/a"), Err("UnsupportedHttpVerb"));
        assert_eq!(parse("GET", "/acc/box/%FF"), Err("InvalidUri"));
    }

    #[test]
    fn queries_are_decoded() {
        let query = Query::parse("prefix=a+b%2Bc&Comp=list&flag");
        assert_eq!(
            (query.get("prefix"), query.get("comp"), query.get("flag")),
            (Some("a b+c"), Some("list"), Some(""))
        );
    }
}
