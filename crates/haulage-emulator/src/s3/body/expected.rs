//! What the client says of its body, but in the signature.

use haulage::checksum::Md5;

use crate::s3::checksum::Algorithm;
use crate::s3::error::{INVALID_DIGEST, INVALID_REQUEST, MALFORMED_TRAILER};
use crate::s3::operation::Operation;
use crate::s3::request::Call;
use crate::wire::error::Answer;

/// The checksums that the body must have.
pub(super) struct Expected {
    pub(super) md5: Option<Md5>,
    pub(super) checksum: Option<(Algorithm, Wanted)>,
}

/// Where the value of a checksum is.
pub(super) enum Wanted {
    Header(String),
    /// Behind the body.
    Trailer,
}

impl Expected {
    /// Reads the headers; `trailers` where the body may have some.
    pub(super) fn of(call: &Call<'_>, trailers: bool) -> Answer<Self> {
        let md5 = call.header("content-md5");
        let md5 = md5.map(|text| Md5::from_base64(text).ok_or(&INVALID_DIGEST)).transpose()?;
        // There the headers are about the object that the parts make.
        if call.operation == Operation::CompleteMultipartUpload {
            return Ok(Self { md5, checksum: None });
        }
        let announced = announced_trailer(call, trailers)?;
        let mut sent = Algorithm::ALL
            .into_iter()
            .filter_map(|algorithm| Some((algorithm, call.header(algorithm.header())?)));
        let checksum = match (sent.next(), announced) {
            (Some((algorithm, value)), None) => {
                Some((algorithm, Wanted::Header(checked(algorithm, value)?.to_owned())))
            }
            (None, Some(algorithm)) => Some((algorithm, Wanted::Trailer)),
            (None, None) => None,
            (Some(_), Some(_)) => return Err(only_one()),
        };
        if sent.next().is_some() {
            return Err(only_one());
        }
        check_named(call, checksum.as_ref().map(|(algorithm, _)| *algorithm))?;
        Ok(Self { md5, checksum })
    }
}

/// The checksum that is to come behind the body.
fn announced_trailer(call: &Call<'_>, trailers: bool) -> Answer<Option<Algorithm>> {
    let Some(names) = call.header("x-amz-trailer").filter(|names| !names.trim().is_empty()) else {
        return Ok(None);
    };
    let mut names = names.split(',').map(str::trim);
    let algorithm = names.next().and_then(Algorithm::of_header);
    match (algorithm, names.next()) {
        (Some(algorithm), None) if trailers => Ok(Some(algorithm)),
        (Some(_), None) => Err((&MALFORMED_TRAILER).into()),
        _ => Err(INVALID_REQUEST.saying("The value specified in the x-amz-trailer header is not supported")),
    }
}

/// `x-amz-sdk-checksum-algorithm` must agree with the checksum that is sent, where a body has one.
fn check_named(call: &Call<'_>, sent: Option<Algorithm>) -> Answer<()> {
    let Some(text) = call.header("x-amz-sdk-checksum-algorithm") else { return Ok(()) };
    let has_body = call.operation.takes_content() || call.operation.takes_document();
    match Algorithm::parse(text) {
        None => Err(INVALID_REQUEST.saying("Value for x-amz-sdk-checksum-algorithm header is invalid.")),
        Some(named) if !has_body || sent == Some(named) => Ok(()),
        Some(_) => Err(INVALID_REQUEST.saying(
            "x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or x-amz-trailer headers were found.",
        )),
    }
}

/// The value, if it is one.
pub(super) fn checked(algorithm: Algorithm, value: &str) -> Answer<&str> {
    if algorithm.is_value(value) {
        return Ok(value);
    }
    let name = algorithm.header();
    Err(INVALID_REQUEST.saying(format!("Value for {name} header is invalid.")))
}

fn only_one() -> crate::wire::error::ServiceError {
    INVALID_REQUEST
        .saying("Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.")
}
