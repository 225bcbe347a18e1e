//! The last words on a job.

use haulage::checksum::ChecksumMode;
use haulage::event::Summary;
use haulage::units::{ByteRate, ByteSize};

use super::{count, duration_ns, printable, thousands};

/// What was done, what was not, and what the controller chose.
pub fn summary_lines(summary: &Summary, checksum: ChecksumMode) -> Vec<String> {
    let verify = summary.operation == "verify";
    let mut lines = vec![match summary.operation {
        "verify" => verified(summary),
        _ if summary.dry_run => planned(summary),
        _ => copied(summary, checksum),
    }];
    let mut add = |number: u64, line: String| {
        if number > 0 {
            lines.push(line);
        }
    };
    if verify || summary.objects_done + summary.objects_failed > 0 {
        add(summary.objects_skipped, format!("skipped: {}", skipped(summary)));
    }
    let how = if verify { " could not be compared" } else { "" };
    let remedy = "(hint: check which side is right before you copy again)";
    add(summary.objects_differ, format!("differ: {} {remedy}", count(summary.objects_differ, "object")));
    add(
        summary.objects_missing,
        format!("missing: {} (hint: haul cp copies them)", count(summary.objects_missing, "object")),
    );
    add(summary.objects_failed, format!("failed: {}{how}", count(summary.objects_failed, "object")));
    add(
        summary.objects_extra,
        format!("extra: {} only at the destination", count(summary.objects_extra, "object")),
    );
    if !summary.dry_run {
        let backed_up = summary.objects_backed_up;
        add(backed_up, format!("backed up: {}", count(backed_up, "object")));
        add(summary.objects_deleted, format!("deleted: {}", count(summary.objects_deleted, "object")));
    }
    let there = ByteSize::new(summary.bytes_by_service);
    add(
        summary.objects_by_service,
        format!("by the service: {}, {there}", count(summary.objects_by_service, "object")),
    );
    let resumed = ByteSize::new(summary.bytes_resumed);
    add(summary.bytes_resumed, format!("resumed: {resumed} were there from an interrupted run"));
    add(summary.retries, retried(summary));
    let twice = ByteSize::new(summary.bytes_duplicated);
    let requests = count(summary.duplicates, "request");
    add(summary.duplicates, format!("duplicated: {requests} that lagged ({twice} sent twice)"));
    add(
        summary.objects_unproven,
        format!(
            "unproven: {} with no checksum to compare with; lengths were compared",
            count(summary.objects_unproven, "object")
        ),
    );
    let sent = summary.proofs.sent;
    add(
        sent,
        format!(
            "unconfirmed: {} that the destination took without stating a checksum",
            count(sent, "object")
        ),
    );
    add(
        summary.events_dropped,
        format!("dropped: {} of progress; outcomes are complete", count(summary.events_dropped, "sample")),
    );
    lines
}

/// What the controller chose: for who asks for more, since one copy says little of a link.
pub fn chosen_line(summary: &Summary) -> Option<String> {
    let moved = summary.objects_done > 0 && !summary.dry_run && summary.operation != "verify";
    (moved && !summary.chosen.is_empty()).then(|| format!("chosen: {}", summary.chosen))
}

/// Things to know that are not errors; one line each.
pub fn warning_lines(summary: &Summary) -> Vec<String> {
    summary.warnings.iter().map(|warning| format!("warning: {}", printable(warning))).collect()
}

/// What to say after Ctrl-C; `resumes` says that the next run continues from what this one leaves.
pub fn interrupted_line(objects_done: u64, resumes: bool) -> String {
    let kept = if resumes { "what has arrived is kept; " } else { "" };
    format!("interrupted: {} done; {kept}{}", count(objects_done, "object"), next_run(resumes))
}

/// What to say when the time that the user gave is over.
pub fn out_of_time_line(objects_done: u64, resumes: bool) -> String {
    format!("stopped by --max-duration: {} done; {}", count(objects_done, "object"), next_run(resumes))
}

fn next_run(resumes: bool) -> &'static str {
    if resumes { "run the same command again to resume" } else { "the same command starts over" }
}

