//! What every store promises of writes that were interrupted.

use std::sync::Arc;

use bytes::Bytes;
use haulage::checksum::{Checksum, Crc64};
use haulage::store::{
    Attributes, BlockId, BlockRange, BlockWriter, Kept, ListRequest, Part, Payload, PutOptions, StagedPart,
    Store, Trace,
};

use super::suite::{bytes, container, get, in_blocks, is_s3, put};

/// The source that most writes here are of.
const SOURCE: &str = "one";

/// Bytes in a block here: the same for all, and as few as the store allows.
fn block_len(store: &Arc<dyn Store>) -> u64 {
    let cut = store.capabilities().cut;
    cut.least.max(cut.granule).max(1 << 16)
}

fn block(store: &Arc<dyn Store>, number: u64) -> BlockRange {
    let len = block_len(store);
    BlockRange { offset: number * len, len }
}

/// Writes `blocks` blocks of an object, or goes on with them.
async fn begin(store: &Arc<dyn Store>, blocks: u64, source: &str) -> Arc<dyn BlockWriter> {
    begin_wanting(store, blocks, source, block_len(store)).await
}

/// The same, where blocks of another size are wanted.
async fn begin_wanting(
    store: &Arc<dyn Store>,
    blocks: u64,
    source: &str,
    wanted: u64,
) -> Arc<dyn BlockWriter> {
    let options = PutOptions { source_etag: Some(source.to_owned()), ..in_blocks(wanted as usize) };
    store.begin("half", Some(blocks * block_len(store)), &options, &Trace::detached()).await.unwrap()
}

async fn send(writer: &Arc<dyn BlockWriter>, data: &Bytes, range: BlockRange) -> Part {
    let bytes = of(data, range);
    let part = writer.put_block(range, Payload::Bytes(bytes), &Trace::detached()).await.unwrap().part;
    writer.keep(Kept { id: part.id, vouched: true }).await;
    part
}

fn of(data: &Bytes, range: BlockRange) -> Bytes {
    data.slice(range.offset as usize..range.end() as usize)
}

/// The blocks that a writer is told of, in order.
async fn staged(writer: &Arc<dyn BlockWriter>) -> Vec<StagedPart> {
    let mut found = writer.staged(&Trace::detached()).await.unwrap();
    found.sort_unstable_by_key(|part| part.range);
    found
}

/// A part that is told to be there, which holds this object's bytes.
fn known(data: &Bytes, staged: StagedPart) -> Part {
    let crc64 = Crc64::of(&of(data, staged.range));
    if let Some(Checksum::Crc64(stated)) = staged.checksum {
        assert_eq!(stated, crc64, "{:?}", staged.range);
    }
    Part { id: BlockId { range: staged.range, crc64 }, token: staged.token, unstated: false }
}

/// An object of three blocks of which a writer, now gone, has sent the first and the last.
async fn interrupted(store: &Arc<dyn Store>) -> (Bytes, Vec<Part>) {
    container(store).await;
    let data = bytes(3 * block_len(store) as usize);
    let writer = begin(store, 3, SOURCE).await;
    assert_eq!(staged(&writer).await, []);
    let mut sent = Vec::new();
    for number in [0, 2] {
        sent.push(send(&writer, &data, block(store, number)).await);
    }
    (data, sent)
}

pub(crate) async fn an_interrupted_write_is_gone_on_with(store: Arc<dyn Store>) -> &'static str {
    let (data, sent) = interrupted(&store).await;
    // Another run may want other sizes. Where all must be of one, it is that of the blocks that are there.
    let writer = begin_wanting(&store, 3, SOURCE, 2 * block_len(&store)).await;
    let mut found: Vec<Part> = staged(&writer).await.into_iter().map(|part| known(&data, part)).collect();
    let forgets = found.is_empty();
    if !forgets {
        assert_eq!(found, sent, "what is there, and nothing else");
        assert!(writer.block_len(0).is_none_or(|len| len == block_len(&store)));
    }
    for number in 0..3 {
        let range = block(&store, number);
        if !found.iter().any(|part| part.id.range == range) {
            found.push(send(&writer, &data, range).await);
        }
    }
    found.sort_unstable_by_key(|part| part.id.range);
    let attributes = Attributes { crc64: Some(Crc64::of(&data)), ..Attributes::default() };
    writer.commit(&found, &attributes, &Trace::detached()).await.unwrap();
    assert_eq!(get(&store, "half").await, data);
    assert_eq!(leftovers(&store).await, [""; 0]);
    if forgets { "begins anew" } else { "" }
}

