//! Tables of Azure: rows out of them into files, and back, as fast as the service gives and takes them.
//!
//! An export is fetch and assemble. `fetch` has workers, each on a stretch of the keys (`range`), whose pages (`query`, read by
//! `page` into columns, `column` and `kind`) go to a spool on the disk; `assemble` gives all of them the same columns, and
//! `sink` writes the file. `hash` proves that two tables hold the same.

mod assemble;
mod cell;
mod column;
mod compare;
mod cut;
mod export;
mod fetch;
mod hash;
mod import;
mod journal;
mod kind;
mod page;
mod prepare;
mod query;
mod range;
mod recording;
mod rows_in;
mod sink;
mod spool;
mod tables;
mod template;
mod time;
mod transaction;
mod waiting;
mod write;
mod written;

pub use compare::{Compared, Difference, compare};
pub use export::{Export, ExportOptions, Exported, Progress};
pub use hash::RowsHash;
pub use import::{Import, ImportOptions, ImportProgress, Imported};
pub use kind::Kind;
pub use query::{Place, Query, RawPage};
pub use sink::{Format, Formulas};
pub use tables::{Level, Table, arrow_of_page};
pub use transaction::Mode;
