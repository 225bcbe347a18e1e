"""xarray, Zarr, pandas, pyarrow and DuckDB: values as on the disk, in few requests."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import xarray as xr
import zarr
from zarr.abc.store import RangeByteRequest, SuffixByteRequest
from zarr.core.buffer import default_buffer_prototype

import haulage
from filesystem.places import Counted, Place
from haulage.filesystem import ZarrStore, zarr_store
from haulage.filesystem.shards import Shards

#: zarr says so wherever xarray writes metadata together.
pytestmark = pytest.mark.filterwarnings("ignore:Consolidated metadata")


@pytest.fixture(scope="module")
def climate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 90 days of two variables: as NetCDF of 47 MB, as Zarr, and as Zarr in shards."""
    folder = tmp_path_factory.mktemp("climate")
    values = np.random.default_rng(1).normal(280, 10, size=(2, 90, 180, 360)).astype("f4")
    axes = {"time": np.arange(90), "lat": np.linspace(-90, 90, 180), "lon": np.arange(360.0)}
    variables = {name: (("time", "lat", "lon"), values[place]) for place, name in enumerate(("tas", "pr"))}
    data = xr.Dataset(variables, axes, {"title": "made"})
    layers = {name: {"chunksizes": (1, 180, 360)} for name in variables}
    data.to_netcdf(folder / "a.nc", engine="h5netcdf", encoding=layers)
    blocks: dict[str, dict[str, Any]] = {name: {"chunks": (10, 90, 180)} for name in variables}
    shards: dict[str, dict[str, Any]] = {
        name: {"chunks": (10, 30, 60), "shards": (30, 180, 360)} for name in variables
    }
    data.to_zarr(folder / "a.zarr", zarr_format=3, consolidated=True, encoding=blocks)
    data.to_zarr(folder / "s.zarr", zarr_format=3, consolidated=True, encoding=shards)
    return folder


def test_xarray_reads_netcdf_and_zarr_as_from_the_disk(place: Place, climate: Path) -> None:
    fs = place.fs
    fs.put(str(climate), place.path("climate"), recursive=True)
    with xr.open_dataset(climate / "a.nc", engine="h5netcdf") as local:
        with fs.open(place.path("climate/a.nc")) as file, xr.open_dataset(file, engine="h5netcdf") as far:
            xr.testing.assert_identical(far.tas[40:70, 30:90].load(), local.tas[40:70, 30:90].load())
        for name in ("a.zarr", "s.zarr"):
            url = place.url(f"climate/{name}").replace("haul+", "haul")
            with xr.open_zarr(url, storage_options=place.options) as far:
                xr.testing.assert_equal(far.pr[5:15].load(), local.pr[5:15].load())
            with xr.open_zarr(zarr_store(url, read_only=True, **place.options)) as far:
                xr.testing.assert_equal(far.tas[::7, 100].load(), local.tas[::7, 100].load())


def test_xarray_writes_zarr_and_netcdf(place: Place) -> None:
    data = xr.Dataset({"a": (("x", "y"), np.arange(120.0).reshape(10, 12))})
    store = zarr_store(place.url("w.zarr"), **place.options)
    data.to_zarr(store, zarr_format=3, encoding={"a": {"chunks": (5, 6), "shards": (10, 12)}})
    data.to_zarr(store, mode="w", zarr_format=3, encoding={"a": {"chunks": (2, 6), "shards": (10, 12)}})
    with xr.open_zarr(store) as far:
        xr.testing.assert_equal(far.load(), data)
    with place.fs.open(place.path("w.nc"), "wb") as file:
        file.write(memoryview(data.to_netcdf(engine="h5netcdf")))
    with place.fs.open(place.path("w.nc")) as file, xr.open_dataset(file, engine="h5netcdf") as far:
        xr.testing.assert_equal(far.load(), data)


def test_a_shard_that_is_replaced_is_never_read_in_part(place: Place) -> None:
    fs = place.fs
    fs.pipe(place.path("z/c"), bytes(3 << 20))
    store = zarr_store(f"{place.protocol}://{place.container}/z", **place.options)

    async def replaced() -> None:
        assert await part(0, 8) == bytes(8)
        fs.pipe(place.path("z/c"), b"1" * (3 << 20))
        with pytest.raises(haulage.SourceChangedError):
            await part(2 << 20, (2 << 20) + 8)
        assert await part(2 << 20, (2 << 20) + 8) == b"1" * 8

    async def part(start: int, end: int) -> bytes:
        found = await store.get("c", default_buffer_prototype(), RangeByteRequest(start, end))
        assert found is not None
        return found.to_bytes()

    asyncio.run(replaced())


@pytest.mark.parametrize("place", ["emulator"], indirect=True)
def test_a_shard_that_is_replaced_or_removed_here_is_read_anew(place: Place) -> None:
    """Parts of it come from what is kept, so this has to learn of it, whichever store wrote."""
    url = place.url("own.zarr")

    def made(store: ZarrStore) -> Any:
        kind: Any = {"shape": (100,), "shards": (100,), "chunks": (10,), "dtype": "i4"}
        return zarr.create_array(store, **kind, overwrite=True)

    store, other = zarr_store(url, **place.options), zarr_store(url, **place.options)
    old = made(store)
    old[:] = 1
    assert old[:5].tolist() == [1] * 5
    written: Any = zarr.open_array(other, mode="r+")
    written[:] = 2
    assert old[:5].tolist() == [2] * 5
    new = made(store)
    assert new[:5].tolist() == written[:5].tolist() == [0] * 5
    new[:] = 3
    asyncio.run(store.fs._rm(f"{place.container}/own.zarr/c", recursive=True))
    assert new[:5].tolist() == [0] * 5


