//! The records of a session: what is sealed and opened once both sides have agreed.
//!
//! The ciphers, the keys, the tickets of later sessions and all of the handshake are rustls'. Ours is only which bytes go through
//! them: a record is opened where it lies, whereas rustls would hand it on by way of memory of its own.

use std::ops::Range;

use rustls::client::ClientConnectionData;
use rustls::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, Iv, MessageDecrypter, MessageEncrypter, OutboundChunks,
    OutboundPlainMessage,
};
use rustls::kernel::KernelConnection;
use rustls::{
    AlertDescription, ConnectionTrafficSecrets, ContentType, Error, ExtractedSecrets, HandshakeType,
    InvalidMessage, PeerMisbehaved, ProtocolVersion, SupportedCipherSuite,
};

/// What one record carries at most (RFC 8446, 5.1).
pub(super) const FRAGMENT_MAX: usize = 16 << 10;

/// Type, version, length.
const HEADER: usize = 5;

/// A record from its header to its last byte, as long as one can be: TLS 1.2 allows 2 KiB more than its contents.
pub(super) const RECORD_MAX: usize = HEADER + FRAGMENT_MAX + 2048;

/// Records without contents in a row, as rustls allows them.
const EMPTY_MAX: u8 = 32;

/// New keys asked for with no data between, as BoringSSL and rustls allow them.
const KEY_UPDATES_MAX: u8 = 32;

/// Warnings of TLS 1.2, and requests to agree anew, which we decline.
const WARNINGS_MAX: u8 = 4;

/// A message of the handshake that takes several records; a ticket holds 64 KiB at most.
const MESSAGE_MAX: usize = 4 + (64 << 10) + 512;

/// Keys of both directions, and what the other side has said beside data.
pub(super) struct Records {
    kernel: KernelConnection<ClientConnectionData>,
    encrypter: Box<dyn MessageEncrypter>,
    decrypter: Box<dyn MessageDecrypter>,
    /// Records sent and received with these keys.
    sealed: u64,
    opened: u64,
    /// The beginning of a message of the handshake.
    message: Vec<u8>,
    empty: u8,
    key_updates: u8,
    warnings: u8,
    closed: bool,
    /// Sealed answers to what the other side has asked for.
    answers: Vec<Vec<u8>>,
}

/// A record that was opened.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Opened {
    /// Bytes that it took.
    pub(super) used: usize,
    /// Where among them its data lies: nowhere where it carried none.
    pub(super) data: Range<usize>,
}

impl Records {
    /// Goes on where the handshake has ended.
    pub(super) fn new(
        secrets: ExtractedSecrets,
        kernel: KernelConnection<ClientConnectionData>,
    ) -> Result<Self, Error> {
        let ExtractedSecrets { tx: (sealed, sending), rx: (opened, receiving) } = secrets;
        let suite = kernel.negotiated_cipher_suite();
        Ok(Self {
            encrypter: encrypter(suite, sending)?,
            decrypter: decrypter(suite, receiving)?,
            kernel,
            sealed,
            opened,
            message: Vec::new(),
            empty: 0,
            key_updates: 0,
            warnings: 0,
            closed: false,
            answers: Vec::new(),
        })
    }

