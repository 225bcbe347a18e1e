"""Workers and tasks of a real Dask scheduler, which is killed, frozen and started again."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import operator
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, Event, rpc

import haulage
import workers
from command import Haul
from endpoints import free_port
from haulage.errors import HaulageError
from haulage.watch.scheduler import Scheduler
from sentences import Sentence
from watch.test_queues import end, rows_of, started
from watch.writing import InFolder, Writer
from workers import Cluster

#: How soon it must be shown that something is gone: lines, of which one is written each second.
SHOWN = 6
#: What a task says to whoever looks.
SAY = """
from distributed import get_worker, print
print("half of it is done")
get_worker().log_event("haulage", {"level": "WARNING", "message": "a pole is missing"})
"""

pytestmark = pytest.mark.filterwarnings(
    # What Dask leaves for the collector when its own loop is closed.
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore::ResourceWarning",
    "ignore::DeprecationWarning",
)


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three workers that nobody kills."""
    with workers.cluster(tmp_path_factory.mktemp("standing") / "dask", 3) as cluster:
        yield cluster


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Cluster]:
    with workers.cluster(tmp_path / "dask", 3) as cluster:
        yield cluster


@pytest.fixture
def haul(tmp_path: Path) -> Haul:
    return Haul(tmp_path)


def shown_by(
    watching: subprocess.Popen[bytes], holds: Callable[[dict[str, Any]], object], within: int = 100
) -> dict[str, Any]:
    """Return what is shown when it first holds."""
    assert watching.stdout is not None
    for number, line in enumerate(watching.stdout):
        assert number < within, "it was not shown soon"
        shown: dict[str, Any] = json.loads(line)
        if holds(shown):
            return shown
    raise AssertionError("it has ended")


def states(shown: dict[str, Any]) -> dict[str, str]:
    """How each node is; one that came back under its name is shown before what it was."""
    return {node["node"]: node["health"] for node in reversed(shown["nodes"])}


ALIVE = dict.fromkeys(["scheduler", "node-0", "node-1", "node-2"], "alive")


class RunsMore(rpc):  # type: ignore[misc]  # it has no types
    """Between two questions of a look, two more tasks end."""

    client: Client

    def __getattr__(self, key: str) -> Any:
        asked = super().__getattr__(key)
        if key != "get_task_stream":
            return asked

        async def later(**kwargs: Any) -> Any:
            await asyncio.to_thread(
                lambda: self.client.gather(self.client.map(math.sqrt, range(2), pure=False))
            )
            return await asked(**kwargs)

        return later


