"""Values read by ranges are those that xarray and h5py read from the files themselves, exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray as xr

import haulage
from endpoints import Endpoint
from haulage.errors import HaulageError, IntegrityError, UnsupportedError
from haulage.view.decode.filters import fletcher32
from haulage.view.decode.scaling import meant
from haulage.view.decode.slab import Reader, whole
from haulage.view.index.cache import tidy
from haulage.view.index.opening import Opened, open_file
from haulage.view.reading.cost import counting
from haulage.view.reading.place import Place
from view import odd_files
from view.viewing import samples

#: Values at random places of each variable that are compared.
POINTS = 100


def opened(url: str | Path, name: str, cache: Path | None = None, **options: Any) -> Opened:
    return open_file(Place(str(url), options).pin(name), cache)  # type: ignore[arg-type]


def same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    return a.dtype.newbyteorder("=") == b.dtype.newbyteorder("=") and np.array_equal(
        a, b, equal_nan=a.dtype.kind == "f"
    )


def compared(one: Opened, path: Path) -> int:
    """Compare values at random points of every variable with xarray's; return how many variables."""
    rng = np.random.default_rng(7)
    reader, count = Reader(16 << 20), 0
    plain: Any = {"decode_times": False, "decode_coords": False, "decode_timedelta": False}
    with xr.open_dataset(path, decode_cf=False) as stored, xr.open_dataset(path, **plain) as scaled:
        assert set(stored.variables) == set(one.index.variables)
        for name, variable in one.index.variables.items():
            if variable.kind != "number":
                continue
            raw, full = stored[name].to_numpy(), scaled[name].to_numpy()
            assert variable.dims == stored[name].dims
            places = [tuple(int(rng.integers(0, n)) for n in variable.shape) for _ in range(POINTS)]
            for place in places if raw.size else []:
                found = reader.read(one, variable, tuple((at, at + 1) for at in place)).ravel()
                assert same(found, raw[place].reshape(1)), (name, place)
                mean = meant(found, variable, valid_range=False)
                assert same(mean, full[place].reshape(1)), (name, place)
            assert same(meant(reader.read(one, variable, whole(variable)), variable, valid_range=False), full)
            count += 1
    return count


@pytest.mark.parametrize("form", odd_files.FORMATS)
def test_every_format_of_netcdf(form: str, tmp_path: Path) -> None:
    odd_files.netcdf(tmp_path / "a.nc", form)
    one = opened(tmp_path, "a.nc")
    assert one.index.format == ("netcdf3" if "NETCDF3" in form else "netcdf4")
    assert one.index.attributes["title"] == "températures"
    assert compared(one, tmp_path / "a.nc") == 6


@pytest.mark.parametrize("make", [odd_files.filters, odd_files.latest])
def test_every_layout_and_filter_of_hdf5(make: Any, tmp_path: Path) -> None:
    path = make(tmp_path / "a.h5")
    one, reader = opened(tmp_path, "a.h5"), Reader(1 << 20)
    with h5py.File(path) as file:
        for name, variable in one.index.variables.items():
            if variable.why_not:
                continue
            expected = file[name][()]
            assert np.array_equal(reader.read(one, variable, whole(variable)), expected), name
            inner = tuple((1, length - 1) for length in variable.shape)
            part = reader.read(one, variable, inner)
            assert np.array_equal(part, expected[tuple(slice(*one) for one in inner)]), name


def test_nothing_is_read_from_other_files(tmp_path: Path) -> None:
    odd_files.filters(tmp_path / "a.h5")
    one = opened(tmp_path, "a.h5")
    assert "linked_out" in one.index.left_out
    with pytest.raises(UnsupportedError, match="other files"):
        Reader(1000).read(one, one.index.variables["kept_outside"], ((0, 4),))


def test_a_flipped_byte_is_found_by_its_checksum(tmp_path: Path) -> None:
    path = odd_files.filters(tmp_path / "a.h5")
    one = opened(tmp_path, "a.h5")
    chunk = one.tables.find(one.index.variables["summed"], (0, 0), (0, 0))[0]
    body = bytearray(path.read_bytes())
    body[chunk.offset + 10] ^= 1
    path.write_bytes(body)
    again = opened(tmp_path, "a.h5")
    with pytest.raises(IntegrityError, match="checksum"):
        Reader(1000).read(again, again.index.variables["summed"], ((0, 16), (0, 16)))