    /// Whether the other side has said that nothing more comes.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether something has to be sent before anything else.
    pub(super) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// What has to be sent before anything else.
    pub(super) fn take_answers(&mut self) -> impl Iterator<Item = Vec<u8>> + '_ {
        self.answers.drain(..)
    }

    /// Seals data: a record for every 16 KiB of it, each handed to `into`.
    pub(super) fn seal(
        &mut self,
        data: OutboundChunks<'_>,
        mut into: impl FnMut(Vec<u8>),
    ) -> Result<(), Error> {
        let mut left = data;
        while !left.is_empty() {
            let (fragment, rest) = left.split_at(FRAGMENT_MAX);
            if let Some(new_keys) = self.change_keys_in_time()? {
                into(new_keys);
            }
            into(self.seal_one(ContentType::ApplicationData, fragment)?);
            left = rest;
        }
        Ok(())
    }

    /// The alert that says goodbye, or why.
    pub(super) fn seal_alert(&mut self, alert: AlertDescription) -> Result<Vec<u8>, Error> {
        const WARNING: u8 = 1;
        const FATAL: u8 = 2;
        let mild = matches!(alert, AlertDescription::CloseNotify | AlertDescription::NoRenegotiation);
        let level = if mild { WARNING } else { FATAL };
        self.seal_one(ContentType::Alert, OutboundChunks::from(&[level, alert.into()][..]))
    }

    fn seal_one(&mut self, typ: ContentType, payload: OutboundChunks<'_>) -> Result<Vec<u8>, Error> {
        // What stands in a record whatever was agreed on (RFC 8446, 5.1).
        let version = ProtocolVersion::TLSv1_2;
        let sealed = self.encrypter.encrypt(OutboundPlainMessage { typ, version, payload }, self.sealed)?;
        self.sealed += 1;
        Ok(sealed.encode())
    }

    /// A key serves for so many records only. TLS 1.3 then takes another; before it the connection has come to its end.
    fn change_keys_in_time(&mut self) -> Result<Option<Vec<u8>>, Error> {
        if self.sealed < self.limit() {
            return Ok(None);
        }
        if !self.is_tls13() {
            return Err(Error::EncryptError);
        }
        self.change_keys().map(Some)
    }

    /// Announces new keys for what we send, and takes them.
    fn change_keys(&mut self) -> Result<Vec<u8>, Error> {
        const NOT_REQUESTED: [u8; 5] = [0x18, 0, 0, 1, 0];
        let announced = self.seal_one(ContentType::Handshake, OutboundChunks::from(&NOT_REQUESTED[..]))?;
        let (sealed, secrets) = self.kernel.update_tx_secret()?;
        self.encrypter = encrypter(self.kernel.negotiated_cipher_suite(), secrets)?;
        self.sealed = sealed;
        Ok(announced)
    }

    fn limit(&self) -> u64 {
        let suite = match self.kernel.negotiated_cipher_suite() {
            SupportedCipherSuite::Tls13(suite) => &suite.common,
            SupportedCipherSuite::Tls12(suite) => &suite.common,
        };
        suite.confidentiality_limit
    }

    fn is_tls13(&self) -> bool {
        self.kernel.protocol_version() == ProtocolVersion::TLSv1_3
    }

    /// Opens the record that `bytes` begins with, in its place; `None` where its end has not come yet.
    ///
    /// # Errors
    /// What the other side may not do, and what was changed on its way. Nothing may be opened after it.
    pub(super) fn open(&mut self, bytes: &mut [u8]) -> Result<Option<Opened>, Error> {
        let Some((typ, version, used)) = header(bytes)? else { return Ok(None) };
        let Some(record) = bytes.get_mut(HEADER..used) else { return Ok(None) };
        // All that is sealed looks like data in TLS 1.3; what is not sealed has no place any more.
        if self.is_tls13() && typ != ContentType::ApplicationData || typ == ContentType::ChangeCipherSpec {
            return Err(unexpected(typ));
        }
        let begin = record.as_ptr() as usize;
        let plain = self.decrypter.decrypt(InboundOpaqueMessage::new(typ, version, record), self.opened)?;
        self.opened += 1;
        let (typ, payload) = (plain.typ, plain.payload);
        // The cipher says where the plain text lies, which is at the beginning with all that we know.
        let from = HEADER + (payload.as_ptr() as usize - begin);
        let data = from..from + payload.len();
        if payload.is_empty() {
            self.empty += 1;
            if self.empty > EMPTY_MAX {
                return Err(PeerMisbehaved::TooManyEmptyFragments.into());
            }
        } else {
            self.empty = 0;
        }
        if typ != ContentType::Handshake && !self.message.is_empty() {
            return Err(PeerMisbehaved::MessageInterleavedWithHandshakeMessage.into());
        }
        match typ {
            ContentType::ApplicationData => {
                self.key_updates = 0;
                return Ok(Some(Opened { used, data }));
            }
            ContentType::Alert => self.hear_alert(&bytes[data])?,
            ContentType::Handshake => self.hear_handshake(&bytes[data])?,
            other => return Err(unexpected(other)),
        }
        Ok(Some(Opened { used, data: 0..0 }))
    }

    fn hear_alert(&mut self, payload: &[u8]) -> Result<(), Error> {
        let &[level, alert] = payload else { return Err(InvalidMessage::MessageTooLarge.into()) };
        match AlertDescription::from(alert) {
            AlertDescription::CloseNotify => self.closed = true,
            // It is said before the connection is closed, and means nothing by itself.
            AlertDescription::UserCanceled if self.is_tls13() => self.warn()?,
            _ if level == 1 && !self.is_tls13() => self.warn()?,
            alert => return Err(Error::AlertReceived(alert)),
        }
        Ok(())
    }

    fn warn(&mut self) -> Result<(), Error> {
        self.warnings += 1;
        if self.warnings > WARNINGS_MAX {
            return Err(PeerMisbehaved::TooManyWarningAlertsReceived.into());
        }
        Ok(())
    }

    /// Tickets and new keys; a message may end in a later record than it began.
    fn hear_handshake(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.message.extend_from_slice(payload);
        let messages = std::mem::take(&mut self.message);
        let mut left = messages.as_slice();
        while let Some((kind, body, rest)) = first_message(left) {
            self.hear_message(kind, body, rest.is_empty())?;
            left = rest;
        }
        if left.len() > MESSAGE_MAX {
            return Err(InvalidMessage::HandshakePayloadTooLarge.into());
        }
        self.message = left.to_vec();
        Ok(())
    }

    fn hear_message(&mut self, kind: HandshakeType, body: &[u8], is_last: bool) -> Result<(), Error> {
        match kind {
            HandshakeType::NewSessionTicket if self.is_tls13() => self.kernel.handle_new_session_ticket(body),
            HandshakeType::KeyUpdate if self.is_tls13() => self.hear_key_update(body, is_last),
            HandshakeType::HelloRequest if !self.is_tls13() => {
                self.warn()?;
                let declined = self.seal_alert(AlertDescription::NoRenegotiation)?;
                self.answers.push(declined);
                Ok(())
            }
            got => Err(Error::InappropriateHandshakeMessage {
                expect_types: vec![HandshakeType::NewSessionTicket, HandshakeType::KeyUpdate],
                got_type: got,
            }),
        }
    }

    fn hear_key_update(&mut self, body: &[u8], is_last: bool) -> Result<(), Error> {
        // What follows must be sealed with the new keys, and so cannot be in the same record.
        if !is_last {
            return Err(PeerMisbehaved::KeyEpochWithPendingFragment.into());
        }
        let &[requested @ 0..=1] = body else { return Err(InvalidMessage::InvalidKeyUpdate.into()) };
        self.key_updates += 1;
        if self.key_updates > KEY_UPDATES_MAX {
            return Err(PeerMisbehaved::TooManyKeyUpdateRequests.into());
        }
        let (opened, secrets) = self.kernel.update_rx_secret()?;
        self.decrypter = decrypter(self.kernel.negotiated_cipher_suite(), secrets)?;
        self.opened = opened;
        // One answer does for several requests that came before it could leave.
        if requested == 1 && self.answers.is_empty() {
            let announced = self.change_keys()?;
            self.answers.push(announced);
        }
        Ok(())
    }
}

