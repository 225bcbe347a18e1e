//! What failed, without saying the same of each object.

use haulage::event::{Failure, Summary};
use haulage::{Error, ErrorKind};

use super::thousands;

/// Failures that are named on the terminal; more would push the summary out of sight.
const SHOWN: usize = 10;

/// What the engine says of objects that it did not begin because of another's failure.
const NOT_BEGUN: &str = "not begun, because the job stopped: ";

/// A failure, and how many more are the same.
struct Group<'a> {
    first: &'a Failure,
    more: u64,
}

/// The first failures of a job, and how many more there are.
pub fn failure_lines(summary: &Summary, line: impl Fn(&Error) -> String) -> Vec<String> {
    let mut shown = groups(&summary.failures);
    shown.truncate(SHOWN);
    let told: u64 = shown.iter().map(|group| 1 + group.more).sum();
    let mut lines = lines(&shown, line);
    let more = summary.objects_failed.saturating_sub(told);
    if more > 0 {
        lines.push(format!("and {} more (--json lists all)", thousands(more)));
    }
    lines
}

/// All failures; those of a whole host once, with how many there are.
pub fn every_failure(failures: &[Failure], line: impl Fn(&Error) -> String) -> Vec<String> {
    lines(&groups(failures), line)
}

fn lines(groups: &[Group<'_>], line: impl Fn(&Error) -> String) -> Vec<String> {
    let of_group = |group: &Group<'_>| {
        let more =
            (group.more > 0).then(|| format!("and {} more with the same cause", thousands(group.more)));
        std::iter::once(line(&Error::from(group.first))).chain(more)
    };
    groups.iter().flat_map(of_group).collect()
}

fn groups(failures: &[Failure]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for failure in failures {
        // Of the others there may be many: none is compared with any.
        let known = match is_of_host(failure) {
            true => groups.iter_mut().find(|group| is_same(group.first, failure)),
            // What stands where all of them should go is said once.
            false => groups
                .last_mut()
                .filter(|group| group.first.object == failure.object && is_same(group.first, failure)),
        };
        match known {
            Some(group) => group.more += 1,
            None => groups.push(Group { first: failure, more: 0 }),
        }
    }
    groups
}

/// Whether it is likely to be the fault of a service or of the way to it: then the name of the object says nothing.
fn is_of_host(failure: &Failure) -> bool {
    let kind = matches!(failure.kind, ErrorKind::Connection | ErrorKind::Permission | ErrorKind::Usage);
    failure.cause.starts_with(NOT_BEGUN) || (kind && failure.object.contains("://"))
}

fn is_same(one: &Failure, other: &Failure) -> bool {
    (one.kind, cause(one), &one.hint) == (other.kind, cause(other), &other.hint)
}

/// Why it failed, or what it was not begun because of.
fn cause(failure: &Failure) -> &str {
    failure.cause.strip_prefix(NOT_BEGUN).unwrap_or(&failure.cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(kind: ErrorKind, object: &str, cause: &str) -> Failure {
        Failure::from(&Error::new(kind, "write", object, cause).hint("look"))
    }

    fn said(failures: Vec<Failure>, failed: u64) -> Vec<String> {
        let summary = Summary { objects_failed: failed, failures, ..Summary::default() };
        failure_lines(&summary, |error| error.to_string())
    }

    #[test]
    fn ten_failures_are_named_and_the_rest_counted() {
        let files = (0..14).map(|number| failure(ErrorKind::Permission, &format!("{number}.nc"), "denied"));
        let lines = said(files.collect(), 14);
        assert_eq!(lines.len(), 11, "each file is another matter");
        assert_eq!(lines[0], "write 0.nc: denied (hint: look)");
        assert_eq!(lines[10], "and 4 more (--json lists all)");
    }

    #[test]
    fn what_all_objects_run_into_is_said_once() {
        let file = |_| failure(ErrorKind::Exists, "there", "a file is in the way");
        assert_eq!(
            said((0..1000).map(file).collect(), 1000),
            ["write there: a file is in the way (hint: look)", "and 999 more with the same cause"]
        );
    }

    #[test]
    fn what_a_host_refuses_is_said_once() {
        let refused = |number: u32| failure(ErrorKind::Connection, &format!("az://c/{number}"), "refused");
        assert_eq!(
            said((0..172).map(refused).collect(), 172),
            ["write az://c/0: refused (hint: look)", "and 171 more with the same cause"]
        );
        // Of more than a summary keeps it is not known why they failed.
        assert_eq!(said((0..1000).map(refused).collect(), 1200)[2], "and 200 more (--json lists all)");
        let two = [refused(1), failure(ErrorKind::Connection, "az://d/1", "reset"), refused(2)];
        assert_eq!(
            every_failure(&two, |error| error.object_name().to_owned()),
            ["az://c/1", "and 1 more with the same cause", "az://d/1"]
        );
        let gone = |number: u32| failure(ErrorKind::NotFound, &format!("az://c/{number}"), "no such blob");
        assert_eq!(said((0..3).map(gone).collect(), 3).len(), 3, "each may be named wrongly");
    }

    #[test]
    fn what_was_not_begun_belongs_to_what_stopped_the_job() {
        let first = failure(ErrorKind::Permission, "az://c/0", "the key is wrong");
        let other =
            failure(ErrorKind::Permission, "1", "not begun, because the job stopped: the key is wrong");
        assert_eq!(said(vec![first, other.clone(), other], 3)[1..], ["and 2 more with the same cause"]);
    }
}
