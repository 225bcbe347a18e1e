//! What an export has fetched, on this machine's disk until all is there: one file for each stretch of the table, and a list of the
//! stretches. A page is appended whole, with where the next one begins, so that an export that was killed goes on behind the last
//! page of each stretch.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use serde::{Deserialize, Serialize};

use super::column::ColumnName;
use super::hash::RowsHash;
use super::query::Place;
use super::range::{Key, Stretch, Until};
use crate::checksum::Crc64;
use crate::error::{Error, ErrorKind, Result};

/// Begins each page; one that was cut off or torn is not taken for one.
const MARK: [u8; 8] = *b"haulpg1\n";

/// Zstandard's quickest: rows compress to a third, and the disk of a small machine is slow.
const LEVEL: i32 = 1;

/// Rows that were read before are read again: what is theirs now may be another.
const LASTS: Duration = Duration::from_secs(24 * 3600);

/// The list of the stretches.
const PLAN: &str = "plan.json";

/// What the export is of; another one may not go on from here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Subject {
    /// The form of these files.
    pub(super) version: u32,
    pub(super) table: String,
    pub(super) filter: Option<String>,
    pub(super) select: Option<String>,
}

/// One stretch in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Planned {
    pub(super) id: u32,
    pub(super) stretch: Stretch,
    pub(super) until: Until,
}

/// The list, in the order of the keys.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) subject: Subject,
    /// When the first rows were asked for.
    #[serde(default)]
    pub(super) since_unix_s: u64,
    pub(super) stretches: Vec<Planned>,
}

/// What stands before the rows of a page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PageHead {
    pub(super) rows: u64,
    pub(super) next: Option<Place>,
    /// The last row of the page; of an empty page the one before.
    pub(super) last: Option<Key>,
    pub(super) hash: RowsHash,
    columns: Vec<String>,
    bytes: u32,
    crc64: u64,
}

/// A folder of stretches.
#[derive(Debug)]
pub(super) struct Spool {
    folder: PathBuf,
    /// Held while this process works here.
    _lock: File,
}

impl Spool {
    /// Opens the folder, making it where none is.
    ///
    /// # Errors
    /// `Exists` where another process works in it.
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let io = |error| Error::from_io("create", folder.display().to_string(), error);
        std::fs::create_dir_all(folder).map_err(io)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(folder.join("lock"))
            .map_err(io)?;
        if rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_err() {
            let cause = "another process exports to this file";
            return Err(Error::new(ErrorKind::Exists, "create", folder.display().to_string(), cause)
                .hint("wait for it to end, or write to another file"));
        }
        Ok(Self { folder: folder.to_path_buf(), _lock: lock })
    }

    /// What an earlier export left, if it was of the same and is not too old.
    pub(super) fn plan(&self, subject: &Subject) -> Option<Plan> {
        let text = std::fs::read(self.folder.join(PLAN)).ok()?;
        let plan: Plan = serde_json::from_slice(&text).ok()?;
        let age = now_unix_s().saturating_sub(plan.since_unix_s);
        (plan.subject == *subject && age < LASTS.as_secs()).then_some(plan)
    }

    /// A row that is kept: a table without it may be another one by now.
    pub(super) fn witness(&self, plan: &Plan) -> Result<Option<Key>> {
        for stretch in plan.stretches.iter().filter(|stretch| self.path(stretch.id).exists()) {
            let mut pages = self.read(stretch.id)?;
            while let Some(head) = pages.head()? {
                if head.rows > 0 {
                    return Ok(head.last);
                }
            }
        }
        Ok(None)
    }

    /// Removes what an earlier export of something else left.
    pub(super) fn clear(&self) -> Result<()> {
        let io = |error| Error::from_io("clear", self.folder.display().to_string(), error);
        for entry in std::fs::read_dir(&self.folder).map_err(io)? {
            let entry = entry.map_err(io)?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name == PLAN || name.ends_with(".pages") {
                std::fs::remove_file(entry.path()).map_err(io)?;
            }
        }
        Ok(())
    }

    /// Keeps the list, whole or not at all.
    pub(super) fn keep(&self, plan: &Plan) -> Result<()> {
        let io = |error| Error::from_io("write", self.folder.display().to_string(), error);
        let text = serde_json::to_vec(plan).map_err(|error| io(error.into()))?;
        let beside = self.folder.join("plan.json.new");
        std::fs::write(&beside, text).map_err(io)?;
        std::fs::rename(&beside, self.folder.join(PLAN)).map_err(io)
    }

    fn path(&self, id: u32) -> PathBuf {
        self.folder.join(format!("{id:06}.pages"))
    }

    /// Opens a stretch to append to it; with the heads of the pages that are there. What is torn at its end is cut off.
    pub(super) fn append(&self, id: u32) -> Result<(Appender, Vec<PageHead>)> {
        let path = self.path(id);
        let io = |error| Error::from_io("write", path.display().to_string(), error);
        let mut file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path).map_err(io)?;
        let (mut heads, mut whole) = (Vec::new(), 0);
        let mut reader = BufReader::new(&file);
        while let Some((head, _)) = read_page(&mut reader).map_err(io)? {
            whole = reader.stream_position().map_err(io)?;
            heads.push(head);
        }
        drop(reader);
        file.set_len(whole).map_err(io)?;
        file.seek(SeekFrom::End(0)).map_err(io)?;
        Ok((Appender { file, path }, heads))
    }

    /// The pages of a stretch, from its first.
    pub(super) fn read(&self, id: u32) -> Result<Pages> {
        let path = self.path(id);
        let file =
            File::open(&path).map_err(|error| Error::from_io("read", path.display().to_string(), error))?;
        Ok(Pages { reader: BufReader::with_capacity(1 << 20, file), path })
    }

    /// Removes all of it.
    pub(super) fn remove(self) -> Result<()> {
        self.clear()?;
        let removed =
            std::fs::remove_file(self.folder.join("lock")).and_then(|()| std::fs::remove_dir(&self.folder));
        removed.map_err(|error| Error::from_io("remove", self.folder.display().to_string(), error))
    }
}