/// Type, version and length of a record with its header; `None` where the header has not come yet.
fn header(bytes: &[u8]) -> Result<Option<(ContentType, ProtocolVersion, usize)>, Error> {
    let Some(&[typ, major, minor, high, low]) = bytes.first_chunk::<HEADER>() else { return Ok(None) };
    let typ = ContentType::from(typ);
    if let ContentType::Unknown(_) = typ {
        return Err(InvalidMessage::InvalidContentType.into());
    }
    if major != 3 {
        return Err(InvalidMessage::UnknownProtocolVersion.into());
    }
    let used = HEADER + usize::from(u16::from_be_bytes([high, low]));
    if used > RECORD_MAX {
        return Err(InvalidMessage::MessageTooLarge.into());
    }
    let version = ProtocolVersion::from(u16::from_be_bytes([major, minor]));
    Ok(Some((typ, version, used)))
}

/// The first message of the handshake in `bytes`, and what follows it; `None` where its end has not come yet.
fn first_message(bytes: &[u8]) -> Option<(HandshakeType, &[u8], &[u8])> {
    let (&[kind, high, middle, low], rest) = bytes.split_first_chunk::<4>()?;
    let (body, rest) = rest.split_at_checked(u32::from_be_bytes([0, high, middle, low]) as usize)?;
    Some((HandshakeType::from(kind), body, rest))
}

fn unexpected(got_type: ContentType) -> Error {
    Error::InappropriateMessage { expect_types: vec![ContentType::ApplicationData], got_type }
}

pub(super) fn encrypter(
    suite: SupportedCipherSuite,
    secrets: ConnectionTrafficSecrets,
) -> Result<Box<dyn MessageEncrypter>, Error> {
    let (key, iv) = parts(secrets)?;
    Ok(match suite {
        SupportedCipherSuite::Tls13(suite) => suite.aead_alg.encrypter(key, iv),
        SupportedCipherSuite::Tls12(suite) => {
            let (fixed, explicit) = iv.as_ref().split_at(suite.aead_alg.key_block_shape().fixed_iv_len);
            suite.aead_alg.encrypter(key, fixed, explicit)
        }
    })
}

fn decrypter(
    suite: SupportedCipherSuite,
    secrets: ConnectionTrafficSecrets,
) -> Result<Box<dyn MessageDecrypter>, Error> {
    let (key, iv) = parts(secrets)?;
    Ok(match suite {
        SupportedCipherSuite::Tls13(suite) => suite.aead_alg.decrypter(key, iv),
        SupportedCipherSuite::Tls12(suite) => {
            let fixed = suite.aead_alg.key_block_shape().fixed_iv_len;
            suite.aead_alg.decrypter(key, &iv.as_ref()[..fixed])
        }
    })
}

fn parts(secrets: ConnectionTrafficSecrets) -> Result<(AeadKey, Iv), Error> {
    use ConnectionTrafficSecrets as Secrets;
    match secrets {
        Secrets::Aes128Gcm { key, iv }
        | Secrets::Aes256Gcm { key, iv }
        | Secrets::Chacha20Poly1305 { key, iv } => Ok((key, iv)),
        _ => Err(Error::General("a cipher that was not offered".to_owned())),
    }
}
