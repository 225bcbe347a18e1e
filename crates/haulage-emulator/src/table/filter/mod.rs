//! `$filter`: read, turned into a range of keys, and held against entities where they lie.

mod bounds;
mod evaluate;
mod lexer;
mod parser;
#[cfg(test)]
mod tests;

pub(crate) use self::bounds::Range;
pub(crate) use self::evaluate::Matcher;

use super::value::Value;

/// What a query demands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Filter {
    root: Expression,
    /// The properties that it looks at.
    names: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
enum Expression {
    All(Vec<Expression>),
    Any(Vec<Expression>),
    Not(Box<Expression>),
    Compare { what: Operand, how: Comparison, with: Value },
    Constant(bool),
}

/// What is compared with a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operand {
    PartitionKey,
    RowKey,
    Timestamp,
    /// The place of its name among those of the filter.
    Property(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl Comparison {
    fn named(word: &str) -> Option<Self> {
        Some(match word {
            "eq" => Self::Equal,
            "ne" => Self::NotEqual,
            "gt" => Self::Greater,
            "ge" => Self::GreaterOrEqual,
            "lt" => Self::Less,
            "le" => Self::LessOrEqual,
            _ => return None,
        })
    }

    /// The same with its sides exchanged.
    fn turned(self) -> Self {
        match self {
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            same => same,
        }
    }
}
