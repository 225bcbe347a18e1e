//! How far a job has come, in as many columns as there are.

use haulage::event::{Progress, SlowObject};
use haulage::units::{ByteRate, ByteSize};

use super::{duration_ns, printable, thousands};

/// Objects that take longer are named.
const SLOW_NS: u64 = 10_000_000_000;
const BAR_WIDTH: std::ops::RangeInclusive<usize> = 10..=30;
/// A job that would take more than a year stands still.
const ETA_MAX_NS: u64 = 365 * 86_400 * 1_000_000_000;
const GAP: &str = "  ";
/// The weight of the bar: the rate in MiB/s and the number of objects give way to it, in this order.
const OF_BAR: u8 = 4;

/// A piece of the line; the lowest weights are left out first where room is short.
struct Piece {
    weight: u8,
    text: String,
}

/// The line with the bar and, where something is slow, a second one; none wider than `width`.
pub fn bar_lines(progress: &Progress, width: usize) -> Vec<String> {
    let mut pieces = pieces(progress);
    let wanted = if fraction(progress).is_some() { BAR_WIDTH.start() + GAP.len() + 2 } else { 0 };
    while pieces.len() > 1 {
        let least = (0..pieces.len()).min_by_key(|&at| pieces[at].weight).unwrap_or(0);
        let bar = if pieces[least].weight < OF_BAR { wanted } else { 0 };
        if joined_width(&pieces) + bar <= width {
            break;
        }
        pieces.remove(least);
    }
    let room = width.saturating_sub(joined_width(&pieces) + GAP.len() + 2);
    if let Some(fraction) = fraction(progress).filter(|_| room >= *BAR_WIDTH.start()) {
        let text = bar(fraction, room.min(*BAR_WIDTH.end()));
        pieces.insert(1, Piece { weight: 0, text });
    }
    let mut lines = vec![fit(&join(&pieces, GAP), width)];
    lines.extend(slow_line(progress).map(|line| fit(&line, width)));
    lines
}

/// The same for a log: commas, no bar, no end of the line to mind.
pub fn plain_line(progress: &Progress) -> String {
    join(&pieces(progress), ", ")
}

/// Names what the job waits for: `waiting for a.nc (12 % after 14 s)`.
pub fn slow_line(progress: &Progress) -> Option<String> {
    let slow = progress.slowest.iter().find(|slow| slow.age_ns > SLOW_NS)?;
    let SlowObject { object, age_ns, bytes_done, size_bytes } = slow;
    let percent = bytes_done * 100 / (*size_bytes).max(1);
    Some(format!("waiting for {} ({percent} % after {})", printable(object), whole_seconds(*age_ns)))
}

/// A duration that nobody needs to know to the millisecond: `0 s`, `14 s`, `1 m 39 s`.
fn whole_seconds(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    if seconds < 60 { format!("{seconds} s") } else { duration_ns(ns) }
}

fn pieces(progress: &Progress) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut add = |weight, text| pieces.push(Piece { weight, text });
    let done = ByteSize::new(progress.bytes_done);
    let total = ByteSize::new(progress.bytes_total);
    if progress.flushing {
        add(10, "writing to disk…".to_owned());
    }
    let plus = if progress.listed { "" } else { "+" };
    match fraction(progress) {
        Some(fraction) => add(9, format!("{:3.0} %", (fraction * 100.0).floor())),
        None if progress.objects_total == 0 && progress.retries > 0 => {
            add(9, "no answer yet, trying again…".to_owned());
        }
        None => add(9, "listing…".to_owned()),
    }
    add(8, format!("{done} of {total}{plus}"));
    let rate = ByteRate::bits_per_second(progress.rate_bits_per_second);
    add(7, rate.to_string());
    add(1, format!("{:.1} MiB/s", rate.bytes_per_second() / f64::from(1 << 20)));
    if let Some(eta) = progress.eta_ns.filter(|eta| progress.listed && *eta < ETA_MAX_NS) {
        // Rounded up: nothing is left only at the end.
        add(6, format!("ETA {}", whole_seconds(eta + 999_999_999)));
    }
    // What failed has ended, but nobody calls it done.
    let objects_done = progress.objects_done.saturating_sub(progress.objects_failed);
    add(3, format!("{}/{}{plus} objects", thousands(objects_done), thousands(progress.objects_total)));
    if progress.retries > 0 {
        add(5, format!("retries {}", thousands(progress.retries)));
    }
    if progress.objects_failed > 0 {
        add(6, format!("failed {}", thousands(progress.objects_failed)));
    }
    pieces
}

