//! `aws-chunked`: a body cut into chunks, each with its length and perhaps its signature, and perhaps with
//! trailers behind the last.
//!
//! ```text
//! 10000;chunk-signature=ad80c7...\r\n  65,536 bytes  \r\n
//! 0;chunk-signature=b6c6ea...\r\n
//! x-amz-checksum-crc32c:sOO8/Q==\r\n
//! x-amz-trailer-signature:d81f82...\r\n
//! \r\n
//! ```

use bytes::{Buf as _, Bytes};
use sha2::{Digest as _, Sha256};

use crate::s3::auth::Seal;
use crate::s3::auth::hash::{EMPTY, hex, sha256};
use crate::s3::error::{CHUNK_TOO_SMALL, INCOMPLETE_BODY, MALFORMED_TRAILER, SIGNATURE_DOES_NOT_MATCH};
use crate::wire::error::Answer;

/// Chunks before the last have at least so many bytes.
const SMALLEST: u64 = 8 * 1024;
/// Far more than the line before a chunk, or a trailer, needs.
const LONGEST_LINE: usize = 8 * 1024;
/// Far more trailers than there are checksums.
const MOST_TRAILERS: usize = 16;
const TRAILER_SIGNATURE: &str = "x-amz-trailer-signature";

/// What has been found in the bytes so far.
pub(super) enum Step {
    /// Bytes of the content.
    Data(Bytes),
    /// Nothing, until more has come.
    More,
    /// The end of it all.
    End,
}

/// What comes next.
enum State {
    /// The line before a chunk.
    Header,
    /// So many bytes of a chunk.
    Data(u64),
    /// The line end behind a chunk.
    DataEnd,
    /// A trailer, or the line end that is the last.
    Trailer,
    Done,
}

/// Takes such a body apart.
pub(super) struct Chunks {
    state: State,
    line: Vec<u8>,
    /// Of the chunk before this one.
    last_len: Option<u64>,
    signer: Option<Signer>,
    has_trailer: bool,
    trailers: Vec<(String, String)>,
}

/// Follows the signatures from the request's own through all chunks.
struct Signer {
    seal: Seal,
    /// The signature that the chunk being read must have, and what has come of it.
    claimed: String,
    hash: Sha256,
}

impl Chunks {
    pub(super) fn new(seal: Option<Seal>, has_trailer: bool) -> Self {
        let signer = seal.map(|seal| Signer { seal, claimed: String::new(), hash: Sha256::default() });
        Self {
            state: State::Header,
            line: Vec::new(),
            last_len: None,
            signer,
            has_trailer,
            trailers: Vec::new(),
        }
    }

    pub(super) fn may_have_trailers(&self) -> bool {
        self.has_trailer
    }

    /// Takes what it can from the front of `wire`. The bytes that it finds go to [`Self::update`] once they
    /// are known to be what the server sees.
    pub(super) fn step(&mut self, wire: &mut Bytes) -> Answer<Step> {
        loop {
            match self.state {
                State::Data(left) => {
                    let len = left.min(wire.len() as u64);
                    if len == 0 {
                        return Ok(Step::More);
                    }
                    self.state = if len == left { State::DataEnd } else { State::Data(left - len) };
                    return Ok(Step::Data(wire.split_to(len as usize)));
                }
                State::Done if wire.is_empty() => return Ok(Step::End),
                State::Done => return Err(broken("bytes behind the end")),
                State::Header | State::DataEnd | State::Trailer => {
                    let Some(line) = self.take_line(wire)? else { return Ok(Step::More) };
                    self.state = self.after_line(&line)?;
                }
            }
        }
    }

    /// Looks at bytes that were found.
    pub(super) fn update(&mut self, content: &[u8]) {
        if let Some(signer) = &mut self.signer {
            signer.hash.update(content);
        }
    }

    /// Whether all has come.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// The trailers, names in lower case.
    pub(super) fn trailers(&self) -> &[(String, String)] {
        &self.trailers
    }

