//! What making one side equal to the other can be told: how objects are compared, and what may be deleted.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// How an object at the destination is told to be the same as its source. Objects of different sizes always differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compare {
    /// By checksum where both sides state one without being read, else by the time of the source.
    #[default]
    Auto,
    /// By size alone.
    Size,
    /// By size and the time of the source; checksums do not count.
    Time,
    /// By size and checksum; times do not count. What states no checksum is read.
    Checksum,
    /// As [`Self::Auto`], but first by the receipt at [`CopyOptions::receipt`](super::CopyOptions::receipt) that the last run left: an
    /// object whose two ends are still the versions of the receipt is the same, and nobody is asked about it.
    Receipt,
}

impl FromStr for Compare {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match text {
            "auto" => Self::Auto,
            "size" => Self::Size,
            "time" => Self::Time,
            "checksum" => Self::Checksum,
            "receipt" => Self::Receipt,
            _ => {
                return Err(Error::new(ErrorKind::Usage, "parse", text, "not a way to compare")
                    .hint("write auto, size, time, checksum or receipt"));
            }
        })
    }
}

/// How many objects may be deleted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MaxDelete {
    /// So many.
    Count(u64),
    /// So many percent of the objects at the destination that take part.
    Percent(f64),
}

impl MaxDelete {
    /// Whether `count` of `all` objects is more than that.
    pub(crate) fn forbids(self, count: u64, all: u64) -> bool {
        match self {
            Self::Count(most) => count > most,
            Self::Percent(percent) => count as f64 * 100.0 > all as f64 * percent,
        }
    }
}

impl std::fmt::Display for MaxDelete {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count(most) => write!(f, "{most}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl FromStr for MaxDelete {
    type Err = Error;

    /// A number of objects such as `100`, or a share such as `10%`.
    fn from_str(text: &str) -> Result<Self> {
        let parsed = match text.strip_suffix('%') {
            Some(share) => {
                share.parse().ok().filter(|percent| (0.0..=100.0).contains(percent)).map(Self::Percent)
            }
            None => text.parse().ok().map(Self::Count),
        };
        parsed.ok_or_else(|| {
            Error::new(ErrorKind::Usage, "parse", text, "not a number of objects")
                .hint("write a number such as 100, or a share of the destination such as 10%")
        })
    }
}

/// What may be deleted at the destination, and when not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Deleting {
    /// Delete nothing at all where it would be more than this.
    pub max: Option<MaxDelete>,
    /// Delete everything where the source is empty; else that is refused, for it is most often a mistake.
    pub allow_empty: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_a_number_or_a_share() {
        let parse = |text: &str| text.parse::<MaxDelete>().ok();
        assert_eq!(parse("100"), Some(MaxDelete::Count(100)));
        assert_eq!(parse("12.5%"), Some(MaxDelete::Percent(12.5)));
        for text in ["", "%", "-1", "101%", "-1%", "NaN%", "ten", "1.5"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert!(MaxDelete::Count(3).forbids(4, 100) && !MaxDelete::Count(3).forbids(3, 3));
        assert!(MaxDelete::Percent(10.0).forbids(11, 100) && !MaxDelete::Percent(10.0).forbids(10, 100));
        assert!(MaxDelete::Percent(0.0).forbids(1, 100) && !MaxDelete::Percent(100.0).forbids(5, 5));
    }

    #[test]
    fn ways_to_compare_have_names() {
        assert_eq!("receipt".parse::<Compare>().unwrap(), Compare::Receipt);
        assert_eq!("mtime".parse::<Compare>().unwrap_err().kind(), ErrorKind::Usage);
    }
}
