//! What it means when a proxy says no. Of its answer only the status is told, and the ways to sign in that everybody knows:
//! anything else may repeat what it was sent.

use http::header::{HeaderMap, PROXY_AUTHENTICATE};
use http::{Response, StatusCode};

use super::Proxy;
use crate::error::{Error, ErrorKind, Retry};
use crate::http::failure::Call;
use crate::http::origin::Origin;

/// Ways to sign in, as headers call them.
const SCHEMES: [&str; 6] = ["Basic", "Bearer", "Digest", "Kerberos", "Negotiate", "NTLM"];

/// In the extensions of an answer: a proxy handed it over, or made it.
#[derive(Clone, Debug)]
pub(crate) struct Relayed {
    proxy: Proxy,
    origin: Origin,
}

impl Relayed {
    /// Notes in an answer that it came by this proxy.
    pub(in crate::http) fn note<B>(answer: &mut Response<B>, proxy: &Proxy, origin: &Origin) {
        answer.extensions_mut().insert(Self { proxy: proxy.clone(), origin: origin.clone() });
    }

    /// The failure, where proxies answer so in the server's place. For an answer that nothing shows to be the server's own.
    pub(crate) fn refusal(
        &self,
        operation: &'static str,
        object: &str,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Option<Error> {
        let Self { proxy, origin } = self;
        let call = Call { operation, object, proxy: None };
        matches!(status.as_u16(), 403 | 502..=504).then(|| refused(call, proxy, origin, status, headers))
    }
}

/// The proxy does not let us through to `origin`.
pub(in crate::http) fn refused(
    call: Call<'_>,
    proxy: &Proxy,
    origin: &Origin,
    status: StatusCode,
    headers: &HeaderMap,
) -> Error {
    let (status, target) = (status.as_u16(), origin.authority());
    match status {
        407 => unknown(call, proxy, headers),
        401 | 403 | 451 => {
            let cause = format!("{proxy} does not allow a connection to {target} (HTTP {status})");
            let host = origin.host();
            call.error(ErrorKind::Permission, cause).hint(format!(
                "ask the proxy's operator to allow it, or bypass the proxy: --proxy none, or NO_PROXY={host}"
            ))
        }
        429 | 500 | 502..=504 => {
            let cause = format!("{proxy} cannot reach {target} (HTTP {status})");
            call.error(ErrorKind::Connection, cause).retry(Retry::Backoff).hint(
                "check the host name, and whether the proxy can reach it; --proxy none bypasses the proxy",
            )
        }
        _ => no_proxy(call, proxy, &format!("HTTP {status}")),
    }
}

/// Whatever is there does not speak as proxies do.
pub(in crate::http) fn no_proxy(call: Call<'_>, proxy: &Proxy, why: &str) -> Error {
    let cause = format!("{proxy} does not answer as a proxy does ({why})");
    call.error(ErrorKind::Protocol, cause)
        .retry(Retry::Few)
        .hint("check the address of the proxy, and that it is an HTTP proxy that allows CONNECT")
}

/// The proxy wants to know who we are, or does not know us.
fn unknown(call: Call<'_>, proxy: &Proxy, headers: &HeaderMap) -> Error {
    let asked = asked_for(headers);
    let error = |cause: &str| call.error(ErrorKind::Permission, format!("{proxy} {cause} (HTTP 407)"));
    if !asked.is_empty() && !asked.contains(&"Basic") {
        return error(&format!("asks for {}, which is not supported", asked.join(" or "))).hint(
            "only Basic is supported: run a local proxy that signs in to this one, or ask for an exception",
        );
    }
    error(match proxy.authorization() {
        Some(_) => "does not accept this user name and password",
        None => "asks for a user name and a password",
    })
    .hint("write them into the proxy's address, USER:PASSWORD@HOST:PORT, with special characters encoded, such as %40 for @")
}

/// The known ways to sign in that the proxy offers.
fn asked_for(headers: &HeaderMap) -> Vec<&'static str> {
    let values = headers.get_all(PROXY_AUTHENTICATE).into_iter().filter_map(|value| value.to_str().ok());
    let words: Vec<&str> = values.flat_map(|value| value.split([',', ' '])).collect();
    let is_asked = |scheme: &str| words.iter().any(|word| word.eq_ignore_ascii_case(scheme));
    SCHEMES.into_iter().filter(|scheme| is_asked(scheme)).collect()
}
