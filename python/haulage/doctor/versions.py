"""What is installed: haulage, Python, the parts that are extras, clients that also move data."""

from __future__ import annotations

import platform
import re
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata

from haulage._engine import VERSION
from haulage.doctor.finding import Finding

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRA = re.compile(r"extra\s*==\s*[\"']([^\"']+)[\"']")
_SELF = re.compile(r"haulage\s*\[([^\]]*)\]")
#: Extras that are for those who change haulage.
OURS = frozenset({"dev", "test"})
#: What reads, moves and draws the same data, by the name of its module.
_PACKAGES = (
    "numpy scipy pandas xarray iris dask distributed zarr kerchunk virtualizarr icechunk netCDF4 h5py"
    " h5netcdf cftime numcodecs pyarrow duckdb polars fsspec adlfs s3fs obstore boto3 azure.storage.blob"
    " cf_units cartopy matplotlib altair"
)
#: Its package, if that has another name.
_OF_MODULE = {"azure.storage.blob": "azure-storage-blob", "iris": "scitools-iris"}
#: What has a role in finding credentials.
_TOOLS = ("az", "aws")


def examine_versions() -> Iterator[Finding]:
    """Yield the versions of what is installed, and which extras are whole."""
    python = platform.python_version()
    values: dict[str, object] = {"haulage": VERSION, "python": python, "executable": sys.executable}
    yield Finding("versions.haulage", "ok", f"haulage {VERSION}, Python {python}", values=values)
    whole, partly = [], {}
    for extra, names in _extras().items():
        missing = [name for name in names if _version(name) is None]
        if not missing:
            whole.append(extra)
        else:
            partly[extra] = missing
    text = f"extras installed: {', '.join(whole) or 'none'}"
    values = {"whole": whole, "missing": partly}
    hint = None
    if partly:
        text += f"; not installed: {', '.join(sorted(partly))}"
        hint = f"to install one: pip install 'haulage[{min(partly)}]'"
    yield Finding("versions.extras", "ok", text, hint, values=values)
    versions = {name: _version(_OF_MODULE.get(name, name)) for name in _PACKAGES.split()}
    found = {name: version for name, version in versions.items() if version is not None}
    told = ", ".join(f"{name} {version}" for name, version in found.items())
    yield Finding("versions.packages", "ok", f"packages: {told or 'none'}", values={"packages": found})
    tools = [tool for tool in _TOOLS if shutil.which(tool)]
    there = f"tools that can sign in: {', '.join(tools) or 'none'}"
    yield Finding("versions.tools", "ok", there, values={"tools": tools})


def _extras() -> dict[str, list[str]]:
    """Return the packages that each extra asks for, itself or by other extras: as the package says."""
    try:
        asked = metadata.requires("haulage") or []
    except metadata.PackageNotFoundError:
        return {}
    found: dict[str, list[str]] = {}
    parts: dict[str, list[str]] = {}
    for requirement in asked:
        extra, name = _EXTRA.search(requirement), _NAME.match(requirement)
        if extra and name and extra[1] not in OURS:
            named = found.setdefault(extra[1], [])
            if of_ours := _SELF.match(requirement):
                parts[extra[1]] = [one.strip() for one in of_ours[1].split(",")]
            else:
                named.append(name[0])
    for whole, others in parts.items():
        found[whole] += [name for other in others for name in found.get(other, ())]
    return {extra: [*dict.fromkeys(names)] for extra, names in sorted(found.items())}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
