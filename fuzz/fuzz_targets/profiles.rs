//! Profiles: TOML that somebody wrote.

#![no_main]

use haulage::fuzz::profile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(profile) = profile(text) {
        // A search cannot begin at nothing.
        let mut again = String::new();
        for (table, values) in [("", &profile.both), ("[up]\n", &profile.up), ("[down]\n", &profile.down)] {
            assert!(values.concurrency != Some(0));
            assert!([values.block_size, values.single_put_max].into_iter().flatten().all(|size| size.bytes() > 0));
            // What it says can be said again, and is then the same.
            again += table;
            if let Some(number) = values.concurrency {
                again += &format!("concurrency = {number}\n");
            }
            for (name, size) in [("block_size", values.block_size), ("single_put_max", values.single_put_max)] {
                if let Some(size) = size {
                    again += &format!("{name} = \"{}B\"\n", size.bytes());
                }
            }
        }
        assert_eq!(haulage::fuzz::profile(&again).expect("what was understood"), profile);
    }
});
