//! What is a part of the Python package. Only where this command was started without Python around it does anybody come here: the
//! entry point of the package takes such commands itself.

use std::ffi::OsString;

use haulage::{Error, ErrorKind};

use crate::stop::Ending;

/// Says how to have what is in this extra of the package.
pub fn needed(operation: &'static str, object: String, extra: &str) -> Error {
    Error::new(ErrorKind::Unsupported, operation, object, "it needs Python")
        .hint(format!("install it with: pip install 'haulage[{extra}]'"))
}

/// The end of a command that is in this extra.
pub(crate) fn command(name: &str, args: &[OsString], extra: &str) -> Ending {
    let words: Vec<_> = args.iter().map(|word| word.to_string_lossy()).collect();
    Err(needed("start", format!("{name} {}", words.join(" ")), extra).into())
}
