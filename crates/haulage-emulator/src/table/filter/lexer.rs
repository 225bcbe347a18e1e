//! The words of a filter.

use crate::table::json_in::double;
use crate::table::value::{Value, parse_guid, parse_hex, parse_time};

/// A word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    Open,
    Close,
    /// A name, an operator, `and`, `or` or `not`.
    Word(&'a str),
    Literal(Value),
}

/// Takes a filter apart from its beginning.
pub(super) struct Lexer<'a>(&'a str);

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self(text)
    }

    /// The next word; `None` after the last. An error where the rest is none.
    pub(super) fn next(&mut self) -> Result<Option<Token<'a>>, ()> {
        self.0 = self.0.trim_start();
        let Some(first) = self.0.chars().next() else { return Ok(None) };
        let single = match first {
            '(' => Some(Token::Open),
            ')' => Some(Token::Close),
            _ => None,
        };
        if single.is_some() {
            self.0 = &self.0[1..];
            return Ok(single);
        }
        if first == '\'' {
            return Ok(Some(Token::Literal(Value::String(self.quoted()?))));
        }
        let ends = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '\'');
        let (word, rest) = self.0.split_at(self.0.find(ends).unwrap_or(self.0.len()));
        self.0 = rest;
        if rest.starts_with('\'') {
            let text = self.quoted()?;
            return typed(word, &text).map(|value| Some(Token::Literal(value))).ok_or(());
        }
        if first.is_ascii_digit() || matches!(first, '-' | '+' | '.') {
            return number(word).map(|value| Some(Token::Literal(value))).ok_or(());
        }
        Ok(Some(match word {
            "true" => Token::Literal(Value::Boolean(true)),
            "false" => Token::Literal(Value::Boolean(false)),
            "NaN" | "INF" | "Infinity" => Token::Literal(Value::Double(double(word).ok_or(())?)),
            _ => Token::Word(word),
        }))
    }

    /// A text in quotes; a doubled quote is one.
    fn quoted(&mut self) -> Result<String, ()> {
        let mut text = String::new();
        let mut rest = self.0.strip_prefix('\'').ok_or(())?;
        loop {
            let (part, after) = rest.split_once('\'').ok_or(())?;
            text.push_str(part);
            match after.strip_prefix('\'') {
                Some(after) => {
                    text.push('\'');
                    rest = after;
                }
                None => {
                    self.0 = after;
                    return Ok(text);
                }
            }
        }
    }
}

/// A literal whose type stands before it.
fn typed(kind: &str, text: &str) -> Option<Value> {
    Some(match &*kind.to_ascii_lowercase() {
        "datetime" => Value::DateTime(parse_time(text)?),
        "guid" => Value::Guid(parse_guid(text)?),
        "x" | "binary" => Value::Binary(parse_hex(text)?),
        _ => return None,
    })
}

/// A number: `1`, `1L`, `1.5`, `1e5`; a letter of .NET's may name the type.
fn number(word: &str) -> Option<Value> {
    if let Some(digits) = word.strip_suffix(['L', 'l']) {
        return digits.parse().ok().map(Value::Int64);
    }
    if let Ok(value) = word.parse::<i64>() {
        return Some(i32::try_from(value).map_or(Value::Int64(value), Value::Int32));
    }
    let digits = word.strip_suffix(['d', 'D', 'f', 'F', 'm', 'M']).unwrap_or(word);
    double(digits).map(Value::Double)
}
