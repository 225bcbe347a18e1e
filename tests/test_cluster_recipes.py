"""The recipes of docs/guides/cluster.md, as they stand there, on SLURM and over SSH.

They need root, and what `make test-clusters` unpacks.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import daemons
import haulage
import trees
from command import HAUL, Haul, clean_environment

PAGE = Path(__file__).resolve().parent.parent / "docs/guides/cluster.md"
#: What make has unpacked there, beside what is in the environment of the tests.
PACKAGES = Path(__file__).resolve().parent.parent / "build/clusters/python"

pytestmark = [pytest.mark.clusters, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True, scope="module")
def _own_machine() -> None:
    if not os.environ.get("HAULAGE_OWN_MACHINE"):
        pytest.fail("these tests run on a machine of their own: make test-clusters", pytrace=False)


class Reader:
    """Whoever follows the page: a home, a tree to move, and a container."""

    def __init__(self, folder: Path, emulator: haulage.Emulator) -> None:
        self.credentials = {"AZURE_STORAGE_CONNECTION_STRING": emulator.connection_string}
        self.haul = Haul(folder, self.credentials)
        self.folder = folder
        self.environment = clean_environment(folder) | self.credentials
        self.environment["PATH"] = f"{HAUL.parent}:{self.environment['PATH']}"
        self.environment["PYTHONPATH"] = str(PACKAGES)
        self.tree = trees.make(folder / "model-output", files=2000, size=20_000)
        self.haul("mb", "az://climate")

    def run(self, *words: str) -> str:
        """Run a command to its end in the reader's folder; return what it said."""
        ran = subprocess.run(
            words, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=200
        )
        said = ran.stdout + ran.stderr
        assert ran.returncode == 0, said[-4000:] + self.logs()[-8000:]
        return said

    def logs(self) -> str:
        """What SLURM keeps of jobs."""
        return "\n".join(path.read_text() for path in self.folder.glob("slurm-*.out"))

    def all_has_arrived(self, nodes: int) -> None:
        """All that was to move has, and that many nodes took part."""
        self.haul("verify", "receipt.jsonl", "az://climate/cmip6/")
        self.haul("verify", "model-output", "az://climate/cmip6/")
        query = (
            f"select node, count(*) from '{self.folder / 'run.parquet'}' where api = 'PutBlob' group by node"
        )
        rows = duckdb.sql(query)
        assert rows is not None
        found = dict(rows.fetchall())
        assert sum(found.values()) == len(trees.contents(self.tree))
        assert len(found) == nodes, found


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    with haulage.Emulator() as emulator:
        yield Reader(tmp_path, emulator)


def recipe(heading: str, nodes: int) -> str:
    """Return the block below a heading of the page.

    It says besides where the receipt and the record go, and waits for all nodes, so that each has its part.
    """
    below = PAGE.read_text().partition(f"\n### {heading}\n")[2]
    block = re.search(r"```(\w+)\n(.*?)```", below, re.DOTALL)
    assert block is not None, heading
    if block[1] == "python":
        wait = f"client.wait_for_workers({nodes}, timeout=60)"
        changes = {
            r"(cluster\.copy\(.*)\)": r'\1, receipt="receipt.jsonl", record="run.parquet", cap="30mbit")',
            r"( +)(cluster\.copy\()": rf"\1{wait}\n\1\2",
        }
    else:
        wait = f"from distributed import Client as C; C(scheduler_file='$file').wait_for_workers({nodes}, 60)"
        changes = {
            r"(haul cp .*)": rf'python -c "{wait}"\n\1 --receipt receipt.jsonl --record run.parquet'
            " --cap 30mbit"
        }
    code = block[2]
    for pattern, instead in changes.items():
        code, count = re.subn(pattern, instead, code)
        assert count == 1, (pattern, code)
    return code


def test_slurm_in_a_batch_job(reader: Reader) -> None:
    (reader.folder / "copy.sh").write_text(recipe("SLURM, in a batch job", 4))
    with daemons.slurm(reader.folder / "slurm", nodes=4) as environment:
        reader.environment |= environment
        reader.run("sbatch", "--wait", "copy.sh")
        assert "every byte checked by CRC64" in reader.logs()
        # The workers end with the job.
        assert reader.run("squeue", "--noheader") == ""
    reader.all_has_arrived(nodes=4)


def test_slurm_by_dask_jobqueue(reader: Reader) -> None:
    with daemons.slurm(reader.folder / "slurm", nodes=4) as environment:
        reader.environment |= environment
        reader.run(sys.executable, "-c", recipe("SLURM, by dask-jobqueue", 4))
    reader.all_has_arrived(nodes=4)


def test_ssh(reader: Reader) -> None:
    with daemons.sshd(reader.folder / "sshd", reader.folder, reader.credentials):
        reader.run(sys.executable, "-c", recipe("SSH", 2))
    reader.all_has_arrived(nodes=2)
