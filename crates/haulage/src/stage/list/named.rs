//! Names below one source that are asked for directly, so that nothing is listed.

use std::collections::HashSet;
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{BufRead, BufReader, Read as _};

use tokio::sync::mpsc;

use super::ahead;
use super::lookups::Lookups;
use super::one::as_prefix;
use super::{Listed, Listing, apart};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::through;
use crate::options::{NameList, Overwrite, Work};
use crate::stage::plan::{Existing, Pair, Place};
use crate::store::{Address, Location, Request, StoreOptions};

/// Bytes of a name that a list may hold: S3's longest have 1,024, paths of Linux 4,096.
const NAME_MAX: u64 = 4096;

/// Names that are read ahead.
const AHEAD: usize = 4096;

/// So many names may be refused, and no other answer have come, before the key is taken to be the reason: S3 does not say it.
const REFUSED_MAX: usize = 16;

const HINT: &str =
    "names in the list are relative to SRC and must match exactly; nothing is listed to find them";

impl Listing {
    /// Takes what the list names below the one source of `work`.
    pub(super) async fn named(&mut self, names: &NameList, work: &Work) -> Result<()> {
        let [source, destination] = ends(names, work)?;
        let verify = matches!(work, Work::Verify { .. });
        let own = self.own_keys(source)?;
        let (source, destination) = (self.opener.open(source)?, self.opener.open(destination)?);
        match work {
            Work::Sync { .. } => self.check_apart(&source, &destination).await?,
            Work::Move { .. } => {
                apart::check("move", &source, &destination)?;
                self.check_by_witness("move", &source, &destination).await?;
            }
            _ => {}
        }
        self.prepare(&source, ahead::TREE);
        self.prepare(&destination, ahead::TREE);
        let known = !verify && self.overwrite == Overwrite::Always && self.backs_up.is_none();
        let existing = if known { Existing::Absent } else { Existing::Unknown };
        let ends =
            Ends { from: as_prefix(&source.key), to: as_prefix(&destination.key), source, destination };
        let mut read = Read::begin(names.clone());
        let (mut seen, mut looking) = (HashSet::new(), Lookups::default());
        let (mut answered, mut refused) = (false, 0);
        loop {
            while looking.has_room()
                && let Some(name) = read.next(looking.is_empty()).await?
            {
                match below(&name) {
                    Ok(name) if !self.filter.wants(name) || !is_new(&mut seen, name) => {}
                    Ok(name) if own.contains(&format!("{}{name}", ends.from)) => {}
                    Ok(name) => looking.begin(ends.clone().look_up(name.to_owned(), existing.clone())),
                    Err(why) => {
                        let error = Error::new(ErrorKind::Unsupported, "read the list", name, why);
                        let hint = "write names relative to SRC, such as 2024/tas.nc";
                        self.send(Listed::Problem(error.hint(hint))).await?;
                    }
                }
            }
            match looking.next().await {
                None => break,
                Some(Ok(pair)) => {
                    answered = true;
                    if self.filter.takes(&pair.meta) {
                        self.give(pair).await?;
                    }
                }
                Some(Err(error)) if error.kind() == ErrorKind::NotFound => {
                    answered = true;
                    // That a container is not there says what to do by itself.
                    let of_container =
                        matches!(error.service_code(), Some("ContainerNotFound" | "NoSuchBucket"));
                    let error = if of_container { error } else { error.hint(HINT) };
                    self.send(Listed::Problem(error)).await?;
                }
                Some(Err(error)) => {
                    refused += usize::from(error.kind() == ErrorKind::Permission);
                    // A wrong key is wrong for all of them; a name that may not be read is not.
                    let all = error.refuses_credential() || (!answered && refused > REFUSED_MAX);
                    if all || error.kind() == ErrorKind::Usage {
                        return Err(error);
                    }
                    self.send(Listed::Problem(error)).await?;
                }
            }
        }
        match read.names {
            0 => Err(Error::new(ErrorKind::NotFound, "read the list", names.name(), "it holds no names")
                .hint("write one name a line, relative to SRC")),
            _ => Ok(()),
        }
    }
}

