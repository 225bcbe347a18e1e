"""Every line of "Coming from rclone, s5cmd or AzCopy" runs, and both sides of it leave the same behind."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest

import endpoints
from command import HAUL, clean_environment
from endpoints import ACCOUNT, AZCOPY, KEY, RCLONE, Endpoint

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/guides/coming-from.md"
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

    def left(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return the objects and the files that are there, with their sizes."""
        service = self.endpoint.service
        objects = {
            f"{container.name}/{blob.name}": blob.size
            for container in service.list_containers()
            for blob in service.get_container_client(container.name).list_blobs()
        }
        files = {
            path.relative_to(self.folder).as_posix(): path.stat().st_size
            for path in self.folder.rglob("*")
            if path.is_file()
        }
        return objects, files


@pytest.mark.parametrize("tool", TOOLS)
def test_both_sides_of_every_line_leave_the_same(
    tool: str, start_emulator: StartEmulator, tmp_path: Path
) -> None:
    section = PAGE.read_text().split(f"\n## {tool}\n")[1].split("\n## ")[0]
    lines = list(LINE.finditer(section))
    assert len(lines) >= 9
    assert len(lines) == len(re.findall(r"^\| .*`.*$", section, re.MULTILINE))
    theirs = Side(tmp_path / "theirs", start_emulator())
    ours = Side(tmp_path / "ours", start_emulator())
    if tool == "AzCopy":
        # Its `make` knows containers at hosts of Azure alone, so there is no line of it.
        theirs.run("haul mb az://runs")
        ours.run("haul mb az://runs")
    for line in lines:
        theirs.run(line["theirs"])
        ours.run(line["ours"])
        assert ours.left() == theirs.left(), line["purpose"]
