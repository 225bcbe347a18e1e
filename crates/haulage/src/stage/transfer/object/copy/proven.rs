//! What proves that an object was copied; a move needs it before its source is deleted.

use std::sync::Arc;

use super::super::{Capabilities, Ended, Subject, Then};
use super::Copying;
use crate::error::{Error, ErrorKind};
use crate::event::{Method, Outcome, Proof};
use crate::options::Compare;
use crate::stage::plan::{Existing, Pair};
use crate::stage::schedule::Step;
use crate::stage::verify;
use crate::store::{ObjectMeta, PutResult};

impl Copying {
    /// The source will be deleted, so that its copy must be proven.
    pub(crate) fn for_a_move(&mut self) {
        self.moves = true;
        self.rule.compare = Compare::Checksum;
    }

    /// What was compared turned out so.
    pub(super) fn compared(
        &mut self,
        it: &mut Subject,
        bounds: (Capabilities, Capabilities),
        same: bool,
    ) -> Then {
        match self.unproven.take() {
            Some(ended) if same => Then::End(Ended { proof: Proof::Crc64, ..*ended }),
            Some(_) => {
                let cause = "the source, read once more, is not what was copied";
                let error = Error::new(ErrorKind::Integrity, "move", &*it.pair.source.name(), cause);
                Then::End(Ended::failed(error.hint("nothing was deleted; run the same command again")))
            }
            None => {
                Arc::make_mut(&mut it.pair).same = Some(same);
                self.start(it, bounds)
            }
        }
    }

    /// The end of an object that was written; where it will be deleted at the source, not before something proves the copy.
    pub(super) fn written(&mut self, it: &mut Subject, put: PutResult, method: Method) -> Then {
        let ended = self.copied(it, put, method);
        if !self.moves || ended.proof != Proof::Length || it.size() == 0 {
            return Then::End(ended);
        }
        let pair = Arc::make_mut(&mut it.pair);
        pair.existing = Existing::Present(Box::new(ObjectMeta {
            key: pair.destination.key.clone(),
            size: pair.meta.size,
            etag: ended.etag.clone().unwrap_or_default(),
            crc64: ended.crc64,
            ..ObjectMeta::default()
        }));
        self.unproven = Some(Box::new(ended));
        Then::Steps(vec![Step::Compare(None)])
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
