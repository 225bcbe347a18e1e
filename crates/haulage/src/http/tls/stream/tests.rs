//! Against rustls' own server, over wires that crumble, flip and break.

use std::sync::Arc;

use proptest::prelude::*;
use rustls::crypto::cipher::OutboundPlainMessage;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{
    CipherSuite, CipherSuiteCommon, ClientConfig, ContentType, HandshakeKind, RootCertStore, ServerConfig,
    SupportedCipherSuite, Tls13CipherSuite,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream as ServerStream;

use super::*;
use crate::http::tls::agree::agree;
use crate::http::tls::records::encrypter;
use crate::http::tls::{Distrust, distrust};

/// A wire that gives `piece` bytes at once, and can be made to do harm.
struct Wire {
    below: DuplexStream,
    piece: usize,
    /// Turns a bit of the byte that comes after so many.
    flip_after: Option<usize>,
    /// Ends after so many.
    cut_after: Option<usize>,
    /// Bytes that went out.
    sent: usize,
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.cut_after == Some(0) {
            return Poll::Ready(Ok(()));
        }
        let len = self.piece.min(buf.remaining()).min(self.cut_after.unwrap_or(usize::MAX));
        let mut piece = vec![0; len];
        let mut room = ReadBuf::new(&mut piece);
        ready!(Pin::new(&mut self.below).poll_read(cx, &mut room))?;
        let came = room.filled_mut();
        if let Some(after) = self.flip_after.as_mut() {
            if let Some(byte) = came.get_mut(*after) {
                *byte ^= 0x10;
            }
            *after = after.wrapping_sub(came.len());
        }
        if let Some(after) = self.cut_after.as_mut() {
            *after -= came.len();
        }
        buf.put_slice(came);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let len = buf.len().min(self.piece);
        let sent = ready!(Pin::new(&mut self.below).poll_write(cx, &buf[..len]))?;
        self.sent += sent;
        Poll::Ready(Ok(sent))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.below).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.below).poll_shutdown(cx)
    }
}

type Pair = (TlsStream<Wire>, ServerStream<DuplexStream>);

/// Both ends' settings, for this cipher alone.
fn settings(suite: SupportedCipherSuite) -> (Arc<ClientConfig>, TlsAcceptor) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(CryptoProvider { cipher_suites: vec![suite], ..ring::default_provider() });
    let mut client = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.enable_secret_extraction = true;
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    server.enable_secret_extraction = true;
    (Arc::new(client), TlsAcceptor::from(Arc::new(server)))
}

fn name() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

async fn connect(client: &Arc<ClientConfig>, server: &TlsAcceptor, piece: usize) -> Pair {
    let (ours, theirs) = duplex(256 << 10);
    let wire = Wire { below: ours, piece, flip_after: None, cut_after: None, sent: 0 };
    let (ours, theirs) = tokio::join!(agree(wire, name(), client.clone()), server.accept(theirs));
    (ours.unwrap(), theirs.unwrap())
}

async fn pair(suite: CipherSuite, piece: usize) -> Pair {
    let (client, server) = settings(find(suite));
    connect(&client, &server, piece).await
}

fn find(suite: CipherSuite) -> SupportedCipherSuite {
    *ring::ALL_CIPHER_SUITES.iter().find(|known| known.suite() == suite).unwrap()
}

const MODERN: CipherSuite = CipherSuite::TLS13_AES_128_GCM_SHA256;
const FORMER: CipherSuite = CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256;

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + at / 251) as u8).collect()
}

/// Sends `down` by the server and `up` by the client, at once, and compares what comes.
async fn exchange(pair: Pair, up: &[u8], down: &[u8]) {
    let (ours, theirs) = pair;
    let (mut our_reader, mut our_writer) = tokio::io::split(ours);
    let (mut their_reader, mut their_writer) = tokio::io::split(theirs);
    let (mut came_up, mut came_down) = (vec![0; up.len()], vec![0; down.len()]);
    let (sent, said, heard, got) = tokio::join!(
        async {
            our_writer.write_all(up).await?;
            our_writer.flush().await
        },
        async {
            their_writer.write_all(down).await?;
            their_writer.flush().await
        },
        their_reader.read_exact(&mut came_up),
        our_reader.read_exact(&mut came_down),
    );
    sent.unwrap();
    said.unwrap();
    heard.unwrap();
    got.unwrap();
    assert!(came_up == up && came_down == down);
}

