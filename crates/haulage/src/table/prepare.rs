//! From rows of a file to rows that can be sent: their keys, their JSON, or why there is none.

use arrow_array::RecordBatch;
use arrow_schema::DataType;

use super::cell::{key_value, stored};
use super::column::Value;
use super::kind::Kind;
use super::page::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use super::rows_in::{Read, Stored, column, stored_columns};
use super::sink::json_property;
use super::template::{Template, index_row_key};
use super::transaction::{BYTES_MAX, Ready};
use super::written::Typed;
use crate::error::{Error, ErrorKind, Result};

/// A row that is not sent, for the file of such rows.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    pub(super) number: u64,
    pub(super) reason: String,
    /// The row as JSON, or as it stood in the file.
    pub(super) text: String,
}

/// How keys are made, and what is left out.
pub(super) struct Preparation {
    pub(super) partition: Option<Template>,
    pub(super) row: Option<Template>,
    pub(super) exclude: Vec<String>,
    /// The partition of an index table, where rows of it are written instead.
    pub(super) index: Option<Template>,
    pub(super) object: String,
}

impl Preparation {
    /// Looks at the columns of a file before anything is sent.
    ///
    /// # Errors
    /// `Usage` where keys cannot be made, or a column cannot be stored.
    pub(super) fn check(&self, schema: &arrow_schema::SchemaRef) -> Result<()> {
        let columns = stored_columns(schema, &self.exclude, &self.object)?;
        let has = |name: &str| {
            schema.fields().iter().any(|field| field.name() == name)
                || columns.iter().any(|one| one.name == name)
        };
        let wrong = |cause: String, hint: String| {
            Err(Error::new(ErrorKind::Usage, "import", self.object.as_str(), cause).hint(hint))
        };
        for (template, key, option) in [
            (&self.partition, PARTITION_KEY, "--partition-key"),
            (&self.row, ROW_KEY, "--row-key"),
            (&self.index, "", "--index"),
        ] {
            match template {
                None if !has(key) && !key.is_empty() => {
                    return wrong(
                        format!("there is no column {key}, and nothing says how to make it"),
                        format!("give {option} '{{COLUMN}}'; haul table plan FILE proposes keys"),
                    );
                }
                Some(template) => {
                    if let Some(lacking) = template.columns().find(|name| !has(name)) {
                        return wrong(
                            format!("there is no column `{lacking}`, which {option} names"),
                            "name columns of the file in braces".to_owned(),
                        );
                    }
                }
                None => {}
            }
        }
        // Beside both keys a time is taken for what an export has written, where the service had set it.
        let own = |one: &Stored| {
            let kind = schema.field(one.at).data_type();
            let time = matches!(one.said, Some(Kind::Time | Kind::FarTime))
                || matches!(kind, DataType::Timestamp(..) | DataType::Date32 | DataType::Date64);
            one.name == TIMESTAMP && !(time && has(PARTITION_KEY) && has(ROW_KEY))
        };
        if columns.iter().any(own) {
            return wrong(
                "the column Timestamp cannot be stored: the service sets it".to_owned(),
                "rename the column, or leave it out: --exclude Timestamp".to_owned(),
            );
        }
        Ok(())
    }

    /// Rows that can be sent, and those that cannot, of what was read, from row `from` on.
    pub(super) fn rows(&self, read: Read, from: u64) -> Result<(Vec<Ready>, Vec<Refused>)> {
        let columns = stored_columns(&read.batch.schema(), &self.exclude, &self.object)?;
        let mut ready = Vec::with_capacity(read.batch.num_rows());
        let unread = read.unread.into_iter().filter(|(number, ..)| *number >= from);
        let mut refused: Vec<_> = unread
            .map(|(number, text, reason)| Refused {
                number,
                reason: format!("the line is no row: {reason}"),
                text,
            })
            .collect();
        for at in 0..read.batch.num_rows() {
            let number = read.numbers.as_ref().map_or(read.first + at as u64, |numbers| numbers[at]);
            if number < from {
                continue;
            }
            match self.row(&columns, &read.batch, at, number) {
                Ok(row) if self.index.is_some() => ready.extend(self.entry(&columns, &read.batch, at, &row)),
                // Whoever writes the rows says why one of them has none.
                Err(_) if self.index.is_some() => {}
                Ok(row) if row.size() > BYTES_MAX => {
                    let reason = "the row is larger than any that the service takes (1 MiB)".to_owned();
                    refused.push(Refused { number, reason, text: row.body });
                }
                Ok(row) => ready.push(row),
                Err((reason, text)) => refused.push(Refused { number, reason, text }),
            }
        }
        Ok((ready, refused))
    }

