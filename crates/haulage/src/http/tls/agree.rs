//! The handshake, which is rustls' alone: bytes are carried to it and from it.

use std::io;
use std::sync::Arc;

use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
use rustls::{AlertDescription, ClientConfig, Error, ProtocolVersion};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::records::Records;
use super::stream::TlsStream;

/// Read at once; an answer with its certificates takes some 4 KiB.
const PIECE: usize = 8 << 10;

/// A message of the handshake takes 64 KiB at most, in whole records.
const HELD_MAX: usize = 96 << 10;

/// What is to be done next.
enum Next {
    Go,
    Read,
    Done,
}

/// Agrees on a session with the server `name` at the other end of `stream`.
///
/// The configuration must allow that keys are taken out (`enable_secret_extraction`), and name at least one cipher.
pub(super) async fn agree<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    name: ServerName<'static>,
    config: Arc<ClientConfig>,
) -> io::Result<TlsStream<S>> {
    let mut session = UnbufferedClientConnection::new(config, name).map_err(broken)?;
    let mut came = Vec::new();
    let mut sending = Vec::new();
    loop {
        // Once TLS 1.3 has agreed, what comes is for the records to open: tickets, which may have come in part. Before it nothing comes.
        let agreed =
            !session.is_handshaking() && session.protocol_version() == Some(ProtocolVersion::TLSv1_3);
        let given = if agreed { &mut [] } else { came.as_mut_slice() };
        let (used, next) = match step(&mut session, given, &mut sending) {
            Ok(stepped) => stepped,
            Err(error) => {
                // The other side is told why, if it still listens.
                if session.wants_write() && step(&mut session, &mut [], &mut sending).is_ok() {
                    let _ = stream.write_all(&sending).await;
                }
                return Err(broken(error));
            }
        };
        came.drain(..used);
        match next {
            Next::Go => {}
            Next::Read | Next::Done if !sending.is_empty() => {
                stream.write_all(&sending).await?;
                stream.flush().await?;
                sending.clear();
            }
            Next::Read => read(&mut stream, &mut came).await?,
            Next::Done => break,
        }
    }
    let (secrets, kernel) = session.dangerous_into_kernel_connection().map_err(broken)?;
    let records = Records::new(secrets, kernel).map_err(broken)?;
    Ok(TlsStream::new(stream, records, &came))
}

/// One step of the session: how many bytes of `came` it has used, and what is next. What it says is added to `sending`.
fn step(
    session: &mut UnbufferedClientConnection,
    came: &mut [u8],
    sending: &mut Vec<u8>,
) -> Result<(usize, Next), Error> {
    let UnbufferedStatus { discard, state } = session.process_tls_records(came);
    let next = match state? {
        ConnectionState::EncodeTlsData(mut said) => {
            let begin = sending.len();
            let mut room = FIRST_ROOM;
            loop {
                sending.resize(begin + room, 0);
                match said.encode(&mut sending[begin..]) {
                    Ok(len) => break sending.truncate(begin + len),
                    Err(rustls::unbuffered::EncodeError::InsufficientSize(needed)) => {
                        room = needed.required_size;
                    }
                    Err(error) => return Err(Error::General(error.to_string())),
                }
            }
            Next::Go
        }
        ConnectionState::TransmitTlsData(said) => {
            said.done();
            Next::Go
        }
        ConnectionState::BlockedHandshake => Next::Read,
        ConnectionState::WriteTraffic(_) => Next::Done,
        ConnectionState::PeerClosed | ConnectionState::Closed => {
            return Err(Error::AlertReceived(AlertDescription::CloseNotify));
        }
        // A server of HTTP does not speak before it is asked.
        _ => return Err(Error::General("the server spoke before it was asked".to_owned())),
    };
    Ok((discard, next))
}

/// Most of what is said in a handshake is shorter.
const FIRST_ROOM: usize = 1 << 10;

async fn read<S: AsyncRead + Unpin>(stream: &mut S, came: &mut Vec<u8>) -> io::Result<()> {
    if came.len() >= HELD_MAX {
        return Err(broken(Error::General("the handshake does not end".to_owned())));
    }
    came.reserve(PIECE);
    if stream.read_buf(came).await? == 0 {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "tls handshake eof"));
    }
    Ok(())
}

pub(super) fn broken(error: Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