/// The end of a stretch.
#[derive(Debug)]
pub(super) struct Appender {
    file: File,
    path: PathBuf,
}

/// A page for the spool.
pub(super) struct NewPage<'a> {
    pub(super) batch: &'a RecordBatch,
    pub(super) columns: &'a [ColumnName],
    pub(super) next: Option<Place>,
    pub(super) last: Option<Key>,
    pub(super) hash: RowsHash,
}

impl Appender {
    /// Appends a page in one write.
    pub(super) fn append(&mut self, page: NewPage<'_>) -> Result<()> {
        let io = |error| Error::from_io("write", self.path.display().to_string(), error);
        let body = encode(page.batch).map_err(io)?;
        let head = PageHead {
            rows: page.batch.num_rows() as u64,
            next: page.next,
            last: page.last,
            hash: page.hash,
            columns: page.columns.iter().map(ColumnName::in_page).collect(),
            bytes: body.len() as u32,
            crc64: Crc64::of(&body).to_u64(),
        };
        let head = serde_json::to_vec(&head).map_err(|error| io(error.into()))?;
        let mut text = Vec::with_capacity(MARK.len() + 4 + head.len() + body.len());
        text.extend(MARK);
        text.extend((head.len() as u32).to_le_bytes());
        text.extend(head);
        text.extend(body);
        self.file.write_all(&text).map_err(io)
    }
}

/// Pages of a stretch that are read back.
#[derive(Debug)]
pub(super) struct Pages {
    reader: BufReader<File>,
    path: PathBuf,
}

impl Pages {
    /// What stands before the rows of the next page, which are passed over.
    pub(super) fn head(&mut self) -> Result<Option<PageHead>> {
        let io = |error| Error::from_io("read", self.path.display().to_string(), error);
        Ok(read_page(&mut self.reader).map_err(io)?.map(|(head, _)| head))
    }

    /// The next page; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<(PageHead, RecordBatch)>> {
        let io = |error| Error::from_io("read", self.path.display().to_string(), error);
        let Some((head, body)) = read_page(&mut self.reader).map_err(io)? else { return Ok(None) };
        let batch = decode(&body).map_err(io)?;
        Ok(Some((head, batch)))
    }
}

