//! TLS: rustls with ring, the system's roots, HTTP/1.1 only.
//!
//! rustls agrees with the other side (`agree`) and owns keys and ciphers; which bytes go through them is ours (`records`,
//! `stream`), so that they are opened where they lie.

mod agree;
mod records;
mod stream;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CipherSuite, ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

pub(super) use self::stream::TlsStream;
use super::failure::{self, Call};
use super::origin::Origin;
use crate::error::{Error, ErrorKind, Result};
use crate::variable::meant;

/// Makes TLS sessions. Roots are read at the first one: plain http never pays for them.
pub(super) struct Tls {
    extra_roots: Vec<CertificateDer<'static>>,
    /// Those of this file, or folder, and no others but the extra ones.
    only: Option<PathBuf>,
    config: OnceLock<Arc<ClientConfig>>,
}

/// A session with a server, or a proxy.
pub(super) type Session = TlsStream<TcpStream>;

/// A session with a server within one with a proxy.
pub(super) type Nested = TlsStream<Session>;

impl Tls {
    /// Trusts the certificates of this PEM file besides the system's.
    ///
    /// # Errors
    /// `Usage` where it cannot be read, or holds none.
    pub(super) fn new(extra_roots: Option<&Path>) -> Result<Self> {
        let extra_roots = extra_roots.map(read_roots).transpose()?.unwrap_or_default();
        Ok(Self { extra_roots, only: None, config: OnceLock::new() })
    }

    /// Trusts the certificates of this PEM file, or of the files in this folder, and no others.
    pub(super) fn trusting_only(bundle: PathBuf) -> Self {
        Self { extra_roots: Vec::new(), only: Some(bundle), config: OnceLock::new() }
    }

    /// Agrees with `peer`, which errors call by `shown`.
    pub(super) async fn handshake<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        peer: &Origin,
        shown: &(dyn fmt::Display + Sync),
        call: Call<'_>,
    ) -> Result<TlsStream<S>> {
        let config = match self.config.get() {
            Some(config) => config,
            None => {
                let config = self.load(call)?;
                self.config.get_or_init(|| config)
            }
        };
        let name = ServerName::try_from(peer.host().to_owned())
            .map_err(|_| call.error(ErrorKind::Usage, format!("{shown}: not a name that TLS can check")))?;
        let agreed = agree::agree(stream, name, config.clone()).await;
        agreed.map_err(|source| failure::handshake(call, shown, source))
    }

    fn load(&self, call: Call<'_>) -> Result<Arc<ClientConfig>> {
        let mut roots = RootCertStore::empty();
        let bundle = self.only.clone().or_else(|| bundle_of(|name| std::env::var(name).ok()));
        let base = match bundle {
            Some(bundle) => read_bundle(&bundle)?,
            // Honours SSL_CERT_FILE and SSL_CERT_DIR. One unreadable certificate among many is no reason to stop.
            None => rustls_native_certs::load_native_certs().certs,
        };
        roots.add_parsable_certificates(base);
        roots.add_parsable_certificates(self.extra_roots.iter().cloned());
        if roots.is_empty() {
            return Err(call
                .error(ErrorKind::Connection, "this system has no root certificates to check servers with")
                .hint("install the ca-certificates package, or set SSL_CERT_FILE to a PEM file"));
        }
        let mut provider = rustls::crypto::ring::default_provider();
        // Where the service leaves the choice to us: AES with 10 rounds, not 14, at no loss that matters here.
        provider.cipher_suites.sort_by_key(|suite| !is_aes_128(suite.suite()));
        let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| call.error(ErrorKind::Connection, "TLS cannot be set up").source(error))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // What is agreed on goes to `records`, and nowhere else.
        config.enable_secret_extraction = true;
        Ok(Arc::new(config))
    }
}