/// Refuses what a list of names does not go with, before anything is touched.
///
/// # Errors
/// `Usage`.
pub(crate) fn check_names(names: &NameList, work: &Work, options: &StoreOptions) -> Result<()> {
    for name in ends(names, work)? {
        let address = Address::parse(name, options)?;
        if address.clone().source_stream().is_some() || address.destination_stream().is_some() {
            return Err(Error::new(
                ErrorKind::Usage,
                "read the list",
                name,
                "a stream has no names below it",
            )
            .hint("with --files-from name a folder, a container or a prefix on both sides"));
        }
    }
    Ok(())
}

/// The one source that names are below, and the destination.
fn ends<'a>(names: &NameList, work: &'a Work) -> Result<[&'a String; 2]> {
    let wrong = |cause: &str| Error::new(ErrorKind::Usage, "read the list", names.name(), cause);
    match work {
        Work::Copy { sources, destination } | Work::Move { sources, destination } if sources.len() == 1 => {
            Ok([&sources[0], destination])
        }
        Work::Verify { source, destination, .. } | Work::Sync { source, destination, delete: None } => {
            Ok([source, destination])
        }
        Work::Sync { .. } => Err(wrong("nothing is listed, so what only the destination has is unknown")
            .hint("leave out --delete, or choose names with --include and --exclude")),
        _ => Err(wrong("its names are below one source")
            .hint("give one SRC with --files-from; for several sources use --pairs FILE")),
    }
}

/// The folder or prefix that names are below, and where they go.
#[derive(Clone)]
struct Ends {
    source: Location,
    destination: Location,
    from: String,
    to: String,
}

impl Ends {
    async fn look_up(self, name: String, existing: Existing) -> Result<Pair> {
        let Location { store, gate, .. } = self.source;
        let key = format!("{}{name}", self.from);
        let meta = through!(gate, store.api(Request::Look), store.name(&key), trace => store.head(&key, trace).await)?;
        let destination = Place { store: self.destination.store, key: format!("{}{name}", self.to) };
        Ok(Pair::new(Place { store, key }, destination, self.to.len(), meta, existing))
    }
}

/// Whether a name comes for the first time. Kept as hashes: lists may hold millions.
fn is_new(seen: &mut HashSet<u64>, name: &str) -> bool {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    seen.insert(hasher.finish())
}

/// The name below the source, or why it is none.
fn below(name: &str) -> std::result::Result<&str, &'static str> {
    let mut name = name;
    // As `find .` writes them.
    while let Some(rest) = name.strip_prefix("./") {
        name = rest.trim_start_matches('/');
    }
    match name {
        "" | "." => Err("this names the source itself"),
        _ if name.starts_with('/') => Err("an absolute path leads out of the source"),
        _ if name.split('/').any(|part| part == "..") => Err("a name with `..` leads out of the source"),
        _ if name.ends_with('/') => Err("this names a folder, and nothing is listed"),
        _ if name.contains('\0') => Err("the name holds a zero byte"),
        _ => Ok(name),
    }
}

/// The names of a list, read beside the looks.
struct Read {
    names: u64,
    coming: mpsc::Receiver<Result<String>>,
}

impl Read {
    fn begin(list: NameList) -> Self {
        let (send, coming) = mpsc::channel(AHEAD);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = read(&list, &mut |name| send.blocking_send(Ok(name)).is_ok()) {
                // Nobody may be listening any more.
                let _ = send.blocking_send(Err(error));
            }
        });
        Self { names: 0, coming }
    }

    /// The next name, if it is there or may be waited for; `None` also after the last.
    async fn next(&mut self, wait: bool) -> Result<Option<String>> {
        let name = if wait { self.coming.recv().await } else { self.coming.try_recv().ok() }.transpose()?;
        self.names += u64::from(name.is_some());
        Ok(name)
    }
}

