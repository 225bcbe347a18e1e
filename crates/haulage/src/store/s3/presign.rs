//! URLs that are signed in their query.

use std::time::{Duration, SystemTime};

use http::Method;

use super::S3Store;
use crate::error::{Error, ErrorKind, Result};
use crate::store::presigned::{WEEK, check_life, end_of};
use crate::store::{Access, Presigned, Trace};

const OPERATION: &str = "sign a URL for";

/// A URL for an object. A request is sent only where the region of the bucket is to be found out.
pub(super) async fn presign(
    store: &S3Store,
    key: &str,
    access: Access,
    life: Duration,
    trace: &Trace,
) -> Result<Presigned> {
    let name = store.display(key);
    if key.is_empty() || key.ends_with('/') {
        let cause = "S3 has signed URLs for single objects only";
        return Err(
            Error::new(ErrorKind::Usage, OPERATION, name, cause).hint("name an object: s3://bucket/key")
        );
    }
    store.need_key(OPERATION, key)?;
    check_life(life, WEEK, &name)?;
    if store.service.endpoint().is_aws() && !store.region().1 {
        store.find_region(trace).await?;
    }
    let method = match access {
        Access::Read => Method::GET,
        Access::Write => Method::PUT,
    };
    let expires = end_of(life);
    let (url, ends) = store.service.presign(&method, key, life.as_secs(), (OPERATION, &name)).await?;
    let ends = ends.filter(|ends: &SystemTime| *ends < expires);
    let method = if access == Access::Write { "PUT" } else { "GET" };
    Ok(Presigned { url, object: name, method, headers: Vec::new(), expires, ends })
}
