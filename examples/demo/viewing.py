"""A look at what was moved: `haul view` on the container, and what its page would show first."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

from rich.console import Console
from rich.markup import escape

from stage import HAUL, DemoError, Haul

#: How long a file may take to open over the long link.
PATIENCE_S = 60


def look(haul: Haul, console: Console, url: str) -> None:
    """Serve ``url``, say what a file in it holds, and on a terminal wait while the person looks."""
    with served(haul, console, url) as address:
        files = asked(address, "catalogue", limit=1000)["files"]
        data = [file["name"] for file in files if file["kind"] == "netcdf"]
        console.print(f"{len(files)} files, {len(data)} of them NetCDF")
        if data:
            name = max(data, key=lambda one: next(file["size"] for file in files if file["name"] == one))
            held = asked(address, "file", name=name)
            shown = ", ".join(variable["name"] for variable in held["variables"][:4])
            console.print(f"{escape(name)}, read in place: {escape(shown)}, ...")
        if sys.stdin.isatty() and sys.stdout.isatty():
            console.print(f"open [bold]{escape(address)}[/] in a browser to see its maps")
            console.input("press Enter to go on ")


@contextmanager
def served(haul: Haul, console: Console, url: str) -> Iterator[str]:
    """Run `haul view` for as long as the context is open; yield the address of its page."""
    console.print(f"[bold]$ haul view {escape(url)} &[/]")
    command: list[str | Path] = [HAUL, "view", url, "--json", "--no-cache"]
    process = subprocess.Popen(
        command, env=haul.environment(), stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise DemoError(f"`haul view` ended with {process.wait()}")
        yield str(json.loads(line)["url"])
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def asked(address: str, question: str, **values: object) -> Any:
    """Return what the page's server answers."""
    page = urlsplit(address)
    token = page.query.partition("token=")[2].partition("&")[0]
    query = urlencode({"token": token, **values})
    with urlopen(f"{page.scheme}://{page.netloc}/api/{question}?{query}", timeout=PATIENCE_S) as answer:
        return json.load(answer)
