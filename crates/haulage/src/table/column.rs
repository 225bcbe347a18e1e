//! The columns of one page while its rows are read, and what they are called when several pages come together.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Float64Builder, Int32Builder, Int64Builder, StringBuilder,
    TimestampNanosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Field, Schema};

use super::kind::{Kind, METADATA};

/// The value of one property of one row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Text(&'a str),
    Boolean(bool),
    Int32(i32),
    Int64(i64),
    Double(f64),
    Time(i64),
    FarTime(&'a str),
    Guid(&'a str),
    Binary(&'a [u8]),
}

impl Value<'_> {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Text(_) => Kind::Text,
            Self::Boolean(_) => Kind::Boolean,
            Self::Int32(_) => Kind::Int32,
            Self::Int64(_) => Kind::Int64,
            Self::Double(_) => Kind::Double,
            Self::Time(_) => Kind::Time,
            Self::FarTime(_) => Kind::FarTime,
            Self::Guid(_) => Kind::Guid,
            Self::Binary(_) => Kind::Binary,
        }
    }
}

/// A property of one name and type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ColumnName {
    pub(super) name: Arc<str>,
    pub(super) kind: Kind,
}

impl ColumnName {
    /// How it is called in a page, which has each type of a name apart.
    pub(super) fn in_page(&self) -> String {
        format!("{}@{}", self.name, self.kind.suffix())
    }

    /// Reads such a name.
    pub(super) fn of_page(text: &str) -> Option<Self> {
        let (name, suffix) = text.rsplit_once('@')?;
        Some(Self { name: name.into(), kind: Kind::of_suffix(suffix)? })
    }

    /// The column's field under this name.
    pub(super) fn field(&self, name: String) -> Field {
        let metadata = [(METADATA.to_owned(), self.kind.edm().to_owned())];
        Field::new(name, self.kind.arrow(), true).with_metadata(std::collections::HashMap::from(metadata))
    }
}

/// The values of one column, as many as rows were read when it was last met.
pub(super) enum Values {
    Text(StringBuilder),
    Boolean(BooleanBuilder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    Double(Float64Builder),
    Time(TimestampNanosecondBuilder),
    Binary(BinaryBuilder),
}

/// Applies one expression to the builder, whichever it is.
macro_rules! each {
    ($values:expr, $builder:ident => $call:expr) => {
        match $values {
            Values::Text($builder) => $call,
            Values::Boolean($builder) => $call,
            Values::Int32($builder) => $call,
            Values::Int64($builder) => $call,
            Values::Double($builder) => $call,
            Values::Time($builder) => $call,
            Values::Binary($builder) => $call,
        }
    };
}

impl Values {
    pub(super) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Text | Kind::FarTime | Kind::Guid => Self::Text(StringBuilder::new()),
            Kind::Boolean => Self::Boolean(BooleanBuilder::new()),
            Kind::Int32 => Self::Int32(Int32Builder::new()),
            Kind::Int64 => Self::Int64(Int64Builder::new()),
            Kind::Double => Self::Double(Float64Builder::new()),
            Kind::Time => Self::Time(TimestampNanosecondBuilder::new().with_timezone("UTC")),
            Kind::Binary => Self::Binary(BinaryBuilder::new()),
        }
    }

    pub(super) fn len(&self) -> usize {
        use arrow_array::builder::ArrayBuilder as _;
        each!(self, builder => builder.len())
    }

    /// Fills up with what is not there, until there are so many.
    pub(super) fn pad(&mut self, rows: usize) {
        let missing = rows.saturating_sub(self.len());
        for _ in 0..missing {
            each!(self, builder => builder.append_null());
        }
    }

    /// Adds a value. It is of the column's type.
    pub(super) fn push(&mut self, value: &Value<'_>) {
        match (self, value) {
            (Self::Text(builder), Value::Text(text) | Value::FarTime(text) | Value::Guid(text)) => {
                builder.append_value(text);
            }
            (Self::Boolean(builder), Value::Boolean(value)) => builder.append_value(*value),
            (Self::Int32(builder), Value::Int32(value)) => builder.append_value(*value),
            (Self::Int64(builder), Value::Int64(value)) => builder.append_value(*value),
            (Self::Double(builder), Value::Double(value)) => builder.append_value(*value),
            (Self::Time(builder), Value::Time(value)) => builder.append_value(*value),
            (Self::Binary(builder), Value::Binary(bytes)) => builder.append_value(bytes),
            _ => debug_assert!(false, "a value of another type than its column's"),
        }
    }

    pub(super) fn finish(&mut self) -> ArrayRef {
        use arrow_array::builder::ArrayBuilder;
        each!(self, builder => ArrayBuilder::finish(builder))
    }
}

/// A batch of these columns, under the names that they have in a page.
pub(super) fn page_batch(
    columns: Vec<(ColumnName, ArrayRef)>,
    rows: usize,
) -> Result<RecordBatch, ArrowError> {
    let fields: Vec<_> = columns.iter().map(|(name, _)| name.field(name.in_page())).collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
}
