//! Names that are kept until a list is known to be whole: in memory while they are few, beyond that in a file without
//! a name, so that ten million of them cost no memory.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Cursor, Read, Seek as _, SeekFrom, Write as _};

use crate::error::{Error, Result};

/// Kept in memory up to this size, in bytes: some hundred thousand names.
const MEMORY: usize = 16 << 20;

/// Names with their sizes, in the order in which they came.
#[derive(Default)]
pub(crate) struct Spool {
    memory: Vec<u8>,
    file: Option<BufWriter<File>>,
    /// How many there are.
    pub(crate) count: u64,
    /// Their sizes together, in bytes; a list may claim any size.
    pub(crate) bytes: u64,
}

impl Spool {
    /// Keeps a name.
    pub(crate) fn push(&mut self, name: &str, size: u64) -> Result<()> {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(size);
        if self.file.is_none() && self.memory.len() > MEMORY {
            let file = tempfile::tempfile().map_err(failed)?;
            let mut file = BufWriter::with_capacity(256 << 10, file);
            file.write_all(&std::mem::take(&mut self.memory)).map_err(failed)?;
            self.file = Some(file);
        }
        let written = match &mut self.file {
            Some(file) => write(file, name, size),
            None => write(&mut self.memory, name, size),
        };
        written.map_err(failed)
    }

    /// All of them, from the first.
    pub(crate) fn read(self) -> Result<Names> {
        let from: Box<dyn Read + Send> = match self.file {
            None => Box::new(Cursor::new(self.memory)),
            Some(file) => {
                let mut file = file.into_inner().map_err(|error| failed(error.into_error()))?;
                file.seek(SeekFrom::Start(0)).map_err(failed)?;
                Box::new(BufReader::with_capacity(256 << 10, file))
            }
        };
        Ok(Names { from, left: self.count })
    }
}

/// Reads the names back.
pub(crate) struct Names {
    from: Box<dyn Read + Send>,
    left: u64,
}

impl Names {
    /// The next ones, at most `most`; none at the end.
    pub(crate) fn next(&mut self, most: u64) -> Result<Vec<(String, u64)>> {
        let count = most.min(self.left);
        self.left -= count;
        (0..count).map(|_| read(&mut self.from)).collect::<io::Result<_>>().map_err(failed)
    }
}

fn write(to: &mut impl io::Write, name: &str, size: u64) -> io::Result<()> {
    to.write_all(&(name.len() as u64).to_le_bytes())?;
    to.write_all(&size.to_le_bytes())?;
    to.write_all(name.as_bytes())
}

fn read(from: &mut impl Read) -> io::Result<(String, u64)> {
    let mut number = || -> io::Result<u64> {
        let mut bytes = [0; 8];
        from.read_exact(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    };
    let (len, size) = (number()?, number()?);
    let mut name = vec![0; len as usize];
    from.read_exact(&mut name)?;
    Ok((String::from_utf8(name).map_err(io::Error::other)?, size))
}

fn failed(error: io::Error) -> Error {
    Error::from_io("keep names in", std::env::temp_dir().display().to_string(), error)
        .hint("free some space there, or set TMPDIR to another folder")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named_with_what_helps() {
        let error = failed(io::ErrorKind::StorageFull.into());
        assert_eq!(error.hint_text(), Some("free some space there, or set TMPDIR to another folder"));
        assert_eq!(error.object_name(), std::env::temp_dir().display().to_string());
    }

    #[test]
    fn names_come_back_in_order_from_memory_and_from_a_file() {
        for many in [3_u64, 300_000] {
            let mut spool = Spool::default();
            let name = |number: u64| format!("{number}/{}", "ü".repeat((number % 50) as usize));
            for number in 0..many {
                spool.push(&name(number), number).unwrap();
            }
            assert_eq!(spool.file.is_some(), many > 1000);
            assert!(spool.memory.len() <= MEMORY + 200);
            assert_eq!((spool.count, spool.bytes), (many, (0..many).sum()));
            let mut names = spool.read().unwrap();
            let mut next = 0;
            loop {
                let some = names.next(1000).unwrap();
                if some.is_empty() {
                    break;
                }
                for (read, size) in some {
                    assert_eq!((read, size), (name(next), next));
                    next += 1;
                }
            }
            assert_eq!(next, many);
        }
    }
}
