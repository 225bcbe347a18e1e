//! Deletes objects: one, or many with one request, and only as the version that was seen where one is named.
//!
//! AWS keeps to the ETag that a delete names, with both requests, since 2025. Other services may pass over it, so each is tried
//! once ([`try_versions`]).

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, IF_MATCH};

use super::xml::{Deletion, Refused};
use super::{S3Store, object, rules, xml};
use crate::checksum::Md5;
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::store::answer::Broken;
use crate::store::headers::{set, set_etag};
use crate::store::{Phase, Seen, Trace, rewritten};

/// Objects that one request deletes.
pub(super) const DELETE_MAX: usize = 1_000;

/// An ETag that no object has.
const NEVER: &str = "00000000000000000000000000000000";

const CONTENT_MD5: HeaderName = HeaderName::from_static("content-md5");

/// To delete a version AWS wants to be allowed to look at it.
const ANY: &str = "s3:DeleteObject";
const VERSION: &str = "s3:DeleteObject and s3:GetObject";

/// Deletes an object; with an ETag only that version, if the service keeps to it.
pub(super) async fn one(store: &S3Store, key: &str, etag: Option<&str>, trace: &Trace) -> Result<()> {
    let name = store.display(key);
    let permission = if etag.is_some() { VERSION } else { ANY };
    let asked = store.asked("delete", &name, permission, ErrorKind::SourceChanged);
    let mut operation = store.operation(rules::DELETE_OBJECT, Method::DELETE, key, &[]);
    if let Some(etag) = etag {
        set_etag(&mut operation.headers, IF_MATCH, etag, asked)?;
    }
    match store.service.send(&operation, asked, trace).await {
        Err(error) if error.status() == Some(412) && error.kind() == ErrorKind::SourceChanged => {
            Err(rewritten(&*name).service(412, error.service_code().map(str::to_owned)))
        }
        other => other.map(|_| trace.mark(Phase::Committed)),
    }
}

/// The same for a service of which nobody knows whether it keeps to the ETag with this request: looks right before.
async fn one_looked_at(store: &S3Store, seen: &Seen, trace: &Trace) -> Result<()> {
    let Seen { key, etag: Some(etag) } = seen else { return one(store, &seen.key, None, trace).await };
    if object::head(store, key, trace).await?.etag != *etag {
        return Err(rewritten(store.display(key)));
    }
    one(store, key, Some(etag), trace).await
}

/// Deletes objects with one request, and says what became of each, in their order. Names that XML cannot hold go by themselves.
pub(super) async fn many(store: &S3Store, objects: &[Seen], trace: &Trace) -> Result<Vec<Result<()>>> {
    let plain: Vec<&Seen> = objects.iter().filter(|seen| xml::holds(&seen.key)).collect();
    let mut outcomes = HashMap::new();
    if !plain.is_empty() {
        let name = store.display("");
        let asked = store.asked("delete from", &name, permission(&plain), ErrorKind::Service);
        let body =
            Bytes::from(xml::delete(plain.iter().map(|seen| (seen.key.as_str(), seen.etag.as_deref()))));
        let query = [("delete", "")];
        let mut operation = store.operation(rules::DELETE_MANY, Method::POST, "", &query);
        operation.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
        // Without a checksum this request is not taken.
        set(&mut operation.headers, CONTENT_MD5, &Md5::of(&body).to_base64(), asked)?;
        (operation.body, operation.signed_body) = (body, true);
        let document = match store.service.document(&operation, asked, trace).await {
            Err(error) if matches!(error.status(), Some(405 | 501)) => {
                return one_by_one(store, objects, trace).await;
            }
            other => other?,
        };
        let named: Vec<&str> = plain.iter().map(|seen| seen.key.as_str()).collect();
        outcomes = xml::deleted(&document)
            .and_then(|deleted| believe_deleted(&named, deleted))
            .map_err(|broken| asked.not_believed(broken))?;
    }
    let mut results = Vec::with_capacity(objects.len());
    for seen in objects {
        results.push(match outcomes.remove(&seen.key) {
            Some(None) => Ok(()),
            Some(Some(refused)) => Err(not_deleted(store, seen, refused.0.as_deref())),
            None if !xml::holds(&seen.key) => one_looked_at(store, seen, trace).await,
            None => {
                let broken = Broken("the answer does not say what became of this object".to_owned());
                let name = store.display(&seen.key);
                Err(broken.error(|kind, cause| Error::new(kind, "delete", name, cause)))
            }
        });
    }
    Ok(results)
}

