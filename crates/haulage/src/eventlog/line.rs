//! How a line of the log looks.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, Outcome};
use crate::secret::redacted;

/// A line is no longer than this, in bytes, so that any queue takes it too; longer texts are cut.
const LINE_MAX: usize = 60 << 10;

/// Of a text that is too long so much is kept, in bytes: its end, where tracebacks say what happened.
const TEXT_KEPT: usize = 8 << 10;

/// A sample of how far a job has come is kept once in this time.
const SAMPLE: Duration = Duration::from_secs(1);

/// Names are no longer than this, in characters.
const NAME_MAX: usize = 200;

/// Of a text no more than this is looked through for secrets, in bytes: its end.
const TEXT_MAX: usize = 60 << 10;

/// Fields that every line has by itself.
const OWN: [&str; 7] = ["job", "node", "stream", "seq", "time_unix_ns", "coordinator", "event"];

/// Makes lines; each has the next number.
#[derive(Debug)]
pub(super) struct Lines {
    job: String,
    node: String,
    stream: String,
    coordinator: bool,
    next: u64,
    /// Lines that are not kept yet, and how many they are.
    made: Vec<u8>,
    count: u64,
    sampled: Option<Instant>,
}

/// What every line begins with.
#[derive(Serialize)]
struct Begin<'a> {
    job: &'a str,
    node: &'a str,
    stream: &'a str,
    seq: u64,
    time_unix_ns: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    coordinator: bool,
}

/// The whole of it.
#[derive(Serialize)]
struct Line<'a, R> {
    #[serde(flatten)]
    begin: Begin<'a>,
    #[serde(flatten)]
    rest: &'a R,
}

/// An event by its name and fields.
#[derive(Serialize)]
struct Named<'a> {
    event: &'a str,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

impl Lines {
    pub(super) fn new(job: &str, node: &str, stream: &str, coordinator: bool) -> Self {
        Self {
            job: job.to_owned(),
            node: node.chars().take(NAME_MAX).collect(),
            stream: stream.to_owned(),
            coordinator,
            next: 0,
            made: Vec::new(),
            count: 0,
            sampled: None,
        }
    }

    /// Makes a line of an event, if a log keeps such.
    pub(super) fn event(&mut self, event: &Event) {
        let now = now_ns();
        match event {
            Event::Progress(_) if self.sampled.is_some_and(|then| then.elapsed() < SAMPLE) => return,
            Event::Progress(_) => self.sampled = Some(Instant::now()),
            // The nodes that have moved them say so.
            Event::Object(object) if self.coordinator => {
                if matches!(object.outcome, Outcome::Copied | Outcome::Staged) {
                    return;
                }
            }
            _ => {}
        }
        // The first event says whose it is by itself, and would say so twice.
        let fits = !matches!(event, Event::JobStarted(_)) && self.push(LINE_MAX, now, event);
        if !fits && let Ok(Value::Object(fields)) = serde_json::to_value(event) {
            let named = fields.get("event").and_then(Value::as_str).unwrap_or_default().to_owned();
            self.fields(&named, fields, now);
        }
    }

    /// Makes a line of what is no event of the engine.
    ///
    /// # Errors
    /// `Usage` where the fields are no object of JSON.
    pub(super) fn foreign(&mut self, event: &str, fields: &str) -> Result<()> {
        let parsed: std::result::Result<Map<String, Value>, _> = serde_json::from_str(fields);
        let fields = parsed.map_err(|error| {
            Error::new(ErrorKind::Usage, "write log", event, format!("no object of JSON: {error}"))
        })?;
        let clean = fields.into_iter().map(|(name, value)| (redacted(name), hidden(value))).collect();
        self.fields(&redacted(event.chars().take(NAME_MAX).collect()), clean, now_ns());
        Ok(())
    }

    /// The lines that were made since this was asked last, and how many they are.
    pub(super) fn made(&mut self) -> (Vec<u8>, u64) {
        (std::mem::take(&mut self.made), std::mem::take(&mut self.count))
    }

    /// Makes a line of fields, of which the long ones are cut.
    fn fields(&mut self, event: &str, fields: Map<String, Value>, now: u64) {
        let fields = fields.into_iter().filter(|(name, _)| !OWN.contains(&name.as_str())).collect();
        let fields = shortened(fields);
        self.push(usize::MAX, now, &Named { event, fields });
    }