def test_tasks_that_end_during_a_look_are_counted_once(
    standing: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were counted with those before them, and again with those after them."""
    monkeypatch.setattr("distributed.rpc", RunsMore)
    monkeypatch.setattr("haulage.watch.scheduler.ANSWER_S", 60.0)
    seconds = itertools.count(1000, 10)
    with Client(standing.address, set_as_default=False) as client:
        monkeypatch.setattr(RunsMore, "client", client, raising=False)
        looked = Scheduler(address=standing.address, now=lambda: next(seconds) * 10**9)
        # The first look is of nothing before it.
        for done in (0, 2, 4, 6):
            lines = [line for batch in looked.read() for line in batch.lines]
            (shown,) = (line.values for line in lines if line.values.get("coordinator"))
            assert shown["done"] == done
            assert len([line for line in lines if line.event == "task"]) == (2 if done else 0)


def test_workers_and_tasks_are_shown_and_kept(standing: Cluster, haul: Haul, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    with ExitStack() as stack:
        words = ["watch", "--scheduler", standing.address, "--json", "--csv", "rows.csv"]
        watching = started(stack, haul, *words)
        shown = shown_by(watching, lambda shown: len(shown["nodes"]) == 4)
        assert states(shown) == ALIVE
        client = stack.enter_context(Client(standing.address, set_as_default=False))
        go = Event("go", client=client)
        futures = [
            *client.map(math.sqrt, range(4), pure=False),
            client.submit(operator.truediv, 1, 0, pure=False),
            client.submit(exec, SAY, pure=False),
            *client.map(operator.methodcaller("wait", 100), [go] * 6, pure=False),
        ]
        # All threads of the three wait.
        shown = shown_by(watching, lambda shown: shown["tasks"]["running"] == 6)
        assert sum(node["in_flight"] for node in shown["nodes"] if node["node"] != "scheduler") == 6
        go.set()
        shown = shown_by(watching, lambda shown: shown["tasks"]["done"] == 11)
        assert shown["tasks"]["failed"] == 1
        assert sum(node["objects_done"] for node in shown["nodes"] if node["node"] != "scheduler") == 11
        assert [error["kind"] for error in shown["errors"]] == ["ZeroDivisionError"]
        assert {"half of it is done", "a pole is missing"} <= {message["text"] for message in shown["logs"]}
        assert futures
        end(watching)
    tasks = rows_of(rows, "task")
    assert len(tasks) == 12
    (failed,) = [row for row in tasks if row["outcome"] == "failed"]
    assert failed["node"] in ALIVE
    assert failed["object"].startswith("truediv-")
    assert failed["kind"] == "ZeroDivisionError"
    assert failed["message"] == "ZeroDivisionError('division by zero')"
    waited = [row for row in tasks if row["object"].partition("-")[0] not in ("sqrt", "truediv", "exec")]
    assert len(waited) == 6
    assert all(0 < int(row["duration_ns"]) < 100e9 for row in waited)
    assert [row["level"] for row in rows_of(rows, "log") if row["message"] == "a pole is missing"] == [
        "WARNING"
    ]


@pytest.mark.slow("a worker that stands still is silent after some seconds")
def test_workers_come_and_go(own: Cluster, haul: Haul, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    with ExitStack() as stack:
        words = ["watch", "--scheduler-file", str(own.file), "--json", "--csv", "rows.csv"]
        watching = started(stack, haul, *words)
        shown_by(watching, lambda shown: states(shown) == ALIVE)
        own.kill_worker("node-1")
        shown = shown_by(watching, lambda shown: states(shown)["node-1"] == "lost", SHOWN)
        assert "the worker is lost" in shown["nodes"][0]["cause"]
        # One that stands still is silent; its scheduler would take five minutes to notice.
        own.workers["node-2"].send_signal(signal.SIGSTOP)
        shown_by(watching, lambda shown: states(shown)["node-2"] == "silent", 2 * SHOWN)
        own.workers["node-2"].send_signal(signal.SIGCONT)
        shown_by(watching, lambda shown: states(shown)["node-2"] == "alive")
        own.start_worker("node-3")
        shown_by(watching, lambda shown: states(shown).get("node-3") == "alive")
        with Client(own.address, set_as_default=False) as client:
            client.retire_workers(names=["node-0"])
        shown_by(watching, lambda shown: states(shown)["node-0"] == "done")
        end(watching)
    assert [row["node"] for row in rows_of(rows, "worker_left")] == ["node-1", "node-0"]
    assert {row["node"] for row in rows_of(rows, "worker_joined")} == {
        f"node-{number}" for number in range(4)
    }


@pytest.mark.slow("a scheduler of Dask starts twice")
@pytest.mark.parametrize("how", ["killed", pytest.param("frozen", marks=pytest.mark.long)])
def test_a_scheduler_that_is_gone_is_said_and_comes_back(
    own: Cluster, haul: Haul, tmp_path: Path, how: str
) -> None:
    rows = tmp_path / "rows.csv"
    with ExitStack() as stack:
        words = ["watch", "--scheduler-file", str(own.file), "--json", "--csv", "rows.csv"]
        watching = started(stack, haul, *words)
        shown_by(watching, lambda shown: states(shown) == ALIVE)
        own.scheduler.send_signal(signal.SIGSTOP if how == "frozen" else signal.SIGKILL)
        shown = shown_by(watching, lambda shown: shown["beside_away"], SHOWN)
        # The workers may be well: nobody knows.
        assert states(shown) == {**dict.fromkeys(ALIVE, "quiet"), "scheduler": "silent"}
        assert shown["exit_code"] == 1
        if how == "frozen":
            own.scheduler.send_signal(signal.SIGCONT)
        else:
            own.kill_scheduler()
            for worker in own.workers.values():
                worker.kill()
                worker.wait()
            own.scheduler = own.start_scheduler()
            own.start_worker("node-0")
        # Beside other work the new one may be away for a moment, too.
        back = {"node-0": "alive"}.items()
        shown_by(watching, lambda shown: back <= states(shown).items() and not shown["beside_away"])
        end(watching)
    said = [row["event"] for row in rows_of(rows, "away", "back")]
    assert (said[0], said[-1]) == ("away", "back")


def test_a_log_and_a_scheduler_are_shown_together(standing: Cluster, haul: Haul, folder: InFolder) -> None:
    job = Writer(folder)
    job.start()
    job.object("a.nc")
    job.progress(1, 1)
    job.end(done=1)
    said = haul("watch", folder.root, "--scheduler", standing.address, "--once").text
    assert "1/1 object " in said
    assert "tasks: 0 running, 0 waiting, 0 done" in said
    assert "dask worker" in said
    # Away, it stops nobody, and is said.
    none = f"tcp://127.0.0.1:{free_port()}"
    said = haul("watch", folder.root, "--scheduler", none, "--once").text
    assert "1/1 object " in said
    assert f"{none} has been unavailable for" in said


def test_a_server_that_is_no_scheduler_ends_nothing(
    haul: Haul, folder: InFolder, counting: haulage.Emulator
) -> None:
    """What a web server answers is the length of an array of exbibytes to Dask."""
    Writer(folder).start()
    address = f"tcp://{counting.endpoint.split('/')[2]}"
    said = haul("watch", folder.root, "--scheduler", address, "--once").text
    assert f"{address} has been unavailable for" in said
    assert "invalid response" in said
    assert "job 0123456789abcdef" in said


def test_what_is_no_scheduler(tmp_path: Path, sentence: Sentence) -> None:
    def refused(**where: str) -> HaulageError:
        source = Scheduler(now=time.time_ns, **where)
        with pytest.raises(HaulageError) as raised:
            [*source.read()]
        return raised.value

    away = refused(address="tcp://127.0.0.1:9")
    assert away.code == "connection"
    sentence(away.hint)
    none = refused(file=str(tmp_path / "none.json"))
    sentence(none.hint)
    (tmp_path / "other.json").write_text("[]")
    other = refused(file=str(tmp_path / "other.json"))
    sentence(other.hint)
