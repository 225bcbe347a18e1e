//! What a person needs to talk to the local endpoint, and what it did.

use haulage::units::ByteSize;
use haulage_emulator::EmulatorStats;

use super::{count, thousands};

/// Lines that a shell may evaluate as a whole: all but the export are comments.
pub fn emulator_lines(endpoint: &str, connection: &str, sas: &str, terms: &str) -> Vec<String> {
    let sas = sas.trim_start_matches('?');
    vec![
        format!("# serving {endpoint} ({terms}); Ctrl-C stops"),
        format!("export AZURE_STORAGE_CONNECTION_STRING='{connection}'"),
        "# in another terminal, after that line: haul mb az://demo && haul cp DIR az://demo/".to_owned(),
        format!("# or without it, for 24 h: haul ls '{endpoint}/demo?{sas}'"),
    ]
}

/// The last words: what was served, and what went wrong on purpose.
pub fn served_lines(stats: &EmulatorStats) -> Vec<String> {
    let requests = stats.requests.values().sum();
    let (received, sent) = (ByteSize::new(stats.bytes_in), ByteSize::new(stats.bytes_out));
    let mut lines = vec![format!(
        "served {} over {}: {received} in, {sent} out",
        count(requests, "request"),
        count(stats.connections, "connection")
    )];
    let operations = stats.requests.iter().map(|(name, number)| (*name, *number));
    lines.extend(counts("requests", operations));
    lines.extend(counts("faults injected", stats.faults.by_name()));
    lines
}

/// `faults injected: busy 3, cut 4`; `None` where all are zero.
fn counts<'a>(title: &str, numbers: impl IntoIterator<Item = (&'a str, u64)>) -> Option<String> {
    let numbers = numbers.into_iter().filter(|(_, number)| *number > 0);
    let texts: Vec<String> = numbers.map(|(name, number)| format!("{name} {}", thousands(number))).collect();
    (!texts.is_empty()).then(|| format!("{title}: {}", texts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_export_is_comment() {
        let lines = emulator_lines("http://127.0.0.1:10000/dev", "A=b;C=d==", "?sv=1&sig=x", "store memory");
        let code: Vec<_> = lines.iter().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(code, ["export AZURE_STORAGE_CONNECTION_STRING='A=b;C=d=='"]);
        assert!(lines[3].ends_with("haul ls 'http://127.0.0.1:10000/dev/demo?sv=1&sig=x'"));
    }

    #[test]
    fn the_last_words_count() {
        let mut stats = EmulatorStats { bytes_in: 3 << 30, connections: 8, ..EmulatorStats::default() };
        assert_eq!(served_lines(&stats), ["served 0 requests over 8 connections: 3 GiB in, 0 B out"]);
        stats.requests = [("PutBlock", 1200), ("ListBlobs", 1)].into();
        stats.faults.cut = 7;
        assert_eq!(
            served_lines(&stats),
            [
                "served 1,201 requests over 8 connections: 3 GiB in, 0 B out",
                "requests: ListBlobs 1, PutBlock 1,200",
                "faults injected: cut 7",
            ]
        );
    }
}
