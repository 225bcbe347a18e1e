//! Lists, page after page: objects, or the uploads that interrupted writes have left.

use async_trait::async_trait;
use http::Method;

use super::{S3Store, rules, upload, xml};
use crate::error::{ErrorKind, Result};
use crate::store::answer::{Broken, Markers, judge_page};
use crate::store::{ListPage, ListRequest, Lister, ObjectMeta, Trace};

/// The objects of a bucket.
pub(super) struct S3Lister {
    store: S3Store,
    request: ListRequest,
    next: Next,
    markers: Markers,
    /// Pages that have come.
    pages: usize,
    /// The whole bucket is listed, and what is not asked for left out.
    all: bool,
}

/// Where the next page begins.
enum Next {
    First,
    After(String),
    /// After this key and this upload.
    AfterUpload((String, String)),
    Done,
}

/// Names on the first pages of a list that begins small: what a new connection brings in two round trips, so that something can
/// be moved, and then so many that the next page is there before all of them are on their way.
const FIRST_PAGES: [&str; 2] = ["64", "256"];

impl S3Lister {
    pub(super) fn new(store: S3Store, request: ListRequest) -> Self {
        Self { store, request, next: Next::First, markers: Markers::default(), pages: 0, all: false }
    }

    async fn objects(&mut self, trace: &Trace) -> Result<ListPage> {
        let token = match &self.next {
            Next::After(token) => Some(token.as_str()),
            _ => None,
        };
        let small = FIRST_PAGES.get(self.pages).copied().filter(|_| self.request.begin_small);
        let name = self.store.display(&self.request.prefix);
        let asked = self.store.asked("list", &name, "s3:ListBucket", ErrorKind::Service);
        // In the order in which the signature wants them.
        let mut query = Vec::with_capacity(8);
        query.extend(token.map(|token| ("continuation-token", token)));
        query.extend(self.request.hierarchical.then_some(("delimiter", "/")));
        query.extend([("encoding-type", "url"), ("list-type", "2")]);
        query.extend(small.map(|names| ("max-keys", names)));
        query.extend((!self.request.prefix.is_empty()).then_some(("prefix", self.request.prefix.as_str())));
        let operation = self.store.operation(rules::LIST_OBJECTS, Method::GET, "", &query);
        let (page, signature) = self.store.service.document_unread(&operation, asked, trace).await?;
        let not_believed = |broken| asked.not_believed(broken);
        let believed = believe(&page, &self.request, self.store.bucket(), token);
        let (list, next) = believed.map_err(not_believed)?;
        if signature.is_some_and(|signature| list.texts().any(|text| signature.is_in(text.as_bytes()))) {
            return Err(not_believed(Broken::echo()));
        }
        if let Some(next) = &next {
            self.markers.advance(list.ends(), next).map_err(not_believed)?;
        }
        self.next = next.map_or(Next::Done, Next::After);
        self.pages += 1;
        Ok(list)
    }

    async fn leftovers(&mut self, trace: &Trace) -> Result<ListPage> {
        let after = match &self.next {
            Next::AfterUpload(after) => Some(after),
            _ => None,
        };
        let prefix = self.request.prefix.as_str();
        let mut page = upload::page(&self.store, if self.all { "" } else { prefix }, after, trace).await?;
        if !self.all
            && !prefix.is_empty()
            && after.is_none()
            && page.uploads.is_empty()
            && page.next.is_none()
        {
            // MinIO lists the uploads of one name, or of all, and says of other prefixes that there are none.
            self.all = true;
            page = upload::page(&self.store, "", None, trace).await?;
        }
        if let Some((key, id)) = &page.next {
            let name = self.store.display(&self.request.prefix);
            let asked = self.store.asked("list", &name, "s3:ListBucketMultipartUploads", ErrorKind::Service);
            let ends = page.uploads.first().zip(page.uploads.last());
            let ends = ends.map(|(first, last)| (first.id.as_str(), last.key.as_str()));
            let marker = format!("{key} {id}");
            self.markers.advance(ends, &marker).map_err(|broken| asked.not_believed(broken))?;
        }
        self.next = page.next.map_or(Next::Done, Next::AfterUpload);
        let leftover = |one: xml::Upload| ObjectMeta {
            key: Leftover { key: &one.key, id: &one.id }.name(),
            modified_ns: one.begun_ns,
            ..ObjectMeta::default()
        };
        let asked_for = page.uploads.into_iter().filter(|one| one.key.starts_with(&self.request.prefix));
        Ok(ListPage { objects: asked_for.map(leftover).collect(), ..ListPage::default() })
    }
}

