"""Write the licences of everything that is compiled in or comes along: `packaging/notices.py FILE`.

What is compiled in is what Cargo resolves for the wheel and the command; equal texts are written once.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OURS = ("haulage-python", "haulage-cli")
NAMES = ("licen", "copying", "notice", "unlicense", "copyright")
STATIC = ROOT / "python/haulage/web/static"

HEAD = """Third-party notices

Haulage is licensed under Apache-2.0 (LICENSE). The wheel and the command contain the works below, each under
its own licence. Where a work may be used under one of several licences, Haulage uses it under the most
permissive one.
"""
VENDORED = """uPlot (in the pages of haul watch and haul view): MIT

{uplot}
ColorBrewer (scales of colours in the page of haul view): Cynthia Brewer, Mark Harrower and The
Pennsylvania State University, Apache-2.0, colorbrewer.org

Natural Earth (coastlines in the pages of haul view and haul table serve): public domain, naturalearthdata.com
"""


def linked(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the packages that are compiled into ours, sorted; not those that only build or test them."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    waiting = [name for name, package in packages.items() if package["name"] in OURS]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        normal = (
            dependency["pkg"]
            for dependency in nodes[name]["deps"]
            if any(kind["kind"] is None for kind in dependency["dep_kinds"])
        )
        waiting.extend(normal)
    others = (packages[name] for name in found if packages[name]["source"] is not None)
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def texts(package: dict[str, Any]) -> Iterator[str]:
    """Yield the licences that lie in the source of a package."""
    folder = Path(package["manifest_path"]).parent
    named = package.get("license_file")
    # What is written in C lies in a folder of its own, with its licence.
    places = [*folder.glob("*"), *folder.glob("*/*"), *folder.glob("*/*/*")]
    files = {path for path in places if path.is_file() and path.name.lower().startswith(NAMES)}
    if named and (folder / named).is_file():
        files.add(folder / named)
    for path in sorted(files):
        yield path.read_text(encoding="utf-8", errors="replace").strip()


def notices(metadata: dict[str, Any]) -> str:
    """Return the whole file.

    Raises:
        ValueError: A package says nothing of its licence.
    """
    # Some differ in nothing but their lines.
    by_text: dict[str, list[str]] = defaultdict(list)
    as_written: dict[str, str] = {}
    index: list[str] = []
    for package in linked(metadata):
        name = f"{package['name']} {package['version']}"
        if not package["license"] and not package["license_file"]:
            raise ValueError(f"{name} says nothing of its licence")
        authors = ", ".join(author.split(" <")[0] for author in package["authors"])
        by = f", by {authors}" if authors else ""
        index.append(f"{name}: {package['license'] or 'see below'}{by}")
        for text in texts(package):
            words = " ".join(text.split())
            as_written.setdefault(words, text)
            if name not in by_text[words]:
                by_text[words].append(name)
    uplot = (STATIC / "uplot.LICENSE").read_text(encoding="utf-8")
    parts = [HEAD, VENDORED.format(uplot=uplot), "Crates compiled in\n\n" + "\n".join(index) + "\n"]
    parts += [f"{', '.join(names)}:\n\n{as_written[words]}\n" for words, names in by_text.items()]
    return f"\n{'-' * 78}\n\n".join(parts)


def main() -> None:
    """Write the file named."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    command += ["--filter-platform", f"{platform.machine()}-unknown-linux-gnu"]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    Path(sys.argv[1]).write_text(notices(json.loads(found.stdout)), encoding="utf-8")


if __name__ == "__main__":
    main()