    /// A line without its end; `None` while there is no end of it.
    fn take_line(&mut self, wire: &mut Bytes) -> Answer<Option<String>> {
        let end = wire.iter().position(|byte| *byte == b'\n');
        let len = end.map_or(wire.len(), |end| end + 1);
        self.line.extend_from_slice(&wire[..len]);
        wire.advance(len);
        if self.line.len() > LONGEST_LINE {
            return Err(broken("a line without an end"));
        }
        if end.is_none() {
            return Ok(None);
        }
        let line = String::from_utf8(std::mem::take(&mut self.line))
            .map_err(|_| broken("a line that is no text"))?;
        Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned()))
    }

    fn after_line(&mut self, line: &str) -> Answer<State> {
        match self.state {
            State::Header => self.chunk(line),
            State::DataEnd if line.is_empty() => {
                self.check_chunk()?;
                Ok(State::Header)
            }
            State::Trailer => self.trailer(line),
            _ => Err(broken("a chunk that is longer than it says")),
        }
    }

    /// The line before a chunk.
    fn chunk(&mut self, line: &str) -> Answer<State> {
        let (digits, extension) = line.split_once(';').unwrap_or((line, ""));
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let len = u64::from_str_radix(digits, 16).ok().filter(|_| plain);
        let len = len.ok_or_else(|| broken("a chunk without a length"))?;
        if len > 0 && self.last_len.is_some_and(|last| last < SMALLEST) {
            let bad = self.last_len.unwrap_or_default().to_string();
            return Err(CHUNK_TOO_SMALL.detail("BadChunkSizeInBytes", bad));
        }
        self.last_len = Some(len);
        if let Some(signer) = &mut self.signer {
            let claimed = extension.trim().strip_prefix("chunk-signature=");
            claimed.ok_or_else(|| broken("a chunk without a signature"))?.clone_into(&mut signer.claimed);
        }
        if len > 0 {
            return Ok(State::Data(len));
        }
        self.check_chunk()?;
        Ok(State::Trailer)
    }

    fn check_chunk(&mut self) -> Answer<()> {
        let Some(signer) = &mut self.signer else { return Ok(()) };
        let hash = hex(&std::mem::take(&mut signer.hash).finalize());
        signer.check("AWS4-HMAC-SHA256-PAYLOAD", &format!("{EMPTY}\n{hash}"))
    }

    /// A trailer, or the empty line behind the last of them.
    fn trailer(&mut self, line: &str) -> Answer<State> {
        if line.is_empty() {
            // Some clients put an empty line before the signature of the trailers.
            let unsigned =
                self.has_trailer && self.signer.as_ref().is_some_and(|signer| !signer.claimed.is_empty());
            return Ok(if unsigned && !self.trailers.is_empty() { State::Trailer } else { State::Done });
        }
        let (name, value) = line.split_once(':').ok_or(&MALFORMED_TRAILER)?;
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().to_owned());
        if !self.has_trailer || self.trailers.len() == MOST_TRAILERS {
            return Err((&MALFORMED_TRAILER).into());
        }
        if name == TRAILER_SIGNATURE {
            self.trailers.sort_unstable();
            let trailers = self.trailers.iter().map(|(name, value)| format!("{name}:{value}\n"));
            let hash = sha256(trailers.collect::<String>().as_bytes());
            let signer = self.signer.as_mut().ok_or(&MALFORMED_TRAILER)?;
            signer.claimed = value;
            signer.check("AWS4-HMAC-SHA256-TRAILER", &hash)?;
            signer.claimed.clear();
        } else {
            self.trailers.push((name, value));
        }
        Ok(State::Trailer)
    }

    /// Whether the trailers lack the signature that they must have.
    pub(super) fn lacks_signature(&self) -> bool {
        let pending = self.signer.as_ref().is_some_and(|signer| !signer.claimed.is_empty());
        self.has_trailer && pending
    }
}

impl Signer {
    /// Compares the claimed signature with that of the text, and goes on from it.
    fn check(&mut self, algorithm: &str, hashes: &str) -> Answer<()> {
        let Seal { key, timestamp, scope, signature } = &mut self.seal;
        let text = format!("{algorithm}\n{timestamp}\n{scope}\n{signature}\n{hashes}");
        if key.verifies(&text, &self.claimed) {
            signature.clone_from(&self.claimed);
            return Ok(());
        }
        let error = SIGNATURE_DOES_NOT_MATCH.detail("StringToSign", text);
        Err(error.detail("SignatureProvided", &*self.claimed))
    }
}

fn broken(what: &str) -> crate::wire::error::ServiceError {
    INCOMPLETE_BODY.saying(format!("The body is not aws-chunked: {what}."))
}

#[cfg(test)]
mod tests;
