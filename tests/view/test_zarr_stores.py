"""Zarr stores in the place that is viewed: values equal those that zarr-python and xarray read."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from playwright.sync_api import Browser
from zarr import codecs

import haulage
from endpoints import Container
from haulage.filesystem import AzureFileSystem, zarr_store
from haulage.view.reading import place
from haulage.view.reading.pairs import Beside
from haulage.view.reading.place import Place
from sentences import Sentence
from view.paging import Seen, field, fragment, write_world
from view.viewing import Viewer, viewing, viewing_place

pytestmark = pytest.mark.filterwarnings("ignore:.*:zarr.errors.ZarrUserWarning")
SHAPE = (5, 20, 30)


def world(path: Path, **options: Any) -> None:
    """Write the world of the page's tests as Zarr."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_world(path.with_suffix(".nc"))
    with xr.open_dataset(path.with_suffix(".nc"), decode_times=False) as file:
        file.to_zarr(path, **options)
    path.with_suffix(".nc").unlink()


def values_of(viewer: Viewer, name: str, var: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    maps = [
        viewer.get("/api/slab", name=name, var=var, index=f"time:{time},plev:{level}").framed[1]
        for time in range(shape[0])
        for level in range(shape[1])
    ]
    return np.stack(maps).reshape(shape)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("consolidated", [True, False])
def test_stores_of_xarray_are_drawn(version: int, consolidated: bool, tmp_path: Path) -> None:
    encoding = {"ta": {"chunks": (5, 2, 7, 11)}}
    world(tmp_path / "w.zarr", zarr_format=version, consolidated=consolidated, encoding=encoding)
    with viewing(tmp_path) as viewer:
        catalogue = viewer.get("/api/catalogue").json
        assert [(one["name"], one["kind"]) for one in catalogue["files"]] == [
            ("w.zarr/zarr.json" if version == 3 else "w.zarr/.zgroup", "zarr")
        ]
        assert catalogue["files"][0]["size"] == sum(
            path.stat().st_size for path in (tmp_path / "w.zarr").rglob("*") if path.is_file()
        )
        name = catalogue["files"][0]["name"]
        file = viewer.file(name)
        assert (file["format"], file["attributes"]["title"]) == ("zarr", "Made for a test")
        ta = next(one for one in file["variables"] if one["path"] == "ta")
        assert [axis["role"] for axis in ta["axes"]] == ["time", "level", "y", "x"]
        assert ta["axes"][0]["labels"][2] == "2000-03-16"
        expected = np.stack([[field(time, level) for level in range(3)] for time in range(24)])
        assert np.array_equal(values_of(viewer, name, "ta", (24, 3, 18, 36)), expected, equal_nan=True)
        known: dict[str, Any] = {}
        exec(viewer.get("/api/code", name=name, var="ta", index="time:7,plev:1").body.decode(), known)
        assert np.array_equal(known["values"].to_numpy(), expected[7, 1], equal_nan=True)
        # And again as Zarr over HTTP, version 3 whatever it was.
        group = zarr.open_group(f"{viewer.server.zarr_url}{name}", mode="r")
        served = group["ta"]
        assert isinstance(served, zarr.Array)
        assert np.array_equal(np.asarray(served[3, 1]), expected[3, 1], equal_nan=True)


def arrays(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Write arrays with every codec and layout that is read; return what they hold."""
    rng = np.random.default_rng(4)
    whole = rng.integers(0, 1000, SHAPE)
    three = zarr.open_group(path / "three.zarr", mode="w", zarr_format=3)
    gzip, zstd, crc = codecs.GzipCodec(), codecs.ZstdCodec(), codecs.Crc32cCodec()
    blosc, turn = codecs.BloscCodec(cname="lz4"), codecs.TransposeCodec(order=(2, 0, 1))
    ways: dict[str, dict[str, Any]] = {
        "plain": {"compressors": None},
        "gzip": {"compressors": gzip},
        "summed": {"compressors": [zstd, crc]},
        "blosc": {"compressors": blosc},
        "turned": {"filters": [turn]},
        "big": {"serializer": codecs.BytesCodec(endian="big")},
        "dots": {"chunk_key_encoding": {"name": "v2", "separator": "."}},
        "sharded": {"shards": (4, 16, 16), "chunks": (2, 8, 8)},
        "partly": {"shards": (4, 16, 16), "chunks": (2, 8, 8), "fill_value": 7},
        "never": {"fill_value": 7},
    }
    expected = {}
    for name, way in ways.items():
        made = three.create_array(name, shape=SHAPE, dtype="i4", **{"chunks": (2, 8, 8), **way})
        if name == "partly":
            made[0, :8, :8] = whole[0, :8, :8]
        elif name != "never":
            made[:] = whole
        expected[f"three.zarr/zarr.json {name}"] = np.asarray(made[...])
    three.create_array("scalar", shape=(), dtype="f4")[...] = 2.5
    expected["three.zarr/zarr.json scalar"] = np.array(2.5, "f4")
    two = zarr.open_group(path / "two.zarr", mode="w", zarr_format=2)
    from numcodecs import Blosc, Delta, Shuffle, Zlib

    older: dict[str, dict[str, Any]] = {
        "blosc": {"compressors": Blosc()},
        "zlib": {"compressors": Zlib(), "filters": [Shuffle(4)]},
        "delta": {"compressors": Zlib(), "filters": [Delta("<i4")]},
        "fortran": {"order": "F"},
        "slashes": {"chunk_key_encoding": {"name": "v2", "separator": "/"}},
    }
    for name, way in older.items():
        made = two.create_array(name, shape=SHAPE, dtype="<i4", **{"chunks": (2, 8, 8), **way})
        made[:] = whole
        expected[f"two.zarr/.zgroup {name}"] = whole.astype("i4")
    alone = zarr.create_array(path / "alone.zarr", shape=(7,), chunks=(3,), dtype="f8")
    alone[:] = np.arange(7.0)
    expected["alone.zarr/zarr.json values"] = np.arange(7.0)
    return expected


def test_every_codec_and_layout(tmp_path: Path) -> None:
    expected = arrays(tmp_path)
    with viewing(tmp_path) as viewer:
        assert len(viewer.names()) == 3
        shutil.copytree(tmp_path / "three.zarr", tmp_path / "copy.zarr")
        for key, values in expected.items():
            name, var = key.split()
            group = zarr.open_group(f"{viewer.server.zarr_url}{name}", mode="r")
            assert np.array_equal(np.asarray(group[var][...]), values), key  # type: ignore[index]


def test_checksums_need_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays(tmp_path)
    monkeypatch.setitem(sys.modules, "google_crc32c", None)
    with viewing(tmp_path) as viewer:
        answer = viewer.get(f"/zarr/{viewer.server.token}/three.zarr/zarr.json/summed/c/0/0/0")
        assert (answer.status, answer.error["hint"]) == (422, "pip install google-crc32c")


def test_many_chunks_are_asked_for_at_once(blobs: Container, tmp_path: Path) -> None:
    world(tmp_path / "w.zarr", encoding={"ta": {"chunks": (1, 1, 6, 6)}})
    haulage.copy(tmp_path, blobs.az())
    with viewing(blobs.az()) as viewer:
        name = "w.zarr/zarr.json"
        assert viewer.get("/api/file", name=name).requests <= 6
        answer = viewer.get("/api/slab", name=name, var="ta", index="time:3,plev:1")
        assert answer.requests == 18
        assert answer.headers["x-haul-round-trips"] == "1"
        assert np.array_equal(answer.framed[1].reshape(18, 36), field(3, 1), equal_nan=True)


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ("not json", "write the store again, with zarr-python or xarray"),
        ({"node_type": "group", "consolidated_metadata": {"metadata": None}}, "write"),
        ("codec", "write it again with zstd"),
        ("damaged", "copy the store again from an intact original"),
        ("large", "write it again with smaller chunks, with xarray"),
        ("turn", "write it again without it"),
    ],
)
def test_a_broken_store_says_what_is_wrong(
    change: Any, hint: str, tmp_path: Path, sentence: Sentence
) -> None:
    world(tmp_path / "w.zarr")
    root = tmp_path / "w.zarr/zarr.json"
    node = json.loads(root.read_text())
    nodes = node["consolidated_metadata"]["metadata"]
    if change == "codec":
        nodes["ta"]["codecs"] = [{"name": "bytes"}, {"name": "jpeg"}]
    elif change == "large":
        nodes["ta"]["chunk_grid"]["configuration"]["chunk_shape"] = [100, 100, 100, 100]
    elif change == "turn":
        nodes["ta"]["codecs"].insert(0, {"name": "nonsense"})
    elif change == "damaged":
        for path in (tmp_path / "w.zarr/ta/c").rglob("*"):
            if path.is_file():
                path.write_bytes(b"\x28\xb5\x2f\xfd no more")
    elif isinstance(change, dict):
        node = change
    root.write_text(change if change == "not json" else json.dumps(node))
    with viewing(tmp_path) as viewer:
        name = "w.zarr/zarr.json"
        answer = viewer.get("/api/file", name=name)
        if answer.status == 200:
            answer = viewer.get("/api/slab", name=name, var="ta")
        assert answer.status == 422, answer.body
        sentence(answer.error["error"])
        assert answer.error["hint"].startswith(hint)
        assert viewer.get("/api/info").status == 200


@pytest.mark.parametrize("version", [2, 3])
def test_chunks_that_were_replaced_are_noticed(
    version: int, browser: Browser, blobs: Container, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "FRESH_S", 0.0)
    encoding = {"ta": {"chunks": (1, 1, 18, 36)}}
    world(tmp_path / "a/w.zarr", zarr_format=version, encoding=encoding)
    haulage.copy(tmp_path / "a", blobs.az())
    name = "w.zarr/zarr.json" if version == 3 else "w.zarr/.zgroup"
    asked = {"name": name, "var": "ta"}
    with viewing(blobs.az()) as viewer:
        first = viewer.file(name)
        assert viewer.file(name)["etag"] == first["etag"]
        one = Seen(browser, viewer, fragment(file=name, var="ta"))
        # One chunk only; what describes the store stays.
        key = "w.zarr/ta/" + ("c/5/0/0/0" if version == 3 else "5.0.0.0")
        haulage.put(blobs.az(key), haulage.get(blobs.az(key.replace("5", "9"))))
        answer = viewer.get("/api/slab", index="time:5", **asked)
        assert (answer.status, answer.error["code"]) == (409, "source_changed")
        # The page says so too, and draws the new version when it is asked to.
        one.page.focus("#axis-time")
        for _ in range(5):
            one.page.keyboard.press("ArrowRight")
            one.page.wait_for_timeout(100)
        one.state("failed")
        assert "replaced" in one.text("#notice p")
        one.page.click("#again")
        one.state("done")
        again = viewer.file(name)
        assert again["etag"] != first["etag"]
        values = viewer.get("/api/slab", index="time:5", **asked).framed[1].reshape(18, 36)
        assert np.array_equal(values, field(9, 0), equal_nan=True)
        # So is one that was removed: it counts as never written.
        haulage.remove(blobs.az(key))
        viewer.get("/api/slab", index="time:6", **asked)
        assert viewer.file(name)["etag"] not in (first["etag"], again["etag"])
        assert np.isnan(viewer.get("/api/slab", index="time:5", **asked).framed[1]).all()
        one.opened.context.close()


def test_a_store_beside_another_place_has_its_values(tmp_path: Path, blobs: Container) -> None:
    """Chunks of the other place were looked for under the name of this one, and all were missing."""
    world(tmp_path / "run7/w.zarr")
    haulage.copy(tmp_path / "run7", blobs.az("run7"))
    here = Place(blobs.az("run7"), {})
    with viewing_place(Beside(blobs.az("run7"), {}, Place(str(tmp_path / "run7"), {}))) as viewer:
        for name in ("run7/w.zarr/zarr.json", "beside:run7/w.zarr/zarr.json"):
            values = viewer.get("/api/slab", name=name, var="ta", index="time:2").framed[1].reshape(18, 36)
            assert np.array_equal(values, field(2, 0), equal_nan=True), name
    assert here.has("run7/w.zarr/zarr.json")


def test_a_store_is_opened_in_the_page(browser: Browser, tmp_path: Path) -> None:
    world(tmp_path / "w.zarr")
    with viewing(tmp_path) as viewer:
        one = Seen(browser, viewer, fragment(range="all", file="w.zarr/zarr.json", var="ta"))
        assert "Zarr" in one.text("#files")
        low, high = one.range()
        found, wanted = one.pixel(173, 3), one.colour(float(field(0, 0)[9, 17]), low, high)
        assert max(abs(a - b) for a, b in zip(found, wanted, strict=True)) <= 4
        assert one.said == []
        one.opened.context.close()


def test_the_code_of_a_store_in_the_cloud_needs_no_other_file_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name has a `?`, which is no signature here."""
    with haulage.Emulator() as emulator:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", emulator.connection_string)
        haulage.make_container("az://codes")
        AzureFileSystem.clear_instance_cache()
        lat, lon = ("lat", [0.0, 1], {"units": "degrees_north"}), ("lon", [0.0, 1], {"units": "degrees_east"})
        made = xr.Dataset({"v": (("lat", "lon"), np.full((2, 2), 7.0))}, {"lat": lat, "lon": lon})
        made.to_zarr(zarr_store("haulaz://codes/a?b.zarr"), zarr_format=2)
        with viewing("az://codes/") as viewer:
            name = viewer.names()[0]
            assert name.startswith("a?b.zarr/")
            known: dict[str, Any] = {}
            exec(viewer.get("/api/code", name=name, var="v").body.decode(), known)
            assert (known["values"] == 7).all()
        AzureFileSystem.clear_instance_cache()