pub(crate) async fn a_smaller_source_gets_no_block_beyond_its_end(store: Arc<dyn Store>) {
    let (data, _) = interrupted(&store).await;
    let writer = begin(&store, 1, "two").await;
    let end = block_len(&store);
    for part in staged(&writer).await {
        assert!(part.range.end() <= end, "{part:?} of an object of {end} bytes");
    }
    let part = send(&writer, &data, block(&store, 0)).await;
    writer.commit(&[part], &Attributes::default(), &Trace::detached()).await.unwrap();
    assert_eq!(get(&store, "half").await, data.slice(..end as usize));
}

pub(crate) async fn what_is_left_is_compared_again(store: Arc<dyn Store>) -> &'static str {
    let (data, sent) = interrupted(&store).await;
    let writer = begin(&store, 3, SOURCE).await;
    if staged(&writer).await.is_empty() {
        return "none is left";
    }
    assert_eq!(writer.recheck(block(&store, 1)).await.unwrap(), None, "it was never sent");
    let Some(kept) = writer.recheck(block(&store, 0)).await.unwrap() else {
        for part in sent {
            assert_eq!(writer.recheck(part.id.range).await.unwrap(), None, "of either all or none");
        }
        return "the service's word counts";
    };
    assert_eq!((kept.id, kept.vouched), (sent[0].id, true));
    // Other bytes in the same place, of which nobody says that they are right.
    let wrong = Bytes::from(vec![data[0] ^ 1; block_len(&store) as usize]);
    writer.put_block(block(&store, 2), Payload::Bytes(wrong), &Trace::detached()).await.unwrap();
    assert_eq!(writer.recheck(block(&store, 2)).await.unwrap(), None, "it is no longer what it was");
    assert!(writer.recheck(block(&store, 0)).await.unwrap().is_some());
    ""
}

/// The keys of what interrupted writes have left.
async fn leftovers(store: &Arc<dyn Store>) -> Vec<String> {
    let mut lister = store.list(ListRequest { leftovers: true, ..ListRequest::default() });
    let mut keys = Vec::new();
    while let Some(page) = lister.next_page(&Trace::detached()).await.unwrap() {
        keys.extend(page.objects.into_iter().map(|object| object.key));
    }
    keys
}

pub(crate) async fn leftovers_are_listed_and_removed(store: Arc<dyn Store>) -> &'static str {
    interrupted(&store).await;
    let whole = bytes(10);
    put(&store, "whole", &whole).await;
    let (trace, found) = (Trace::detached(), leftovers(&store).await);
    assert!(!found.contains(&"whole".to_owned()), "an object is no leftover");
    for key in &found {
        assert!(!is_s3(&store) || store.leftover_of(key) == "half", "{key}");
        assert!(store.remove_leftover(key, &trace).await.unwrap(), "{key}");
    }
    assert_eq!(leftovers(&store).await, [""; 0]);
    assert!(!store.remove_leftover("whole", &trace).await.unwrap(), "an object was taken for a leftover");
    assert_eq!(get(&store, "whole").await, whole);
    let again = is_s3(&store) && store.remove_leftover(&found[0], &trace).await.unwrap();
    assert_eq!(staged(&begin(&store, 3, SOURCE).await).await, [], "what was removed is gone");
    match found.is_empty() {
        true => "none is left",
        false if again => "what is gone too",
        false => "",
    }
}

pub(crate) async fn what_somebody_is_writing_stays(store: Arc<dyn Store>) -> &'static str {
    container(&store).await;
    let data = bytes(block_len(&store) as usize);
    let writer = begin(&store, 1, SOURCE).await;
    let part = send(&writer, &data, block(&store, 0)).await;
    for key in leftovers(&store).await {
        if store.remove_leftover(&key, &Trace::detached()).await.unwrap() {
            return "cannot be told";
        }
    }
    writer.commit(&[part], &Attributes::default(), &Trace::detached()).await.unwrap();
    assert_eq!(get(&store, "half").await, data);
    ""
}
