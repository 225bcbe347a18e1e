"""The first map of a far file: haul view, xarray with adlfs, and downloading first, over one shaped link.

python benchmarks/view.py                           1 GiB, 60 ms, 50 Mbit/s: about ten minutes
python benchmarks/view.py --steps 16 --rounds 1     64 MiB: a look
python benchmarks/view.py --peer-python PYTHON      an interpreter that has xarray, h5netcdf, scipy and adlfs
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Literal, TypeAlias, get_args
from urllib.parse import urlencode, urlsplit

import netCDF4
import numpy as np

import haulage
from many import HAUL

#: Cells along each side of a map of 4 MiB, in 8 by 8 chunks.
SIDE = 1024
Form: TypeAlias = Literal["NETCDF4", "NETCDF3_64BIT_OFFSET"]
#: What a colleague of xarray writes: opens the file in place and reads one step.
XARRAY = """
import sys, xarray, adlfs
url, engine, string = sys.argv[1:]
files = adlfs.AzureBlobFileSystem(connection_string=string)
with files.open(url) as file, xarray.open_dataset(file, engine=engine, chunks=None) as data:
    data["tas"][0].load()
"""
Arm = Callable[[Path, str, str], None]


def main() -> None:
    """Print a line of JSON for each form of file and each arm."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--steps", type=int, default=256, help="of 4 MiB each")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--link", default="rtt=60ms,total=50mbit")
    parser.add_argument("--peer-python", default=sys.executable)
    args = parser.parse_args()
    arms: dict[str, Arm] = {"haul view": by_view, "haul cp, then open": by_download}
    if subprocess.run(
        [args.peer_python, "-c", "import adlfs, xarray"], check=False, capture_output=True
    ).returncode:
        print("left out: xarray with adlfs, which --peer-python does not have", file=sys.stderr)
    else:
        arms["xarray, adlfs"] = lambda _, url, form: by_xarray(args.peer_python, url, form)
    for form in get_args(Form):
        with tempfile.TemporaryDirectory() as name, far(Path(name), form, args.steps, args.link) as emulator:
            seen: dict[str, list[dict[str, float]]] = {arm: [] for arm in arms}
            for number in range(args.rounds):
                for arm in random.Random(number).sample(sorted(arms), len(arms)):
                    seen[arm].append(weighed(emulator, Path(name) / f"{number}-{arm[:6]}", arms[arm], form))
            for arm, rows in seen.items():
                middle = {key: median(row[key] for row in rows) for key in rows[0]}
                print(json.dumps({"form": form, "arm": arm, "rounds": args.rounds, **middle}), flush=True)


@contextmanager
def far(folder: Path, form: Form, steps: int, link: str) -> Iterator[haulage.Emulator]:
    """Serve a file of so many steps over a link."""
    large(folder / "large.nc", form, steps)
    store = str(folder / "store")
    with haulage.Emulator(store=store) as near:
        os.environ["AZURE_STORAGE_CONNECTION_STRING"] = near.connection_string
        subprocess.run([HAUL, "mb", "--quiet", "az://climate"], check=True)
        haulage.copy(folder / "large.nc", "az://climate/large.nc")
    (folder / "large.nc").unlink()
    with haulage.Emulator(store=store, link=link) as emulator:
        os.environ["AZURE_STORAGE_CONNECTION_STRING"] = emulator.connection_string
        yield emulator


def large(path: Path, form: Form, steps: int) -> None:
    """Write maps of random values."""
    chunked = form == "NETCDF4"
    with netCDF4.Dataset(path, "w", format=form) as file:
        file.createDimension("time", None if chunked else steps)
        for name, unit in (("lat", "degrees_north"), ("lon", "degrees_east")):
            file.createDimension(name, SIDE)
            file.createVariable(name, "f8", (name,))[:] = np.linspace(-80, 80, SIDE)
            file[name].units = unit
        along: Any = {"chunksizes": (512,)} if chunked else {}
        file.createVariable("time", "f8", ("time",), **along)
        file["time"].units = "days since 2000-01-01"
        chunks: Any = {"chunksizes": (1, SIDE // 8, SIDE // 8)} if chunked else {}
        made = file.createVariable("tas", "f4", ("time", "lat", "lon"), **chunks)
        base = np.random.default_rng(1).random((SIDE, SIDE)).astype("f4")
        for step in range(steps):
            made[step] = base + step
        file["time"][:] = np.arange(steps)


def weighed(emulator: haulage.Emulator, folder: Path, arm: Arm, form: str) -> dict[str, float]:
    """Return seconds, requests and bytes of one cold start to the first map."""
    folder.mkdir()
    before, began = emulator.stats(), time.monotonic()
    arm(folder, "az://climate/large.nc", form)
    seconds, after = time.monotonic() - began, emulator.stats()
    requests = sum(after["requests"].values()) - sum(before["requests"].values())
    return {
        "seconds": round(seconds, 3),
        "requests": requests,
        "mib": round((after["bytes_out"] - before["bytes_out"]) / 2**20, 2),
    }


def by_view(folder: Path, url: str, _form: str) -> None:
    """Start haul view and ask as its page does."""
    line = [str(HAUL), "view", url, "--json", "--no-cache"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, cwd=folder) as process:
        assert process.stdout is not None
        parts = urlsplit(json.loads(process.stdout.readline())["url"])

        def get(path: str, **asked: str) -> bytes:
            address = f"http://{parts.netloc}/api/{path}?{parts.query}&{urlencode(asked)}"
            with urllib.request.urlopen(address, timeout=300) as answer:
                return bytes(answer.read())

        name = json.loads(get("catalogue"))["files"][0]["name"]
        variables = json.loads(get("file", name=name))["variables"]
        grid = next(one["grid"] for one in variables if one["path"] == "tas")
        with ThreadPoolExecutor() as threads:
            waiting = [
                threads.submit(get, "grid", name=name, grid=grid),
                threads.submit(get, "slab", name=name, var="tas", index="time:0"),
            ]
            for one in waiting:
                one.result()
        process.terminate()


def by_download(folder: Path, url: str, _form: str) -> None:
    """Copy the whole file, then read one step."""
    subprocess.run([str(HAUL), "cp", "--quiet", url, str(folder / "large.nc")], check=True)
    with netCDF4.Dataset(folder / "large.nc") as file:
        file["tas"][0]
    (folder / "large.nc").unlink()


def by_xarray(python: str, url: str, form: str) -> None:
    """Open it in place with xarray."""
    engine = "h5netcdf" if form == "NETCDF4" else "scipy"
    string = os.environ["AZURE_STORAGE_CONNECTION_STRING"]
    subprocess.run([python, "-c", XARRAY, url.removeprefix("az://"), engine, string], check=True)


if __name__ == "__main__":
    main()
