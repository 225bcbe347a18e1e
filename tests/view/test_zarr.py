"""Files as Zarr over HTTP and as references: zarr-python, xarray and fsspec read what the files hold."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr

from command import HAUL, clean_environment
from haulage.view.index.opening import open_file
from haulage.view.index.references import references
from haulage.view.index.zarr import _array_2
from haulage.view.reading.place import Place
from view import odd_files
from view.viewing import samples, viewing

#: Consolidated metadata is not in the specification of Zarr 3 yet, and zarr-python says so each time.
pytestmark = pytest.mark.filterwarnings("ignore:.*:zarr.errors.ZarrUserWarning")


#: Packages of node that the tests run.
MODULES = str(Path(__file__).resolve().parents[2] / "build/node/node_modules")


def _filters(path: Path) -> Path:
    # zarr-python takes some milliseconds for each chunk.
    return odd_files.filters(path, many=70)


@pytest.mark.parametrize("form", odd_files.FORMATS)
def test_xarray_reads_any_netcdf_as_zarr(form: str, tmp_path: Path) -> None:
    odd_files.netcdf(tmp_path / "a b.nc", form)
    with viewing(tmp_path) as viewer:
        url = f"{viewer.server.zarr_url}a%20b.nc"
        with xr.open_dataset(tmp_path / "a b.nc") as local, xr.open_zarr(url) as served:
            for name in ("packed", "plain", "small"):
                assert np.allclose(served[name].to_numpy(), local[name].to_numpy(), equal_nan=True), name
                assert served[name].dims == local[name].dims
            assert (served["time"].to_numpy() == local["time"].to_numpy()).all()
            assert served.attrs["title"] == "températures"
        with xr.open_dataset(tmp_path / "a b.nc", decode_cf=False) as local:
            group = zarr.open_group(url, mode="r")
            for name in ("packed", "plain", "small", "time"):
                array = group[name]
                assert isinstance(array, zarr.Array)
                assert np.array_equal(np.asarray(array[...]), local[name].to_numpy()), name


def test_zarr_reads_all_layouts_of_hdf5(tmp_path: Path) -> None:
    import h5py

    for make, name in ((_filters, "a.h5"), (odd_files.latest, "b.h5")):
        path = make(tmp_path / name)
        with viewing(path) as viewer, h5py.File(path) as file:
            group = zarr.open_group(f"{viewer.server.zarr_url}{name}", mode="r")
            found = dict(group.members(max_depth=None))
            assert "linked_out" not in found
            arrays = {key: array for key, array in found.items() if isinstance(array, zarr.Array)}
            assert len(arrays) >= 5
            for key, array in arrays.items():
                assert np.array_equal(np.asarray(array[...]), file[key][()]), key


@pytest.mark.parametrize("name", ["made.nc", "rotated_pole.nc", "A1B_north_america.nc"])
def test_zarrita_reads_the_same(name: str, tmp_path: Path) -> None:
    path = odd_files.netcdf(tmp_path / name, "NETCDF4") if name == "made.nc" else samples() / name
    with viewing(path) as viewer, xr.open_dataset(path, decode_cf=False) as local:
        run = subprocess.run(
            [
                "node",
                str(Path(__file__).parent / "zarrita_reads.mjs"),
                MODULES,
                f"{viewer.server.zarr_url}{name}",
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        found = {one["path"]: one for one in map(json.loads, run.stdout.splitlines())}
        assert set(found) == {key for key, of in local.variables.items() if of.dtype.kind in "iuf"}
        for key, one in found.items():
            values = local[key].to_numpy()
            assert one["shape"] == list(values.shape)
            if one["values"] is None:
                assert float(one["one"]) == float(values), key
                continue
            read = np.frombuffer(base64.b64decode(one["values"]), one["dtype"]).reshape(values.shape)
            assert np.array_equal(read, values, equal_nan=values.dtype.kind == "f"), key


def test_a_file_that_is_replaced_is_read_anew_when_it_is_opened_again(tmp_path: Path) -> None:
    def write(value: float) -> None:
        xr.Dataset({"v": (("t", "x"), np.full((400, 4000), value))}).to_netcdf(
            tmp_path / "new", engine="h5netcdf", encoding={"v": {"chunksizes": (1, 4000)}}
        )
        (tmp_path / "new").replace(tmp_path / "a.nc")

    write(1)
    with viewing(tmp_path / "a.nc") as viewer:
        url = f"{viewer.server.zarr_url}a.nc"
        with xr.open_zarr(url) as served:
            assert float(served["v"][0, 0]) == 1
            write(2)
            base = f"/zarr/{viewer.server.token}/a.nc"
            assert viewer.raw(f"{base}/v/c/300/0").status == 409
        with xr.open_zarr(url) as served:
            assert float(served["v"][300, 0]) == 2


def test_chunks_go_on_as_they_are_stored(tmp_path: Path) -> None:
    odd_files.filters(tmp_path / "a.h5")
    with viewing(tmp_path) as viewer:
        base = f"/zarr/{viewer.server.token}/a.h5"
        codecs = viewer.raw(f"{base}/deflate/zarr.json").json["codecs"]
        assert [codec["name"] for codec in codecs] == ["bytes", "gzip"]
        chunk = viewer.raw(f"{base}/deflate/c/0/0")
        stored = open_file(Place(str(tmp_path), {}).pin("a.h5"), None)
        where = stored.tables.find(stored.index.variables["deflate"], (0, 0), (0, 0))[0]
        deflated = (tmp_path / "a.h5").read_bytes()[where.offset + 2 : where.offset + where.size - 4]
        assert chunk.body[10:-8] == deflated
        assert chunk.headers["access-control-allow-origin"] == "*"
        assert viewer.raw(f"{base}/never/c/0/0").status == 404
        assert viewer.raw(f"{base}/deflate/c/9/9").status == 404
        assert viewer.raw(f"{base}/zarr.json", {"Origin": "https://viewer.example"}).status == 200


@pytest.mark.parametrize(
    "name", ["A1B_north_america.nc", "space_weather.nc", "NEMO/nemo_1m_20150101-20150201_grid-T.nc"]
)
def test_references_are_read_by_fsspec(name: str, tmp_path: Path) -> None:
    run = subprocess.run(
        [HAUL, "index", str(samples() / name), "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        env=clean_environment(tmp_path),
        check=False,
    )
    assert run.returncode == 0, run.stderr
    made = tmp_path / f"{Path(name).name}.json"
    options = {"fo": str(made), "remote_protocol": "file"}
    with (
        xr.open_dataset(
            "reference://",
            engine="zarr",
            backend_kwargs={"consolidated": False, "storage_options": options, "zarr_format": 2},
            decode_cf=False,
        ) as found,
        xr.open_dataset(samples() / name, decode_cf=False) as local,
    ):
        numbers = [key for key in local.variables if local[key].dtype.kind in "iuf"]
        assert len(numbers) > 5
        for key in numbers:
            assert np.array_equal(found[key].to_numpy(), local[key].to_numpy(), equal_nan=True), key


def test_references_of_all_filters(tmp_path: Path) -> None:
    import fsspec
    import h5py

    path = _filters(tmp_path / "a.h5")
    made, left_out = references(open_file(Place(str(tmp_path), {}).pin("a.h5"), None), str(path))
    assert set(left_out) == {"linked_out", "kept_outside", "lzf", "scaled"}
    store = fsspec.filesystem("reference", fo=made, remote_protocol="file").get_mapper("")
    with h5py.File(path) as file:
        for name in (
            "none",
            "deflate",
            "all",
            "summed",
            "odd_length",
            "big_endian",
            "many_chunks",
            "compact",
        ):
            keys = {key[len(name) + 1 :]: body for key, body in store.items() if key.startswith(f"{name}/")}
            array = zarr.open_array(_memory(keys), mode="r", zarr_format=2)
            assert np.array_equal(np.asarray(array[...]), file[name][()]), name


def _memory(keys: dict[str, bytes]) -> zarr.storage.MemoryStore:
    from zarr.core.buffer import default_buffer_prototype

    make = default_buffer_prototype().buffer.from_bytes
    return zarr.storage.MemoryStore({key: make(body) for key, body in keys.items()})


def test_index_of_what_is_no_netcdf(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    odd_files.netcdf(tmp_path / "b.nc", "NETCDF4")
    for arguments, code, says in (
        ([str(tmp_path / "a.txt")], 2, "not a NetCDF or HDF5 file, but text"),
        ([str(tmp_path)], 2, "add --out FOLDER"),
        ([str(tmp_path), "--out", str(tmp_path / "out")], 0, "skipped: a.txt"),
        ([str(tmp_path / "none")], 4, "hint"),
    ):
        run = subprocess.run(
            [HAUL, "index", *arguments],
            capture_output=True,
            text=True,
            env=clean_environment(tmp_path),
            check=False,
        )
        assert (run.returncode, says in run.stderr) == (code, True), run.stderr
    assert json.loads((tmp_path / "out/b.nc.json").read_text())["version"] == 1


@pytest.mark.parametrize("kind", ["NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_CLASSIC"])
def test_what_was_never_written_is_the_same_through_references(kind: Any, tmp_path: Path) -> None:
    """A grid mapping, which mostly has no value, became NaN; so did counts without a ``_FillValue``."""
    import netCDF4

    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w", format=kind) as file:
        file.createDimension("y", 4)
        file.createVariable("crs", "i4", ()).grid_mapping_name = "latitude_longitude"
        file.createVariable("height", "f8", ())
        file.createVariable("count", "i4", ("y",))
        file.createVariable("masked", "f4", ("y",), fill_value=-1.0)
        file.createVariable("value", "f4", ("y",)).grid_mapping = "crs"
        file["value"][:] = range(4)
    line = [str(HAUL), "index", str(path), "--out", str(tmp_path), "--no-cache"]
    subprocess.run(line, env=clean_environment(tmp_path), check=True)
    options = {"fo": str(tmp_path / "a.nc.json"), "remote_protocol": "file"}
    kwargs = {"consolidated": False, "storage_options": options, "zarr_format": 2}
    with (
        xr.open_dataset("reference://", engine="zarr", backend_kwargs=kwargs) as found,
        xr.open_dataset(path, engine="netcdf4") as local,
    ):
        for name in ("crs", "height", "count", "masked", "value"):
            assert found[name].dtype == local[name].dtype, name
            np.testing.assert_array_equal(found[name].to_numpy(), local[name].to_numpy(), name)


@pytest.mark.parametrize(
    ("fill", "wrote", "listed"),
    [(0, 0.0, True), (None, 0.0, True), (7, 7.0, False), (float("nan"), 0.0, True)],
)
def test_values_that_were_written_are_not_taken_for_the_fill_value(
    fill: float | None, wrote: float, listed: bool, tmp_path: Path
) -> None:
    """Zeros of a file of HDF5 became NaN, as nothing else was in its other chunks."""
    import h5py

    with h5py.File(tmp_path / "a.h5", "w") as file:
        made = file.create_dataset("v", shape=(4,), chunks=(2,), dtype="f4", fillvalue=fill)
        made[:2] = wrote
        whole = file.create_dataset("whole", shape=(4,), chunks=(2,), dtype="f4", fillvalue=fill)
        whole[:] = wrote
    found, left_out = references(open_file(Place(str(tmp_path), {}).pin("a.h5"), None), "file:///a.h5")
    assert ("v" not in left_out) is listed
    for name in ("v", "whole") if listed else ("whole",):
        array = json.loads(found["refs"][f"{name}/.zarray"])
        assert array["fill_value"] != wrote


@pytest.mark.parametrize(
    ("path", "names", "attributes", "masked"),
    [
        ("lat", ["lat"], {}, False),
        ("g/time", ["time"], {}, False),
        ("XLAT", ["y", "x"], {"units": "degrees_north"}, False),
        ("nav_lon", ["y", "x"], {"standard_name": "longitude"}, False),
        ("x1", ["i"], {"axis": "X"}, False),
        ("tas", ["lat", "lon"], {"units": "K"}, True),
        ("tas", None, {}, True),
        ("lat", ["lat"], {"_FillValue": 0.0}, True),
    ],
)
def test_a_coordinate_of_zero_is_no_fill_value_of_zarr_2(
    path: str, names: list[str] | None, attributes: dict[str, Any], masked: bool
) -> None:
    said = attributes | ({} if names is None else {"_ARRAY_DIMENSIONS": names})
    shape = [3] * len(names or "ab")
    node = {"shape": shape, "chunks": shape, "dtype": "<f8", "fill_value": 0.0, "attributes": said}
    assert ("_FillValue" in _array_2(path, node).attributes) is masked