def test_a_shard_that_was_written_while_it_was_opened_is_not_kept() -> None:
    opening, go_on = threading.Event(), threading.Event()
    versions = iter(["before", "after"])

    def opened(_path: str) -> Any:
        version = next(versions)
        if version == "before":
            opening.set()
            assert go_on.wait(10)
        return version

    shards: Any = Shards(opened)
    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(shards.get, "c/z/c/0", is_index=True)
        assert opening.wait(10)
        shards.forget("c/z")
        assert shards.get("c/z/c/0", is_index=True) == "after"
        go_on.set()
        assert slow.result() == "before"
    assert shards.get("c/z/c/0", is_index=False) == "after"


@pytest.mark.parametrize("place", ["emulator"], indirect=True)
def test_pieces_of_a_shard_are_of_the_version_of_its_index(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another reader may have seen a new version meanwhile: its pieces do not fit to the old index."""
    monkeypatch.setattr("haulage.filesystem.shards.BELIEVED", 0.0)
    fs, prototype = place.fs, default_buffer_prototype()
    fs.pipe(place.path("z/c"), bytes(9 << 20))
    store = zarr_store(f"{place.protocol}://{place.container}/z", **place.options)

    async def read(index: asyncio.Event, go_on: asyncio.Event) -> bytes:
        assert await store.get("c", prototype, SuffixByteRequest(8)) is not None
        index.set()
        await go_on.wait()
        found = await store.get("c", prototype, RangeByteRequest(1 << 20, (1 << 20) + 8))
        assert found is not None
        return found.to_bytes()

    async def both() -> None:
        index, go_on = asyncio.Event(), asyncio.Event()
        slow = asyncio.create_task(read(index, go_on))
        await index.wait()
        fs.pipe(place.path("z/c"), b"1" * (9 << 20))
        at_once = asyncio.Event()
        at_once.set()
        assert await asyncio.create_task(read(asyncio.Event(), at_once)) == b"1" * 8
        go_on.set()
        with suppress(haulage.SourceChangedError):
            assert await slow == bytes(8)

    asyncio.run(both())


def test_pandas_pyarrow_and_duckdb(place: Place) -> None:
    frame = pd.DataFrame({"n": range(20_000), "word": [f"w{number % 7}" for number in range(20_000)]})
    for name, write, read in (
        ("t.parquet", "to_parquet", pd.read_parquet),
        ("t.csv", "to_csv", pd.read_csv),
        ("t.csv.gz", "to_csv", pd.read_csv),
    ):
        extra = {"index": False} if write == "to_csv" else {}
        getattr(frame, write)(place.url(name), storage_options=place.options, **extra)
        pd.testing.assert_frame_equal(
            read(place.url(name), storage_options=place.options), frame, check_dtype=False
        )

    fs = place.fs
    pq.write_to_dataset(pa.table(frame), place.path("parts"), partition_cols=["word"], filesystem=fs)
    found = ds.dataset(place.path("parts"), filesystem=fs, partitioning="hive").to_table(
        filter=ds.field("word") == "w3"
    )
    assert found["n"].to_pylist() == list(range(3, 20_000, 7))

    with duckdb.connect() as database:
        database.register_filesystem(fs)
        counted = database.sql(f"select sum(n) from '{place.url('t.parquet')}'").fetchall()
        assert counted == [(sum(range(20_000)),)]
        database.sql(f"copy (select 42 as answer) to '{place.url('answer.csv')}'")
        assert database.sql(f"from '{place.url('answer.csv')}'").fetchall() == [(42,)]
        several = database.sql(f"select count(*) from read_parquet('{place.url('parts/**/*.parquet')}')")
        assert several.fetchall() == [(20_000,)]


@pytest.mark.parametrize(
    ("name", "requests"),
    # Zarr's document is asked for in both versions, and xarray reads three axes. Then twelve chunks, each an
    # object, or 432 parts of two shards, most of which come together: 24 on an idle machine.
    [("a.nc", 12), ("a.zarr", 2 + 3 + 12), ("s.zarr", 2 + 3 + 60)],
)
def test_a_slice_takes_few_requests(counted_places: Counted, climate: Path, name: str, requests: int) -> None:
    """`benchmarks/arrays.py` compares this with other file systems."""
    counted_places.az.fs.put(str(climate), counted_places.az.path("c"), recursive=True)
    # Both interfaces of the emulator lead to the same objects.
    path = counted_places.az.path(f"c/{name}")
    for place in (counted_places.az, counted_places.s3):
        fs, before = place.fs, counted_places.requests()
        if name == "a.nc":
            with fs.open(path) as file, xr.open_dataset(file, engine="h5netcdf") as data:
                data.tas[40:70].load()
        else:
            store = ZarrStore.from_mapper(fs.get_mapper(path), read_only=True)
            with xr.open_zarr(store) as data:
                data.tas[40:70].load()
        assert counted_places.requests() - before <= requests, place.protocol


def test_the_protocols_are_known_to_fsspec() -> None:
    for protocol in ("haulaz", "hauls3", "haul+az", "haul+s3"):
        assert protocol in fsspec.available_protocols()
        assert protocol in fsspec.get_filesystem_class(protocol).protocol
