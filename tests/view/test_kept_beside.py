"""Indexes beside the files (`--index beside`), and references to the objects of Zarr stores."""

from __future__ import annotations

import json
import struct
import subprocess
import time
import zlib
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
import xarray as xr

import haulage
from command import HAUL, clean_environment
from endpoints import Container
from haulage.view.index import sidecar
from haulage.view.index.opening import open_file
from haulage.view.index.sidecar_writer import Keeper
from haulage.view.reading.cost import counting
from haulage.view.reading.place import Place
from haulage.view.serve.library import Library
from view import odd_files
from view.paging import field
from view.test_zarr_stores import world
from view.viewing import viewing

pytestmark = pytest.mark.filterwarnings("ignore:.*:zarr.errors.ZarrUserWarning")


def run(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [HAUL, "index", *arguments],
        capture_output=True,
        text=True,
        env=clean_environment(folder),
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.parametrize("make", [odd_files.filters, odd_files.latest])
def test_an_index_beside_a_file_says_everything_in_one_request(
    make: Any, blobs: Container, tmp_path: Path
) -> None:
    # Made longer, so that it is not read whole.
    make(tmp_path / "a.h5")
    with (tmp_path / "a.h5").open("ab") as file:
        file.write(bytes(3 << 20))
    haulage.copy(tmp_path / "a.h5", blobs.az("a.h5"))
    place = Place(blobs.az(), {})
    place.names()
    plain = open_file(place.pin("a.h5"), None)
    said: list[str] = []
    keeper = Keeper(place, said.append)
    keeper.keep(plain)
    end = time.monotonic() + 20
    while place.sidecar("a.h5") is None and time.monotonic() < end:
        time.sleep(0.05)
    assert said == []
    # Somebody else lists the container: the index is found, and not listed.
    other = Place(blobs.az(), {})
    assert [meta.key for meta in other.names()[0]] == ["a.h5"]
    with counting() as cost:
        found = open_file(other.pin("a.h5"), None, other.sidecar("a.h5"))
        assert found.beside
        assert found.index == plain.index
        library = Library(other, None)
        for path, variable in plain.index.variables.items():
            if variable.kind != "number" or variable.why_not:
                continue
            where = found.tables.find if hasattr(variable.layout, "tree") else None
            if where:
                last = tuple(
                    (size - 1) // chunk
                    for size, chunk in zip(variable.shape, variable.layout.chunk, strict=True)  # type: ignore[union-attr]
                )
                zeros = (0,) * len(last)
                assert sorted(where(variable, zeros, last)) == sorted(
                    plain.tables.find(variable, zeros, last)
                )
            assert path in found.index.variables
        assert cost.requests == 1
    values = library.values(found, found.index.variables[next(iter(found.index.variables))])
    assert values.size
    library.close()
    # Of another version of the file it says nothing.
    (tmp_path / "b").write_bytes((tmp_path / "a.h5").read_bytes() + b"more")
    haulage.copy(tmp_path / "b", blobs.az("a.h5"), overwrite="always")
    third = Place(blobs.az(), {})
    third.names()
    assert not open_file(third.pin("a.h5"), None, third.sidecar("a.h5")).beside


def test_nothing_is_written_beside_a_file_that_nobody_asked_for(blobs: Container, tmp_path: Path) -> None:
    odd_files.netcdf(tmp_path / "a.nc", "NETCDF4")
    haulage.copy(tmp_path / "a.nc", blobs.az("a.nc"))
    with viewing(blobs.az()) as viewer:
        assert viewer.get("/api/slab", name="a.nc", var="packed").status == 200
    assert set(blobs.contents()) == {"a.nc"}


def test_a_container_is_prepared_by_haul_index(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name in ("a.nc", "b.nc"):
        odd_files.netcdf(data / name, "NETCDF4")
    (data / "notes.txt").write_text("no file of data")
    done = run(tmp_path, str(data), "--index", "beside")
    assert "indexes beside the files: 2" in done.stderr
    assert "skipped: notes.txt" in done.stderr
    assert done.stdout == ""
    assert {path.name for path in data.iterdir()} >= {"a.nc.haul-index", "b.nc.haul-index"}
    # One file has its references too.
    assert (
        "indexes beside the files: 1"
        in (one := run(tmp_path, str(data / "a.nc"), "--index", "beside")).stderr
    )
    assert "packed/.zarray" in json.loads(one.stdout)["refs"]


def test_a_store_that_takes_no_index_says_so_once(blobs: Container, tmp_path: Path) -> None:
    said: list[str] = []
    for name in ("a.nc", "b.nc"):
        odd_files.netcdf(tmp_path / name, "NETCDF4")
        haulage.copy(tmp_path / name, blobs.az(name))
    options: Any = {"insecure_http": True}
    place = Place(blobs.url(sas=blobs.endpoint.sas("rl")), options)
    place.names()
    keeper = Keeper(place, said.append)
    for name in ("a.nc", "b.nc"):
        keeper.keep(open_file(place.pin(name), None))
    end = time.monotonic() + 20
    while not said and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.3)
    assert len(said) == 1
    assert said[0].startswith("haul: the index is kept in the cache only: ")
    assert "sig=" not in said[0]


def test_an_index_that_makes_no_sense_is_not_believed(tmp_path: Path) -> None:
    odd_files.netcdf(tmp_path / "a.nc", "NETCDF4")
    place = Place(str(tmp_path), {})
    place.names()
    opened = open_file(place.pin("a.nc"), None)
    body = sidecar.body_of(opened.pinned.etag, opened.index, opened.tables)
    assert body is not None
    size = struct.unpack_from("<I", body, 8)[0]
    head, rest = json.loads(zlib.decompress(body[12 : 12 + size])), body[12 + size :]

    def written(change: Any) -> bytes:
        changed = json.loads(json.dumps(head))
        change(changed)
        packed = zlib.compress(json.dumps(changed).encode())
        return sidecar.MAGIC + struct.pack("<I", len(packed)) + packed + rest

    def of(key: str, value: Any) -> Any:
        return lambda head: head["index"]["variables"]["packed"].__setitem__(key, value)

    wrong = [
        b"", b"x" * 100, sidecar.MAGIC, body[:-5], sidecar.MAGIC + bytes(50),
        sidecar.MAGIC + struct.pack("<I", 1 << 20) + zlib.compress(bytes(200 << 20)),
        *(
            written(of(key, value))
            for key, value in (
                ("shape", ["4", 7, 5]), ("shape", [4, 7]), ("shape", [-4, 7, 5]), ("dtype", "O"),
                ("dtype", "|V8"), ("kind", "code"), ("path", "other"), ("attributes", []),
                ("fill", "many"), ("fill", 2**70), ("dims", [1, 2, 3]),
                ("layout", {"is": "chunked", "chunk": [0, 1, 1], "filters": [], "tree": None}),
                ("layout", {"is": "chunked", "chunk": [1, 1], "filters": [], "tree": None}),
                ("layout", {"is": "strided", "offset": "1", "record_stride": None}),
                ("layout", {"is": "inline", "body": "AAAA"}), ("layout", {"is": "keyed"}), ("layout", 7),
            )
        ),
        written(lambda head: head.__setitem__("tables", [["packed", 10**9, 100]])),
        written(lambda head: head.__setitem__("tables", [["nothing", 1, 100]])),
        written(lambda head: head["index"].__setitem__("dimensions", {"time": "many"})),
        written(lambda head: head.__setitem__("index", [])),
    ]  # fmt: skip
    target = tmp_path / f"a.nc{sidecar_end()}"
    for number, one in enumerate(wrong):
        target.write_bytes(one)
        again = Place(str(tmp_path), {})
        again.names()
        found = open_file(again.pin("a.nc"), None, again.sidecar("a.nc"))
        assert not found.beside, number
        assert found.index == opened.index
    target.write_bytes(body)
    again = Place(str(tmp_path), {})
    again.names()
    assert open_file(again.pin("a.nc"), None, again.sidecar("a.nc")).beside
    # With --index none it is not read.
    none = Place(str(tmp_path), {}, sidecars=False)
    none.names()
    assert none.sidecar("a.nc") is None


def sidecar_end() -> str:
    from haulage.view.reading.place import SIDECAR

    return SIDECAR


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("consolidated", [True, False])
def test_references_to_the_objects_of_a_store(version: int, consolidated: bool, tmp_path: Path) -> None:
    encoding = {"ta": {"chunks": (5, 2, 7, 11)}}
    world(tmp_path / "in/w.zarr", zarr_format=version, consolidated=consolidated, encoding=encoding)
    odd_files.netcdf(tmp_path / "in/a.nc", "NETCDF4")
    run(tmp_path, str(tmp_path / "in"), "--out", str(tmp_path / "out"))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.nc.json", "w.zarr.json"]
    made = json.loads((tmp_path / "out/w.zarr.json").read_text())
    alone = json.loads(run(tmp_path, str(tmp_path / "in/w.zarr")).stdout)
    assert made == alone
    reference = fsspec.filesystem("reference", fo=made, asynchronous=False)
    mapper = reference.get_mapper("")
    with xr.open_zarr(mapper, consolidated=False, decode_times=False) as found:
        expected = np.stack([[field(time, level) for level in range(3)] for time in range(24)])
        assert np.array_equal(found["ta"].to_numpy(), expected, equal_nan=True)
    elsewhere = json.loads(run(tmp_path, str(tmp_path / "in/w.zarr"), "--as-url", "s3://b/w.zarr/").stdout)
    chunk = "ta/c/0/0/0/0" if version == 3 else "ta/0.0.0.0"
    assert elsewhere["refs"][chunk] == [f"s3://b/w.zarr/{chunk}"]


def test_a_broken_store_has_no_references(tmp_path: Path) -> None:
    world(tmp_path / "w.zarr")
    (tmp_path / "w.zarr/zarr.json").write_text("{")
    assert "it is not JSON" in run(tmp_path, str(tmp_path / "w.zarr"), code=1).stderr
    (tmp_path / "w.zarr/zarr.json").write_bytes(b'{"a": "\xff"}')
    assert "write the store again" in run(tmp_path, str(tmp_path / "w.zarr"), code=1).stderr


def test_the_only_object_of_a_place_is_read_ahead_and_says_what_that_cost(
    blobs: Container, tmp_path: Path
) -> None:
    odd_files.netcdf(tmp_path / "a.nc", "NETCDF4")
    haulage.copy(tmp_path / "a.nc", blobs.az("a.nc"))
    place = Place(blobs.az("a.nc"), {})
    place.names()
    end = time.monotonic() + 20
    while place.pin("a.nc").owed is None and time.monotonic() < end:
        time.sleep(0.02)
    with counting() as cost:
        assert open_file(place.pin("a.nc"), None).index.variables
    assert (cost.requests, cost.bytes) == (1, (tmp_path / "a.nc").stat().st_size)
    # Of many, none is.
    haulage.copy(tmp_path / "a.nc", blobs.az("b.nc"))
    both = Place(blobs.az(), {})
    both.names()
    assert both.pin("a.nc").owed is None
    with counting() as cost:
        open_file(both.pin("a.nc"), None)
    assert cost.requests == 1
