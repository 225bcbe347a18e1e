"""Read a slice of an array through a file system of fsspec, as its documents show it.

`arrays_run.py PROTOCOL PATH SLICE TIMES`: PROTOCOL is `haulaz`, `hauls3`, `az` (adlfs) or `s3` (s3fs), PATH
ends in `.nc` or `.zarr`, SLICE is `month` or `point`. ARRAYS_OPTIONS holds the file system's options as JSON.
Prints a line of JSON: the seconds of the quickest reading, and a digest of the values. Every reading opens
the file system anew; only what is imported stays.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
import warnings
from importlib import import_module
from typing import Any

# By name: this runs in two environments, and neither has all of them.
fsspec: Any = import_module("fsspec")
xarray: Any = import_module("xarray")


def main(protocol: str, path: str, slice_: str, times: str) -> None:
    """Read, and print what it took."""
    options = json.loads(os.environ["ARRAYS_OPTIONS"])
    best, digest = float("inf"), ""
    for _ in range(int(times)):
        began = time.perf_counter()
        values = read(protocol, path, slice_, {**options, "skip_instance_cache": True})
        best = min(best, time.perf_counter() - began)
        digest = hashlib.sha256(values).hexdigest()
    print(json.dumps({"seconds": round(best, 3), "digest": digest}), flush=True)
    # Clients may leave threads and connections behind that would hold the process up.
    os._exit(0)


def read(protocol: str, path: str, slice_: str, options: dict[str, Any]) -> bytes:
    """Return the values of the slice."""
    if path.endswith(".nc"):
        fs = fsspec.filesystem(protocol, **options)
        with fs.open(path) as file, xarray.open_dataset(file, engine="h5netcdf") as data:
            return chosen(data, slice_)
    if protocol.startswith("haul"):
        store = import_module("haulage.filesystem").zarr_store
        with xarray.open_zarr(store(f"{protocol}://{path}", read_only=True, **options), chunks=None) as data:
            return chosen(data, slice_)
    with xarray.open_zarr(f"{protocol}://{path}", storage_options=options, chunks=None) as data:
        return chosen(data, slice_)


def chosen(data: Any, slice_: str) -> bytes:
    """Return a month of the globe, or all times of one point."""
    part = data.tas[40:70] if slice_ == "month" else data.tas[:, 100, 100]
    values: bytes = part.values.tobytes()
    return values


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
