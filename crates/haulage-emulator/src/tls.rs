//! TLS beneath HTTP, with the certificate of a file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haulage::{Error, ErrorKind, Result};
use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// Where certificate and key lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate for the address, and those above it, as PEM.
    pub certificate: PathBuf,
    /// Its private key, as PEM.
    pub key: PathBuf,
}

/// Makes sessions with this certificate.
pub(crate) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor> {
    let certificates = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, pem::Error>>)
        .map_err(|error| unreadable(&files.certificate, "a certificate", &error))?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| unreadable(&files.key, "a private key", &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, key));
    let mut config = config.map_err(|error| {
        let name = files.certificate.display().to_string();
        Error::new(ErrorKind::Usage, "serve", name, format!("certificate and key do not serve: {error}"))
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn unreadable(path: &Path, what: &str, error: &pem::Error) -> Error {
    let name = path.display().to_string();
    Error::new(ErrorKind::Usage, "read", name, format!("not {what} in PEM form: {error}"))
}
