"""Folders that are made before anything is in them, names with an empty part, and caches put in front."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import pytest

import haulage
from filesystem.places import Counted, Place
from haulage.errors import UnsupportedError
from haulage.filesystem.files import BlockCacheError
from sentences import Sentence


def connected(place: Place) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register_filesystem(place.fs)
    return connection


ROWS = "SELECT i, i % 3 AS g FROM range(30) AS made(i)"


def test_duckdb_writes_partitions_into_a_new_folder(place: Place) -> None:
    with connected(place) as db:
        for folder in ("new", "several/folders/down"):
            url = f"{place.fs.protocol[0]}://{place.path(folder)}"
            db.execute(f"COPY ({ROWS}) TO '{url}' (FORMAT parquet, PARTITION_BY (g))")
            found = db.sql(f"SELECT count(*), sum(i), max(g) FROM '{url}/*/*.parquet'").fetchall()
            assert found == [(30, 435, 2)]
            # What is there is not overwritten unless it is asked for.
            with pytest.raises(duckdb.IOException, match="is not empty"):
                db.execute(f"COPY ({ROWS}) TO '{url}' (FORMAT parquet, PARTITION_BY (g))")
            db.execute(
                f"COPY (SELECT 7 AS i, 1 AS g) TO '{url}' (FORMAT parquet, PARTITION_BY (g), OVERWRITE)"
            )
            assert db.sql(f"SELECT i FROM '{url}/*/*.parquet'").fetchall() == [(7,)]
        url = f"{place.fs.protocol[0]}://{place.path('by-thread')}"
        db.execute(f"COPY ({ROWS}) TO '{url}' (FORMAT csv, PER_THREAD_OUTPUT)")
        assert db.sql(f"SELECT count(*) FROM '{url}/*.csv'").fetchall() == [(30,)]


def test_a_folder_that_was_made_is_there_until_it_is_removed(place: Place) -> None:
    fs = place.fs
    assert not fs.exists(place.path("a/b"))
    fs.makedirs(place.path("a/b"), exist_ok=True)
    for name in ("a", "a/b"):
        path = place.path(name)
        assert (fs.isdir(path), fs.isfile(path), fs.ls(path), fs.find(path)) == (True, False, [], [])
        assert fs.find(path, withdirs=True) == [path]
    assert [*fs.walk(place.path("a/b"))] == [(place.path("a/b"), [], [])]
    # Nothing was sent, so others do not see it.
    assert not place.fs.exists(place.path("a/b"))
    fs.pipe(place.path("a/b/1"), b"1")
    assert fs.ls(place.path("a"), detail=False) == [place.path("a/b")]
    fs.rm(place.path("a/b/1"))
    assert fs.ls(place.path("a/b")) == []
    fs.rm(place.path("a"), recursive=True)
    assert not fs.exists(place.path("a/b"))
    with pytest.raises(FileNotFoundError):
        fs.ls(place.path("a/b"))


def test_a_folder_that_was_made_is_removed(place: Place) -> None:
    fs = place.fs
    for remove in (fs.rmdir, lambda path: fs.rm(path, recursive=True), fs.rm):
        fs.mkdir(place.path("made/here"))
        remove(place.path("made/here"))
        assert not fs.exists(place.path("made/here"))
    fs.mkdir(place.path("kept"))
    haulage.put(fs.url(place.path("kept/1")), b"1", **fs._reach)
    with pytest.raises(haulage.HaulageError):
        fs.rm(place.path("kept"))
    assert fs.cat(place.path("kept/1")) == b"1"
    fs.rm(place.path("kept"), recursive=True)
    assert not fs.exists(place.path("kept/1"))
    with pytest.raises(FileNotFoundError):
        fs.rm(place.path("never-made"), recursive=True)


# Names with an empty part; versitygw and Azurite keep objects in folders that have none.

NAMES = ("/top", "a//b", "a//c//d", "a//c/e", "a/b", "z")


@pytest.fixture(params=["az", "s3"])
def odd(request: pytest.FixtureRequest, counted_places: Counted) -> Place:
    place: Place = getattr(counted_places, request.param)
    for name in NAMES:
        haulage.put(place.fs.url(place.path(name)), name.encode(), **place.fs._reach)
    return place


def test_names_with_an_empty_part_are_listed_and_read(odd: Place) -> None:
    fs, path = odd.fs, odd.path
    assert sorted(fs.ls(odd.container, detail=False)) == sorted([path("/top"), path("a"), path("z")])
    assert sorted(fs.ls(path("a"), detail=False)) == [path("a//b"), path("a//c"), path("a/b")]
    assert sorted(fs.ls(path("a//c"), detail=False)) == [path("a//c//d"), path("a//c/e")]
    assert sorted(fs.find(odd.container)) == sorted(map(path, NAMES))
    assert sorted(fs.find(odd.container, maxdepth=9)) == sorted(map(path, NAMES))
    dirs = [name for name in fs.find(odd.container, withdirs=True) if fs.isdir(name)]
    assert dirs == [odd.container, path("a"), path("a//c")]
    assert fs.glob(path("a//*")) == [path("a//b"), path("a//c")]
    for name in NAMES:
        assert fs.cat(path(name)) == name.encode()
        assert fs.isfile(path(name))
        with fs.open(path(name)) as file:
            assert file.read() == name.encode()


def test_a_walk_reaches_every_name(odd: Place) -> None:
    def joined(walked: Any) -> list[str]:
        return sorted(f"{root}/{name}" for root, _, files in walked for name in files)

    async def walked(**kwargs: Any) -> list[Any]:
        return [one async for one in odd.fs._walk(odd.container, **kwargs)]

    every = sorted(map(odd.path, NAMES))
    for how in ({}, {"topdown": False}, {"detail": True}):
        assert joined(odd.fs.walk(odd.container, **how)) == every
        assert joined(asyncio.run(walked(**how))) == every
    assert [root for root, _, _ in odd.fs.walk(odd.container, maxdepth=1)] == [odd.container]
    pruned = []
    for root, dirs, _ in odd.fs.walk(odd.container):
        pruned.append(root)
        dirs[:] = [name for name in dirs if name != "/c"]
    assert pruned == [odd.container, odd.path("a")]
    with pytest.raises(ValueError, match="at least 1"):
        next(odd.fs.walk(odd.container, maxdepth=0))
    assert [*odd.fs.walk(odd.path("none"))] == [(odd.path("none"), [], [])]
    with pytest.raises(FileNotFoundError):
        next(odd.fs.walk(odd.path("none"), on_error="raise"))


def test_a_write_below_an_empty_part_shows_at_once(odd: Place) -> None:
    fs = odd.fs
    assert len(fs.ls(odd.path("a"))) == 3
    fs.pipe(odd.path("a//new"), b"1")
    assert odd.path("a//new") in fs.ls(odd.path("a"), detail=False)
    fs.rm(odd.path("a//new"))
    assert odd.path("a//new") not in fs.ls(odd.path("a"), detail=False)


# Caches of fsspec in front.


@pytest.mark.parametrize("cache", ["filecache", "simplecache"])
def test_caches_of_whole_files(place: Place, cache: str, tmp_path: Path) -> None:
    place.fs.pipe(place.path("x"), b"0123456789")
    cached = fsspec.filesystem(cache, fs=place.fs, cache_storage=str(tmp_path))
    for _ in range(2):
        with cached.open(place.path("x")) as file:
            file.seek(4)
            assert file.read(3) == b"456"


def test_a_cache_of_blocks_is_refused(place: Place, tmp_path: Path, sentence: Sentence) -> None:
    place.fs.pipe(place.path("x"), b"0123456789")
    cached = fsspec.filesystem("blockcache", fs=place.fs, cache_storage=str(tmp_path))
    with pytest.raises(UnsupportedError) as caught:
        cached.open(place.path("x"))
    assert isinstance(caught.value, BlockCacheError)
    sentence(caught.value)
    # To others the attribute is not there.
    with place.fs.open(place.path("x")) as file:
        assert not hasattr(file, "blocksize")
