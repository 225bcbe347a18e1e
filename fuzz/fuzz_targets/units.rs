//! Sizes, rates, durations, links and faults: what is printed reads back as itself.

#![no_main]

use haulage::units::{ByteRate, ByteSize, format_duration, parse_duration};
use haulage_emulator::{FaultSpec, LinkSpec, fuzz as emulator};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (size, rate) = (text.parse::<ByteSize>(), text.parse::<ByteRate>());
    if let Ok(size) = size {
        // Rounded to a tenth of a unit above one.
        if let Ok(again) = size.to_string().parse::<ByteSize>() {
            assert!(
                again.bytes().abs_diff(size.bytes()) <= size.bytes() / 10,
                "{text:?}: {size} became {again}"
            );
        }
        let _ = ByteRate::bits_per_second(1).time_for(size);
    }
    if let Ok(rate) = rate {
        let again: ByteRate = rate.to_string().parse().expect("a rate that we print");
        assert!(again.bits().abs_diff(rate.bits()) <= rate.bits() / 10, "{text:?}: {rate} became {again}");
        let _ = rate.time_for(ByteSize::new(u64::MAX));
    }
    if let Ok(duration) = parse_duration(text) {
        let _ = format_duration(duration);
    }
    if let Ok(link) = text.parse::<LinkSpec>() {
        assert_eq!(link.to_string().parse::<LinkSpec>().expect("a link that we print"), link, "{link}");
        for change in link.changes.iter().map(|change| change.after) {
            let (rtt, connection, total) = emulator::conditions(&link, change);
            assert!(rtt.is_finite() && [connection, total].iter().flatten().all(|rate| *rate >= 1.0));
        }
    }
    if let Ok(faults) = text.parse::<FaultSpec>() {
        let again: FaultSpec = faults.to_string().parse().expect("faults that we print");
        assert!(again == faults || faults.is_none() && again.is_none(), "{faults}");
        let FaultSpec { busy, cut, stall, flip, lost, truncate, short, checksum, .. } = faults;
        assert!([busy, cut, stall, flip, lost, truncate, short, checksum].iter().sum::<f64>() <= 100.001);
    }
});
