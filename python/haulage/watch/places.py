"""Where a log lies: a folder of this machine, or a prefix in a store."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import unquote

from haulage.errors import CredentialError, LocalIOError, NotFoundError
from haulage.places import urls_of, without_signature
from haulage.ranges import get_range
from haulage.transfer import StoreOptions, list as list_objects, stat
from haulage.watch.line import JOB

#: The end of the name of a file, with the job and the stream that it is of.
_FILE = re.compile(r"(?:^|/)([0-9a-f]{16})/([^/]+\.[0-9a-f]{8})/(\d{6,18})\.jsonl$", re.ASCII)


class File(NamedTuple):
    """A file of a log, as it is listed."""

    job: str
    folder: str  #: of its stream, within the job
    number: int
    name: str  #: to read it by
    size_bytes: int
    modified_ns: int


class Place(Protocol):
    """What a log can be read from."""

    name: str  #: for people, without a secret
    pieces: bool  #: files do not grow: what is new is in files of the next numbers

    def files(self, job: str | None) -> Iterator[File]:
        """Yield the files of all jobs, or of one."""
        ...

    def jobs(self) -> Iterator[str]:
        """Yield the names of all jobs."""
        ...

    def streams(self, job: str) -> Iterator[str]:
        """Yield the folders of the streams of a job."""
        ...

    def following(self, job: str, folder: str, number: int) -> Iterator[File]:
        """Yield the files of a stream from this number on, as far as they follow each other."""
        ...

    def read(self, name: str, start: int, length: int) -> bytes:
        """Return so many bytes of a file; fewer where it ends."""
        ...


def job_in(source: str) -> str | None:
    """Return the job whose folder that names, which is watched alone; ``None`` where it is a whole log.

    >>> job_in("az://logs/0123456789abcdef/"), job_in("az://logs/jobs")
    ('0123456789abcdef', None)
    """
    last = without_signature(source).rstrip("/").rpartition("/")[2]
    return last if JOB.fullmatch(last) else None


class Folder:
    """A log in a folder of this machine."""

    pieces = False

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        # What is named may be the folder of one job.
        self._one = job_in(str(path))
        self._root = path.parent if self._one else path

    def files(self, job: str | None) -> Iterator[File]:
        """Yield the files of all jobs, or of one."""
        wanted = self._one or job
        try:
            # Not by a pattern: pathlib takes a folder that may not be read for an empty one.
            jobs = [path.name for path in self._root.iterdir() if JOB.fullmatch(path.name)]
            if wanted is not None and wanted not in jobs:
                raise FileNotFoundError
            for name in jobs if wanted is None else [wanted]:
                for file in (self._root / name).glob("*/*.jsonl"):
                    yield from self._file(file)
        except FileNotFoundError:
            cause = "no such folder" if wanted is None else f"no job {wanted} in it"
            raise NotFoundError("watch", self.name, cause, "check the path of the log") from None
        except PermissionError:
            hint = "make the folder readable for this user"
            raise CredentialError("watch", self.name, "permission denied", hint) from None
        except OSError as error:
            raise LocalIOError("watch", self.name, error.strerror or str(error)) from None

    def read(self, name: str, start: int, length: int) -> bytes:
        """Return so many bytes of a file; fewer where it ends."""
        try:
            with Path(name).open("rb") as file:
                file.seek(start)
                return file.read(length)
        except OSError as error:
            raise LocalIOError("watch", name, error.strerror or str(error)) from None

    def jobs(self) -> Iterator[str]:
        """Yield the names of all jobs."""
        yield from {file.job for file in self.files(None)}

    def streams(self, job: str) -> Iterator[str]:
        """Yield the folders of the streams of a job."""
        yield from {file.folder for file in self.files(job)}

    def following(self, job: str, folder: str, number: int) -> Iterator[File]:
        """Yield the files of a stream from this number on, as far as they follow each other."""
        while (path := self._root / job / folder / f"{number:06}.jsonl").exists():
            yield from self._file(path)
            number += 1

    def _file(self, path: Path) -> Iterator[File]:
        found = _FILE.search(path.as_posix())
        if found:
            try:
                known = path.stat()
            except PermissionError:
                raise
            except OSError:
                # It is gone, or a link that leads nowhere: the others are there.
                return
            yield File(found[1], found[2], int(found[3]), str(path), known.st_size, known.st_mtime_ns)


def _key_of(url: str) -> str:
    """Return the name in its container that a URL without a signature ends in.

    >>> _key_of("az://logs/some/"), _key_of("s3://logs/")
    ('some/', '')
    >>> _key_of("https://acc.blob.core.windows.net/logs/a%20b/")
    'a b/'
    """
    key = url.split("/", urls_of(url)("").count("/"))[-1]
    return unquote(key) if url.lower().startswith(("http://", "https://")) else key


class Prefix:
    """A log below a prefix in a store."""

    def __init__(self, url: str, options: StoreOptions) -> None:
        self._options = options
        self.pieces = url.startswith("s3:")
        self.name = base = without_signature(url)
        self._root, self._query = base.rstrip("/"), url[len(base) :]
        self._one = job_in(base)
        if self._one:
            self._root = self._root.rpartition("/")[0]
        #: The name of every object in it begins so.
        self._start = _key_of(f"{self._root}/")

    def files(self, job: str | None) -> Iterator[File]:
        """Yield the files of all jobs, or of one.

        Raises:
            NotFoundError: There is none, but there is a log in a folder below.
        """
        wanted = self._one or job
        below = f"{self._root}/{wanted}" if wanted else self._root
        deeper, nothing = "", True
        for meta in list_objects(f"{below}/{self._query}", recursive=True, **self._options):
            found = _FILE.search(meta.key)
            if not found:
                continue
            if meta.key[: found.start(1)] != self._start:
                # Of another log, in a folder of this one.
                deeper = deeper or urls_of(self._root)(meta.key[: found.start(1)]).rstrip("/")
                continue
            nothing = False
            name = f"{self._root}/{found[0].removeprefix('/')}"
            yield File(found[1], found[2], int(found[3]), name, meta.size_bytes, meta.modified_ns)
        if deeper and nothing and wanted is None:
            cause = "no jobs directly in it, but in folders below"
            raise NotFoundError("watch", self.name, cause, f"name the folder of one log: {deeper}")

    def jobs(self) -> Iterator[str]:
        """Yield the names of all jobs."""
        yield from [self._one] if self._one else filter(JOB.fullmatch, self._folders(self._root))

    def streams(self, job: str) -> Iterator[str]:
        """Yield the folders of the streams of a job."""
        yield from self._folders(f"{self._root}/{job}")

    def _folders(self, below: str) -> Iterator[str]:
        for meta in list_objects(f"{below}/{self._query}", **self._options):
            if meta.key.endswith("/"):
                yield meta.key.rstrip("/").rpartition("/")[2]

    def following(self, job: str, folder: str, number: int) -> Iterator[File]:
        """Yield the files of a stream from this number on, as far as they follow each other."""
        while True:
            name = f"{self._root}/{job}/{folder}/{number:06}.jsonl"
            try:
                meta = stat(f"{name}{self._query}", **self._options)
            except NotFoundError:
                return
            yield File(job, folder, number, name, meta.size_bytes, meta.modified_ns)
            number += 1

    def read(self, name: str, start: int, length: int) -> bytes:
        """Return so many bytes of a file; fewer where it ends."""
        return get_range(f"{name}{self._query}", start, length, **self._options)