/// The part that is done; `None` while the whole is not known.
fn fraction(progress: &Progress) -> Option<f64> {
    if !progress.listed {
        return None;
    }
    // Objects decide where there are no bytes: empty files, or a re-run that skips all.
    let (done, total) = match progress.bytes_total {
        0 => (progress.objects_done, progress.objects_total),
        bytes => (progress.bytes_done, bytes),
    };
    Some(if total == 0 { 1.0 } else { (done as f64 / total as f64).min(1.0) })
}

fn bar(fraction: f64, width: usize) -> String {
    let filled = (fraction * width as f64) as usize;
    let head = if filled < width { ">" } else { "" };
    format!("[{}{head}{}]", "=".repeat(filled), " ".repeat(width - filled - head.len()))
}

fn join(pieces: &[Piece], gap: &str) -> String {
    let texts: Vec<&str> = pieces.iter().map(|piece| piece.text.as_str().trim_start()).collect();
    texts.join(gap)
}

fn joined_width(pieces: &[Piece]) -> usize {
    console::measure_text_width(&join(pieces, GAP))
}

fn fit(line: &str, width: usize) -> String {
    console::truncate_str(line, width, "…").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn sample() -> Progress {
        Progress {
            listed: true,
            objects_total: 144,
            objects_done: 49,
            bytes_total: 58 << 30,
            bytes_done: 29 << 30,
            rate_bits_per_second: 2_500_000_000,
            eta_ns: Some(98_700_000_000),
            ..Progress::default()
        }
    }

    #[test]
    fn a_wide_terminal_shows_all_of_it() {
        assert_eq!(
            bar_lines(&sample(), 120),
            [
                "50 %  [===============>              ]  29 GiB of 58 GiB  2.5 Gbit/s  298.0 MiB/s  ETA 1 m 39 s  49/144 objects"
            ]
        );
    }

    #[test]
    fn a_narrow_one_shows_what_matters_most() {
        let retried = Progress { retries: 7, ..sample() };
        assert_eq!(
            bar_lines(&retried, 80),
            ["50 %  [========>        ]  29 GiB of 58 GiB  2.5 Gbit/s  ETA 1 m 39 s  retries 7"]
        );
        assert_eq!(bar_lines(&sample(), 60), ["50 %  29 GiB of 58 GiB  2.5 Gbit/s  ETA 1 m 39 s"]);
        assert_eq!(bar_lines(&sample(), 24), ["50 %  29 GiB of 58 GiB"]);
        for width in 1..160 {
            let progress = Progress { retries: 7, objects_failed: 2, ..sample() };
            for line in bar_lines(&progress, width) {
                assert!(console::measure_text_width(&line) <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn while_names_are_listed_no_share_is_claimed() {
        let progress = Progress { listed: false, retries: 3, objects_failed: 1, ..sample() };
        assert_eq!(
            plain_line(&progress),
            "listing…, 29 GiB of 58 GiB+, 2.5 Gbit/s, 298.0 MiB/s, 48/144+ objects, retries 3, failed 1"
        );
    }

    #[test]
    fn a_service_that_does_not_answer_is_no_long_list() {
        let silent = Progress { retries: 3, ..Progress::default() };
        assert!(plain_line(&silent).starts_with("no answer yet, trying again…"));
        assert!(plain_line(&Progress::default()).starts_with("listing…"));
    }

    #[test]
    fn only_what_has_been_long_in_flight_is_called_slow() {
        let slow = |seconds: u64| SlowObject {
            object: Arc::from("tas.nc"),
            age_ns: seconds * 1_000_000_000,
            bytes_done: 12,
            size_bytes: 100,
        };
        let progress = Progress { slowest: vec![slow(14)], ..sample() };
        assert_eq!(bar_lines(&progress, 100)[1], "waiting for tas.nc (12 % after 14 s)");
        assert_eq!(slow_line(&Progress { slowest: vec![slow(9)], ..sample() }), None);
    }

    #[test]
    fn nothing_but_empty_objects_still_comes_to_an_end() {
        let progress = Progress { listed: true, objects_total: 4, objects_done: 4, ..Progress::default() };
        assert!(plain_line(&progress).starts_with("100 %, 0 B of 0 B"));
        assert!(plain_line(&Progress { listed: true, ..Progress::default() }).starts_with("100 %"));
    }
}
