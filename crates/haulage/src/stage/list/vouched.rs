//! What the receipt of the last run vouches for.

use std::path::Path;

use crate::checksum::{Crc64, Md5};
use crate::error::Result;
use crate::receipt::{self, ReceiptObject};
use crate::stage::plan::{Existing, Pair};
use crate::store::ObjectMeta;

/// Objects of a receipt, by name.
#[derive(Default)]
pub(super) struct Vouched(Vec<ReceiptObject>);

impl Vouched {
    /// Reads the receipt at `path`; before the first run there is none.
    pub(super) fn read(path: &Path) -> Result<Self> {
        Ok(Self(if receipt::is_receipt(path) { receipt::read(path)?.objects } else { Vec::new() }))
    }

    /// Notes that a pair is the same where both of its ends are still the versions of the receipt.
    pub(super) fn apply(&self, pair: &mut Pair) {
        let Ok(at) = self.0.binary_search_by(|object| object.name.as_str().cmp(pair.relative_name())) else {
            return;
        };
        let (object, Some(there)) = (&self.0[at], pair.existing.there()) else { return };
        let is = |version: &Option<String>, etag: &str| !etag.is_empty() && version.as_deref() == Some(etag);
        let same = (object.size_bytes, object.size_bytes) == (pair.meta.size, there.size)
            && !(pair.meta.weak || there.weak)
            && is(&object.source_etag, &pair.meta.etag)
            && is(&object.etag, &there.etag)
            && *object.source == *pair.source.name()
            && *object.destination == *pair.destination.name();
        if !same {
            return;
        }
        // The next receipt knows them from this one.
        let told = ObjectMeta {
            crc64: there.crc64.or(object.crc64.as_deref().and_then(Crc64::from_hex)),
            md5: there.md5.or(object.md5.as_deref().and_then(Md5::from_hex)),
            ..there.clone()
        };
        pair.existing = Existing::Listed(Box::new(told));
        pair.same = Some(true);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::event::{Outcome, Proof};
    use crate::stage::plan::Place;
    use crate::store::{MemoryStore, Store};

    #[test]
    fn only_both_versions_of_the_receipt_are_known_to_be_the_same() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::named("x"));
        let place = |key: &str| Place { store: store.clone(), key: key.to_owned() };
        let pair = |ours: &str, theirs: &str, size: u64| {
            let meta = |etag: &str| ObjectMeta { size, etag: etag.to_owned(), ..ObjectMeta::default() };
            let there = Existing::Listed(Box::new(meta(theirs)));
            Pair::new(place("from/a"), place("to/a"), 3, meta(ours), there)
        };
        let object = ReceiptObject {
            name: "a".to_owned(),
            source: store.name("from/a"),
            destination: store.name("to/a"),
            size_bytes: 5,
            crc64: Some(Crc64::from_u64(7).to_string()),
            md5: None,
            etag: Some("there".to_owned()),
            outcome: Outcome::Copied,
            proof: Proof::Crc64,
            ended_unix_ns: 0,
            source_etag: Some("ours".to_owned()),
        };
        let vouched = Vouched(vec![object.clone()]);
        let same = |vouched: &Vouched, mut pair: Pair| {
            vouched.apply(&mut pair);
            (pair.same, pair.existing.there().and_then(|there| there.crc64))
        };
        assert_eq!(same(&vouched, pair("ours", "there", 5)), (Some(true), Some(Crc64::from_u64(7))));
        for other in [pair("new", "there", 5), pair("ours", "new", 5), pair("ours", "there", 6)] {
            assert_eq!(same(&vouched, other), (None, None));
        }
        let old = Vouched(vec![ReceiptObject { source_etag: None, ..object }]);
        assert_eq!(same(&old, pair("ours", "there", 5)), (None, None));
    }
}
