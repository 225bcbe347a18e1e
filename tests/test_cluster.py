"""A copy by many nodes, on real Dask workers: as on one machine, and whatever dies meanwhile."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from distributed import Client, LocalCluster

import haulage
import trees
import workers
from command import Haul
from haulage import _engine, cluster
from haulage.cluster import scheduler, worker
from haulage.cluster.driver import drive
from haulage.errors import UnsupportedError, UsageError
from haulage.events import ObjectEnded, Warned
from workers import Cluster

MIB = 1 << 20

pytestmark = pytest.mark.filterwarnings(
    # What Dask leaves for the collector when its own loop is closed.
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore::ResourceWarning",
    "ignore::DeprecationWarning",
)


def rows_of(query: str) -> list[tuple[Any, ...]]:
    found = duckdb.sql(query)
    assert found is not None
    return found.fetchall()


@pytest.fixture(scope="module")
def emulator() -> Iterator[haulage.Emulator]:
    with haulage.Emulator() as own:
        yield own


@pytest.fixture(scope="module")
def environment(emulator: haulage.Emulator) -> dict[str, str]:
    return {"AZURE_STORAGE_CONNECTION_STRING": emulator.connection_string}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Iterator[Cluster]:
    """Two workers that nobody kills."""
    with workers.cluster(tmp_path_factory.mktemp("pair") / "dask", 2, environment) as own:
        yield own


@pytest.fixture
def haul(tmp_path: Path, environment: dict[str, str]) -> Haul:
    return Haul(tmp_path, environment)


@pytest.fixture
def container(haul: Haul) -> str:
    return workers.new_container(haul)


def down(haul: Haul, container: str) -> Path:
    haul("cp", f"{container}/", "back")
    return haul.folder / "back"


@pytest.mark.slow("starts a scheduler and workers")
def test_it_is_as_on_one_machine(haul: Haul, container: str, pair: Cluster) -> None:
    tree = trees.make(haul.folder / "tree", files=2000)
    words = ["--scheduler", pair.address, "--receipt", "receipt.jsonl", "--record", "run.parquet"]
    went = haul("cp", "tree", f"{container}/t/", *words, "--json")
    expected = trees.contents(tree)
    assert went.summary["objects_done"] == len(expected) == went.summary["proofs"]["crc64"]
    assert {event["name"] for event in went.of("object")} == expected.keys()
    assert trees.contents(down(haul, f"{container}/t")) == expected
    haul("verify", "receipt.jsonl", f"{container}/t/")
    again = haul("cp", "tree", f"{container}/t/", "--scheduler", pair.address)
    assert f"nothing to copy: {len(expected):,} objects already there" in again.stderr

    # One record, with the node as a column, on one clock.
    rows = rows_of(
        "select node, count(*), count(distinct lane), min(queued_ns), max(ended_ns)"
        f" from '{haul.folder / 'run.parquet'}' where api = 'PutBlob' group by node order by node"
    )
    assert [row[0] for row in rows] == ["node-0", "node-1"]
    assert sum(row[1] for row in rows) == len(expected)
    assert all(0 <= row[3] < row[4] <= went.summary["elapsed_ns"] for row in rows), rows
    assert "requests" in haul("why", "run.parquet").text
    found = json.loads(haul("why", "run.parquet", "--json").stdout)
    assert not [one for one in found["unknown"] if "listing" in one], found["unknown"]


def test_a_sync_is_shared_out_and_deletes_in_the_end(haul: Haul, container: str, pair: Cluster) -> None:
    tree = trees.make(haul.folder / "tree", files=60)
    words = ["tree/", f"{container}/t/", "--scheduler", pair.address]
    haul("sync", *words)
    names = sorted(trees.contents(tree))
    gone, changed = names[:7], names[8]
    for name in gone:
        (tree / name).unlink()
    (tree / changed).write_bytes(b"something else")
    guarded = haul("sync", *words, "--delete", "--max-delete", "5", code=1)
    assert f"7 of {len(names)} objects would be deleted" in guarded.stderr
    went = haul("sync", *words, "--delete", "--record", "run.parquet", "--json")
    told = (went.summary["objects_done"], went.summary["objects_deleted"], went.summary["objects_failed"])
    assert told == (0, 7, 0)
    assert {event["name"] for event in went.of("object") if event["outcome"] == "deleted"} == set(gone)
    assert trees.contents(down(haul, f"{container}/t")) == trees.contents(tree)
    deletes = "api like '%Delete%' and object not like '%.witness'"
    requests = f"select count(*) from '{haul.folder / 'run.parquet'}' where {deletes}"
    assert rows_of(requests) == [(7,)]
    assert "nothing to copy" in haul("sync", *words, "--delete").stderr
    for option in ("--dry-run", "--backup-dir=old"):
        said = haul("sync", *words, option, code=2).stderr
        assert "cannot be combined with" in said
        assert "haul sync --help" in said


def test_nodes_of_this_machine_come_and_go_with_the_copy(haul: Haul, container: str) -> None:
    tree = trees.make(haul.folder / "tree", files=50)
    process = haul.start("cp", "tree", f"{container}/t/", "--nodes", "2")
    seen: set[int] = set()
    while process.poll() is None:
        seen |= workers.inside(haul.folder)
        time.sleep(0.02)
    said = process.communicate()[1].decode()
    assert process.returncode == 0, said
    assert "every byte checked by CRC64" in said
    started = re.findall(r"starting 2 nodes on this machine|2 nodes started in \d+\.\d s", said)
    assert len(started) == 2, said
    assert trees.contents(down(haul, f"{container}/t")) == trees.contents(tree)
    assert len(seen) >= 3, "the command and two nodes"
    end = time.monotonic() + 5
    while workers.inside(haul.folder) and time.monotonic() < end:
        time.sleep(0.05)
    assert not workers.inside(haul.folder)


def test_a_scheduler_file_leads_there(haul: Haul, container: str, pair: Cluster) -> None:
    (haul.folder / "one").write_bytes(b"one")
    haul("cp", "one", f"{container}/one", "--scheduler-file", pair.file)
    assert haul("cat", f"{container}/one").stdout == b"one"


@pytest.mark.slow("starts a scheduler and workers")
def test_one_object_is_moved_by_all(haul: Haul, container: str, pair: Cluster) -> None:
    trees.random_file(haul.folder / "large.bin", 264 * MIB)
    data = (haul.folder / "large.bin").read_bytes()
    words = ["--scheduler", pair.address, "--record", "run.parquet", "--json"]
    went = haul("cp", "large.bin", f"{container}/large.bin", *words)
    (record,) = went.of("object")
    assert (record["proof"], record["outcome"]) == ("crc64", "copied")
    assert haul("cat", f"{container}/large.bin").stdout == data
    nodes = rows_of(
        f"select node, sum(size_bytes) from '{haul.folder / 'run.parquet'}'"
        " where api = 'PutBlock' group by node"
    )
    assert {node for node, _ in nodes} == {"node-0", "node-1"}
    assert sum(moved for _, moved in nodes) == len(data)
    (ids,) = rows_of(f"select count(distinct object_id) from '{haul.folder / 'run.parquet'}'")
    assert ids == (1,)


@pytest.mark.slow("starts a scheduler and workers")
def test_workers_that_are_killed_lose_nothing(
    tmp_path: Path, haul: Haul, container: str, environment: dict[str, str]
) -> None:
    trees.make(haul.folder / "tree", files=600, size=20_000)
    trees.random_file(haul.folder / "tree/large.bin", 60 * MIB)
    with workers.cluster(tmp_path / "dask", 3, environment) as own:
        words = ["--scheduler", own.address, "--receipt", "receipt.jsonl", "--cap", "200mbit"]
        process = haul.start("cp", "tree", f"{container}/t/", *words, "--json", "--progress", "none")
        assert process.stdout is not None
        next(line for line in process.stdout if json.loads(line)["event"] == "object")
        own.kill_worker("node-1")
        time.sleep(0.5)
        own.kill_worker("node-2")
        own.start_worker("node-5")
        out, err = process.communicate(timeout=90)
    assert process.returncode == 0, err.decode()
    summary = json.loads(out.splitlines()[-1])
    expected = trees.contents(haul.folder / "tree")
    assert summary["objects_done"] + summary["objects_skipped"] == len(expected)
    assert any("gone" in warning for warning in summary["warnings"]), summary["warnings"]
    assert trees.contents(down(haul, f"{container}/t")) == expected
    haul("verify", "receipt.jsonl", f"{container}/t/")


@pytest.mark.slow("starts a scheduler and workers")
def test_a_scheduler_that_is_lost_ends_the_copy_clearly_and_a_second_run_goes_on(
    tmp_path: Path, haul: Haul, container: str, environment: dict[str, str]
) -> None:
    tree = trees.make(haul.folder / "tree", files=800, size=20_000)
    with workers.cluster(tmp_path / "dask", 2, environment) as own:
        words = ["cp", "tree", f"{container}/t/", "--progress", "none"]
        process = haul.start(*words, "--scheduler", own.address, "--cap", "10mbit", "--json")
        assert process.stdout is not None
        next(line for line in process.stdout if json.loads(line)["event"] == "object")
        own.kill_scheduler()
        _, err = process.communicate(timeout=60)
        assert process.returncode == 1, err.decode()
        hint = "start it and run the same command again; what has arrived is not sent again"
        assert f"the scheduler was lost (hint: {hint})" in err.decode()
        assert "Traceback" not in err.decode(), err.decode()
    with workers.cluster(tmp_path / "again", 2, environment) as own:
        went = haul(*words, "--scheduler", own.address, "--json")
    assert went.summary["objects_skipped"] > 0
    assert trees.contents(down(haul, f"{container}/t")) == trees.contents(tree)


@pytest.mark.long
def test_a_scheduler_that_is_frozen_is_said_and_then_counts_as_lost(
    tmp_path: Path, haul: Haul, container: str, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(scheduler, "SILENT_SECONDS", 1.5)
    monkeypatch.setattr(scheduler, "LOST_SECONDS", 4.0)
    tree = trees.make(haul.folder / "tree", files=2000, size=20_000)
    with workers.cluster(tmp_path / "dask", 2, environment) as own:
        client = Client(own.address, set_as_default=False)
        job = cluster.start(tree, f"{container}/t/", client=client, listen=True, cap="40mbit")
        events = job.events()
        assert any(isinstance(event, ObjectEnded) for event in events), "it goes well at first"
        own.scheduler.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        said = [event.message for event in events if isinstance(event, Warned)]
        with pytest.raises(haulage.ConnectionLostError) as lost:
            job.wait()
        assert 4 < time.monotonic() - began < 12
        assert said.count("the scheduler does not answer; waiting") == 1, said
        assert lost.value.cause == "the scheduler was lost"
        # Nobody tells them but this process.
        arrived = len(haul("ls", "-r", f"{container}/t/").text.splitlines())
        time.sleep(1)
        assert len(haul("ls", "-r", f"{container}/t/").text.splitlines()) == arrived
        own.scheduler.send_signal(signal.SIGCONT)
        client.close()


@pytest.mark.long
def test_a_scheduler_that_wakes_up_goes_on(
    tmp_path: Path, haul: Haul, container: str, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(scheduler, "SILENT_SECONDS", 1.0)
    tree = trees.make(haul.folder / "tree", files=1000, size=20_000)
    with (
        workers.cluster(tmp_path / "dask", 2, environment) as own,
        Client(own.address, set_as_default=False) as client,
    ):
        job = cluster.start(tree, f"{container}/t/", client=client, listen=True, cap="40mbit")
        said: list[str] = []
        events = job.events()
        assert any(isinstance(event, ObjectEnded) for event in events), "it goes well at first"
        own.scheduler.send_signal(signal.SIGSTOP)
        for event in events:
            if isinstance(event, Warned):
                said.append(event.message)
                own.scheduler.send_signal(signal.SIGCONT)
        summary = job.wait()
    assert said == ["the scheduler does not answer; waiting"]
    assert summary.objects_done == len(trees.contents(tree))
    assert trees.contents(down(haul, f"{container}/t")) == trees.contents(tree)


@pytest.mark.slow("starts a scheduler and workers")
def test_ctrl_c_stops_it_at_once_and_a_second_run_goes_on(haul: Haul, container: str, pair: Cluster) -> None:
    tree = trees.make(haul.folder / "tree", files=3000, size=20_000)
    words = ["cp", "tree", f"{container}/t/", "--progress", "none", "--scheduler", pair.address]
    process = haul.start(*words, "--cap", "100mbit", "--json")
    assert process.stdout is not None
    next(line for line in process.stdout if json.loads(line)["event"] == "object")
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, time.monotonic() - began < 8) == (130, True), err.decode()
    assert "run the same command again to resume" in err.decode()
    assert "Traceback" not in err.decode(), err.decode()
    went = haul(*words, "--json")
    assert went.summary["objects_skipped"] > 0
    assert trees.contents(down(haul, f"{container}/t")) == trees.contents(tree)


def test_secrets_stay_where_they_are(
    haul: Haul, container: str, emulator: haulage.Emulator, pair: Cluster
) -> None:
    (haul.folder / "one").write_bytes(b"one")
    sas = emulator.sas()
    url = f"{emulator.endpoint}/{container.removeprefix('az://')}/one?{sas}"
    refused = haul("cp", "one", url, "--scheduler", pair.address, code=2)
    hint = "use a scheduler at tls://, or set the credentials in the environment of each node"
    assert hint in refused.hints
    signature = sas.partition("sig=")[2].partition("&")[0]
    assert signature not in refused.stderr
    # A cluster of this machine's own is reached over TLS.
    haul("cp", "one", url, "--nodes", "1")
    assert haul("cat", f"{container}/one").stdout == b"one"
    with Client(pair.address, set_as_default=False) as client:
        haul("cp", "one", f"{container}/two", "--scheduler", pair.address)

        def known(dask_scheduler: object) -> str:
            told = [getattr(dask_scheduler, name) for name in ("task_metadata", "tasks", "_broker")]
            return repr([told, [repr(vars(topic)) for topic in told[-1]._topics.values()]])

        said = str(client.run_on_scheduler(known)) + pair.log.read_text()
    key = emulator.connection_string.partition("AccountKey=")[2].partition(";")[0]
    assert signature not in said
    assert key not in said


@pytest.mark.parametrize("processes", [True, False])
def test_a_local_cluster_will_do(
    haul: Haul,
    container: str,
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    processes: bool,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    tree = trees.make(haul.folder / "tree", files=1000)
    words = {
        "n_workers": 2,
        "threads_per_worker": 2,
        "processes": processes,
        "dashboard_address": "127.0.0.1:0",
    }
    with LocalCluster(**words) as local, Client(local, set_as_default=False) as client:
        receipt = haul.folder / "receipt.jsonl"
        summary = cluster.copy(tree, f"{container}/t/", client=client, receipt=receipt)
    assert summary.objects_done == len(trees.contents(tree))
    haul("verify", "receipt.jsonl", f"{container}/t/")
    haul("verify", "tree", f"{container}/t/")


def test_python_shares_a_copy_out_too(
    haul: Haul, container: str, pair: Cluster, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    tree = trees.make(haul.folder / "tree", files=100)
    seen: list[haulage.Progress] = []
    with Client(pair.address, set_as_default=False) as client:
        summary = cluster.copy(tree, f"{container}/t/", client=client, on_progress=seen.append)
        assert summary.objects_done == len(trees.contents(tree))
        assert seen
        assert seen[-1].bytes_done <= seen[-1].bytes_total
        job = cluster.start(tree, f"{container}/u/", client=client, listen=True)
        names = {event.name for event in job.events() if isinstance(event, ObjectEnded)}
        assert names == trees.contents(tree).keys()
        pairs = [(tree / "run-0/member-0/field-00000.bin", f"{container}/p/a")]
        assert cluster.copy(pairs, client=client).objects_done == 1
        (tree / min(names)).unlink()
        summary = cluster.sync(tree, f"{container}/u/", client=client, delete=True, max_delete="50%")
        assert (summary.objects_deleted, summary.objects_done) == (1, 0)
        job = cluster.start_sync(tree, f"{container}/u/", client=client, compare="checksum")
        assert job.wait().objects_skipped == len(names) - 1
        with pytest.raises(UnsupportedError, match="one machine"):
            cluster.sync(tree, f"{container}/u/", client=client, dry_run=True)
        with pytest.raises(haulage.NotFoundError):
            cluster.copy(tree / "none", f"{container}/v/", client=client)
    with pytest.raises(UsageError) as refused:
        cluster.copy(tree, f"{container}/t/")
    assert refused.value.cause == "no cluster is named"
    with pytest.raises(UsageError) as refused:
        cluster.copy(tree, f"{container}/t/", nodes=1, scheduler="tcp://127.0.0.1:1")
    assert refused.value.hint == "give exactly one of client, scheduler, scheduler_file, nodes"
    with pytest.raises(UsageError) as refused:
        cluster.copy(tree, f"{container}/t/", nodes=1, session=haulage.Session())
    assert refused.value.hint == "set credentials in the environment of each node, or use a managed identity"
    with pytest.raises(UsageError) as refused:
        cluster.copy(tree, nodes=1)
    assert refused.value.hint == "pass dst, or a list of (source, destination)"
    with pytest.raises(UsageError) as refused:
        cluster.copy(tree, f"{container}/t/", nodes=0)
    assert refused.value.hint == "write a number from 1"


@pytest.mark.slow("waits as long as a scheduler may take to answer")
def test_a_scheduler_that_is_not_there_is_said(haul: Haul, container: str) -> None:
    (haul.folder / "one").write_bytes(b"one")
    gone = haul("cp", "one", f"{container}/one", "--scheduler", "tcp://127.0.0.1:1", code=1)
    assert "is the scheduler running? dask scheduler starts one" in gone.hints
    wrong = haul("cp", "one", f"{container}/one", "--nodes", "2", "--scheduler", "tcp://127.0.0.1:1", code=2)
    assert "--nodes" in wrong.stderr
    nowhere = haul("cp", "one", f"{container}/one", "--scheduler-file", "none.json", code=4)
    assert "start one with: dask scheduler --scheduler-file none.json" in nowhere.hints


def test_a_node_without_the_package_is_said(
    tmp_path: Path, haul: Haul, container: str, environment: dict[str, str]
) -> None:
    (haul.folder / "one").write_bytes(b"one")
    (tmp_path / "other/haulage").mkdir(parents=True)
    (tmp_path / "other/haulage/__init__.py").write_text("")
    without = environment | {"PYTHONPATH": str(tmp_path / "other")}
    with workers.cluster(tmp_path / "dask", 1, without) as own:
        went = haul("cp", "one", f"{container}/one", "--scheduler", own.address, code=1)
    assert "is haulage installed on each node, in the same version?" in went.hints


def test_a_node_of_another_version_refuses() -> None:
    task = worker.Task("job", 0, b"", b"", "0.0.0")
    with pytest.raises(UnsupportedError) as refused:
        worker.move(task)
    assert refused.value.hint == "install the same version on all nodes"


def test_the_command_says_what_to_install() -> None:
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'distributed':\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from haulage.__main__ import main\n"
        "sys.argv = ['haul', *sys.argv[1:]]\n"
        "sys.exit(main())\n"
    )
    words = ["cp", __file__, "/nowhere/else", "--nodes", "1"]
    absent = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert absent.returncode == 2, absent.stderr
    assert "(hint: pip install 'haulage[cluster]')" in absent.stderr
    assert "Traceback" not in absent.stderr


def test_a_cluster_that_answers_nothing_is_said(haul: Haul, pair: Cluster) -> None:
    (haul.folder / "one").write_bytes(b"one")
    client = Client(pair.address, set_as_default=False)
    client.close()
    job, coordinator = _engine.coordinate([haul.folder / "one"], haul.folder / "two", [], False)
    drive(coordinator, client)
    with pytest.raises(haulage.HaulageError) as failed:
        haulage.Job(job).wait()
    assert failed.value.hint == "is the cluster healthy? look at its logs"
    assert not (haul.folder / "two").exists()


def test_what_is_no_pair_is_refused_and_nothing_is_left_out(tmp_path: Path, pair: Cluster) -> None:
    (tmp_path / "one").write_bytes(b"one")
    with Client(pair.address, set_as_default=False) as client:
        for wrong in ([(tmp_path / "one", tmp_path / "two"), tmp_path / "one"], [["a"]]):
            with pytest.raises((TypeError, ValueError)):
                cluster.copy(wrong, client=client)  # type: ignore[arg-type]
        with pytest.raises((TypeError, ValueError)):
            cluster.copy([(tmp_path / "one", tmp_path / "two")], tmp_path / "three", client=client)
    assert not (tmp_path / "two").exists()


def test_what_a_worker_logs_of_a_shard_shows_none_of_it() -> None:
    shown = repr(worker.Task("job", 0, b"https://a/b?sig=secret", b"sig=secret", "1"))
    assert "secret" not in shown
