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
#: What has a role in finding credentials.
_TOOLS = ("az", "aws")


def examine_versions() -> Iterator[Finding]:
    """Yield the versions of what is installed, and which extras are whole."""
    python = platform.python_version()
    values: dict[str, object] = {"haulage": VERSION, "python": python, "executable": sys.executable}
    yield Finding("versions.haulage", "ok", f"haulage {VERSION}, Python {python}", values=values)
    whole, partly = [], {}
    for extra, names in _extras().items():
        missing = [name for name in names if not _installed(name)]
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


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
