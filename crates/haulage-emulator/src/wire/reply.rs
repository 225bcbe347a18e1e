//! Answers in their simplest forms.

use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};

use super::body::ResponseBody;

/// An answer without a body.
pub(crate) fn reply(status: StatusCode) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::empty());
    *response.status_mut() = status;
    response
}

/// A document.
pub(crate) fn xml(text: String) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::full(text.into()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    response
}

/// A header from text that came from a client or was made here; what is no header text is left out.
pub(crate) fn set(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}
