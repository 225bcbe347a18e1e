//! A part of an interrupted upload that may be the last one of few, or one of many.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use haulage::checksum::Crc64;
use haulage::store::{
    AccessKeys, BlockRange, BlockSizes, PutOptions, SourceBytes, StoreOpener, StoreOptions, Trace,
};
use haulage_emulator::EmulatorConfig;

const MIB: u64 = 1 << 20;

/// A source in memory.
#[derive(Debug)]
struct Source(Bytes);

impl Source {
    fn slice(&self, range: BlockRange) -> Bytes {
        self.0.slice(range.offset as usize..range.end() as usize)
    }
}

#[async_trait]
impl SourceBytes for Source {
    async fn crc64_of(&self, range: BlockRange) -> haulage::error::Result<Crc64> {
        Ok(Crc64::of(&self.slice(range)))
    }
}

fn in_parts(mib: u64, source: Option<&Arc<Source>>) -> PutOptions {
    let blocks = BlockSizes { wanted: mib * MIB, ..BlockSizes::default() };
    let source = source.map(|source| Arc::clone(source) as Arc<dyn SourceBytes>);
    PutOptions { blocks, source, ..PutOptions::default() }
}

#[tokio::test]
async fn a_lone_part_that_may_be_the_last_is_told_by_what_it_holds() {
    let emulator = haulage_emulator::start(EmulatorConfig::default()).await.unwrap();
    let access = emulator.s3();
    let keys = AccessKeys { id: access.access_key_id, secret: access.secret_access_key, token: None };
    let options =
        StoreOptions { endpoint: Some(access.endpoint_url), keys: Some(keys), ..StoreOptions::default() };
    let store = StoreOpener::new(options).unwrap().open("s3://bucket").unwrap().store;
    let trace = Trace::detached();
    store.create_container(&trace).await.unwrap();
    let data: Bytes = std::iter::repeat_with(|| fastrand::u8(..)).take(24 << 20).collect();
    let source = Arc::new(Source(data));
    // Of 24 MiB the second part has 9 MiB where all have, and where the first has 15.
    for (key, part, offset) in [("few", 15, 15 * MIB), ("many", 9, 9 * MIB)] {
        let range = BlockRange { offset, len: 9 * MIB };
        let first = store.begin(key, Some(24 * MIB), &in_parts(part, None), &trace).await.unwrap();
        let stored = first.put_block(range, source.slice(range).into(), &trace).await.unwrap();
        let later = store.begin(key, Some(24 * MIB), &in_parts(5, Some(&source)), &trace).await.unwrap();
        let staged = later.staged(&trace).await.unwrap();
        assert_eq!((staged[0].range, &staged[0].token), (range, &stored.part.token), "{key}");
        assert_eq!(later.block_len(0), Some(part * MIB), "{key}");
        // Where nobody can ask the source, what is sent again is found to be another.
        let blind = store.begin(key, Some(24 * MIB), &in_parts(5, None), &trace).await.unwrap();
        assert_eq!(blind.block_len(0), Some(9 * MIB), "{key}");
    }
}
