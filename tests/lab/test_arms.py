"""Arms: each moves what it says in the way it says, and a wrong byte is found."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest

import haulage
from endpoints import AZCOPY, RCLONE
from haulage.errors import NotFoundError, UsageError
from haulage.lab.arms import Item, Moved, Work, differing
from haulage.lab.arms.external import find
from haulage.lab.arms.methods import method_of
from haulage.lab.generate import generate
from haulage.lab.plan import Arm
from haulage.lab.planfile import parse
from haulage.lab.target import Endpoint, start_emulator
from sentences import Sentence

SIZE = 700_000


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    found = start_emulator(store="memory", link="rtt=2ms")
    yield found
    found.close()


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    folder = tmp_path / "files"
    folder.mkdir()
    paths = [folder / f"{number}.bin" for number in range(3)]
    for number, path in enumerate(paths):
        generate(path, SIZE, number)
    return paths


def arm_of(**keys: object) -> Arm:
    plan = parse({"name": "one", "again": "", "arms": [keys], "files": [{"size": "1MB"}]})
    return plan.arms[0]


def up(endpoint: Endpoint, files: list[Path], folder: Path, arm: Arm) -> Moved:
    items = tuple(Item(f"up/{arm.name.replace(' ', '-')}/{path.name}", str(path), SIZE) for path in files)
    return moved(endpoint, items, folder, arm, "up")


def down(endpoint: Endpoint, files: list[Path], folder: Path, arm: Arm) -> tuple[Moved, tuple[Item, ...]]:
    haulage.copy([(path, endpoint.url(f"down/{path.name}")) for path in files])
    sink = folder / "sink"
    sink.mkdir()
    items = tuple(
        Item(f"down/{path.name}", str(sink / path.name), SIZE, original=str(path)) for path in files
    )
    return moved(endpoint, items, folder, arm, "down"), items


def moved(endpoint: Endpoint, items: tuple[Item, ...], folder: Path, arm: Arm, direction: str) -> Moved:
    scratch = folder / "scratch"
    scratch.mkdir()
    work = Work(arm, direction, items, endpoint, folder / "record.parquet", scratch)
    result = method_of(arm)(work, lambda *_: None)
    assert (result.outcome, result.cause) == ("ok", None)
    assert result.bytes == SIZE * len(items)
    assert {row["object"] for row in result.transfers} == {item.name for item in items}
    assert all(row["ended_ns"] <= result.wall_ns + 5_000_000 for row in result.transfers)
    return result


def stored(endpoint: Endpoint, item: str, folder: Path) -> bytes:
    haulage.copy(endpoint.url(item), folder / "back", overwrite="always")
    return (folder / "back").read_bytes()


UPLOADS = [
    ({"method": "baseline"}, 3, 1),
    ({"method": "single-put", "concurrency": 3}, 3, 3),
    ({"method": "blocks", "block_size": "256KiB", "concurrency": 4}, 3 * (1 + 3 + 1), 4),
    ({"method": "adaptive"}, None, None),
    ({"method": "whole-files", "concurrency": 2}, 3, 2),
    ({"method": "single-put", "client": "plain"}, 3, 1),
    ({"method": "blocks", "client": "plain", "block_size": "256KiB", "concurrency": 2}, 3 * (3 + 1), 2),
]


@pytest.mark.parametrize(("keys", "requests", "lanes"), UPLOADS, ids=lambda keys: str(keys)[:60])
def test_an_upload_is_what_it_says(
    endpoint: Endpoint,
    files: list[Path],
    tmp_path: Path,
    keys: dict[str, object],
    requests: int | None,
    lanes: int | None,
) -> None:
    arm = arm_of(**keys)
    result = up(endpoint, files, tmp_path, arm)
    for path in files:
        name = f"up/{arm.name.replace(' ', '-')}/{path.name}"
        assert stored(endpoint, name, tmp_path) == path.read_bytes()
    if requests is not None:
        assert (result.requests, result.lanes) == (requests, lanes)
    assert result.recorded
    with duckdb.connect() as database:
        rows = database.execute(
            f"select count(*), sum(size_bytes) from '{tmp_path / 'record.parquet'}'"
            " where api in ('PutBlob', 'PutBlock') and fate = 'ok'"
        ).fetchone()
    assert rows is not None
    assert rows[1] == 3 * SIZE


def test_ranges_are_put_together_and_both_phases_timed(
    endpoint: Endpoint, files: list[Path], tmp_path: Path
) -> None:
    result, items = down(
        endpoint, files, tmp_path, arm_of(method="ranges", block_size="128KiB", concurrency=4)
    )
    assert differing(items) is None
    assert result.phase_network_ns is not None
    assert result.phase_reassembly_ns is not None
    assert 0 < result.phase_reassembly_ns < result.wall_ns
    # The two phases are all there is.
    both = result.phase_network_ns + result.phase_reassembly_ns
    assert both == pytest.approx(result.wall_ns, rel=0.1)
    # Asked for the size first, then six ranges for each of three files.
    assert result.requests == 3 * (1 + 6)
    assert result.lanes == 4
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize("method", ["baseline", "whole-files", "adaptive"])
def test_a_download_is_what_was_uploaded(
    endpoint: Endpoint, files: list[Path], tmp_path: Path, method: str
) -> None:
    _, items = down(endpoint, files, tmp_path, arm_of(method=method))
    assert differing(items) is None


def test_a_pipe_moves_both_ways(
    endpoint: Endpoint, files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An option that only one arm takes from outside makes a comparison false.
    monkeypatch.setenv("HAULAGE_CONCURRENCY", "no number")
    arm = arm_of(method="stream", block_size="256KiB", concurrency=4)
    assert not up(endpoint, files[:1], tmp_path, arm).recorded
    name = f"up/{arm.name.replace(' ', '-')}/{files[0].name}"
    assert stored(endpoint, name, tmp_path) == files[0].read_bytes()
    (tmp_path / "scratch").rmdir()
    _, items = down(endpoint, files[:2], tmp_path, arm)
    assert differing(items) is None


@pytest.mark.parametrize(
    ("tool", "program"),
    [pytest.param("azcopy", AZCOPY, marks=pytest.mark.long), ("rclone", RCLONE)],
    ids=["azcopy", "rclone"],
)
def test_movers_of_others_are_timed(
    endpoint: Endpoint,
    files: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tool: str,
    program: Path,
) -> None:
    if not program.exists():
        pytest.skip(f"{tool} is not here: make peers")
    monkeypatch.setenv(tool.upper(), str(program))
    arm = arm_of(method="external", tool=tool)
    result = up(endpoint, files, tmp_path, arm)
    assert "from outside" in str(result.chosen)
    for path in files:
        assert stored(endpoint, f"up/{tool}/{path.name}", tmp_path) == path.read_bytes()
    for left in (tmp_path / "scratch").rglob("*"):
        if left.is_file():
            left.unlink()
    down_folder = tmp_path / "second"
    down_folder.mkdir()
    down(endpoint, files, down_folder, arm)


def test_a_tool_that_fails_is_a_failed_cell(
    endpoint: Endpoint, files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "rclone"
    broken.write_text("#!/bin/sh\necho it is broken >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("RCLONE", str(broken))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    items = tuple(Item(f"up/x/{path.name}", str(path), SIZE) for path in files)
    work = Work(arm_of(method="external", tool="rclone"), "up", items, endpoint, tmp_path / "r", scratch)
    result = method_of(work.arm)(work, lambda *_: None)
    assert (result.outcome, result.cause, result.bytes) == ("service", "it is broken", 0)


def test_a_tool_that_is_not_here_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZCOPY", os.devnull)
    with pytest.raises(NotFoundError, match="AZCOPY"):
        find("azcopy")


def test_a_sequence_is_one_record_on_one_clock(endpoint: Endpoint, files: list[Path], tmp_path: Path) -> None:
    arm = arm_of(method="blocks", block_size="128KiB", concurrency=2, sequence=True)
    result = up(endpoint, files, tmp_path, arm)
    spans = [(row["began_ns"], row["ended_ns"]) for row in result.transfers]
    assert spans == sorted(spans)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    with duckdb.connect() as database:
        rows = database.execute(
            f"""select object_id, min(slot_ns), max(ended_ns), min(connection), max(connection)
            from '{tmp_path / "record.parquet"}' group by object_id order by object_id"""
        ).fetchall()
    assert [row[0] for row in rows] == [0, 1, 2]
    assert all(first[2] <= second[1] for first, second in pairwise(rows))
    assert all(first[4] < second[3] for first, second in pairwise(rows))


def test_a_plain_client_reports_what_the_service_refuses(
    endpoint: Endpoint, files: list[Path], tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    item = Item("down/nothing-there", str(tmp_path / "sink"), SIZE)
    work = Work(arm_of(method="ranges"), "down", (item,), endpoint, tmp_path / "r.parquet", scratch)
    result = method_of(work.arm)(work, lambda *_: None)
    assert (result.outcome, result.bytes) == ("service", 0)
    assert "404" in str(result.cause)
    del files


def test_a_plain_client_needs_a_signature(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="SAS"):
        Endpoint("https://account.blob.core.windows.net/c", "").http_url(str(tmp_path))


def test_a_client_that_cannot_is_refused(sentence: Sentence) -> None:
    with pytest.raises(UsageError) as error:
        method_of(arm_of(method="adaptive", client="plain"))
    sentence(error.value)


def test_a_flipped_byte_is_found(files: list[Path], tmp_path: Path) -> None:
    data = bytearray(files[0].read_bytes())
    data[SIZE // 2] ^= 1
    (tmp_path / "sink").write_bytes(data)
    item = Item("x", str(tmp_path / "sink"), SIZE, original=str(files[0]))
    assert differing([item]) == "x"
