//! What a copy would do, as a table.

use haulage::Error;
use haulage::job::PlanReport;
use haulage::units::{ByteRate, ByteSize};

use super::{count, duration_ns, printable, thousands};

/// Problems that are named; the rest are counted.
const PROBLEMS_SHOWN: usize = 10;

/// The table, one row a line, and below it the names that cannot be moved.
pub fn plan_lines(report: &PlanReport) -> Vec<String> {
    let mut lines = Vec::new();
    let mut row = |name: &str, value: String| lines.push(format!("{name:14}{value}"));
    let skipped = match report.objects_skipped {
        0 => String::new(),
        skipped => format!(", {} there already", thousands(skipped)),
    };
    row("objects", format!("{}{skipped}", thousands(report.objects)));
    row("bytes", ByteSize::new(report.bytes).to_string());
    row("requests", format!("{}, not counting retries", thousands(report.requests)));
    row("methods", methods(report));
    if let Some((smallest, largest)) = report.block_size {
        row("block size", sizes(smallest, largest));
    }
    // What a copy makes of it depends on the link.
    row("concurrency", format!("{} to begin with", count(u64::from(report.concurrency), "request")));
    if let Some(round_trip) = report.round_trip_ns {
        row("round trip", round_trip_text(round_trip));
    }
    for (place, (bits, ns)) in report.estimates.iter().enumerate() {
        let name = if place == 0 { "time" } else { "" };
        row(name, format!("{:>9}  at {}", duration_ns(*ns), ByteRate::bits_per_second(*bits)));
    }
    let shown = report.problems.iter().take(PROBLEMS_SHOWN);
    lines.extend(shown.map(|failure| format!("problem: {}", printable(&Error::from(failure).to_string()))));
    if report.problems.len() > PROBLEMS_SHOWN {
        lines.push(format!("and {} more (--json lists all)", report.problems.len() - PROBLEMS_SHOWN));
    }
    lines
}

fn methods(report: &PlanReport) -> String {
    let by_service = match report.by_service {
        0 => String::new(),
        all if all == report.whole + report.blocks => "; copied by the service".to_owned(),
        some => format!("; {} copied by the service", thousands(some)),
    };
    ways(report) + &by_service
}

fn ways(report: &PlanReport) -> String {
    match (report.whole, report.blocks) {
        (0, 0) => "nothing to move".to_owned(),
        (whole, 0) => format!("{} whole", thousands(whole)),
        (0, blocks) => format!("{} in blocks", thousands(blocks)),
        (whole, blocks) => format!("{} whole, {} in blocks", thousands(whole), thousands(blocks)),
    }
}

fn sizes(smallest: u64, largest: u64) -> String {
    let (smallest, largest) = (ByteSize::new(smallest), ByteSize::new(largest));
    if smallest == largest { smallest.to_string() } else { format!("{smallest} to {largest}") }
}

/// Round trips within a machine take microseconds.
fn round_trip_text(ns: u64) -> String {
    if ns < 10_000_000 { format!("{:.2} ms", ns as f64 / 1e6) } else { duration_ns(ns) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haulage::ErrorKind;
    use haulage::event::Failure;

    #[test]
    fn the_table_reads_from_what_to_how_long() {
        let problem = Error::new(ErrorKind::Unsupported, "plan", "a\tb", "the name holds a tab");
        let report = PlanReport {
            objects: 144,
            objects_skipped: 12,
            bytes: 58 << 30,
            requests: 7_400,
            whole: 40,
            blocks: 92,
            by_service: 7,
            bytes_by_service: 1 << 30,
            block_size: Some((4 << 20, 8 << 20)),
            concurrency: 32,
            round_trip_ns: Some(620_000),
            problems: vec![Failure::from(&problem)],
            estimates: vec![(100_000_000, 4_982_000_000_000), (1_000_000_000, 498_200_000_000)],
        };
        assert_eq!(
            plan_lines(&report),
            [
                "objects       144, 12 there already",
                "bytes         58 GiB",
                "requests      7,400, not counting retries",
                "methods       40 whole, 92 in blocks; 7 copied by the service",
                "block size    4 MiB to 8 MiB",
                "concurrency   32 requests to begin with",
                "round trip    0.62 ms",
                "time           1 h 23 m  at 100 Mbit/s",
                "               8 m 18 s  at 1 Gbit/s",
                "problem: plan a\\tb: the name holds a tab (hint: haul --help shows examples)",
            ]
        );
    }
}
