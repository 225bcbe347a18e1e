//! What a person needs to talk to the local endpoint, and what it did.

use haulage::units::{ByteRate, ByteSize};
use haulage_emulator::{EmulatorStats, S3Access, WayCounts};

use super::{count, thousands};

/// Lines that a shell may evaluate as a whole: all but the exports are comments.
pub fn emulator_lines(
    endpoint: &str,
    connection: &str,
    sas: &str,
    s3: &S3Access,
    terms: &str,
) -> Vec<String> {
    let sas = sas.trim_start_matches('?');
    let variables = s3_variables(s3).map(|(name, value)| format!("{name}='{value}'"));
    vec![
        format!("# serving {endpoint} ({terms}); Ctrl-C stops"),
        format!("export AZURE_STORAGE_CONNECTION_STRING='{connection}'"),
        "# in another terminal, after that line: haul mb az://demo && haul cp DIR az://demo/".to_owned(),
        format!("# or without it, for 24 h: haul ls '{endpoint}/demo?{sas}'"),
        "# the same containers as S3 buckets, for any S3 client:".to_owned(),
        format!("export {}", variables.join(" ")),
    ]
}

/// The variables in which S3 clients look for what they need.
pub fn s3_variables(s3: &S3Access) -> [(&'static str, &str); 5] {
    [
        ("AWS_ENDPOINT_URL", &s3.endpoint_url),
        ("AWS_ACCESS_KEY_ID", &s3.access_key_id),
        ("AWS_SECRET_ACCESS_KEY", &s3.secret_access_key),
        ("AWS_REGION", &s3.region),
        // Not all of them read the other.
        ("AWS_DEFAULT_REGION", &s3.region),
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

/// What became of the packets of a link, up and down, and what the bulk connections beside them got.
pub fn packet_lines(
    (up, down): (WayCounts, WayCounts),
    competing: (Option<ByteRate>, Option<ByteRate>),
) -> Vec<String> {
    let way = |name: &str, counts: WayCounts| {
        let WayCounts { carried, lost, dropped, .. } = counts;
        format!(
            "packets {name}: {} carried, {} lost, {} dropped from a full queue",
            thousands(carried),
            thousands(lost),
            thousands(dropped)
        )
    };
    let mut lines = vec![way("up", up), way("down", down)];
    for (name, rate) in [("up", competing.0), ("down", competing.1)] {
        lines.extend(rate.map(|rate| format!("the competing connection {name} got {rate}")));
    }
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
    fn all_but_the_exports_is_comment() {
        let s3 = S3Access {
            endpoint_url: "http://127.0.0.1:10000".to_owned(),
            access_key_id: "dev".to_owned(),
            secret_access_key: "D==".to_owned(),
            region: "us-east-1".to_owned(),
        };
        let lines =
            emulator_lines("http://127.0.0.1:10000/dev", "A=b;C=d==", "?sv=1&sig=x", &s3, "store memory");
        let code: Vec<_> = lines.iter().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            code,
            [
                "export AZURE_STORAGE_CONNECTION_STRING='A=b;C=d=='",
                "export AWS_ENDPOINT_URL='http://127.0.0.1:10000' AWS_ACCESS_KEY_ID='dev' \
                 AWS_SECRET_ACCESS_KEY='D==' AWS_REGION='us-east-1' AWS_DEFAULT_REGION='us-east-1'",
            ]
        );
        assert!(lines[3].ends_with("haul ls 'http://127.0.0.1:10000/dev/demo?sv=1&sig=x'"));
    }

    #[test]
    fn packets_are_counted_each_way() {
        let up = WayCounts { carried: 1200, carried_bytes: 1_800_000, lost: 3, dropped: 40 };
        assert_eq!(
            packet_lines((up, WayCounts::default()), (None, Some(ByteRate::bits_per_second(85_000_000)))),
            [
                "packets up: 1,200 carried, 3 lost, 40 dropped from a full queue",
                "packets down: 0 carried, 0 lost, 0 dropped from a full queue",
                "the competing connection down got 85 Mbit/s",
            ]
        );
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
