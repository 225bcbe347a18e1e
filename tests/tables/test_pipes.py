"""Rows that come from a pipe or a device: it can be read once, and is named as what it is."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import haulage
from command import Haul
from endpoints import TableEndpoint
from haulage.tables.moving import import_table, verify
from haulage.tables.plan import propose
from haulage.tables.streamed import beside, copied
from sentences import Sentence
from tables.moving import at, fresh

ROWS = b'{"PartitionKey":"p","RowKey":"1","x":1}\n{"PartitionKey":"p","RowKey":"2","x":2}\n'
CSV = b"station,x\na,1\nb,2\n"


@pytest.fixture(scope="module")
def service() -> Iterator[TableEndpoint]:
    with haulage.Emulator() as emulator:
        yield TableEndpoint("emulator", emulator.endpoint)


@contextmanager
def pipe(path: Path, rows: bytes) -> Iterator[str]:
    """Write the rows to a pipe of this name, once."""
    os.mkfifo(path)
    writing = threading.Thread(target=path.write_bytes, args=(rows,), daemon=True)
    writing.start()
    yield str(path)
    writing.join(10)
    assert not writing.is_alive()


def test_a_named_pipe_is_imported(service: TableEndpoint, haul: Haul, tmp_path: Path) -> None:
    """It was said to have changed while it was read, or nothing came of it."""
    table = at(service, fresh())
    with pipe(tmp_path / "rows.jsonl", ROWS) as name:
        assert haul("table", "import", name, table, "--create").text.startswith(f"2 of 2 rows of {name} to ")
    (tmp_path / "kept.jsonl").write_bytes(ROWS)
    assert verify(str(tmp_path / "kept.jsonl"), table).same
    (tmp_path / "rows.jsonl").unlink()
    with pipe(tmp_path / "rows.jsonl", ROWS) as name:
        assert haul("table", "verify", name, table).text.startswith("2 rows are the same")


def test_keys_are_chosen_for_what_a_pipe_delivers(service: TableEndpoint, haul: Haul, tmp_path: Path) -> None:
    table = at(service, fresh())
    with pipe(tmp_path / "rows.csv", CSV) as name:
        ran = haul("table", "import", name, table, "--create")
    assert "2 of 2 rows" in ran.text
    assert "chose keys" in ran.stderr
    # It cannot be read once more.
    assert "haul table plan" not in ran.stderr


def test_standard_input_is_a_device(service: TableEndpoint, haul: Haul) -> None:
    """It ended with 0 of 0 rows, and exit code 0."""
    table = at(service, fresh())
    line = ("table", "import", "/dev/stdin", table, "--create", "--format", "jsonl", "--json")
    done = json.loads(haul(*line, stdin=ROWS).text)
    assert (done["path"], done["written"]) == ("/dev/stdin", 2)


def test_standard_input_is_a_file(service: TableEndpoint, haul: Haul, tmp_path: Path) -> None:
    """What is kept beside a file was to be made in /dev."""
    (tmp_path / "rows.csv").write_bytes(CSV)
    line = ("table", "import", "/dev/stdin", at(service, fresh()), "--create", "--format", "csv", "--json")
    done = json.loads(haul(*line, wrap=["sh", "-c", 'exec "$@" < rows.csv', "sh"]).text)
    assert (done["path"], done["written"]) == ("/dev/stdin", 2)


@pytest.mark.parametrize(
    ("line", "number"),
    [("import rows.jsonl az-table://rows", signal.SIGTERM), ("plan rows.jsonl", signal.SIGHUP)],
)
def test_nothing_stays_of_a_pipe_after_a_kill(haul: Haul, tmp_path: Path, line: str, number: int) -> None:
    """The copy of what had come stayed in the folder for temporary files, and no program was told."""
    (tmp_path / "temporary").mkdir()
    haul.env["TMPDIR"] = str(tmp_path / "temporary")
    os.mkfifo(tmp_path / "rows.jsonl")
    # nohup has it ignored, and what is started inherits that.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        reading = haul.start("table", *line.split(), "--json")
    finally:
        signal.signal(signal.SIGHUP, before)
    # It opens the pipe once it has made the folder that must not stay.
    with (tmp_path / "rows.jsonl").open("wb", buffering=0) as pipe:
        pipe.write(ROWS)
        reading.send_signal(number)
        said, _ = reading.communicate(timeout=100)
    assert reading.returncode == 130
    (told,) = [json.loads(text) for text in said.splitlines()]
    assert (told["event"], told["kind"], told["exit_code"]) == ("error", "cancelled", 130)
    assert not [*(tmp_path / "temporary").iterdir()]


def test_calls_take_pipes_too(service: TableEndpoint, tmp_path: Path) -> None:
    with pipe(tmp_path / "rows.jsonl", ROWS + b'{"x": 3}\n') as name:
        done = import_table(name, at(service, fresh()), create=True)
    assert (done.path, done.written, done.refused) == (name, 2, 1)
    # Refused rows are kept where the pipe is, and not with the copy of what came through it.
    assert done.dead_letters is not None
    assert Path(done.dead_letters).parent == tmp_path
    assert len(Path(done.dead_letters).read_text().splitlines()) == 1
    with pipe(tmp_path / "plan.csv", CSV) as name:
        assert propose(name).rows == 2


def test_what_is_wrong_with_the_rows_is_said_of_the_pipe(service: TableEndpoint, tmp_path: Path) -> None:
    with (
        pipe(tmp_path / "rows.parquet", b"PAR1 and no more") as name,
        pytest.raises(haulage.IntegrityError) as caught,
    ):
        import_table(name, at(service, fresh()))
    assert caught.value.object == name


def test_a_pipe_that_cannot_be_kept(tmp_path: Path, sentence: Sentence) -> None:
    (tmp_path / "rows.csv").write_bytes(b"a" * 10)
    with pytest.raises(haulage.StorageFullError) as full:
        _into_full(tmp_path)
    sentence(full.value)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "rows.csv").mkdir()
    with pytest.raises(haulage.LocalIOError) as away:
        copied(tmp_path / "rows.csv", broken)
    sentence(away.value)
    assert beside(Path("/dev/stdin")) == Path()
    assert beside(Path("/dev/shm/rows.csv")) == Path("/dev/shm")
    assert beside(tmp_path / "pipe") == tmp_path


def _into_full(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "rows.csv").symlink_to("/dev/full")
    copied(tmp_path / "rows.csv", folder)
