//! The types that properties have, and how each stands in a column.

use arrow_schema::{DataType, TimeUnit};

/// A type of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `Edm.String`.
    Text,
    /// `Edm.Boolean`.
    Boolean,
    /// `Edm.Int32`.
    Int32,
    /// `Edm.Int64`.
    Int64,
    /// `Edm.Double`.
    Double,
    /// `Edm.DateTime`, from 1677 to 2262: what nanoseconds of 64 bits hold.
    Time,
    /// `Edm.DateTime` outside of these years, as text.
    FarTime,
    /// `Edm.Guid`, as text.
    Guid,
    /// `Edm.Binary`.
    Binary,
}

/// The key under which a column says which type its values have in the table.
pub(super) const METADATA: &str = "edm";

impl Kind {
    pub(super) const ALL: [Self; 9] = [
        Self::Text,
        Self::Boolean,
        Self::Int32,
        Self::Int64,
        Self::Double,
        Self::Time,
        Self::FarTime,
        Self::Guid,
        Self::Binary,
    ];

    /// The service's name of it.
    pub fn edm(self) -> &'static str {
        match self {
            Self::Text => "Edm.String",
            Self::Boolean => "Edm.Boolean",
            Self::Int32 => "Edm.Int32",
            Self::Int64 => "Edm.Int64",
            Self::Double => "Edm.Double",
            Self::Time | Self::FarTime => "Edm.DateTime",
            Self::Guid => "Edm.Guid",
            Self::Binary => "Edm.Binary",
        }
    }

    /// What follows the `@` in the name of a column where one name has several types.
    pub(super) fn suffix(self) -> &'static str {
        if self == Self::FarTime { "Edm.DateTime.text" } else { self.edm() }
    }

    pub(super) fn of_suffix(suffix: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.suffix() == suffix)
    }

    /// The type of the service with this name. Dates are near ones until they are seen.
    pub(super) fn of_edm(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.edm() == name)
    }

    /// What a column of it is made of.
    pub(super) fn arrow(self) -> DataType {
        match self {
            Self::Text | Self::FarTime | Self::Guid => DataType::Utf8,
            Self::Boolean => DataType::Boolean,
            Self::Int32 => DataType::Int32,
            Self::Int64 => DataType::Int64,
            Self::Double => DataType::Float64,
            Self::Time => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
            Self::Binary => DataType::Binary,
        }
    }
}
