//! Rows of one partition that are written together, all or none: the body of a transaction, and its answer.

use bytes::Bytes;
use http::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::range::{Key, literal};
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::store::Trace;
use crate::store::azure::table::{TableRequest, TableService};

/// Rows of a transaction.
pub(super) const ROWS_MAX: usize = 100;

/// Bytes of a transaction's body; the service takes 4 MiB.
pub(super) const BYTES_MAX: usize = (4 << 20) - (64 << 10);

/// What surrounds a row in the body, at most.
const AROUND: usize = 512;

/// An answer has some hundred bytes for each row.
const ANSWER_MAX: usize = 4 << 20;

/// What is not escaped in the address of a row.
const KEY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'\'');

/// How a row is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// In place of one with the same keys. To write it twice is to write it once.
    #[default]
    Replace,
    /// Into one with the same keys, whose other properties stay.
    Merge,
    /// New; one with the same keys is refused.
    Insert,
}

/// A row that is ready to be sent.
#[derive(Clone, Debug)]
pub(super) struct Ready {
    /// Its number in the source, from 0.
    pub(super) number: u64,
    pub(super) partition: String,
    pub(super) row: String,
    /// As JSON.
    pub(super) body: String,
}

impl Ready {
    pub(super) fn key(&self) -> Key {
        Key { partition: self.partition.clone(), row: self.row.clone() }
    }

    /// Bytes that it adds to a transaction.
    pub(super) fn size(&self) -> usize {
        self.body.len() + 3 * (self.partition.len() + self.row.len()) + AROUND
    }
}

/// Writes rows in one request. Tries once.
pub(super) async fn send(
    service: &TableService,
    rows: &[Ready],
    mode: Mode,
    trace: &Trace,
) -> Result<std::result::Result<(), (usize, Error)>> {
    let (batch, changes) = (boundary("batch"), boundary("changeset"));
    let body = body(service, rows, mode, &batch, &changes);
    let kind = format!("multipart/mixed; boundary={batch}");
    let request = TableRequest {
        operation: "write rows of",
        method: Method::POST,
        path: "$batch".to_owned(),
        query: &[],
        accept: "multipart/mixed",
        content_type: Some(&kind),
        if_match: None,
        body: Bytes::from(body),
        status: 202,
        largest: ANSWER_MAX,
        permission: 'a',
    };
    let name = service.name();
    let answer = service.send(request, &name, trace).await?;
    judge(&answer.body, rows.len(), &name)
}

