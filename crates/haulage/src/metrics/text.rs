//! Prometheus's text format, version 0.0.4.

use std::fmt::{Display, Write as _};

use super::{Labels, Look};

/// The whole answer.
pub(super) fn written(labels: &Labels, look: &Look) -> String {
    let mut text = Text { labels: common(labels), out: String::with_capacity(4096) };
    let progress = &look.progress;
    let copied = progress.objects_done
        - (progress.objects_skipped + progress.objects_failed).min(progress.objects_done);
    text.family("haulage_bytes_total", "counter", "Payload that arrived, in bytes.");
    text.value("haulage_bytes_total", &[], progress.bytes_done);
    text.family("haulage_wire_bytes_total", "counter", "Bytes on the wire, both directions.");
    text.value("haulage_wire_bytes_total", &[], look.bytes_wire);
    text.family("haulage_objects_total", "counter", "Objects that reached their end, by outcome.");
    for (outcome, count) in
        [("done", copied), ("skipped", progress.objects_skipped), ("failed", progress.objects_failed)]
    {
        text.value("haulage_objects_total", &[("outcome", outcome)], count);
    }
    text.family("haulage_requests_total", "counter", "Requests sent to services, and steps on this machine.");
    text.value("haulage_requests_total", &[], look.requests);
    text.family("haulage_retries_total", "counter", "Attempts that failed and were sent again.");
    text.value("haulage_retries_total", &[], progress.retries);
    text.family("haulage_errors_total", "counter", "Attempts that failed, by kind.");
    for (kind, count) in &look.errors {
        text.value("haulage_errors_total", &[("kind", kind.code())], count);
    }
    text.family("haulage_in_flight", "gauge", "Requests in flight.");
    text.value("haulage_in_flight", &[], progress.in_flight);
    text.family("haulage_rate_bits_per_second", "gauge", "On the wire over the last seconds.");
    text.value("haulage_rate_bits_per_second", &[], progress.rate_bits_per_second);
    text.family("haulage_found_objects", "gauge", "Objects found so far.");
    text.value("haulage_found_objects", &[], progress.objects_total);
    text.family("haulage_found_bytes", "gauge", "Bytes of the objects found so far, without skipped ones.");
    text.value("haulage_found_bytes", &[], progress.bytes_total);
    text.family("haulage_elapsed_seconds", "gauge", "Time since the job began.");
    text.value("haulage_elapsed_seconds", &[], progress.elapsed_ns as f64 / 1e9);
    if let Some(eta) = progress.eta_ns {
        text.family("haulage_eta_seconds", "gauge", "Time left at the current rate.");
        text.value("haulage_eta_seconds", &[], eta as f64 / 1e9);
    }
    text.out
}

struct Text {
    /// Those of every line, written out.
    labels: String,
    out: String,
}

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // A String takes whatever is written to it.
        let _ = write!(self.out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn value(&mut self, name: &str, more: &[(&str, &str)], value: impl Display) {
        let _ = write!(self.out, "{name}{{{}", self.labels);
        for (label, said) in more {
            let _ = write!(self.out, ",{label}=\"{}\"", escaped(said));
        }
        let _ = writeln!(self.out, "}} {value}");
    }
}

fn common(labels: &Labels) -> String {
    let Labels { job, node, direction } = labels;
    format!("job=\"{}\",node=\"{}\",direction=\"{direction}\"", escaped(job), escaped(node))
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::event::Progress;

    #[test]
    fn each_value_has_the_labels_and_none_is_an_objects_name() {
        let labels = Labels { job: "ab".into(), node: "a\"b\\c\n".into(), direction: "down" };
        let progress =
            Progress { objects_done: 5, objects_failed: 1, objects_skipped: 1, ..Progress::default() };
        let look = Look { progress, errors: vec![(ErrorKind::Busy, 3)], ..Look::default() };
        let text = written(&labels, &look);
        let common = r#"job="ab",node="a\"b\\c\n",direction="down""#;
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            assert!(line.contains(common), "{line}");
        }
        assert!(text.contains(&format!("haulage_objects_total{{{common},outcome=\"done\"}} 3\n")), "{text}");
        assert!(text.contains(&format!("haulage_errors_total{{{common},kind=\"busy\"}} 3\n")));
        assert!(!text.contains("eta"));
    }
}
