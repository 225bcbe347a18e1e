"""What a person sees of the nodes that `haul cp --nodes` starts: when they start, and nothing of theirs."""

from __future__ import annotations

import io
import logging
import os
import re
import signal
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed.comm import CommClosedError

import haulage
import trees
import workers
from command import Haul
from haulage.cluster import places
from haulage.cluster.starting import Starting

pytestmark = pytest.mark.filterwarnings(
    # What Dask leaves for the collector when its own loop is closed.
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore::ResourceWarning",
    "ignore::DeprecationWarning",
)


@pytest.fixture(scope="module")
def emulator() -> Iterator[haulage.Emulator]:
    with haulage.Emulator() as own:
        yield own


@pytest.fixture
def haul(tmp_path: Path, emulator: haulage.Emulator) -> Haul:
    return Haul(tmp_path, {"AZURE_STORAGE_CONNECTION_STRING": emulator.connection_string})


@pytest.fixture
def container(haul: Haul) -> str:
    return workers.new_container(haul)


def test_what_starts_nodes_is_quiet_if_told_to_be(haul: Haul) -> None:
    trees.make(haul.folder / "tree", files=5)
    assert haul("cp", "tree", "there", "--nodes", "1", "-q").stderr == ""
    assert "starting 1 node" in haul("cp", "tree", "again", "--nodes", "1", "--exclude=-q").stderr


def test_nodes_of_this_machine_print_no_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    # Within the test, so that the node gets the function itself and need not find this file.
    def log_what_dask_logs_at_the_end() -> None:
        """Run on a node: what was seen there when the scheduler was gone first."""
        try:
            raise CommClosedError("in <TLS (closed) ConnectionPool.heartbeat_worker>: Stream is closed")
        except CommClosedError:
            for name in ("distributed.worker", "distributed.core", "asyncio", "tornado.application"):
                logging.getLogger(name).exception("Failed to communicate with scheduler during heartbeat.")
        warnings.warn("a thing of the past", DeprecationWarning, stacklevel=1)

    with places.cluster(nodes=1) as client:
        told = client.run(log_what_dask_logs_at_the_end, on_error="return")
        assert [*told.values()] == [None]
        # The process that starts them says nothing of them either.
        logging.getLogger("distributed.nanny").error("Worker process died unexpectedly")
    said = capfd.readouterr()
    assert said.err == ""
    assert said.out == ""


@pytest.mark.slow("starts nodes")
def test_ctrl_c_on_a_terminal_prints_no_traceback_of_a_node(haul: Haul, container: str) -> None:
    trees.make(haul.folder / "tree", files=200)
    words = ["cp", "tree", f"{container}/t/", "--nodes", "2", "--cap", "1mbit"]
    # While the nodes load what they need, and when they are at work: a terminal tells all processes.
    for wait in (1.2, 2.5):
        process = haul.start(*words, own_group=True)
        time.sleep(wait)
        os.killpg(process.pid, signal.SIGINT)
        said = process.communicate(timeout=60)[1].decode()
        assert process.returncode == 130, said
        assert "interrupted: " in said
        assert "Traceback" not in said
        assert "KeyboardInterrupt" not in said


def test_on_a_terminal_the_line_of_the_start_stays_above_the_bar() -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Screen("")
    Starting(3, screen).started()
    first, second, rest = screen.getvalue().split("\n")
    assert first == "\r\x1b[2Kstarting 3 nodes on this machine (this takes some seconds)"
    assert re.fullmatch(r"\r\x1b\[2K3 nodes started in \d\.\d s", second)
    assert rest == ""