#[tokio::test]
async fn every_cipher_carries_both_ways() {
    for suite in ring::ALL_CIPHER_SUITES {
        // The certificate has a key of ECDSA.
        if !format!("{:?}", suite.suite()).contains("_RSA_") {
            exchange(pair(suite.suite(), 9000).await, &bytes(100_000), &bytes(300_000)).await;
        }
    }
}

#[tokio::test]
async fn records_come_byte_by_byte() {
    for suite in [MODERN, FORMER] {
        exchange(pair(suite, 1).await, &bytes(40_000), &bytes(40_000)).await;
    }
}

#[tokio::test]
async fn a_huge_write_goes_out_as_it_is_read() {
    exchange(pair(MODERN, usize::MAX).await, &bytes(8 << 20), &bytes(8 << 20)).await;
}

#[tokio::test]
async fn a_large_buffer_is_filled_with_all_that_has_come() {
    let (mut ours, mut theirs) = pair(MODERN, usize::MAX).await;
    let sent = bytes(50_000);
    theirs.write_all(&sent).await.unwrap();
    theirs.flush().await.unwrap();
    let mut came = vec![0; 256 << 10];
    assert_eq!(ours.read(&mut came).await.unwrap(), sent.len());
    assert!(came[..sent.len()] == sent);
}

