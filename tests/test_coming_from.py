"""Every line of "Coming from rclone, s5cmd or AzCopy" runs, and both sides of it leave the same behind.

To start the other tools so often takes half a minute: `coming_from.json` has what they leave, and `make long`
runs them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from typing import Any, Protocol

import pytest

import endpoints
from command import HAUL, clean_environment
from endpoints import ACCOUNT, AZCOPY, KEY, RCLONE, Endpoint

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/guides/coming-from.md"
LEFT = Path(__file__).with_name("coming_from.json")
TOOLS = ("rclone", "s5cmd", "AzCopy")
LINE = re.compile(r"^\| (?P<purpose>[^|]+) \| `(?P<theirs>[^`]+)` \| `(?P<ours>[^`]+)` \|$", re.MULTILINE)

#: For AzCopy a host with a port is one of blobs only if it is told so.
SHELL = """
rclone() { "$RCLONE" "$@" --config ''; }
s5cmd() { "$S5CMD" "$@"; }
azcopy() {
    case "$*" in
        "copy http"*" http"*) kind=--from-to=BlobBlob ;;
        "copy http"*--from-to*) kind= ;;
        "copy http"*) kind=--from-to=BlobLocal ;;
        copy*|sync*) kind=--from-to=LocalBlob ;;
        remove*) kind=--from-to=BlobTrash ;;
        list*) kind=--location=Blob ;;
    esac
    "$AZCOPY" "$@" $kind --skip-version-check
}
"""


class StartEmulator(Protocol):
    def __call__(self) -> Endpoint: ...


class Side:
    """A folder, a service of its own, and a shell that knows it."""

    def __init__(self, folder: Path, endpoint: Endpoint) -> None:
        self.folder = folder
        self.endpoint = endpoint
        for name in ("a.txt", "b.nc", "sub/c.nc"):
            path = folder / "data" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{name}\n" * 100)
        (folder / "data/list").write_text("a.txt\nsub/c.nc\n")
        (folder / "data/commands.txt").write_text("cp data/a.txt s3://runs/d/1\ncp data/b.nc s3://runs/d/2\n")
        (folder / "data/pairs.csv").write_text(
            "source,destination\ndata/a.txt,s3://runs/d/1\ndata/b.nc,s3://runs/d/2\n"
        )

    def run(self, line: str) -> None:
        home = self.folder.parent / f"{self.folder.name}-home"
        home.mkdir(exist_ok=True)
        by_s3 = endpoints.by_s3(self.endpoint)
        env = clean_environment(home) | self.endpoint.env
        env |= {
            "PATH": f"{HAUL.parent}:{env['PATH']}",
            "RCLONE": str(RCLONE),
            "S5CMD": str(Path(sys.executable).parent / "s5cmd"),
            "AZCOPY": str(AZCOPY),
            "URL": self.endpoint.url,
            "SAS": self.endpoint.sas(),
            "AWS_ACCESS_KEY_ID": by_s3.keys[0],
            "AWS_SECRET_ACCESS_KEY": by_s3.keys[1],
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": by_s3.url,
            "S3_ENDPOINT_URL": by_s3.url,
            "RCLONE_CONFIG_AZURE_TYPE": "azureblob",
            "RCLONE_CONFIG_AZURE_ACCOUNT": ACCOUNT,
            "RCLONE_CONFIG_AZURE_KEY": KEY,
            "RCLONE_CONFIG_AZURE_ENDPOINT": self.endpoint.url,
        }
        ran = subprocess.run(
            # A bar in a cell of a table is written so.
            ["bash", "-ec", SHELL + line.replace(r"\|", "|")],
            cwd=self.folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ran.returncode == 0, f"{line}\n{(ran.stdout + ran.stderr)[-3000:]}"

    def left(self) -> dict[str, int]:
        """Return the objects, below `//`, and the files that are there, with their sizes."""
        service = self.endpoint.service
        objects = {
            f"//{container.name}/{blob.name}": blob.size
            for container in service.list_containers()
            for blob in service.get_container_client(container.name).list_blobs()
        }
        files = {
            path.relative_to(self.folder).as_posix(): path.stat().st_size
            for path in self.folder.rglob("*")
            if path.is_file()
        }
        return objects | files


def lines_of(tool: str) -> list[re.Match[str]]:
    """Return the lines of a tool in the page, each with both sides."""
    section = PAGE.read_text().split(f"\n## {tool}\n")[1].split("\n## ")[0]
    lines = list(LINE.finditer(section))
    assert len(lines) >= 9
    assert len(lines) == len(re.findall(r"^\| .*`.*$", section, re.MULTILINE))
    return lines


def side(folder: Path, endpoint: Endpoint, tool: str) -> Side:
    made = Side(folder, endpoint)
    if tool == "AzCopy":
        # Its `make` knows containers at hosts of Azure alone, so there is no line of it.
        made.run("haul mb az://runs")
    return made


def changes(lines: Iterable[tuple[str, str]], side: Side) -> list[list[Any]]:
    """Run the second of each pair; return for the first what is new, has another size, or is gone."""
    before, told = side.left(), []
    for name, line in lines:
        side.run(line)
        after = side.left()
        differ = [key for key in sorted(before | after) if before.get(key) != after.get(key)]
        told.append([name, {key: after.get(key) for key in differ}])
        before = after
    return told


def kept() -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = json.loads(LEFT.read_text())
    return found


def keep(told: dict[str, list[Any]]) -> None:
    """Write the file with a line for each line of the page."""
    tools = (
        f' "{tool}": [\n' + ",\n".join("  " + json.dumps(row) for row in rows) + "\n ]"
        for tool, rows in sorted(told.items())
    )
    LEFT.write_text("{\n" + ",\n".join(tools) + "\n}\n")


@pytest.mark.parametrize("tool", TOOLS)
def test_every_line_of_ours_leaves_what_theirs_leaves(
    tool: str, start_emulator: StartEmulator, tmp_path: Path
) -> None:
    ours = side(tmp_path / "ours", start_emulator(), tool)
    told = changes([(line["theirs"], line["ours"]) for line in lines_of(tool)], ours)
    for here, there in zip_longest(told, kept()[tool]):
        assert here == there


@pytest.mark.long
@pytest.mark.parametrize("tool", TOOLS)
def test_every_line_of_theirs_leaves_what_is_kept(
    tool: str, start_emulator: StartEmulator, tmp_path: Path
) -> None:
    """After a change of the page, write the file anew with `HAUL_COMING_FROM=write`."""
    theirs = side(tmp_path / "theirs", start_emulator(), tool)
    told = changes([(line["theirs"], line["theirs"]) for line in lines_of(tool)], theirs)
    if os.environ.get("HAUL_COMING_FROM") == "write":
        keep(kept() | {tool: told})
    assert told == kept()[tool]
