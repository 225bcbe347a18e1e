//! From words to an expression. Hostile text may be long, but it goes only so deep.

use super::evaluate::holds;
use super::lexer::{Lexer, Token};
use super::{Comparison, Expression, Filter, Operand};
use crate::table::error::INVALID_INPUT;
use crate::table::value::Value;
use crate::wire::error::Answer;

/// How deep parentheses and `not` may lie in each other.
const DEEPEST: usize = 64;

impl Filter {
    /// Reads a filter.
    pub(crate) fn parse(text: &str) -> Answer<Self> {
        let bad = || INVALID_INPUT.saying("The query condition specified in the request is invalid.");
        Parser::read(text).ok_or_else(bad)
    }
}

/// One side of a comparison.
enum Side {
    What(Operand),
    Literal(Value),
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The word that has been looked at.
    ahead: Option<Token<'a>>,
    names: Vec<String>,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn read(text: &'a str) -> Option<Filter> {
        let mut parser = Self { lexer: Lexer::new(text), ahead: None, names: Vec::new(), depth: 0 };
        parser.advance()?;
        let root = parser.any()?;
        parser.ahead.is_none().then_some(Filter { root, names: parser.names })
    }

    /// Goes on to the next word.
    fn advance(&mut self) -> Option<Option<Token<'a>>> {
        let next = self.lexer.next().ok()?;
        Some(std::mem::replace(&mut self.ahead, next))
    }

    fn takes(&mut self, word: &str) -> Option<bool> {
        let takes = matches!(&self.ahead, Some(Token::Word(next)) if next.eq_ignore_ascii_case(word));
        if takes {
            self.advance()?;
        }
        Some(takes)
    }

    fn any(&mut self) -> Option<Expression> {
        let mut parts = vec![self.all()?];
        while self.takes("or")? {
            parts.push(self.all()?);
        }
        Some(if parts.len() == 1 { parts.remove(0) } else { Expression::Any(parts) })
    }

    fn all(&mut self) -> Option<Expression> {
        let mut parts = vec![self.unary()?];
        while self.takes("and")? {
            parts.push(self.unary()?);
        }
        Some(if parts.len() == 1 { parts.remove(0) } else { Expression::All(parts) })
    }

    fn unary(&mut self) -> Option<Expression> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let expression = if self.takes("not")? {
            Expression::Not(Box::new(self.unary()?))
        } else if self.ahead == Some(Token::Open) {
            self.advance()?;
            let inner = self.any()?;
            (self.advance()? == Some(Token::Close)).then_some(inner)?
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Some(expression)
    }

    fn comparison(&mut self) -> Option<Expression> {
        let left = self.side()?;
        let Some(Token::Word(word)) = &self.ahead else { return is_true(&left) };
        let Some(how) = Comparison::named(&word.to_ascii_lowercase()) else { return is_true(&left) };
        self.advance()?;
        Some(match (left, self.side()?) {
            (Side::What(what), Side::Literal(with)) => Expression::Compare { what, how, with },
            (Side::Literal(with), Side::What(what)) => Expression::Compare { what, how: how.turned(), with },
            (Side::Literal(left), Side::Literal(right)) => {
                Expression::Constant(holds(left.stored(), how, right.stored()))
            }
            (Side::What(_), Side::What(_)) => return None,
        })
    }

    fn side(&mut self) -> Option<Side> {
        match self.advance()?? {
            Token::Literal(value) => Some(Side::Literal(value)),
            Token::Word(word) => Some(Side::What(match word {
                "PartitionKey" => Operand::PartitionKey,
                "RowKey" => Operand::RowKey,
                "Timestamp" => Operand::Timestamp,
                _ => Operand::Property(self.place_of(word)),
            })),
            Token::Open | Token::Close => None,
        }
    }

    fn place_of(&mut self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }
}

/// A side that stands alone.
fn is_true(side: &Side) -> Option<Expression> {
    let yes = Value::Boolean(true);
    match side {
        Side::What(what) => Some(Expression::Compare { what: *what, how: Comparison::Equal, with: yes }),
        Side::Literal(Value::Boolean(value)) => Some(Expression::Constant(*value)),
        Side::Literal(_) => None,
    }
}
