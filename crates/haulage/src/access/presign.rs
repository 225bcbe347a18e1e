//! URLs that let whoever has them in.

use std::time::Duration;

use futures_util::future::BoxFuture;

use super::remove::{all_buckets, whole_account};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::through;
use crate::store::{Access, Address, Location, Presigned, Request, StoreOpener, StoreOptions};

/// Makes a URL by which whoever has it may read or write an object for so long, without a credential of their own. Whether
/// the object is there is not looked at. At Azure a container has such a URL too.
///
/// # Errors
/// `Usage` for a local path, a whole account, a prefix, and a life that the service does not allow; `Unsupported` where all that
/// lets us in is a SAS; `Permission` where there is no credential.
pub fn presign<'a>(
    url: &'a str,
    access: Access,
    life: Duration,
    options: &'a StoreOptions,
) -> BoxFuture<'a, Result<Presigned>> {
    Box::pin(async move {
        const OPERATION: &str = "presign";
        let wrong = |cause: &str| {
            let shown = url.split('?').next().unwrap_or_default();
            Error::new(ErrorKind::Usage, OPERATION, shown, cause)
                .hint("name an object: az://container/path or s3://bucket/key")
        };
        match Address::parse(url, options)? {
            Address::Azure(address) if address.container.is_empty() => {
                return Err(whole_account(OPERATION, url));
            }
            Address::S3(address) if address.bucket.is_empty() => return Err(all_buckets(OPERATION, url)),
            Address::Azure(address) if address.key.ends_with('/') => {
                return Err(wrong(
                    "this is a prefix, and a signed URL is for one object or a whole container",
                ));
            }
            Address::Azure(_) | Address::S3(_) => {}
            Address::Local(_) | Address::Memory { .. } => {
                return Err(wrong("only object stores have signed URLs"));
            }
            Address::Stdio => return Err(wrong("this is a stream, not an object")),
        }
        let Location { store, key, gate } = StoreOpener::new(options.clone())?.open(url)?;
        let name = store.name(&key);
        through!(gate, store.api(Request::Look), name, trace => store.presign(&key, access, life, trace).await)
    })
}