/// Finds out whether the service keeps to the ETag that a delete names: true where it did not, and the object is gone.
pub(super) async fn try_versions(store: &S3Store, key: &str, trace: &Trace) -> Result<bool> {
    let never = Seen { key: key.to_owned(), etag: Some(NEVER.to_owned()) };
    let tried = many(store, &[never], trace).await.and_then(|mut outcomes| match outcomes.pop() {
        Some(outcome) => outcome,
        None => Ok(()),
    });
    match tried {
        Ok(()) => {
            store.service.learn_versions(false);
            Ok(true)
        }
        Err(error) => match error.kind() {
            ErrorKind::SourceChanged => {
                store.service.learn_versions(true);
                Ok(false)
            }
            // It does not take such a request at all.
            ErrorKind::Service | ErrorKind::Usage | ErrorKind::Unsupported
                if error.retry_advice() == Retry::Never =>
            {
                store.service.learn_versions(false);
                Ok(false)
            }
            _ => Err(error),
        },
    }
}

/// What became of each object, if the answer tells of those that were named and of nothing else, and says one thing of each.
pub(super) fn believe_deleted(
    named: &[&str],
    deleted: Vec<Deletion>,
) -> std::result::Result<HashMap<String, Option<Refused>>, Broken> {
    let named: HashSet<&str> = named.iter().copied().collect();
    let mut outcomes = HashMap::with_capacity(named.len());
    for (key, refused) in deleted {
        if !named.contains(key.as_str()) {
            return Err(Broken(format!("the answer reports `{key}`, which was not in the request")));
        }
        if outcomes.get(&key).is_some_and(|told| *told != refused) {
            return Err(Broken(format!("the answer says two things of `{key}`")));
        }
        outcomes.insert(key, refused);
    }
    Ok(outcomes)
}

/// For services that have no such request.
async fn one_by_one(store: &S3Store, objects: &[Seen], trace: &Trace) -> Result<Vec<Result<()>>> {
    let mut results = Vec::with_capacity(objects.len());
    for Seen { key, etag } in objects {
        results.push(one(store, key, etag.as_deref(), trace).await);
    }
    Ok(results)
}

fn permission(objects: &[&Seen]) -> &'static str {
    if objects.iter().any(|seen| seen.etag.is_some()) { VERSION } else { ANY }
}

/// The error for one of many objects.
fn not_deleted(store: &S3Store, seen: &Seen, code: Option<&str>) -> Error {
    let name = store.display(&seen.key);
    let word = code.unwrap_or("refused");
    let error = |kind, cause: String| Error::new(kind, "delete", &*name, cause);
    match word {
        "AccessDenied" => {
            let permission = permission(&[seen]);
            error(ErrorKind::Permission, "access denied".to_owned())
                .hint(format!("ask for the permission {permission} on {}", store.display("")))
        }
        "PreconditionFailed" if seen.etag.is_some() => rewritten(&*name),
        "NoSuchKey" => {
            error(ErrorKind::NotFound, "no such object".to_owned()).service(404, Some(word.to_owned()))
        }
        "InternalError" | "SlowDown" | "ServiceUnavailable" | "ConditionalRequestConflict" => {
            error(ErrorKind::Busy, format!("the service is busy ({word})")).retry(Retry::Backoff)
        }
        _ => error(ErrorKind::Service, format!("it was not deleted ({word})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: &str) -> Option<Refused> {
        Some(Refused(Some(code.to_owned())))
    }

    #[test]
    fn an_answer_tells_of_what_was_named_and_says_one_thing_of_each() {
        let told = |deleted: &[(&str, Option<&str>)]| {
            let deleted = deleted.iter().map(|(key, code)| ((*key).to_owned(), code.and_then(refused)));
            believe_deleted(&["a", "b"], deleted.collect())
        };
        let outcomes = told(&[("b", Some("AccessDenied")), ("a", None), ("a", None)]).unwrap();
        assert_eq!((&outcomes["a"], &outcomes["b"]), (&None, &refused("AccessDenied")));
        assert!(!told(&[("a", None)]).unwrap().contains_key("b"));
        for broken in [
            &[("a", None), ("c", None)][..],
            &[("a", Some("AccessDenied")), ("a", None)],
            &[("a", None), ("a", Some("AccessDenied"))],
        ] {
            assert!(told(broken).is_err(), "{broken:?}");
        }
    }
}