#[tokio::test]
async fn a_goodbye_ends_what_comes_and_not_what_goes() {
    for suite in [MODERN, FORMER] {
        let (mut ours, mut theirs) = pair(suite, 7).await;
        theirs.write_all(b"all").await.unwrap();
        theirs.shutdown().await.unwrap();
        let mut came = Vec::new();
        ours.read_to_end(&mut came).await.unwrap();
        assert_eq!(came, b"all");
        ours.write_all(b"still here").await.unwrap();
        ours.shutdown().await.unwrap();
        let mut heard = Vec::new();
        theirs.read_to_end(&mut heard).await.unwrap();
        assert_eq!(heard, b"still here");
        assert_eq!(ours.write(b"x").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}

#[tokio::test]
async fn what_is_cut_short_is_no_end() {
    for cut in [0, 1, 4, 5, 500, 1021, 1022] {
        let (mut ours, mut theirs) = pair(MODERN, 100).await;
        // The tickets of the server come first.
        theirs.write_all(b"x").await.unwrap();
        theirs.flush().await.unwrap();
        ours.read_exact(&mut [0]).await.unwrap();
        theirs.write_all(&bytes(1000)).await.unwrap();
        theirs.flush().await.unwrap();
        ours.below.cut_after = Some(cut);
        let mut came = Vec::new();
        let error = ours.read_to_end(&mut came).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        // A record is 22 bytes longer than its contents.
        assert_eq!(came.len(), if cut == 1022 { 1000 } else { 0 });
    }
}

#[tokio::test]
async fn a_flipped_bit_is_an_error_that_the_other_side_is_told() {
    for at in [0, 1, 3, 5, 6, 700, 1004, 1021] {
        let (mut ours, mut theirs) = pair(MODERN, 100).await;
        theirs.write_all(b"before").await.unwrap();
        theirs.flush().await.unwrap();
        ours.read_exact(&mut [0; 6]).await.unwrap();
        theirs.write_all(&bytes(1000)).await.unwrap();
        theirs.write_all(&bytes(20_000)).await.unwrap();
        theirs.flush().await.unwrap();
        ours.below.flip_after = Some(at);
        let mut came = Vec::new();
        let error = ours.read_to_end(&mut came).await.unwrap_err();
        assert!(came.is_empty(), "{at}: nothing of it is given");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{at}: {error}");
        assert!(error.get_ref().unwrap().is::<Error>());
        let sent = ours.below.sent;
        let again = ours.read_to_end(&mut came).await.unwrap_err();
        assert_eq!(again.to_string(), error.to_string(), "it stays dead");
        assert_eq!(ours.below.sent, sent, "the other side is told once");
        assert!(ours.write(b"x").await.is_err());
        let told = theirs.read_to_end(&mut came).await.unwrap_err().to_string();
        assert!(told.contains("fatal alert"), "{at}: {told}");
    }
}

#[tokio::test]
async fn new_keys_are_taken_where_the_other_side_asks() {
    let (mut ours, mut theirs) = pair(MODERN, 100).await;
    for round in 0..3 {
        theirs.get_mut().1.refresh_traffic_keys().unwrap();
        theirs.write_all(&bytes(30_000)).await.unwrap();
        theirs.flush().await.unwrap();
        let mut came = vec![0; 30_000];
        ours.read_exact(&mut came).await.unwrap();
        assert!(came == bytes(30_000), "round {round}");
        ours.write_all(&bytes(20_000)).await.unwrap();
        ours.flush().await.unwrap();
        let mut heard = vec![0; 20_000];
        theirs.read_exact(&mut heard).await.unwrap();
        assert!(heard == bytes(20_000), "round {round}");
    }
}

#[tokio::test]
async fn new_keys_are_taken_before_the_old_are_worn_out() {
    let SupportedCipherSuite::Tls13(known) = find(MODERN) else { unreachable!("it is of TLS 1.3") };
    let common = CipherSuiteCommon {
        suite: MODERN,
        hash_provider: known.common.hash_provider,
        confidentiality_limit: 5,
    };
    let weak =
        Tls13CipherSuite { common, hkdf_provider: known.hkdf_provider, aead_alg: known.aead_alg, quic: None };
    let (client, server) = settings(SupportedCipherSuite::Tls13(Box::leak(Box::new(weak))));
    let pair = connect(&client, &server, usize::MAX).await;
    exchange(pair, &bytes(1 << 20), &bytes(1 << 20)).await;
}

#[tokio::test]
async fn the_next_session_resumes_this_one() {
    for suite in [MODERN, FORMER] {
        let (client, server) = settings(find(suite));
        let mut kinds = Vec::new();
        for _ in 0..3 {
            let (mut ours, mut theirs) = connect(&client, &server, 64).await;
            theirs.write_all(b"x").await.unwrap();
            theirs.flush().await.unwrap();
            ours.read_exact(&mut [0]).await.unwrap();
            kinds.push(theirs.get_ref().1.handshake_kind().unwrap());
        }
        assert_eq!(kinds, [HandshakeKind::Full, HandshakeKind::Resumed, HandshakeKind::Resumed], "{suite:?}");
    }
}

/// What a server that seals anything sends: types and contents of records.
type Said<'a> = &'a [(ContentType, &'a [u8])];

/// What the client makes of it, in a session of TLS 1.3.
async fn heard(said: Said<'_>) -> io::Result<Vec<u8>> {
    let (mut ours, mut theirs) = pair(MODERN, usize::MAX).await;
    theirs.write_all(b"x").await.unwrap();
    theirs.flush().await.unwrap();
    ours.read_exact(&mut [0]).await.unwrap();
    let (mut below, session) = theirs.into_inner();
    let (first, secrets) = session.dangerous_extract_secrets().unwrap().tx;
    let mut encrypter = encrypter(find(MODERN), secrets).unwrap();
    for (seq, &(typ, payload)) in (first..).zip(said) {
        let plain =
            OutboundPlainMessage { typ, version: rustls::ProtocolVersion::TLSv1_2, payload: payload.into() };
        below.write_all(&encrypter.encrypt(plain, seq).unwrap().encode()).await.unwrap();
    }
    below.shutdown().await.unwrap();
    let mut came = Vec::new();
    ours.read_to_end(&mut came).await.map(|_| came)
}

#[tokio::test]
async fn a_ticket_may_come_in_two_records() {
    use ContentType::{Alert, ApplicationData, Handshake};
    let ticket: &[u8] = &[4, 0, 0, 18, 0, 0, 0, 60, 0, 0, 0, 1, 1, 7, 0, 4, 1, 2, 3, 4, 0, 0];
    let two = [ticket, ticket].concat();
    for cut in [1, 3, 4, 10, ticket.len(), ticket.len() + 2] {
        let (first, second) = two.split_at(cut);
        let said = [(Handshake, first), (Handshake, second), (ApplicationData, b"data"), (Alert, &[1, 0])];
        assert_eq!(heard(&said).await.unwrap(), b"data", "{cut}");
    }
}

#[tokio::test]
async fn what_the_other_side_may_not_say_ends_the_session() {
    use ContentType::{Alert, ApplicationData, Handshake};
    let goodbye: (ContentType, &[u8]) = (Alert, &[1, 0]);
    let empty = [(ApplicationData, &b""[..]); 33];
    let nearly = [&empty[..32], &[(ApplicationData, b"data"), goodbye]].concat();
    assert_eq!(heard(&nearly).await.unwrap(), b"data");
    let endless = [&[22; 16 << 10][..], &[22; 16 << 10]].concat();
    let endless: Vec<_> = [&[4, 0xff, 0xff, 0xff][..]]
        .into_iter()
        .chain(endless.chunks(16 << 10).cycle().take(5))
        .map(|part| (Handshake, part))
        .collect();
    let bad: [(&str, Said<'_>); 11] = [
        ("empty records", &empty),
        ("a message that does not end", &endless),
        ("data within a message", &[(Handshake, &[4, 0, 0, 9]), (ApplicationData, b"data")]),
        ("a request for a certificate", &[(Handshake, &[13, 0, 0, 3, 0, 0, 0])]),
        ("a wish to begin anew", &[(Handshake, &[0, 0, 0, 0])]),
        ("new keys of an unknown kind", &[(Handshake, &[24, 0, 0, 1, 2])]),
        ("new keys within a record", &[(Handshake, &[24, 0, 0, 1, 0, 24])]),
        ("no ticket", &[(Handshake, &[4, 0, 0, 1, 0])]),
        ("a fatal alert", &[(Alert, &[2, 80])]),
        ("half an alert", &[(Alert, &[1])]),
        ("warnings", &[(Alert, &[1, 90][..]); 5]),
    ];
    for (what, said) in bad {
        let error = heard(&[said, &[goodbye]].concat()).await.expect_err(what);
        assert!(error.get_ref().is_some_and(|inner| inner.is::<Error>()), "{what}: {error}");
    }
    // What follows a goodbye is not for us.
    assert_eq!(heard(&[goodbye, (ApplicationData, b"data")]).await.unwrap(), b"");
}

#[tokio::test]
async fn a_server_that_is_not_trusted_is_told() {
    let (client, _) = settings(find(MODERN));
    let (_, server) = settings(find(MODERN));
    let (ours, theirs) = duplex(64 << 10);
    let (ours, theirs) = tokio::join!(agree(ours, name(), client), server.accept(theirs));
    let error = ours.unwrap_err();
    assert!(matches!(distrust(&error), Some(Distrust::Origin)), "{error}");
    assert!(theirs.unwrap_err().to_string().contains("fatal alert"));
}

#[tokio::test]
async fn what_is_no_handshake_is_an_error() {
    for said in
        [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], &[22, 3, 3, 0xff, 0xff, 0], &[21, 3, 3, 0, 2, 2, 40], &[]]
    {
        let (client, _) = settings(find(MODERN));
        let (ours, mut theirs) = duplex(64 << 10);
        let talk = async {
            theirs.write_all(said).await.unwrap();
            theirs.shutdown().await.unwrap();
            let mut heard = Vec::new();
            theirs.read_to_end(&mut heard).await.unwrap();
        };
        let (agreed, ()) = tokio::join!(agree(ours, name(), client), talk);
        agreed.unwrap_err();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_pieces_give_the_same_bytes(
        former in any::<bool>(),
        piece in prop_oneof![1_usize..100, 1000_usize..40_000, Just(usize::MAX)],
        writes in prop::collection::vec(0_usize..60_000, 1..6),
        reads in prop::collection::vec(prop_oneof![1_usize..100, 8000_usize..300_000], 1..8),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut ours, mut theirs) = pair(if former { FORMER } else { MODERN }, piece).await;
            let total: usize = writes.iter().sum();
            let sent = bytes(total);
            let write = async {
                let mut left = sent.as_slice();
                for len in writes {
                    let (now, later) = left.split_at(len);
                    theirs.write_all(now).await.unwrap();
                    theirs.flush().await.unwrap();
                    left = later;
                }
                theirs.shutdown().await.unwrap();
            };
            let read = async {
                let mut came = Vec::new();
                let mut room = vec![0; 300_000];
                for len in reads.iter().cycle() {
                    let got = ours.read(&mut room[..*len]).await.unwrap();
                    came.extend_from_slice(&room[..got]);
                    if got == 0 {
                        return came;
                    }
                }
                came
            };
            let ((), came) = tokio::join!(write, read);
            assert!(came == sent);
        });
    }
}
