//! The endpoint behind a certificate.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use haulage::http::{HttpClient, HttpOptions, Origin};
use haulage::store::Trace;
use haulage_emulator::{EmulatorConfig, TlsFiles, start};

#[tokio::test]
async fn the_client_speaks_https_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let files = TlsFiles { certificate: folder.path().join("cert.pem"), key: folder.path().join("key.pem") };
    std::fs::write(&files.certificate, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    let config = EmulatorConfig { tls: Some(files.clone()), ..EmulatorConfig::default() };
    let emulator = start(config).await.unwrap();
    assert!(emulator.endpoint().starts_with("https://127.0.0.1:"), "{}", emulator.endpoint());
    assert!(emulator.connection_string().contains("DefaultEndpointsProtocol=https;"));
    let client =
        HttpClient::new(HttpOptions { extra_roots: Some(files.certificate), ..HttpOptions::default() })
            .unwrap();
    let origin = Origin::parse("https", &emulator.address().to_string()).unwrap();
    let sas = emulator.sas("l", SystemTime::now() + Duration::from_secs(600));
    let request =
        http::Request::get(format!("/devstoreaccount1/?comp=list&{sas}")).body(Bytes::new()).unwrap();
    let answer = client.send(&origin, request, "list", "account", &Trace::detached()).await.unwrap();
    assert_eq!(answer.status(), 200);
    emulator.shutdown().await;
}

#[tokio::test]
async fn a_key_that_is_none_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("empty.pem");
    std::fs::write(&file, "nothing").unwrap();
    let tls = Some(TlsFiles { certificate: file.clone(), key: file });
    let refused = start(EmulatorConfig { tls, ..EmulatorConfig::default() }).await.unwrap_err();
    assert_eq!(refused.kind(), haulage::ErrorKind::Usage, "{refused}");
}