fn copied(summary: &Summary, checksum: ChecksumMode) -> String {
    let Summary { objects_done, objects_skipped, objects_failed, objects_unproven, proofs, .. } = *summary;
    match (objects_done, objects_skipped, objects_failed) {
        (0, 0, 0) => "nothing to copy: no objects found".to_owned(),
        (0, _, 0) => format!("nothing to copy: {}", skipped(summary)),
        (0, ..) => "copied nothing".to_owned(),
        _ => {
            let objects = match (objects_failed, summary.operation) {
                // What fails of a move may also be the deletion of an object that was copied.
                (0, _) | (_, "move") => count(objects_done, "object"),
                (failed, _) => {
                    format!("{} of {}", thousands(objects_done), count(objects_done + failed, "object"))
                }
            };
            let proof = match (objects_unproven + proofs.sent + proofs.service, checksum) {
                (_, ChecksumMode::None) => "; no checksum on the wire, as asked",
                (1.., _) => "",
                (0, ChecksumMode::Md5) => "; every byte checked by MD5 and CRC64",
                (0, ChecksumMode::Crc64) => "; every byte checked by CRC64",
            };
            format!("copied {objects}, {}{proof}", pace(summary))
        }
    }
}

/// What was skipped, and why: `3 objects already there, 1 not a regular file`.
fn skipped(summary: &Summary) -> String {
    let there = summary.objects_there.min(summary.objects_skipped);
    let odd = summary.objects_skipped - there;
    let kind = if odd == 1 { "not a regular file" } else { "not regular files" };
    match (there, odd) {
        (_, 0) => format!("{} already there", count(there, "object")),
        (0, _) => format!("{}, {kind}", count(odd, "object")),
        _ => format!("{} already there, {} {kind}", count(there, "object"), thousands(odd)),
    }
}

/// What a dry run found to do.
fn planned(summary: &Summary) -> String {
    let Summary { objects_done, objects_deleted, objects_backed_up, bytes_done, .. } = *summary;
    let mut parts =
        vec![format!("would copy {}, {}", count(objects_done, "object"), ByteSize::new(bytes_done))];
    if objects_backed_up > 0 {
        parts.push(format!("back up {}", count(objects_backed_up, "object")));
    }
    if objects_deleted > 0 {
        parts.push(format!("delete {}", count(objects_deleted, "object")));
    }
    format!("dry run: {}; nothing was changed", parts.join(", "))
}

fn verified(summary: &Summary) -> String {
    let objects = count(summary.objects_done, "object");
    let verdict = if summary.objects_done == 1 { "is equal" } else { "are equal" };
    let done = summary.objects_done;
    let how: Vec<String> =
        [(summary.proofs.etag, "without reading"), (summary.proofs.stored, "by stored checksums")]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, how)| match count < done {
                true => format!("{} of them {how}", thousands(count)),
                false => how.to_owned(),
            })
            .collect();
    // Nobody knows the rate of what was not read on both sides.
    let how = match how.is_empty() {
        true => pace(summary),
        false => {
            let size = ByteSize::new(summary.bytes_done);
            format!("{size} in {}, {}", duration_ns(summary.elapsed_ns), how.join(", "))
        }
    };
    format!("{objects} {verdict}, {how}")
}

/// `58.2 GiB in 3 m 20 s (2.5 Gbit/s)`.
fn pace(summary: &Summary) -> String {
    format!(
        "{} in {} ({})",
        ByteSize::new(summary.bytes_done),
        duration_ns(summary.elapsed_ns),
        ByteRate::bits_per_second(summary.goodput_bits_per_second)
    )
}

