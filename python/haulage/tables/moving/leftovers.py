"""Removes what a failed export or import left on the disk, if nothing in it would help the next run."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

from haulage.errors import HaulageError

#: The engine's folder beside the file, with the rows that have come; see ``spool.rs``.
_SPOOL = "haul-export"
#: The engine's note beside the source of an import, of how many rows are done; see ``journal.rs``.
_JOURNAL = "haul-import"
#: Ends the name of a CSV file with types, which an import has made of one without.
TYPED = ".haul-typed.parquet"


@contextmanager
def removed_if_failed(path: Path) -> Iterator[None]:
    """Remove the folder of an export that failed before any row came; one with rows stays, to be resumed.

    An export to standard output cannot be resumed, so its folder goes with all that is in it.
    """
    streamed = str(path) == "-"
    before = set(_streams()) if streamed else set()
    try:
        yield
    except BaseException:
        if streamed:
            for folder in set(_streams()) - before:
                _remove(folder, empty=False)
        else:
            _remove(path.parent / f".{path.name}.{_SPOOL}", empty=True)
        raise


@contextmanager
def forgotten_if_failed(
    source: Path, tables: Sequence[str], letters: str | PathLike[str] | None
) -> Iterator[None]:
    """Remove the notes of an import that failed before any row was done; other notes stay, to be resumed."""
    try:
        yield
    except BaseException:
        notes = [source.parent / f"{source.name}.{name_of(table)}.{_JOURNAL}" for table in tables]
        for note in notes:
            refused = Path(letters) if letters is not None else note.with_suffix(".refused.jsonl")
            _forget(note, refused)
        if source.name.endswith(TYPED) and not any(note.exists() for note in notes):
            source.unlink(missing_ok=True)
        raise


@contextmanager
def called(ours: Path, named: Path) -> Iterator[None]:
    """Have errors about a file that an import has made speak of the one that was named."""
    try:
        yield
    except HaulageError as error:
        if ours == named or error.object != str(ours):
            raise
        raise type(error)(error.operation, str(named), error.cause, error.hint) from None


def name_of(table: str) -> str:
    """Return the name of a table in an address.

    >>> name_of("az-table://obs"), name_of("https://a.table.core.windows.net/obs?sig=x")
    ('obs', 'obs')
    """
    return table.partition("?")[0].rstrip("/").rpartition("/")[2]


def _forget(note: Path, refused: Path) -> None:
    lock = note.with_suffix(".lock")
    with suppress(ImportError, OSError, ValueError):
        import fcntl

        with lock.open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            done = json.loads(note.read_text(encoding="utf-8"))["done"]
            if done == 0 and not (refused.exists() and refused.stat().st_size):
                note.unlink()
                lock.unlink()


def _streams() -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob(f"{_SPOOL}-*"))


def _remove(folder: Path, *, empty: bool) -> None:
    """Remove a folder that no process works in; with ``empty`` only if no rows are in it."""
    try:
        import fcntl

        with (folder / "lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            pages = folder.glob("*.pages")
            if empty and any(one.stat().st_size for one in pages):
                return
            shutil.rmtree(folder)
    except (ImportError, OSError):
        # It is not there, another process works in it, or it belongs to somebody else.
        return


@contextmanager
def unlinked_if_failed(path: Path) -> Iterator[None]:
    """Remove a file that is written here, if writing it fails."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise
