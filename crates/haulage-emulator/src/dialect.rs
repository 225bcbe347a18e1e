//! Which of the two interfaces a request speaks, and how each wraps its answers.

use http::header::{HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Method, Response};

use crate::s3;
use crate::service::Service;
use crate::table;
use crate::wire::body::ResponseBody;
use crate::wire::error::ServiceError;
use crate::wire::reply::set;

/// The version answered to clients that name none.
const DEFAULT_VERSION: &str = "2025-11-05";

/// An interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Azure,
    Table,
    S3,
}

impl Dialect {
    /// A path below the account is Azure's, all else is S3's. Who names a version of Azure's is told what is
    /// wrong in Azure's words.
    pub(crate) fn of(parts: &Parts, service: &Service) -> Self {
        let first = parts.uri.path().split('/').nth(1);
        let below_account = first == Some(service.config.account.as_str());
        let bucket = s3::bucket_of_host(parts, &service.s3);
        let elsewhere = bucket.is_some_and(|bucket| bucket != service.config.account);
        if below_account && !elsewhere && table::is_table(parts, service) {
            Self::Table
        } else if below_account && !elsewhere || parts.headers.contains_key("x-ms-version") {
            Self::Azure
        } else {
            Self::S3
        }
    }

    /// In the form of the service's own: unique in this process.
    pub(crate) fn request_id(self, serial: u64) -> String {
        let process = std::process::id();
        match self {
            Self::Azure | Self::Table => format!("{process:08x}-001e-0000-0000-{serial:012x}"),
            Self::S3 => format!("{process:08X}{serial:08X}"),
        }
    }

    /// The answer that a failure is.
    pub(crate) fn refuse(
        self,
        error: ServiceError,
        request_id: &str,
        parts: &Parts,
    ) -> Response<ResponseBody> {
        let head = parts.method == Method::HEAD;
        match self {
            Self::Azure => error.into_response(request_id, head),
            Self::Table => table::refuse(error, request_id, parts),
            Self::S3 => s3::refuse(error, request_id, parts),
        }
    }

    /// The headers of every answer.
    pub(crate) fn add_common_headers(self, headers: &mut HeaderMap, parts: &Parts, request_id: &str) {
        match self {
            Self::Azure | Self::Table => {
                set(headers, "x-ms-request-id", request_id);
                let version = parts.headers.get("x-ms-version").cloned();
                headers.insert("x-ms-version", version.unwrap_or(HeaderValue::from_static(DEFAULT_VERSION)));
                if let Some(id) = parts.headers.get("x-ms-client-request-id") {
                    headers.insert("x-ms-client-request-id", id.clone());
                }
            }
            Self::S3 => {
                set(headers, "x-amz-request-id", request_id);
                set(headers, "x-amz-id-2", s3::HOST_ID);
            }
        }
    }
}
