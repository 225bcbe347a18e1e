"""NetCDF and HDF5 files of every kind that is read, and of some that are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np

FORMATS = ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4", "NETCDF4_CLASSIC")


def netcdf(path: Path, form: Any, *, calendar: str = "noleap", steps: int = 4) -> Path:
    """Write times, packed values, values of one record each, and text."""
    rng = np.random.default_rng(1)
    with netCDF4.Dataset(path, "w", format=form) as file:
        for name, length in (("time", None), ("lat", 7), ("lon", 5)):
            file.createDimension(name, length)
        file.title = "températures"
        time = file.createVariable("time", "f8", ("time",))
        time.units, time.calendar = "days since 2000-01-01", calendar
        lat, lon = file.createVariable("lat", "f4", ("lat",)), file.createVariable("lon", "f4", ("lon",))
        lat.units, lon.units = "degrees_north", "degrees_east"
        packed = file.createVariable("packed", "i2", ("time", "lat", "lon"), fill_value=-9)
        packed.set_auto_maskandscale(False)
        packed.scale_factor, packed.add_offset = np.float32(0.1), np.float32(5)
        packed.units, packed.valid_max = "K", np.int16(95)
        plain = file.createVariable("plain", "f4", ("lat", "lon"))
        small = file.createVariable("small", "i1", ("time",))
        file.createVariable("text", "S1", ("lon",))[:] = list("abcde")
        time[:], small[:] = np.arange(steps) * 31.0, np.arange(steps)
        lat[:], lon[:] = np.linspace(-60, 60, 7), np.linspace(0, 288, 5)
        packed[:] = rng.integers(-9, 100, (steps, 7, 5))
        plain[:] = rng.random((7, 5))
    return path


def filters(path: Path, many: int = 3000) -> Path:
    """Write chunks through the filters of HDF5, values that were never written, and links out of the file."""
    rng = np.random.default_rng(2)
    with h5py.File(path, "w", libver="earliest") as file:
        values = rng.integers(0, 1000, (40, 50)).astype("i4")
        ways: dict[str, dict[str, Any]] = {
            "none": {},
            "deflate": {"compression": "gzip"},
            "all": {"compression": "gzip", "shuffle": True, "fletcher32": True},
            "lzf": {"compression": "lzf"},
            "scaled": {"scaleoffset": 0},
            "summed": {"fletcher32": True},
        }
        for name, way in ways.items():
            file.create_dataset(name, data=values, chunks=(16, 16), **way)
        file.create_dataset("odd_length", data=np.arange(7, dtype="i1"), chunks=(7,), fletcher32=True)
        file.create_dataset("never", shape=(10, 10), chunks=(5, 5), fillvalue=7, dtype="f4")
        file.create_dataset("never_contiguous", shape=(10, 10), fillvalue=7, dtype=">f4")
        file.create_dataset("big_endian", data=values.astype(">i4"), chunks=(16, 16), shuffle=True)
        file.create_dataset("many_chunks", data=rng.random((many, 4)).astype("f4"), chunks=(1, 4))
        file["group/below/deep"] = np.arange(3.0)
        file["linked_out"] = h5py.ExternalLink("/etc/hostname", "/x")
        file.create_dataset("kept_outside", shape=(4,), dtype="u1", external=[("/etc/hostname", 0, 4)])
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((4,))
        made = h5py.h5d.create(file.id, b"compact", h5py.h5t.NATIVE_INT32, space, compact)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(4, dtype="i4"))
    return path


def latest(path: Path) -> Path:
    """Write chunks with every kind of table that newer HDF5 has, and many attributes."""
    rng = np.random.default_rng(3)
    with h5py.File(path, "w", libver="latest") as file:
        for name, most in (("fixed", None), ("growing", (None, 50)), ("tree", (None, None))):
            file.create_dataset(
                name, data=rng.random((40, 50)), chunks=(16, 16), maxshape=most, compression="gzip"
            )
        file.create_dataset("single", data=rng.random((16, 16)), chunks=(16, 16))
        file.create_dataset("implicit", data=rng.random((40, 50)), chunks=(16, 16))
        for number in range(30):
            file["fixed"].attrs[f"attribute {number}"] = number
    return path