fn boundary(word: &str) -> String {
    format!("{word}_{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..))
}

/// Where a row is, below the account.
pub(super) fn address(table: &str, partition: &str, row: &str) -> String {
    let key = |text: &str| utf8_percent_encode(&literal(text), KEY).to_string();
    format!("{table}(PartitionKey={},RowKey={})", key(partition), key(row))
}

fn body(service: &TableService, rows: &[Ready], mode: Mode, batch: &str, changes: &str) -> String {
    let endpoint = service.endpoint();
    let mut text = String::with_capacity(rows.iter().map(Ready::size).sum::<usize>() + 512);
    let mut line = |words: &[&str]| {
        words.iter().for_each(|word| text.push_str(word));
        text.push_str("\r\n");
    };
    line(&["--", batch]);
    line(&["Content-Type: multipart/mixed; boundary=", changes]);
    line(&[]);
    for ready in rows {
        let table = service.table();
        let (verb, place) = match mode {
            Mode::Insert => ("POST", table.to_owned()),
            Mode::Replace => ("PUT", address(table, &ready.partition, &ready.row)),
            Mode::Merge => ("MERGE", address(table, &ready.partition, &ready.row)),
        };
        line(&["--", changes]);
        line(&["Content-Type: application/http"]);
        line(&["Content-Transfer-Encoding: binary"]);
        line(&[]);
        line(&[verb, " ", &endpoint.to_string(), "/", &place, " HTTP/1.1"]);
        line(&["Content-Type: application/json"]);
        line(&["Accept: application/json;odata=minimalmetadata"]);
        line(&["Prefer: return-no-content"]);
        line(&["DataServiceVersion: 3.0;"]);
        line(&["Content-Length: ", &ready.body.len().to_string()]);
        line(&[]);
        line(&[&ready.body]);
    }
    line(&["--", changes, "--"]);
    line(&["--", batch, "--"]);
    text
}

/// Reads the answer: one status for each row, or one for the row that was refused.
fn judge(answer: &[u8], rows: usize, object: &str) -> Result<std::result::Result<(), (usize, Error)>> {
    let text = String::from_utf8_lossy(answer);
    let statuses: Vec<u16> = text
        .lines()
        .filter_map(|line| line.strip_prefix("HTTP/1.1 "))
        .filter_map(|line| line.split(' ').next()?.parse().ok())
        .collect();
    let broken =
        |why: String| Error::new(ErrorKind::Protocol, "write rows of", object, why).retry(Retry::Few);
    let refused = statuses.iter().find(|status| !(200..300).contains(*status));
    let Some(status) = refused.copied() else {
        if statuses.len() != rows {
            return Err(broken(format!("{} of {rows} rows were answered", statuses.len())));
        }
        return Ok(Ok(()));
    };
    let json = text.find('{').map(|at| &text[at..]);
    let told = json.and_then(|json| {
        let mut values = serde_json::Deserializer::from_str(json).into_iter::<serde_json::Value>();
        values.next()?.ok()
    });
    let error = told.as_ref().and_then(|told| told.get("odata.error"));
    let code = error.and_then(|error| error.get("code")?.as_str()).unwrap_or_default();
    let message = error.and_then(|error| error.pointer("/message/value")?.as_str()).unwrap_or_default();
    let (number, message) = match message.split_once(':') {
        Some((number, rest)) if number.parse::<usize>().is_ok() => (number.parse().ok(), rest),
        _ => (None, message),
    };
    let shown = |text: &str| -> String { text.chars().filter(|char| !char.is_control()).take(200).collect() };
    let word = shown(code);
    let line = shown(message.lines().next().unwrap_or_default());
    let (kind, retry) = match (status, code) {
        (_, "EntityAlreadyExists") => (ErrorKind::Exists, Retry::Never),
        (_, "TableNotFound") | (404, _) => (ErrorKind::NotFound, Retry::Never),
        (403, _) => (ErrorKind::Permission, Retry::Never),
        (408 | 429 | 500..=599, _) => (ErrorKind::Busy, Retry::Backoff),
        _ => (ErrorKind::Usage, Retry::Never),
    };
    let cause = if line.is_empty() { word.clone() } else { format!("{word}: {line}") };
    let mut error = Error::new(kind, "write rows of", object, cause).retry(retry).service(status, Some(word));
    if kind == ErrorKind::NotFound {
        error = error.hint("check the name; haul table import --create creates the table");
    }
    // What holds for the account or the moment is no fault of a row.
    match number {
        Some(number) if number < rows && matches!(kind, ErrorKind::Exists | ErrorKind::Usage) => {
            Ok(Err((number, error)))
        }
        _ if rows == 1 && kind == ErrorKind::Usage => Ok(Err((0, error))),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = "--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_1\r\n\r\n\
        --changesetresponse_1\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 ";

    fn told(
        status: &str,
        code: &str,
        message: &str,
        rows: usize,
    ) -> Result<std::result::Result<(), (usize, Error)>> {
        let json =
            format!("{{\"odata.error\":{{\"code\":\"{code}\",\"message\":{{\"value\":\"{message}\"}}}}}}");
        judge(
            format!("{ANSWER}{status}\r\nContent-Type: application/json\r\n\r\n{json}\r\n--x--").as_bytes(),
            rows,
            "x",
        )
    }

    #[test]
    fn each_row_has_an_answer_or_the_refused_one_is_named() {
        let good = |rows: usize| format!("{ANSWER}204 No Content\r\n\r\n").repeat(rows);
        assert!(judge(good(3).as_bytes(), 3, "x").unwrap().is_ok());
        assert_eq!(judge(good(2).as_bytes(), 3, "x").unwrap_err().kind(), ErrorKind::Protocol);
        let (number, error) = told("400 Bad Request", "PropertyValueTooLarge", "7:It is.\\nRequestId:1", 9)
            .unwrap()
            .unwrap_err();
        assert_eq!(
            (number, error.kind(), error.cause()),
            (7, ErrorKind::Usage, "PropertyValueTooLarge: It is.")
        );
        let (number, error) =
            told("409 Conflict", "EntityAlreadyExists", "0:There.", 9).unwrap().unwrap_err();
        assert_eq!((number, error.kind()), (0, ErrorKind::Exists));
        let busy = told("503 Busy", "ServerBusy", "0:Busy.", 9).unwrap_err();
        assert_eq!((busy.kind(), busy.retry_advice()), (ErrorKind::Busy, Retry::Backoff));
        assert_eq!(
            told("404 Not Found", "TableNotFound", "None.", 9).unwrap_err().kind(),
            ErrorKind::NotFound
        );
    }

    #[test]
    fn keys_stand_in_an_address_as_the_service_reads_them() {
        assert_eq!(address("rows", "o'b", "ä %"), "rows(PartitionKey='o''b',RowKey='%C3%A4%20%25')");
    }
}
