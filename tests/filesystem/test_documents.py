"""What Zarr and xarray look for at the beginning: few requests, and nothing that is not so any more."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from filesystem.places import Counted, Place
from haulage.filesystem import zarr_store
from haulage.filesystem.documents import Documents
from haulage.filesystem.pace import LEAST, MOST, UNKNOWN, Pace

pytestmark = pytest.mark.filterwarnings("ignore:Consolidated metadata")


def small() -> xr.Dataset:
    axes = {"time": np.arange(6), "lat": np.linspace(-90, 90, 4), "lon": np.arange(5.0)}
    values = np.arange(120.0).reshape(6, 4, 5)
    return xr.Dataset({"tas": (("time", "lat", "lon"), values)}, axes, {"title": "made"})


@pytest.mark.parametrize(
    ("version", "consolidated", "requests"),
    # The documents, three axes, one chunk. Without a document of all, each array has its own.
    [(3, True, 2 + 3 + 1), (2, True, 3 + 3 + 1), (3, False, 2 + 1 + 2 * 4 + 3 + 1), (2, False, 99)],
)
def test_every_format_opens_as_from_the_disk(
    version: Any, consolidated: bool, requests: int, counted_places: Counted, tmp_path: Path
) -> None:
    small().to_zarr(tmp_path / "z", zarr_format=version, consolidated=consolidated)
    for place in (counted_places.az, counted_places.s3):
        fs = place.fs
        fs.put(str(tmp_path / "z"), place.path("z"), recursive=True)
        before = counted_places.requests()
        store = zarr_store(place.url("z"), read_only=True, skip_instance_cache=True, **place.options)
        with xr.open_zarr(store, consolidated=None if consolidated else False, chunks=None) as far:
            xr.testing.assert_identical(far.load(), small())
        assert counted_places.requests() - before <= requests
        fs.rm(place.path("z"), recursive=True)


def test_an_axis_that_was_written_anew_is_read_anew(place: Place) -> None:
    url = place.url("w")
    store = zarr_store(url, **place.options)
    small().to_zarr(store, zarr_format=3, consolidated=True)
    with xr.open_zarr(store) as first:
        assert first.lat[0] == -90
    moved = small().assign_coords(lat=np.linspace(0, 9, 4))
    moved.to_zarr(store, mode="w", zarr_format=3, consolidated=True)
    with xr.open_zarr(store) as second:
        xr.testing.assert_identical(second.load(), moved)


class Store:
    """Objects in memory, and how often each was asked for."""

    def __init__(self, objects: dict[str, bytes]) -> None:
        self.objects = objects
        self.asked: Counter[str] = Counter()

    async def fetch(self, path: str) -> bytes:
        self.asked[path] += 1
        await asyncio.sleep(0.01)
        if path not in self.objects:
            raise FileNotFoundError(path)
        return self.objects[path]


async def _all(documents: Documents, *paths: str) -> list[Any]:
    return await asyncio.gather(*map(documents.get, paths), return_exceptions=True)


ROOT = ("z/zarr.json", "z/.zgroup", "z/.zattrs", "z/.zmetadata")


def test_documents_of_the_other_version_are_not_asked_for() -> None:
    async def ask() -> None:
        three = Store({"z/zarr.json": b"{}"})
        found = await _all(Documents(three.fetch), *ROOT)
        assert found[0] == b"{}"
        assert all(isinstance(one, FileNotFoundError) for one in found[1:])
        assert sorted(three.asked) == ["z/.zmetadata", "z/zarr.json"]

        joined = json.dumps({"metadata": {".zgroup": {"zarr_format": 2}}}).encode()
        two = Store({"z/.zmetadata": joined, "z/.zattrs": b'{"a": 1}', "z/.zgroup": b"{}"})
        found = await _all(Documents(two.fetch), *ROOT)
        assert found[1:] == [b'{"zarr_format": 2}', b'{"a": 1}', joined]
        assert two.asked["z/.zgroup"] == 0

        # One alone is what it is, and what was asked for a moment ago is asked for again.
        alone = Store({"z/.zgroup": b"{}"})
        documents = Documents(alone.fetch)
        assert await documents.get("z/.zgroup") == b"{}"
        assert await documents.get("z/.zgroup") == b"{}"
        assert alone.asked == {"z/.zgroup": 2}

    asyncio.run(ask())


@pytest.mark.parametrize(
    "text", [b"", b"[1]", b"\xff", b'{"consolidated_metadata": 5}', b'{"metadata": {"a/.zarray": 7}}']
)
def test_a_document_that_is_odd_is_handed_on(text: bytes) -> None:
    async def ask() -> None:
        store = Store({"z/zarr.json": text, "z/.zmetadata": text})
        assert await _all(Documents(store.fetch), "z/zarr.json", "z/.zmetadata") == [text, text]

    asyncio.run(ask())


def test_with_one_axis_the_others_come_and_each_once() -> None:
    def axis(name: str) -> dict[str, Any]:
        return {
            "node_type": "array",
            "shape": [4],
            "dimension_names": [name],
            "chunk_grid": {"configuration": {"chunk_shape": [4]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        }

    async def ask() -> None:
        arrays = {name: axis(name) for name in ("lat", "lon", "time")}
        document = json.dumps({"consolidated_metadata": {"metadata": arrays}}).encode()
        chunks = {f"z/{name}/c/0": name.encode() for name in arrays}
        store = Store({"z/zarr.json": document, **chunks})
        documents = Documents(store.fetch)
        await documents.get("z/zarr.json")
        assert [await documents.get(f"z/{name}/c/0") for name in arrays] == [b"lat", b"lon", b"time"]
        assert store.asked == {"z/zarr.json": 1, **dict.fromkeys(chunks, 1)}
        # Read again, it is as it is now.
        store.objects["z/lon/c/0"] = b"new"
        assert await documents.get("z/lon/c/0") == b"new"

    asyncio.run(ask())


def test_how_much_is_asked_for_follows_the_link() -> None:
    quick, slow = Pace(), Pace()
    assert quick.piece == UNKNOWN
    for _ in range(6):
        quick.whole(1000, 0.06)
        quick.whole(quick.piece, 0.06 + quick.piece / 1e9)
        slow.whole(1000, 0.06)
        slow.whole(slow.piece, 0.06 + slow.piece / 250_000)
    assert quick.piece == MOST
    assert slow.piece == LEAST