/// Reads names until `tell` wants no more.
fn read(list: &NameList, tell: &mut dyn FnMut(String) -> bool) -> Result<()> {
    let failed = |error| Error::from_io("read the list", list.name(), error);
    match list {
        NameList::Given(names) => {
            names.iter().filter(|name| !name.is_empty()).all(|name| tell(name.clone()));
            Ok(())
        }
        NameList::File { path, zero } if path.as_os_str() == "-" => {
            split(std::io::stdin().lock(), *zero, list, tell)
        }
        NameList::File { path, zero } => {
            split(BufReader::with_capacity(1 << 16, File::open(path).map_err(failed)?), *zero, list, tell)
        }
    }
}

fn split(
    mut file: impl BufRead,
    zero: bool,
    list: &NameList,
    tell: &mut dyn FnMut(String) -> bool,
) -> Result<()> {
    let end = if zero { 0 } else { b'\n' };
    let wrong = |number: u64, cause: &str| {
        Error::new(ErrorKind::Usage, "read the list", format!("{}, name {number}", list.name()), cause)
    };
    let (mut name, mut number) = (Vec::new(), 0);
    loop {
        name.clear();
        let read = file.by_ref().take(NAME_MAX + 2).read_until(end, &mut name);
        if read.map_err(|error| Error::from_io("read the list", list.name(), error))? == 0 {
            return Ok(());
        }
        number += 1;
        let ended = name.last() == Some(&end);
        name.truncate(name.len() - usize::from(ended));
        if !zero {
            // As other systems write them.
            name.truncate(name.len() - usize::from(name.last() == Some(&b'\r')));
            let marked = number == 1 && name.starts_with(b"\xef\xbb\xbf");
            name.drain(..if marked { 3 } else { 0 });
        }
        if !zero && name.contains(&0) {
            return Err(
                wrong(number, "it holds a zero byte").hint("zero bytes end the names: use --files-from0")
            );
        }
        if name.len() as u64 > NAME_MAX {
            let hint = if zero { "for one name a line use --files-from" } else { "write one name a line" };
            return Err(wrong(number, "no name is that long").hint(hint));
        }
        let Ok(text) = std::str::from_utf8(&name) else {
            return Err(wrong(number, "it is not valid UTF-8").hint("save the list as UTF-8"));
        };
        if !text.is_empty() && !tell(text.to_owned()) {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(bytes: &[u8], zero: bool) -> Result<Vec<String>> {
        let list = NameList::File { path: "list.txt".into(), zero };
        let mut names = Vec::new();
        split(bytes, zero, &list, &mut |name| {
            names.push(name);
            true
        })?;
        Ok(names)
    }

    #[test]
    fn names_end_with_the_line_or_with_a_zero_byte() {
        assert_eq!(names(b"\xef\xbb\xbfa\r\nb c\n\n#d\ne", false).unwrap(), ["a", "b c", "#d", "e"]);
        assert_eq!(names(b"a\nb\0c\r\0\0d", true).unwrap(), ["a\nb", "c\r", "d"]);
        assert!(names(b"", false).unwrap().is_empty());
        for (bytes, hint) in [
            (&b"a\0b\0"[..], "zero bytes end the names: use --files-from0"),
            (b"\xff\n", "save the list as UTF-8"),
            (&vec![b'x'; 5000][..], "write one name a line"),
        ] {
            let error = names(bytes, false).unwrap_err();
            assert_eq!((error.kind(), error.hint_text()), (ErrorKind::Usage, Some(hint)));
        }
        assert_eq!(names(&[b'x'; 4096], false).unwrap().len(), 1);
    }

    #[test]
    fn no_name_leads_out_of_the_source() {
        for name in ["/etc/passwd", "../a", "a/../../b", "a/..", "./../a", ".//../a", ".", "./", "a/", "a\0"]
        {
            assert!(below(name).is_err(), "{name:?}");
        }
        for (name, key) in
            [("a/b", "a/b"), ("./a", "a"), (".//a", "a"), ("..a/b..", "..a/b.."), ("a/./b", "a/./b")]
        {
            assert_eq!(below(name), Ok(key));
        }
    }
}