    /// The row of the index table that leads to a row; `None` where the column is missing.
    fn entry(&self, columns: &[Stored], batch: &RecordBatch, at: usize, row: &Ready) -> Option<Ready> {
        let value = |name: &str| column(columns, batch, name).or_else(|| batch.column_by_name(name));
        let partition = self.index.as_ref()?.render(|name| key_value(value(name)?, at)).ok()?;
        let (key, mut body) = (index_row_key(&row.partition, &row.row), String::from("{"));
        for (name, text) in
            [("P", &row.partition), ("R", &row.row), (PARTITION_KEY, &partition), (ROW_KEY, &key)]
        {
            json_property(&mut body, name, &Value::Text(text));
            body.push(',');
        }
        body.pop();
        body.push('}');
        Some(Ready { number: row.number, partition, row: key, body })
    }

    fn row(
        &self,
        columns: &[Stored],
        batch: &RecordBatch,
        at: usize,
        number: u64,
    ) -> Result<Ready, (String, String)> {
        let (mut body, mut wrong) = (String::from("{"), None);
        let (mut partition, mut row) = (None, None);
        let exported =
            || [PARTITION_KEY, ROW_KEY].iter().all(|key| columns.iter().any(|one| one.name == *key));
        for Stored { name, said, at: column } in columns {
            let value = match stored(batch.column(*column), at, *said) {
                Ok(Some(value)) => value,
                Ok(None) => continue,
                Err(why) => {
                    wrong.get_or_insert(format!("{name}: {why}"));
                    continue;
                }
            };
            match name.as_str() {
                PARTITION_KEY => partition = Some(text(&value)),
                ROW_KEY => row = Some(text(&value)),
                TIMESTAMP if !exported() => {
                    wrong.get_or_insert(
                        "Timestamp: the service sets this property, and the file has no keys".to_owned(),
                    );
                }
                TIMESTAMP if matches!(value.value(), Value::Time(_) | Value::FarTime(_)) => {}
                TIMESTAMP => {
                    wrong.get_or_insert(
                        "Timestamp: the service sets this property, and the value is no time".to_owned(),
                    );
                }
                name => {
                    json_property(&mut body, name, &value.value());
                    body.push(',');
                }
            }
        }
        let made = |template: &Template| {
            let value = |name: &str| column(columns, batch, name).or_else(|| batch.column_by_name(name));
            template
                .render(|name| key_value(value(name)?, at))
                .map_err(|unmade| format!("{unmade} ({})", unmade.kind.code()))
        };
        for (key, template, name) in
            [(&mut partition, &self.partition, PARTITION_KEY), (&mut row, &self.row, ROW_KEY)]
        {
            if let Some(template) = template {
                match made(template) {
                    Ok(text) => *key = Some(text),
                    Err(why) => {
                        wrong.get_or_insert(format!("no {name}: {why}"));
                    }
                }
            } else if key.is_none() {
                wrong.get_or_insert(format!("no {name}: the value is missing"));
            }
        }
        let (partition, row) = (partition.unwrap_or_default(), row.unwrap_or_default());
        for (name, key) in [(PARTITION_KEY, &partition), (ROW_KEY, &row)] {
            json_property(&mut body, name, &Value::Text(key));
            body.push(',');
        }
        body.pop();
        body.push('}');
        match wrong {
            Some(why) => Err((why, body)),
            None => Ok(Ready { number, partition, row, body }),
        }
    }
}

fn text(value: &Typed<'_>) -> String {
    super::sink::text_of(&value.value())
}
