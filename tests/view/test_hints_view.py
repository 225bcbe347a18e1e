"""The hints of `haul view` and `haul index`: each is given for the fault that it helps with."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import haulage
from command import HAUL, clean_environment
from endpoints import Endpoint
from haulage.errors import HaulageError, NotFoundError, UnsupportedError
from haulage.view.decode import filters, slab, texts
from haulage.view.decode.slab import Reader
from haulage.view.index import tables, writing
from haulage.view.index.model import Chunked
from haulage.view.index.store_references import store_references
from haulage.view.reading.place import Place
from sentences import Sentence
from view import odd_files
from view.test_bad_input import filtered, huge
from view.test_reading import opened
from view.viewing import Viewer, viewing


def projected(path: Path, mapping: str) -> None:
    """Write a map on a projection that lacks what it needs."""
    with netCDF4.Dataset(path, "w") as file:
        file.createVariable("crs", "i4", ()).grid_mapping_name = mapping
        for name, standard in (("y", "projection_y_coordinate"), ("x", "projection_x_coordinate")):
            file.createDimension(name, 4)
            made = file.createVariable(name, "f8", (name,))
            made.standard_name, made.units = standard, "m"
            made[:] = np.arange(4.0)
        file.createVariable("v", "f4", ("y", "x")).grid_mapping = "crs"
        file["v"][:] = 1


def long_and_thin(path: Path) -> None:
    """Write a map of 200,000 steps whose values at a place are each in a piece of its own."""
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as file:
        for name, length in (("step", 200_000), ("lat", 2), ("lon", 2)):
            file.createDimension(name, length)
        for name, unit in (("lat", "degrees_north"), ("lon", "degrees_east")):
            made = file.createVariable(name, "f4", (name,))
            made.units = unit
            made[:] = [0, 10]
        file.createVariable("v", "i1", ("step", "lat", "lon"))[:] = 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("hints")
    odd_files.netcdf(found / "model.nc", "NETCDF4")
    projected(found / "rotated.nc", "rotated_latitude_longitude")
    projected(found / "nonsense.nc", "nonsense")
    long_and_thin(found / "thin.nc")
    huge(found / "huge.nc")
    filtered(found / "filter.h5")
    body = (found / "model.nc").read_bytes()
    (found / "cut.nc").write_bytes(body[:5000])
    (found / "counts.nc").write_bytes(b"CDF\x01\x00\x00\x00\x00\x00\x00\x00\x0a\xff\xff\xff\xff")
    (found / "notes.txt").write_text("none of these")
    with h5py.File(found / "texts.h5", "w") as file:
        layout = h5py.VirtualLayout(shape=(3,), dtype=h5py.string_dtype())
        layout[:] = h5py.VirtualSource("other.h5", "names", shape=(3,))
        file.create_virtual_dataset("names", layout)
        file["here"] = np.array(["a", "b"], h5py.string_dtype())
    return found


@pytest.fixture(scope="module")
def viewer(folder: Path) -> Iterator[Viewer]:
    with viewing(folder) as found:
        yield found


PACKED = {"name": "model.nc", "var": "packed"}
SAME = {"name2": "model.nc", "var2": "packed"}


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("file", {"name": "notes.txt"}),
        ("file", {"name": "cut.nc"}),
        ("file", {"name": "counts.nc"}),
        ("file", {"name": "gone.nc"}),
        ("file", {}),
        ("labels", {"name": "texts.h5", "var": "names"}),
        ("grid", {"name": "huge.nc", "grid": "lat|lon|lat|lon|"}),
        ("grid", {"name": "model.nc", "grid": "none"}),
        ("slab", {"name": "filter.h5", "var": "v"}),
        ("slab", {"name": "huge.nc", "var": "v"}),
        ("slab", {"name": "model.nc", "var": "nothing"}),
        ("slab", {"name": "model.nc", "var": "text"}),
        ("slab", {"index": "time:99", **PACKED}),
        ("series", {"name": "thin.nc", "var": "v", "along": "step", "y": 0, "x": 1}),
        ("series", {"along": "lat", "y": 0, "x": 0, **PACKED}),
        ("mean", {"y0": 3, "y1": 3, **PACKED}),
        ("export", {"format": "exe", **PACKED}),
        ("equal", {"name": "model.nc", "var": "plain", **SAME}),
    ],
)
def test_hints_of_the_server(viewer: Viewer, path: str, asked: dict[str, Any], sentence: Sentence) -> None:
    answer = viewer.get(f"/api/{path}", **asked)
    assert answer.status >= 400, answer.body
    sentence(answer.error["hint"])


@pytest.mark.parametrize("name", ["rotated.nc", "nonsense.nc"])
def test_projections_that_cannot_be_used_are_said(viewer: Viewer, name: str, sentence: Sentence) -> None:
    head, _ = viewer.get("/api/grid", name=name, grid="y|x|y|x|crs").framed
    assert head["kind"] == "index"
    sentence(head["why_by_index"])


@pytest.mark.parametrize(
    ("key", "hint"), [("zarr.json", "/zarr/TOKEN/NAME/zarr.json"), ("model.nc/none", "begin with zarr.json")]
)
def test_hints_of_zarr(viewer: Viewer, key: str, hint: str) -> None:
    assert viewer.get(f"/zarr/{viewer.server.token}/{key}").error["hint"] == hint


def told(call: Callable[[], object]) -> str | None:
    with pytest.raises(HaulageError) as caught:
        call()
    return caught.value.hint


def test_hints_of_chunks(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentence: Sentence
) -> None:
    large, kind = Chunked((1 << 26,), (), None), np.dtype("f4")
    hint = "write it again with smaller chunks, with nccopy -c"
    assert told(lambda: filters.decoded(b"", 0, large, kind, "v")) == hint
    small = Chunked((4,), ((filters.DEFLATE, ()),), None)
    hint = "copy the file again from an intact original, and compare with haul verify"
    assert told(lambda: filters.decoded(b"no", 0, small, kind, "v")) == hint
    texts = opened(folder, "texts.h5")
    here = texts.index.variables["here"]
    assert told(lambda: Reader(1000).read(texts, here, ((0, 2),))) == "choose another variable"
    odd_files.filters(tmp_path / "a.h5")
    one = opened(tmp_path, "a.h5")
    variable = one.index.variables["many_chunks"]
    with monkeypatch.context() as patch:
        patch.setattr(slab, "MOST_BYTES", 10)
        hint = "choose fewer values, or copy the file with haul cp"
        assert told(lambda: Reader(1000).read(one, variable, ((0, 3), (0, 4)))) == hint
    monkeypatch.setattr(tables, "_MOST_NODES", 2)
    sentence(told(lambda: Reader(1000).read(one, variable, ((0, 3000), (0, 4)))))


def test_hints_of_index(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    other = tmp_path / "other/model.nc.json"
    other.parent.mkdir()
    other.write_text('{"mine": 1}')
    for arguments, hint in (
        (
            [str(folder), "--out", str(tmp_path), "--as-url", "az://c/a"],
            "leave --as-url out, or name one file",
        ),
        ([str(folder / "model.nc"), "--out", str(tmp_path / "file")], "choose another folder"),
        ([str(folder / "model.nc"), "--out", str(other.parent)], "name another folder: --out FOLDER"),
        (
            [str(folder / "model.nc"), "--out", "az://c/references"],
            "write it to this machine, then copy it: haul cp NAME az://c/references",
        ),
    ):
        run = subprocess.run(
            [HAUL, "index", *arguments],
            capture_output=True,
            text=True,
            env=clean_environment(tmp_path),
            check=False,
        )
        assert run.returncode in (1, 2)
        assert f"hint: {hint}" in run.stderr
    assert other.read_text() == '{"mine": 1}'
    # Names of blobs may be anything.
    assert told(lambda: writing._write(tmp_path, "../out", "{}")) == "index that file alone"


def test_hints_of_zarr_stores(sentence: Sentence) -> None:
    unknown: Any = SimpleNamespace(version=3, codecs='[{"name": "bytes"}]')
    with pytest.raises(UnsupportedError) as unread:
        texts._decoded(b"", unknown, np.dtype(object), "names")
    sentence(unread.value)
    emptied: Any = SimpleNamespace(names=lambda: ([], "version"), reach=None)
    with pytest.raises(NotFoundError) as removed:
        store_references(emptied, "a.zarr/zarr.json")
    assert removed.value.hint == "run the command again"


def test_a_place_with_nothing_in_it_names_where_to_look(
    emulator: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hint was to list a URL, without saying which."""
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", emulator.connection_string)
    root, other = (emulator.container().az().rstrip("/") for _ in range(2))
    haulage.put(f"{root}/cmip7/a.nc.haul-index", b"left behind")
    empty = "copy files there, or name another place"
    for url, hint in (
        (f"{root}/cmip7/", f"list what is there with: haul ls {root}/"),
        (other, empty),
        (str(tmp_path), empty),
    ):
        with pytest.raises(NotFoundError) as nothing:
            Place(url, {}).names()
        assert nothing.value.hint == hint
