//! TLS: rustls with ring, the system's roots, HTTP/1.1 only.
//!
//! rustls agrees with the other side (`agree`) and owns keys and ciphers; which bytes go through them is ours (`records`,
//! `stream`), so that they are opened where they lie.

mod agree;
mod records;
mod stream;

use std::fmt;
use std::path::Path;
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

/// Makes TLS sessions. The system's roots are read at the first one: plain http never pays for them.
pub(super) struct Tls {
    extra_roots: Vec<CertificateDer<'static>>,
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
        Ok(Self { extra_roots, config: OnceLock::new() })
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
        // Honours SSL_CERT_FILE and SSL_CERT_DIR. One unreadable certificate among many is no reason to stop.
        let native = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(native.certs);
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

/// The certificates of a PEM file. None at all is a mistake: the file was named for them.
fn read_roots(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let unusable = |why: &dyn fmt::Display| {
        Error::new(
            ErrorKind::Usage,
            "open",
            path.display().to_string(),
            format!("not usable as certificates: {why}"),
        )
        .hint("use a PEM file with certificates: -----BEGIN CERTIFICATE-----")
    };
    let certificates = CertificateDer::pem_file_iter(path).map_err(|error| match error {
        pem::Error::Io(error) => Error::from_io("open", path.display().to_string(), error),
        error => unusable(&error),
    })?;
    let certificates = certificates.collect::<Result<Vec<_>, _>>().map_err(|error| unusable(&error))?;
    if RootCertStore::empty().add_parsable_certificates(certificates.iter().cloned()).0 == 0 {
        return Err(unusable(&"it holds none that can be read"));
    }
    Ok(certificates)
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