#[async_trait]
impl Lister for S3Lister {
    async fn next_page(&mut self, trace: &Trace) -> Result<Option<ListPage>> {
        if matches!(self.next, Next::Done) {
            return Ok(None);
        }
        self.store.need_bucket("list")?;
        match self.request.leftovers {
            true => self.leftovers(trace).await.map(Some),
            false => self.objects(trace).await.map(Some),
        }
    }
}

/// What the page holds, if it answers what was asked.
pub(super) fn believe(
    page: &[u8],
    request: &ListRequest,
    bucket: &str,
    token: Option<&str>,
) -> Result<(ListPage, Option<String>), Broken> {
    let page = xml::objects(page)?;
    if page.prefix.is_some_and(|echoed| echoed != request.prefix) {
        return Err(Broken("the list is of another prefix than was asked for".to_owned()));
    }
    if page.bucket.is_some_and(|echoed| echoed != bucket) {
        return Err(Broken("the list is of another bucket than was asked for".to_owned()));
    }
    // Of the first page some services leave it out, others empty.
    if page.token.is_some_and(|echoed| !echoed.is_empty() && Some(echoed.as_str()) != token) {
        return Err(Broken("the page is another than was asked for".to_owned()));
    }
    judge_page(&page.list, request)?;
    Ok((page.list, page.next))
}

/// An upload by a name of its own: several may be of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leftover<'a> {
    pub(super) key: &'a str,
    pub(super) id: &'a str,
}

impl<'a> Leftover<'a> {
    const MARK: &'static str = "?uploadId=";

    pub(super) fn name(self) -> String {
        format!("{}{}{}", self.key, Self::MARK, self.id)
    }

    /// Reads the name back. Ids hold no `?`.
    pub(super) fn of(name: &'a str) -> Option<Self> {
        let (key, id) = name.rsplit_once(Self::MARK)?;
        (!key.is_empty() && !id.is_empty()).then_some(Self { key, id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(inner: &str) -> String {
        format!("<ListBucketResult><IsTruncated>false</IsTruncated>{inner}</ListBucketResult>")
    }

    #[test]
    fn a_page_answers_what_was_asked() {
        let asked = ListRequest { prefix: "p/".into(), ..ListRequest::default() };
        let object = |key: &str| format!("<Contents><Key>{key}</Key><ETag>e</ETag><Size>1</Size></Contents>");
        let believed = |inner: &str| believe(page(inner).as_bytes(), &asked, "b", Some("t"));
        let (list, next) = believed(&object("p/a")).unwrap();
        assert_eq!((list.objects.len(), next), (1, None));
        believed("<Name>b</Name><Prefix>p/</Prefix><ContinuationToken>t</ContinuationToken>").unwrap();
        believed("<ContinuationToken></ContinuationToken>").unwrap();
        for broken in [
            "<Name>other</Name>".to_owned(),
            "<Prefix>other/</Prefix>".to_owned(),
            "<ContinuationToken>other</ContinuationToken>".to_owned(),
            object("q/victim"),
            object("p/a") + &object("p/a"),
        ] {
            assert!(believed(&broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn a_leftover_is_exactly_one_upload() {
        let leftover = Leftover { key: "a?uploadId=b/c", id: "u.1" };
        assert_eq!(leftover.name(), "a?uploadId=b/c?uploadId=u.1");
        assert_eq!(Leftover::of(&leftover.name()), Some(leftover));
        for other in ["a", "?uploadId=u", "a?uploadId="] {
            assert_eq!(Leftover::of(other), None);
        }
    }
}
