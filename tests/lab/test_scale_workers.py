"""The same experiment with its nodes on the workers of a real Dask cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

import workers
from command import Haul
from haulage import lab
from haulage.cluster import connecting
from haulage.errors import HaulageError, UsageError
from haulage.lab.report.page import write
from haulage.lab.runner import RunProgress
from haulage.lab.scale import workers as on_workers
from haulage.lab.scale.workers import Where, Workers
from haulage.lab.target import parse_target
from lab.test_scale_out import small
from lab.tiny_plan import run_only, tiny
from sentences import Sentence
from workers import Cluster

pytestmark = pytest.mark.filterwarnings(
    # What Dask leaves for the collector when its own loop is closed.
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore::ResourceWarning",
    "ignore::DeprecationWarning",
)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three workers; the last test kills one of them."""
    with workers.cluster(tmp_path_factory.mktemp("scale") / "dask", 3) as cluster:
        yield cluster


def test_nodes_are_workers_and_one_that_is_missing_is_seen(own: Cluster, tmp_path: Path) -> None:
    plan = small(**{"scale.nodes": [1, 3, 4], "replicates": 1, "warm_up": 0, "again": ""})
    done = run_only(plan, directory=tmp_path / "run", scheduler=own.address)
    assert (done.state, done.manifest["scheduler"]) == ("complete", own.address)
    nodes = done.sql("select n.*, c.treatment from nodes n join cells c using (cell) order by cell, node")
    pids = {process.pid for process in own.workers.values()}
    there = nodes[nodes["outcome"] == "ok"]
    assert set(there["pid"]) == pids
    # Agreed starts: on one machine all clocks are one, so that each offset must lie within its bound.
    assert (there["offset_ns"].abs() <= there["offset_bound_ns"]).all()
    assert (there["offset_bound_ns"] < 50e6).all()
    for _, cell in nodes.groupby("cell"):
        kept = sorted((done.folder / "nodes" / f"{cell['cell'].iloc[0]:04}").glob("*.parquet"))
        assert [path.stem for path in kept] == [
            f"{node:02}" for node in cell[cell["outcome"] == "ok"]["node"]
        ]
    # Three workers cannot be four nodes.
    four = nodes[nodes["treatment"].str.contains("on 4 nodes")]
    assert len(four) == 8
    assert list(four[four["outcome"] != "ok"]["node"]) == [4, 4]
    assert set(four[four["outcome"] != "ok"]["cause"]) == {"did not start"}
    card = next(card for card in done.analysis.findings if card.title == "Missing nodes")
    assert "node-04 of 4" in card.sentence
    assert done.sql("select count(distinct node) as n from attempts")["n"][0] == 3


def test_nodes_leave_no_files_in_the_memory_of_their_workers(own: Cluster, tmp_path: Path) -> None:
    plan = small(**{"scale.nodes": [1], "replicates": 1, "warm_up": 0, "again": "", "directions": ["up"]})
    done = run_only(plan, directory=tmp_path / "run", scheduler_file=str(own.file))
    assert done.manifest["scheduler_file"] == str(own.file)
    pid = done.table("nodes")["pid"].iloc[0]
    name = next(name for name, process in own.workers.items() if process.pid == pid)
    files = f"mem://lab-{done.manifest['run']}"
    held = f"sum(one.size_bytes for one in __import__('haulage').list('{files}/', recursive=True))"
    with Client(own.address, set_as_default=False) as client:
        # The node may still be on its way to its end.
        for _ in range(200):
            if client.submit(eval, held, workers=[name], pure=False).result(timeout=20) == 0:
                break
        else:
            raise AssertionError("its files are still there")


@pytest.mark.long
def test_a_worker_that_is_killed_is_missing_and_not_dropped(own: Cluster, tmp_path: Path) -> None:
    # Long enough that the worker is still at work when the kill comes, on a busy machine too.
    files = [{"size": "256KiB", "count": 40}]
    changes = {"directions": ["up"], "replicates": 1, "warm_up": 0, "again": "", "files": files}
    plan = small(**{"scale.nodes": [1, 3], **changes})
    killed: list[int] = []

    def kill(progress: RunProgress) -> None:
        if progress.bytes_done and "on 3 nodes" in (progress.treatment or "") and not killed:
            killed.append(own.workers["node-1"].pid)
            own.kill_worker("node-1")

    done = run_only(plan, directory=tmp_path / "run", scheduler=own.address, on_progress=kill)
    nodes = done.sql(
        "select n.* from nodes n join cells c using (cell) where c.treatment like '%on 3 nodes%'"
    )
    lost = nodes[nodes["outcome"] == "node_lost"]
    assert list(lost["pid"]) == killed
    assert set(lost["cause"]) <= {"lost while it ran", "its connection broke"}
    assert len(nodes[nodes["outcome"] == "ok"]) == 2
    write(done.folder)
    assert f"{lost['name'].iloc[0]} (missing)" in (done.folder / "report.html").read_text()
    own.start_worker("node-1")
    own.wait()


@pytest.mark.long
def test_the_command_on_a_cluster_of_dasks_own(tmp_path: Path) -> None:
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
        memory_limit=0,
    ) as cluster:
        words = ["--nodes", "1,2", "--replicates", "1", "--size", "64KiB", "--set", "warm_up=0"]
        words += ["--set", "ceiling.measure=false", "--no-report", "--no-confirm", "--out", "run"]
        Haul(tmp_path)("lab", "run", "scale-out", "--scheduler", cluster.scheduler_address, *words)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert (manifest["state"], manifest["scheduler"]) == ("complete", cluster.scheduler_address)
    assert set(lab.load(tmp_path / "run").table("nodes")["outcome"]) == {"ok"}


@pytest.mark.parametrize(
    ("where", "changes", "target"),
    [
        (Where("tcp://a:1", "file"), {}, "emulated:none"),
        (Where("tcp://127.0.0.1:1"), {"source": "disk"}, "emulated:none"),
        (Where("tcp://far:8786"), {}, "https://a.blob.core.windows.net/c?sig=s"),
    ],
)
def test_what_cannot_run_there(
    where: Where, changes: dict[str, Any], target: str, sentence: Sentence
) -> None:
    with pytest.raises(UsageError) as caught:
        where.check(small(**changes), parse_target(target))
    sentence(caught.value)
    assert "sig" not in str(caught.value)


def test_a_plan_without_nodes_needs_no_cluster(sentence: Sentence) -> None:
    with pytest.raises(UsageError) as caught:
        Where("tcp://127.0.0.1:1").check(tiny(), parse_target("emulated:none"))
    sentence(caught.value)


def test_a_cluster_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(where: Where) -> HaulageError:
        with pytest.raises(HaulageError) as caught:
            Workers(where, emulated=True)
        return caught.value

    monkeypatch.setattr(connecting, "CONNECT_SECONDS", 0.5)
    assert refused(Where("tcp://127.0.0.1:9")).code == "connection"
    assert refused(Where(file=str(tmp_path / "none.json"))).code == "not_found"


def test_a_cluster_that_does_not_fit(
    own: Cluster, monkeypatch: pytest.MonkeyPatch, sentence: Sentence
) -> None:
    where = Where(own.address)
    with monkeypatch.context() as patch:
        patch.setattr(on_workers, "__version__", "9.9")
        with pytest.raises(HaulageError) as caught:
            Workers(where, emulated=True)
    sentence(caught.value)
    monkeypatch.setattr(on_workers, "_LOOPBACK", ())
    with pytest.raises(HaulageError) as caught:
        Workers(where, emulated=True)
    sentence(caught.value)