impl PageHead {
    /// The columns of its rows.
    pub(super) fn columns(&self) -> impl Iterator<Item = ColumnName> {
        self.columns.iter().filter_map(|name| ColumnName::of_page(name))
    }
}

/// The next page as far as it is whole.
fn read_page(reader: &mut BufReader<impl std::io::Read>) -> std::io::Result<Option<(PageHead, Vec<u8>)>> {
    let torn = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Ok(None),
        _ => Err(error),
    };
    let mut begin = [0; MARK.len() + 4];
    if let Err(error) = reader.read_exact(&mut begin) {
        return torn(error);
    }
    let (mark, len) = begin.split_at(MARK.len());
    let len = u32::from_le_bytes(len.try_into().unwrap_or_default()) as usize;
    if mark != MARK || len > 16 << 20 {
        return Ok(None);
    }
    let mut head = vec![0; len];
    if let Err(error) = reader.read_exact(&mut head) {
        return torn(error);
    }
    let Ok(head) = serde_json::from_slice::<PageHead>(&head) else { return Ok(None) };
    let mut body = vec![0; head.bytes as usize];
    if let Err(error) = reader.read_exact(&mut body) {
        return torn(error);
    }
    Ok((Crc64::of(&body).to_u64() == head.crc64).then_some((head, body)))
}

/// Now, as a plan keeps it.
pub(super) fn now_unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn encode(batch: &RecordBatch) -> std::io::Result<Vec<u8>> {
    let mut packer = zstd::stream::Encoder::new(Vec::new(), LEVEL)?;
    let arrow = |error: arrow_schema::ArrowError| std::io::Error::other(error.to_string());
    let mut writer = StreamWriter::try_new(&mut packer, batch.schema_ref()).map_err(arrow)?;
    writer.write(batch).and_then(|()| writer.finish()).map_err(arrow)?;
    drop(writer);
    packer.finish()
}

fn decode(body: &[u8]) -> std::io::Result<RecordBatch> {
    let arrow = |error: arrow_schema::ArrowError| std::io::Error::other(error.to_string());
    let unpacked = zstd::stream::decode_all(body)?;
    let mut reader = StreamReader::try_new(unpacked.as_slice(), None).map_err(arrow)?;
    let batch = reader.next().unwrap_or_else(|| Ok(RecordBatch::new_empty(reader.schema())));
    batch.map_err(arrow)
}

#[cfg(test)]
mod tests {
    use super::super::page::Page;
    use super::*;

    #[test]
    fn what_was_torn_is_cut_off_and_the_rest_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::open(&folder.path().join("spool")).unwrap();
        assert_eq!(
            Spool::open(&folder.path().join("spool")).unwrap_err().hint_text(),
            Some("wait for it to end, or write to another file")
        );
        let page = Page::parse(br#"{"value":[{"PartitionKey":"p","RowKey":"r","x":1}]}"#, "x").unwrap();
        let new = |number: u32| NewPage {
            batch: &page.batch,
            columns: &page.columns,
            next: Some(Place { partition: number.to_string(), row: None }),
            last: None,
            hash: RowsHash::default(),
        };
        let (mut end, heads) = spool.append(1).unwrap();
        assert!(heads.is_empty());
        end.append(new(1)).unwrap();
        end.append(new(2)).unwrap();
        let whole = std::fs::metadata(spool.path(1)).unwrap().len();
        for torn in [whole - 1, whole - 40, whole / 2 + 5] {
            std::fs::OpenOptions::new().write(true).open(spool.path(1)).unwrap().set_len(torn).unwrap();
            let (mut end, heads) = spool.append(1).unwrap();
            assert_eq!(heads.len(), 1, "{torn}");
            assert_eq!(heads[0].columns().count(), 3);
            end.append(new(2)).unwrap();
            assert_eq!(std::fs::metadata(spool.path(1)).unwrap().len(), whole);
        }
        let mut pages = spool.read(1).unwrap();
        assert_eq!(pages.next().unwrap().unwrap().1, page.batch);
        assert_eq!(pages.next().unwrap().unwrap().0.next.unwrap().partition, "2");
        assert!(pages.next().unwrap().is_none());
        spool.remove().unwrap();
    }
}
