//! What proves that an object was copied; a move needs it before its source is deleted.

use std::sync::Arc;

use super::super::{Capabilities, Ended, Subject, Then};
use super::Copying;
use crate::checksum::ChecksumMode;
use crate::error::{Error, ErrorKind};
use crate::event::{Method, Outcome, Proof};
use crate::options::Compare;
use crate::stage::plan::{Existing, Pair};
use crate::stage::schedule::Step;
use crate::stage::verify;
use crate::store::{ObjectMeta, PutResult};

/// Why a source is kept, and what to do.
const READS_DIFFERENTLY: &str = "the source, read once more, is not what was copied";
const REMOVED: &str = "the copy, read back, was not the same as its source, and was removed";
const NO_COPY: &str = "the copy, read back, is not the same as its source";
const AGAIN: &str = "nothing was deleted; run the same command again";
const DELETE_IT: &str = "the source was not deleted; delete this copy first, then run the same command again";

/// A copy whose source will be deleted, and that nothing proves yet.
pub(super) struct Unproven {
    /// How it ends where it is the same.
    ended: Box<Ended>,
    /// Both ends are read, and not the source alone.
    reads_back: bool,
    /// They seemed to differ, and are looked at again.
    doubted: bool,
}

/// What was found that should be a copy, and is none.
pub(super) struct Differing {
    /// It was removed.
    pub(super) removed: bool,
}

impl Copying {
    /// The source will be deleted, so that its copy must be proven.
    pub(crate) fn for_a_move(&mut self) {
        (self.moves, self.must_prove) = (true, true);
        self.rule.compare = Compare::Checksum;
        if let Some(by_service) = &mut self.by_service {
            by_service.for_a_move();
        }
    }

    /// It is a backup: its source will be replaced or deleted.
    pub(crate) fn for_a_backup(&mut self) {
        self.must_prove = true;
    }

    /// What was compared turned out so.
    pub(super) fn compared(
        &mut self,
        it: &mut Subject,
        bounds: (Capabilities, Capabilities),
        differing: Option<Differing>,
    ) -> Then {
        match self.unproven.take() {
            Some(unproven) if differing.is_none() => {
                Then::End(Ended { proof: Proof::Crc64, ..*unproven.ended })
            }
            // The wire may have lied: one more look.
            Some(Unproven { ended, reads_back: true, doubted: false }) => {
                self.unproven = Some(Unproven { ended, reads_back: true, doubted: true });
                Then::Steps(vec![Step::Compare(None)])
            }
            Some(Unproven { reads_back, .. }) => {
                let (place, cause, hint) = match (reads_back, differing) {
                    (true, Some(Differing { removed: true })) => (&it.pair.destination, REMOVED, AGAIN),
                    (true, _) => (&it.pair.destination, NO_COPY, DELETE_IT),
                    (false, _) => (&it.pair.source, READS_DIFFERENTLY, AGAIN),
                };
                let operation = if self.moves { "move" } else { "back up" };
                let error = Error::new(ErrorKind::Integrity, operation, &*place.name(), cause);
                Then::End(Ended::failed(error.hint(hint)))
            }
            None => {
                Arc::make_mut(&mut it.pair).same = Some(differing.is_none());
                self.start(it, bounds)
            }
        }
    }

    /// The end of an object that was written; where it will be deleted at the source, not before something proves the copy: what the
    /// destination states by itself, or what it holds when it is read.
    pub(super) fn written(&mut self, it: &mut Subject, put: PutResult, method: Method) -> Then {
        let stated_of_copy = put.crc64.filter(|_| self.copied_there);
        let ended = self.copied(it, put, method);
        let is_disk = !it.pair.destination.store.capabilities().keeps_checksums;
        let unproven = match ended.proof {
            Proof::Length => it.size() > 0,
            Proof::Sent => !is_disk,
            _ => false,
        };
        if !self.must_prove || !unproven {
            return Then::End(ended);
        }
        let vouched = is_disk || (self.confirmed && self.mode != ChecksumMode::None);
        let crc64 = if self.copied_there { stated_of_copy } else { ended.crc64.filter(|_| vouched) };
        let pair = Arc::make_mut(&mut it.pair);
        pair.existing = Existing::Present(Box::new(ObjectMeta {
            key: pair.destination.key.clone(),
            size: pair.meta.size,
            etag: ended.etag.clone().unwrap_or_default(),
            crc64,
            ..ObjectMeta::default()
        }));
        let (ended, reads_back) = (Box::new(ended), crc64.is_none());
        self.unproven = Some(Unproven { ended, reads_back, doubted: false });
        Then::Steps(vec![Step::Compare(None)])
    }

    /// Whether a copy is removed again that turns out to be none. Of a version that was there before nothing is left to be kept.
    pub(crate) fn retracts(&self) -> bool {
        self.unproven.as_ref().is_some_and(|unproven| !unproven.reads_back || unproven.doubted)
    }

    /// Whether both ends are read, whatever they state: the destination has stated nothing of what it was given.
    pub(in super::super) fn reads_back(&self) -> bool {
        self.unproven.as_ref().is_some_and(|unproven| unproven.reads_back)
    }

    /// The end of an object that was written, and what proves it.
    fn copied(&self, it: &Subject, put: PutResult, method: Method) -> Ended {
        let Pair { source, destination, meta, .. } = &*it.pair;
        let (from, to) = (source.store.capabilities(), destination.store.capabilities());
        // An MD5 of the whole is compared where the whole passes in order: in one request, or in a file.
        let in_order = method == Method::Whole || !to.keeps_checksums;
        let compared = ObjectMeta { md5: meta.md5.filter(|_| in_order), ..meta.clone() };
        let ends = verify::Ends {
            from_plain: !from.keeps_checksums,
            to_plain: !to.keeps_checksums,
            vouched: self.ranges_checked,
            confirmed: self.confirmed,
        };
        let proof = match self.copied_there {
            // A commit states of the whole what nobody knew of its parts.
            true => {
                let made = if method == Method::Whole {
                    (put.crc64, put.md5)
                } else {
                    (self.known.or(put.crc64), None)
                };
                verify::proof_by_service(meta, made, self.answered)
            }
            false => verify::proof(&compared, ends, self.mode),
        };
        Ended {
            by_service: self.copied_there,
            crc64: self.crc64.or(put.crc64),
            md5: self.md5,
            etag: (!put.etag.is_empty()).then_some(put.etag),
            not_kept: put.not_kept,
            reason: self.why,
            ..Ended::new(Outcome::Copied, method, proof)
        }
    }
}
