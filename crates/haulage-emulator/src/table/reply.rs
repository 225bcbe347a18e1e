//! What one operation gives back: an answer by itself, or a part of a transaction's.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Response, StatusCode};

use crate::wire::body::ResponseBody;
use crate::wire::reply::reply;

/// Status, headers and body.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) status: StatusCode,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Option<(HeaderValue, Vec<u8>)>,
}

impl Outcome {
    pub(super) fn new(status: StatusCode) -> Self {
        let headers = vec![
            ("cache-control", "no-cache".to_owned()),
            ("x-content-type-options", "nosniff".to_owned()),
            ("dataserviceversion", "3.0;".to_owned()),
        ];
        Self { status, headers, body: None }
    }

    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(super) fn body(mut self, kind: HeaderValue, bytes: Vec<u8>) -> Self {
        self.body = Some((kind, bytes));
        self
    }

    /// Says whether the client got the body that it preferred to have or not.
    pub(super) fn preference(self, no_content: bool) -> Self {
        self.header("preference-applied", if no_content { "return-no-content" } else { "return-content" })
    }

    pub(super) fn into_response(self) -> Response<ResponseBody> {
        let mut response = match self.body {
            None => reply(self.status),
            Some((kind, bytes)) => {
                let mut response = Response::new(ResponseBody::full(Bytes::from(bytes)));
                *response.status_mut() = self.status;
                response.headers_mut().insert(CONTENT_TYPE, kind);
                response
            }
        };
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().insert(HeaderName::from_static(name), value);
            }
        }
        response
    }
}
