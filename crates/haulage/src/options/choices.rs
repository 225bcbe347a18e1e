//! What a job can be told of which it chooses something itself otherwise.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::event::PartRecord;
use crate::store::{BlockRange, is_tier};

/// A setting that the controller chooses unless the user does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Setting<T> {
    /// The controller chooses.
    #[default]
    Auto,
    /// The user's choice.
    Fixed(T),
}

impl<T> Setting<T> {
    /// The user's choice, where there is one.
    pub fn fixed(self) -> Option<T> {
        match self {
            Self::Auto => None,
            Self::Fixed(value) => Some(value),
        }
    }
}

/// How large objects are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MethodChoice {
    /// By size: whole objects below the single-put threshold, blocks or ranges above.
    #[default]
    Auto,
    /// One request for each object, whatever its size.
    Whole,
    /// Blocks or ranges wherever there is more than one.
    Ranges,
}

/// Whether services copy by themselves what goes from one of their stores to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServerSide {
    /// Wherever they can; what they refuse goes through this machine.
    #[default]
    Auto,
    /// Never: every byte passes this machine, and is checked here.
    Never,
}

/// In which access tier or storage class objects are written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TierChoice {
    /// In the one that somebody has chosen for the source, as far as it can be read from there at once; else as [`Self::Default`].
    #[default]
    Auto,
    /// In the one that the account or the bucket gives to what says nothing.
    Default,
    /// In this one; Azure and S3 each take the other's names for the nearest of their own.
    Named(String),
}

impl FromStr for TierChoice {
    type Err = Error;

    /// `auto`, `default`, or the name of a tier or class.
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "default" => Ok(Self::Default),
            name if is_tier(name) => Ok(Self::Named(name.to_owned())),
            _ => Err(Error::new(ErrorKind::Usage, "parse", text, "not the name of a tier or storage class")
                .hint("write auto, default, or a name such as cool or STANDARD_IA")),
        }
    }
}

impl TierChoice {
    /// The user's choice, where there is one.
    pub fn named(&self) -> Option<&str> {
        match self {
            Self::Auto | Self::Default => None,
            Self::Named(tier) => Some(tier),
        }
    }
}

/// What of an object a job moves, where several machines move one object together. A job that does not move [`Self::All`] has one
/// object, and its destination is an object store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Portion {
    /// All of it.
    #[default]
    All,
    /// This stretch is staged, and nobody sees it; the [`ObjectRecord`](crate::event::ObjectRecord) names the parts. A stretch of no bytes only begins
    /// the object: where a service has uploads, that is done once, before several go on with it. Where it wants parts of one
    /// size (S3), [`CopyOptions::block_size`] is fixed, and each stretch begins at a multiple of it.
    Stretch(BlockRange),
    /// Nothing is moved: these parts, which such jobs have staged, become the object. Together they cover it.
    Commit(Vec<PartRecord>),
}

/// Whether an object at the destination is replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Overwrite {
    /// Unless size and source time say that it is the same: makes a re-run cheap.
    #[default]
    IfDifferent,
    /// Always.
    Always,
    /// Never; what is there is skipped.
    Never,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_is_a_name() {
        let parse = |text: &str| text.parse::<TierChoice>().ok();
        assert_eq!((parse("auto"), parse("default")), (Some(TierChoice::Auto), Some(TierChoice::Default)));
        for name in ["cool", "Archive", "STANDARD_IA"] {
            assert_eq!(parse(name), Some(TierChoice::Named(name.to_owned())));
        }
        for text in ["", "two words", "a/b", "x\ny"] {
            assert_eq!(parse(text), None);
        }
    }
}