/// The certificates to trust in place of the system's, as other tools are told of them; for S3 AWS's own variable goes before.
fn bundle_of(lookup: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let get = |name: &&str| lookup(name).as_deref().and_then(meant);
    if ["SSL_CERT_FILE", "SSL_CERT_DIR"].iter().find_map(get).is_some() {
        return None;
    }
    ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"].iter().find_map(get).map(PathBuf::from)
}

/// The certificates of a PEM file, or of the files in a folder.
fn read_bundle(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    if !path.is_dir() {
        return read_roots(path);
    }
    usable(path, rustls_native_certs::load_certs_from_paths(None, Some(path)).certs)
}

/// The certificates of a PEM file.
fn read_roots(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let certificates = CertificateDer::pem_file_iter(path).map_err(|error| match error {
        pem::Error::Io(error) => Error::from_io("open", path.display().to_string(), error),
        error => unusable(path, &error),
    })?;
    usable(path, certificates.collect::<Result<Vec<_>, _>>().map_err(|error| unusable(path, &error))?)
}

/// None at all is a mistake: the file was named for them.
fn usable(path: &Path, certificates: Vec<CertificateDer<'static>>) -> Result<Vec<CertificateDer<'static>>> {
    match RootCertStore::empty().add_parsable_certificates(certificates.iter().cloned()).0 {
        0 => Err(unusable(path, &"it holds none that can be read")),
        _ => Ok(certificates),
    }
}

fn unusable(path: &Path, why: &dyn fmt::Display) -> Error {
    let cause = format!("not usable as certificates: {why}");
    Error::new(ErrorKind::Usage, "open", path.display().to_string(), cause)
        .hint("use a PEM file with certificates: -----BEGIN CERTIFICATE-----")
}

fn is_aes_128(suite: CipherSuite) -> bool {
    use CipherSuite as Suite;
    matches!(
        suite,
        Suite::TLS13_AES_128_GCM_SHA256
            | Suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
            | Suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
    )
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("extra_roots", &self.extra_roots.len()).finish_non_exhaustive()
    }
}

/// Why a certificate does not hold.
pub(super) enum Distrust {
    /// It is for other names.
    Name,
    /// Its time is over, or has not begun.
    Time,
    /// It is that of an authority, which only signs others.
    Authority,
    /// It is for clients, or for something else than servers.
    Purpose,
    /// Nobody who is trusted has signed it, or it is none.
    Origin,
}

/// Why the certificate of the other side does not hold, if that is the failure: waiting does not mend it.
pub(super) fn distrust(error: &std::io::Error) -> Option<Distrust> {
    use rustls::CertificateError as Wrong;
    let wrong = match error.get_ref()?.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidCertificate(wrong) => wrong,
        rustls::Error::NoCertificatesPresented => return Some(Distrust::Origin),
        _ => return None,
    };
    Some(match wrong {
        Wrong::NotValidForName | Wrong::NotValidForNameContext { .. } => Distrust::Name,
        Wrong::Expired
        | Wrong::ExpiredContext { .. }
        | Wrong::NotValidYet
        | Wrong::NotValidYetContext { .. } => Distrust::Time,
        Wrong::InvalidPurpose | Wrong::InvalidPurposeContext { .. } => Distrust::Purpose,
        // It has no name but this one.
        Wrong::Other(other) if format!("{other:?}").contains("CaUsedAsEndEntity") => Distrust::Authority,
        _ => Distrust::Origin,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundle_of_other_tools_counts_unless_ssl_cert_file_is_set() {
        let of = |set: &[(&str, &str)]| {
            bundle_of(|name| set.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned()))
        };
        let (requests, curl) = (("REQUESTS_CA_BUNDLE", "/r.pem\n"), ("CURL_CA_BUNDLE", "\"/c.pem\""));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[curl, requests]), Some("/r.pem".into()));
        assert_eq!(of(&[curl, ("REQUESTS_CA_BUNDLE", "")]), Some("/c.pem".into()));
        assert_eq!(of(&[curl, requests, ("SSL_CERT_DIR", "/etc/ssl/certs")]), None);
    }
}
