//! Receipts of somebody else, or spoiled.

#![no_main]

use std::path::Path;

use haulage::fuzz::{local, receipt};
use haulage::receipt::{ReceiptEnd, ReceiptLine};
use libfuzzer_sys::fuzz_target;

const HEAD: &str = r#"{"line":"receipt","haulage":"receipt 1","version":"0","sources":[],"destination":"d","started_unix_ns":0}"#;

fuzz_target!(|data: &[u8]| {
    let _ = receipt(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    // Lines of objects with the right end, so that what is behind it is reached.
    let objects: Vec<_> = text
        .lines()
        .filter_map(|line| match serde_json::from_str(line) {
            Ok(ReceiptLine::Object(object)) => Some(object),
            _ => None,
        })
        .collect();
    let sum = objects.iter().try_fold(0_u64, |sum, object| sum.checked_add(object.size_bytes));
    let end = ReceiptEnd { objects: objects.len() as u64, bytes: sum.unwrap_or_default(), failed: 0 };
    let mut whole = HEAD.to_owned() + "\n";
    for line in objects.iter().cloned().map(ReceiptLine::Object).chain([ReceiptLine::End(end)]) {
        whole += &(serde_json::to_string(&line).expect("text and numbers") + "\n");
    }
    let read = receipt(whole.as_bytes());
    assert_eq!(read.is_ok(), sum.is_some(), "{whole}");
    let Ok(read) = read else { return };
    assert!(read.is_sorted_by(|one, next| one.name < next.name));
    for object in &read {
        let last = objects.iter().rfind(|other| other.name == object.name);
        assert_eq!(last, Some(object));
        if local::is_name(&object.name) {
            assert!(Path::new("/root").join(&object.name).starts_with("/root"));
        }
    }
    // One line less is noticed.
    if !objects.is_empty() {
        let shorter: Vec<&str> =
            whole.lines().enumerate().filter(|(at, _)| *at != 1).map(|(_, line)| line).collect();
        assert!(receipt(shorter.join("\n").as_bytes()).is_err());
    }
});