fn retried(summary: &Summary) -> String {
    let requests = count(summary.retries, "request");
    match summary.integrity_retries {
        0 => format!("retried: {requests}"),
        caught => format!("retried: {requests}, {} because a checksum did not match", thousands(caught)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haulage::event::Proofs;

    fn sample() -> Summary {
        Summary {
            operation: "copy",
            objects_total: 144,
            objects_done: 144,
            bytes_done: (58 << 30) + (205 << 20),
            elapsed_ns: 200_000_000_000,
            goodput_bits_per_second: 2_500_000_000,
            ..Summary::default()
        }
    }

    #[test]
    fn a_good_copy_is_one_line() {
        assert_eq!(
            summary_lines(&sample(), ChecksumMode::Crc64),
            ["copied 144 objects, 58.2 GiB in 3 m 20 s (2.5 Gbit/s); every byte checked by CRC64"]
        );
    }

    #[test]
    fn all_that_was_not_plain_is_said() {
        let summary = Summary {
            objects_done: 140,
            objects_failed: 4,
            objects_skipped: 12,
            objects_there: 11,
            objects_unproven: 3,
            proofs: Proofs { sent: 2, ..Proofs::default() },
            retries: 7,
            integrity_retries: 2,
            chosen: "8 in flight, 4 MiB blocks".to_owned(),
            ..sample()
        };
        assert_eq!(
            summary_lines(&summary, ChecksumMode::Crc64),
            [
                "copied 140 of 144 objects, 58.2 GiB in 3 m 20 s (2.5 Gbit/s)",
                "skipped: 11 objects already there, 1 not a regular file",
                "failed: 4 objects",
                "retried: 7 requests, 2 because a checksum did not match",
                "unproven: 3 objects with no checksum to compare with; lengths were compared",
                "unconfirmed: 2 objects that the destination took without stating a checksum",
            ]
        );
        assert_eq!(chosen_line(&summary).as_deref(), Some("chosen: 8 in flight, 4 MiB blocks"));
    }

    #[test]
    fn a_deletion_that_failed_is_no_other_object() {
        let moved = Summary { operation: "move", objects_done: 1, objects_failed: 1, ..sample() };
        let lines = summary_lines(&moved, ChecksumMode::Crc64);
        assert!(lines[0].starts_with("copied 1 object, "), "{}", lines[0]);
        assert!(lines.contains(&"failed: 1 object".to_owned()));
    }

    #[test]
    fn a_run_with_nothing_to_do_says_so() {
        let line = |summary: &Summary| summary_lines(summary, ChecksumMode::Crc64).remove(0);
        assert_eq!(line(&Summary::default()), "nothing to copy: no objects found");
        let again = Summary { objects_skipped: 144, objects_there: 144, ..Summary::default() };
        assert_eq!(line(&again), "nothing to copy: 144 objects already there");
        let odd = Summary { objects_skipped: 2, ..Summary::default() };
        assert_eq!(line(&odd), "nothing to copy: 2 objects, not regular files");
        let by_receipt = |proofs| Summary { operation: "verify", proofs, ..sample() };
        assert_eq!(
            line(&by_receipt(Proofs { etag: 100, stored: 44, ..Proofs::default() })),
            "144 objects are equal, 58.2 GiB in 3 m 20 s, 100 of them without reading, 44 of them by stored checksums"
        );
        assert_eq!(
            line(&by_receipt(Proofs { etag: 144, ..Proofs::default() })),
            "144 objects are equal, 58.2 GiB in 3 m 20 s, without reading"
        );
        assert_eq!(
            line(&by_receipt(Proofs { etag: 100, crc64: 44, ..Proofs::default() })),
            "144 objects are equal, 58.2 GiB in 3 m 20 s, 100 of them without reading"
        );
        let verify = Summary {
            operation: "verify",
            objects_differ: 3,
            objects_missing: 2,
            objects_failed: 1,
            objects_extra: 1,
            ..sample()
        };
        assert_eq!(
            summary_lines(&verify, ChecksumMode::Crc64),
            [
                "144 objects are equal, 58.2 GiB in 3 m 20 s (2.5 Gbit/s)",
                "differ: 3 objects (hint: check which side is right before you copy again)",
                "missing: 2 objects (hint: haul cp copies them)",
                "failed: 1 object could not be compared",
                "extra: 1 object only at the destination"
            ]
        );
    }

    #[test]
    fn an_interruption_says_what_is_kept() {
        assert_eq!(
            interrupted_line(49, true),
            "interrupted: 49 objects done; what has arrived is kept; run the same command again to resume"
        );
        assert_eq!(interrupted_line(0, false), "interrupted: 0 objects done; the same command starts over");
        assert_eq!(
            out_of_time_line(1, true),
            "stopped by --max-duration: 1 object done; run the same command again to resume"
        );
    }
}