def test_the_checksum_is_that_of_hdf5() -> None:
    # HDF5 itself wrote those of `summed` and `odd_length`; this one is of its specification's form by hand.
    assert fletcher32(b"\x00\x01\x00\x02") == (1 + 3) << 16 | 3


def test_samples_in_a_store_equal_xarrays(emulator: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", emulator.connection_string)
    container = emulator.container()
    names = ["rotated_pole.nc", "orca2_votemper.nc", "space_weather.nc", "vlstr_type.nc"]
    haulage.copy([samples() / name for name in names], container.az("data/"))
    for name in names:
        assert compared(opened(container.az("data/"), name), samples() / name) > 3


def test_an_index_is_kept_and_asks_for_nothing(tmp_path: Path) -> None:
    folder, cache = tmp_path / "data", tmp_path / "cache"
    folder.mkdir()
    odd_files.filters(folder / "a.h5")
    odd_files.latest(folder / "b.h5")
    for name in ("a.h5", "b.h5"):
        with counting() as first:
            one = opened(folder, name, cache)
            for variable in one.index.variables.values():
                if not variable.why_not and variable.kind == "number":
                    Reader(1000).read(one, variable, whole(variable))
        with counting() as second:
            again = opened(folder, name, cache)
            assert second.requests == 0
        assert again.index == one.index
        assert first.requests > 0
    for path in cache.iterdir():
        path.write_bytes(b"broken")
    assert opened(folder, "a.h5", cache).index.variables
    tidy(cache, 0)
    assert not list(cache.iterdir())


def test_many_chunks_take_few_round_trips(tmp_path: Path) -> None:
    odd_files.filters(tmp_path / "a.h5")
    one = opened(tmp_path, "a.h5")
    variable = one.index.variables["many_chunks"]
    with counting() as cost:
        Reader(1000).read(one, variable, ((2900, 2901), (0, 4)))
    assert cost.waves <= 4
    assert len(one.tables.find(variable, (0, 0), (2999, 0))) == 3000


@pytest.mark.parametrize(
    ("name", "body", "says"),
    [
        ("empty.nc", b"", "empty"),
        ("text.nc", b"hello " * 100, "text"),
        ("a.grib", b"GRIB" + bytes(100), "GRIB"),
        ("noise.nc", bytes(range(256)) * 10, "not a NetCDF"),
        ("short.nc", b"CDF\x01\x00\x00", "cut short"),
        ("counts.nc", b"CDF\x01\x00\x00\x00\x00\x00\x00\x00\x0a\xff\xff\xff\xff", "counts"),
        ("name.nc", b"CDF\x05" + b"\0" * 8 + b"\0\0\0\x0a" + b"\0" * 7 + b"\x01" + b"\x7f" * 64, "entry"),
        ("sign.h5", b"\x89HDF\r\n\x1a\n" + b"\xff" * 600, "HDF5"),
    ],
)
def test_what_is_no_netcdf_says_so(name: str, body: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(body)
    with pytest.raises(HaulageError, match=says):
        opened(tmp_path, name)


@pytest.mark.parametrize("form", ["NETCDF3_CLASSIC", "NETCDF4"])
def test_cut_short_at_any_place(form: str, tmp_path: Path) -> None:
    whole_file = odd_files.netcdf(tmp_path / "a.nc", form).read_bytes()
    hints: list[str | None] = []
    for size in range(0, len(whole_file) - 1, 97 if form == "NETCDF3_CLASSIC" else 997):
        (tmp_path / "b.nc").write_bytes(whole_file[:size])
        try:
            one = opened(tmp_path, "b.nc")
            for variable in one.index.variables.values():
                if variable.kind == "number":
                    Reader(1000).read(one, variable, whole(variable))
        except HaulageError as error:
            hints.append(error.hint)
    assert len(hints) > 5
    assert all(hints)


def test_flipped_bytes_are_errors_of_ours(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    bodies = [
        odd_files.netcdf(tmp_path / "a.nc", form).read_bytes() for form in ("NETCDF3_CLASSIC", "NETCDF4")
    ]
    for turn in range(150):
        body = bytearray(bodies[turn % 2])
        for at in rng.integers(4, len(body), 5):
            body[at] = int(rng.integers(0, 256))
        (tmp_path / "b.nc").write_bytes(body)
        try:
            one = opened(tmp_path, "b.nc")
            for variable in one.index.variables.values():
                if variable.kind == "number":
                    Reader(1000).read(one, variable, whole(variable))
        except HaulageError:
            pass
