//! What an error may say: nothing secret, and the system's words as a person would write them.

use rustix::io::Errno;

use crate::secret::redacted;

/// The text without the secrets that we know, and without what looks like a signature or a password.
pub(super) fn without_secrets(text: String) -> String {
    without_user(without_signature(redacted(text)))
}

/// The text without who stands before the host of a URL: `://user:password@`. Before that of `abfss://` stands a container.
fn without_user(text: String) -> String {
    const MARK: &str = "://";
    let mut clean = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(MARK) {
        let (before, after) = rest.split_at(at + MARK.len());
        clean.push_str(before);
        let end = after.find(|c: char| c == '/' || c.is_whitespace()).unwrap_or(after.len());
        rest = match after[..end].rfind('@') {
            Some(host) if !is_container(before, &after[..host]) => {
                clean.push_str("REDACTED");
                &after[host..]
            }
            _ => after,
        };
    }
    if clean.is_empty() { text } else { clean + rest }
}

/// Whether what comes before the host of such a URL is the name of a container, and so no secret.
fn is_container(before: &str, user: &str) -> bool {
    let lake = before.ends_with("abfs://") || before.ends_with("abfss://");
    lake && user.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// The text without what may be the signature of a SAS: users paste URLs where they do not belong, and
/// every error is printed and recorded.
fn without_signature(text: String) -> String {
    const MARK: &str = "sig=";
    let mut clean = String::new();
    let mut rest = text.as_str();
    // ASCII only, so that the offsets hold.
    while let Some(at) = rest.to_ascii_lowercase().find(MARK) {
        let (before, after) = rest.split_at(at + MARK.len());
        clean.push_str(before);
        clean.push_str("REDACTED");
        let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || "%+/=-_.~".contains(c)));
        rest = &after[end.unwrap_or(after.len())..];
    }
    if clean.is_empty() {
        return text;
    }
    clean + rest
}

/// What to do where a process, or the machine, has too many files open.
pub(super) const OPEN_FILES: &str = "raise the limit with ulimit -n, or lower --concurrency";

/// Whether a process, or the machine, has no more open files to give.
pub(super) fn is_out_of_files(code: i32) -> bool {
    [Errno::MFILE, Errno::NFILE].iter().any(|known| known.raw_os_error() == code)
}

/// The system's words without the error number that Rust appends.
pub(super) fn io_cause(source: &std::io::Error) -> String {
    let text = source.to_string();
    match text.find(" (os error ") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}