    /// Adds a line, unless it is longer than this; whether it did.
    fn push(&mut self, most: usize, time_unix_ns: u64, rest: &impl Serialize) -> bool {
        let Self { job, node, stream, coordinator, next, made, count, .. } = self;
        let begin = Begin { job, node, stream, seq: *next, time_unix_ns, coordinator: *coordinator };
        let before = made.len();
        let written = serde_json::to_writer(&mut *made, &Line { begin, rest });
        let fits = written.is_ok() && made.len() - before <= most;
        if fits {
            made.push(b'\n');
            *next += 1;
            *count += 1;
        } else {
            made.truncate(before);
        }
        fits
    }
}

fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
}

/// Without secrets that we know.
fn hidden(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(redacted(the_end(&text, TEXT_MAX).to_owned())),
        Value::Array(values) => values.into_iter().map(hidden).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (redacted(name), hidden(value))).collect()
        }
        other => other,
    }
}

/// The last bytes of a text, about so many.
fn the_end(text: &str, bytes: usize) -> &str {
    let from = text.len().saturating_sub(bytes);
    &text[(from..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())..]
}

/// The same with the ends of texts that are too long, and without what is too long all the same.
fn shortened(fields: Map<String, Value>) -> Map<String, Value> {
    let mut left = LINE_MAX / 2;
    let short = fields.into_iter().map(|(name, value)| match value {
        Value::String(text) if text.len() > TEXT_KEPT => {
            (name, Value::String(format!("[...] {}", the_end(&text, TEXT_KEPT))))
        }
        other => (name, other),
    });
    let mut kept = Map::new();
    for (name, value) in short {
        let size = name.len() + value.to_string().len();
        if size > left {
            kept.insert("shortened".to_owned(), Value::Bool(true));
            continue;
        }
        left -= size;
        kept.insert(name, value);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Lines {
        Lines::new("job", "node", "stream", false)
    }

    fn parsed(lines: &mut Lines) -> Vec<Value> {
        let (made, count) = lines.made();
        let all: Vec<Value> =
            made.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(parse).collect();
        assert_eq!(all.len() as u64, count);
        all
    }

    fn parse(line: &[u8]) -> Value {
        assert!(line.len() <= LINE_MAX, "{} bytes", line.len());
        serde_json::from_slice(line).unwrap()
    }

    #[test]
    fn each_line_says_whose_it_is_and_has_the_next_number() {
        let mut lines = lines();
        let warning = Event::Warning { object: "a".to_owned(), message: "b\nc".to_owned() };
        lines.event(&warning);
        lines.foreign("log", r#"{"level": "INFO", "message": "x", "seq": 7}"#).unwrap();
        let all = parsed(&mut lines);
        assert_eq!((&all[0]["event"], &all[0]["message"]), (&"warning".into(), &"b\nc".into()));
        assert_eq!((&all[1]["event"], &all[1]["level"]), (&"log".into(), &"INFO".into()));
        assert_eq!((all[0]["seq"].as_u64(), all[1]["seq"].as_u64()), (Some(0), Some(1)));
        assert!(all.iter().all(|line| line["job"] == "job" && line["time_unix_ns"].as_u64() > Some(0)));
        assert!(lines.foreign("log", "[1]").is_err());
    }

    #[test]
    fn long_texts_are_cut_and_their_end_stays() {
        let mut lines = lines();
        let long = "ä".repeat(100_000) + "the end";
        let warning = Event::Warning { object: "a".to_owned(), message: long.clone() };
        lines.event(&warning);
        let fields: Map<String, Value> = (0..50).map(|n| (format!("f{n}"), long.clone().into())).collect();
        lines.foreign("log", &Value::Object(fields).to_string()).unwrap();
        let all = parsed(&mut lines);
        assert!(all[0]["message"].as_str().unwrap().ends_with("the end"));
        assert_eq!((&all[0]["event"], &all[1]["shortened"]), (&"warning".into(), &true.into()));
    }

    #[test]
    fn samples_are_kept_once_a_second() {
        let mut lines = lines();
        for _ in 0..10 {
            lines.event(&Event::Progress(crate::event::Progress::default()));
        }
        assert_eq!(parsed(&mut lines).len(), 1);
    }
}
