"""Files whose `with` block an exception leaves, where what closes them is in C and is not told why."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from filesystem.places import Counted, Place

Opened = Callable[[Place, str], AbstractContextManager[Any]]


def of_pyarrow(place: Place, path: str) -> Any:
    return pafs.PyFileSystem(pafs.FSSpecHandler(place.fs)).open_output_stream(path)


def compressed(place: Place, path: str) -> Any:
    return pa.CompressedOutputStream(of_pyarrow(place, path), "gzip")


def text(place: Place, path: str) -> Any:
    return io.TextIOWrapper(place.fs.open(path, "wb"))


def packed_text(place: Place, path: str) -> Any:
    return io.TextIOWrapper(place.fs.open(path, "wb", compression="gzip"))


OPENED: list[Opened] = [of_pyarrow, compressed, text, packed_text]


@pytest.mark.parametrize("opened", OPENED, ids=[one.__name__ for one in OPENED])
def test_half_of_an_object_is_not_written(opened: Opened, counted_places: Counted) -> None:
    """It was written, and replaced what was there."""
    place = counted_places.az
    fs, path = place.fs, place.path("a")
    half: Any = "half" if opened in (text, packed_text) else b"half"
    fs.pipe(path, b"before")

    def fail(error: Exception) -> None:
        with opened(place, path) as file:
            file.write(half)
            raise error

    with pytest.raises(ValueError, match="no"):
        fail(ValueError("no"))
    assert place.fs.cat(path) == b"before"
    # The exception that is raised again was there before the file was.
    with pytest.raises(ValueError, match="again"):  # noqa: PT012
        try:
            raise ValueError("again")
        except ValueError as error:
            fail(error)
    assert place.fs.cat(path) == b"before"


@pytest.mark.parametrize("opened", OPENED, ids=[one.__name__ for one in OPENED])
@pytest.mark.parametrize("traced", [False, True])
def test_what_is_closed_after_all_is_written(traced: bool, opened: Opened, counted_places: Counted) -> None:
    place = counted_places.az
    whole: Any = "whole" if opened in (text, packed_text) else b"whole"

    def in_a_handler(path: str) -> None:
        try:
            raise KeyError(path)
        except KeyError:
            with opened(place, path) as file:
                file.write(whole)

    def closed_in_a_handler(path: str) -> None:
        with opened(place, path) as file:
            file.write(whole)
            try:
                raise KeyError(path)
            except KeyError:
                file.close()

    def after_one_that_was_passed_over(path: str) -> None:
        with opened(place, path) as file:
            with suppress(KeyError):
                raise KeyError(path)
            file.write(whole)

    before = sys.gettrace()
    if traced:
        sys.settrace(lambda *_: None)
    try:
        for write in (in_a_handler, closed_in_a_handler, after_one_that_was_passed_over):
            write(place.path(write.__name__))
    finally:
        sys.settrace(before)
    assert len(place.fs.find(place.container)) == 3


def test_half_of_a_parquet_file_is_not_written(counted_places: Counted) -> None:
    place = counted_places.az
    fs, path = place.fs, place.path("a.parquet")
    table = pa.table({"a": [1, 2]})

    def write(error: Exception | None = None) -> None:
        with pq.ParquetWriter(path, table.schema, filesystem=fs) as writer:
            writer.write_table(table)
            if error:
                raise error

    with pytest.raises(ValueError, match="no"):
        write(ValueError("no"))
    assert not place.fs.exists(path)
    write()
    assert pq.read_table(path, filesystem=place.fs).num_rows == 2
