//! Whether what only the destination has may be deleted. Pure.

use crate::error::{Error, ErrorKind};
use crate::options::MaxDelete;

/// What is known when everything else is done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    /// What was asked for is refused.
    pub(crate) refused: bool,
    /// A list failed, or something in one could not be seen.
    pub(crate) cut_short: bool,
    /// Objects that were not copied, or not kept on the disk.
    pub(crate) failed: u64,
    /// Objects only at the destination, and all that take part there.
    pub(crate) extras: u64,
    pub(crate) all: u64,
    /// How many may be deleted.
    pub(crate) max: Option<MaxDelete>,
}

/// Why nothing is deleted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Withheld {
    /// Somebody has said already what went wrong.
    Said(&'static str),
    /// Nobody would know.
    Guarded(String),
}

impl Withheld {
    /// What to warn of, where it is no failure of its own.
    pub(crate) fn warning(&self) -> Option<String> {
        match self {
            Self::Said(why) => Some(format!("nothing was deleted, because {why}")),
            Self::Guarded(_) => None,
        }
    }

    /// The failure of the job, where it is one of its own.
    pub(crate) fn failure(&self, destination: &str) -> Option<Error> {
        match self {
            Self::Said(_) => None,
            Self::Guarded(cause) => Some(
                Error::new(ErrorKind::Usage, "delete from", destination, cause.clone())
                    .hint("look at them with --dry-run, then allow more with --max-delete"),
            ),
        }
    }
}

/// Decides whether anything is deleted.
pub(crate) fn may_delete(facts: Facts) -> Result<(), Withheld> {
    match facts {
        Facts { refused: true, .. } => Err(Withheld::Said("the command was refused")),
        Facts { cut_short: true, .. } => Err(Withheld::Said("a list is not complete")),
        Facts { failed: 1.., .. } => Err(Withheld::Said("not everything was copied")),
        Facts { extras, all, max: Some(max), .. } if max.forbids(extras, all) => {
            Err(Withheld::Guarded(format!(
                "{extras} of {all} objects would be deleted, and --max-delete allows {max}; nothing was deleted"
            )))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_after_all_went_well_and_never_too_many() {
        let well = Facts { extras: 5, all: 10, ..Facts::default() };
        assert_eq!(may_delete(well), Ok(()));
        for bad in [
            Facts { refused: true, ..well },
            Facts { cut_short: true, ..well },
            Facts { failed: 1, ..well },
            Facts { max: Some(MaxDelete::Count(4)), ..well },
            Facts { max: Some(MaxDelete::Percent(49.0)), ..well },
        ] {
            assert!(may_delete(bad).is_err(), "{bad:?}");
        }
        for max in [MaxDelete::Count(5), MaxDelete::Percent(50.0)] {
            assert_eq!(may_delete(Facts { max: Some(max), ..well }), Ok(()));
        }
    }
}
