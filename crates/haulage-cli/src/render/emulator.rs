//! What a person needs to talk to the local endpoint, and what it did.

use haulage::units::ByteSize;
use serde::Serialize;

use super::count;

/// What the endpoint did until it was stopped.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Served {
    event: &'static str,
    requests: u64,
    received_bytes: u64,
    sent_bytes: u64,
    faults: u64,
}

impl Served {
    /// Requests answered, payload either way, faults injected.
    pub fn new(requests: u64, received_bytes: u64, sent_bytes: u64, faults: u64) -> Self {
        Self { event: "served", requests, received_bytes, sent_bytes, faults }
    }
}

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

/// The last word.
pub fn served_line(served: &Served) -> String {
    let Served { requests, received_bytes, sent_bytes, faults, .. } = *served;
    format!(
        "served {}: {} in, {} out; {} injected",
        count(requests, "request"),
        ByteSize::new(received_bytes),
        ByteSize::new(sent_bytes),
        count(faults, "fault")
    )
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
    fn the_last_word_counts() {
        assert_eq!(
            served_line(&Served::new(1201, 3 << 30, 0, 7)),
            "served 1,201 requests: 3 GiB in, 0 B out; 7 faults injected"
        );
    }
}
