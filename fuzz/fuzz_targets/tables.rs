//! Filters, entities, batches and paths as the table service reads them.
//! Input: a filter or a path in the first line, a PartitionKey and a RowKey in the second, then a body.

#![no_main]

use haulage_emulator::fuzz as emulator;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut lines = data.splitn(3, |byte| *byte == b'\n');
    let mut text = || String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    let (first, keys) = (text(), text());
    let body = lines.next().unwrap_or_default();
    let (partition, row) = keys.split_once(' ').unwrap_or((&keys, ""));
    // No stored key holds a control character.
    if !keys.contains(char::is_control)
        && let Some((matches, is_read)) = emulator::table_filter(&first, partition, row, body)
    {
        assert!(is_read || !matches, "{first:?} misses {keys:?}");
    }
    if let Some((entity, again)) = emulator::table_entity(body) {
        assert_eq!(entity, again);
    }
    emulator::table_entry(body);
    emulator::table_resource(&first);
    if let Some(written) = emulator::table_time(&first) {
        assert_eq!(emulator::table_time(&written), Some(written));
    }
    for kind in ["multipart/mixed; boundary=b", &first] {
        if let Some(requests) = emulator::table_batch(body, kind) {
            assert!(requests <= body.len());
        }
    }
});
