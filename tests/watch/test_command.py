"""The command as people run it: in a terminal, through a pipe, killed, interrupted."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import select
import signal
import subprocess
import time
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import haulage
from command import HAUL, Haul
from haulage.watch.rows import COLUMNS, ROWS
from watch.stepping import Clock
from watch.writing import SECOND, InFolder, Writer, object_fields, progress_fields

ROOT = Path(__file__).resolve().parents[2]
CSI = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]")


@pytest.fixture
def haul(tmp_path: Path) -> Haul:
    return Haul(tmp_path)


def finished_job(folder: InFolder) -> Writer:
    job = Writer(folder)
    job.start()
    job.object("a.nc")
    job.object('odd ", \n name.nc', failure="permission")
    job.say("attempt", object="a.nc", fate="busy", cause="ServerBusy", status=503, size_bytes=7, attempt=1)
    job.say("warning", object="link", message="a symlink is left out")
    job.progress(2, 2)
    job.end(1, done=1, objects_failed=1)
    return job


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return [*csv.DictReader(file)]


def test_once_prints_a_summary(haul: Haul, folder: InFolder) -> None:
    finished_job(folder)
    said = haul("watch", folder.root, "--once", code=1).text
    assert "failed  job 0123456789abcdef  copy data/ to az://c/" in said
    assert "1/2 objects  1 failed" in said
    assert re.search(r"permission +1 ", said)
    assert re.search(r"busy +1 ", said)
    assert "a symlink is left out" in said
    assert "\x1b" not in said


def test_failures_are_said_by_job(haul: Haul, folder: InFolder) -> None:
    finished_job(folder)
    again = Writer(folder, job="fedcba9876543210")
    again.start()
    again.object("a.nc")
    again.object("b.nc")
    again.progress(2, 2)
    again.end(0, done=2)
    ran = haul("watch", folder.root, "--once", code=1)
    assert "2 jobs: 0 running\n" in ran.text
    # The second has put right what the first left; its own count says so.
    assert "1 failed in 1 of 2 jobs" in ran.text
    assert re.search(r"^JOB +STATE +DONE +FAILED +MOVED +LEFT +WHAT", ran.text, re.M)
    assert re.search(r"^01234567 +failed +1/2 +1 +.* copy data/ to az://c/", ran.text, re.M)
    assert re.search(r"^fedcba98 +done +2/2 +0 +2.0 KiB +copy data/ to az://c/", ran.text, re.M)
    assert re.search(r"^\S+ +fedcba98 +done +copy ", ran.text, re.M)
    assert (
        json.loads(haul("watch", folder.root, "--once", "--json", code=1).text)["totals"][
            "jobs_with_failures"
        ]
        == 1
    )
    # By itself, each is as before.
    alone = haul("watch", folder.root, "--job", "fedcba9876543210", "--once")
    assert " failed" not in alone.text
    assert "WHAT" in alone.text
    assert not re.search(r"^JOB ", alone.text, re.M)


def test_it_ends_when_all_have_ended(haul: Haul, folder: InFolder) -> None:
    writer = Writer(folder)
    writer.start()
    watching = haul.start("watch", folder.root, "--csv", "rows.csv")
    _until(lambda: (haul.folder / "rows.csv").exists() and rows_of(haul.folder / "rows.csv"))
    assert watching.poll() is None
    writer.end(done=0)
    out, err = watching.communicate(timeout=20)
    assert (watching.returncode, err) == (0, b"")
    assert b"done  job 0123456789abcdef" in out


def test_json_is_what_is_shown(haul: Haul, folder: InFolder) -> None:
    finished_job(folder)
    shown = json.loads(haul("watch", folder.root, "--once", "--json", code=1).text)
    assert shown["totals"]["objects_failed"] == 1
    assert shown["errors"][0]["kind"] == "permission"


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("NAME", "--once"), 4),
        (("--record", "NAME"), 4),
        (("log", "--job", "NAME"), 2),
        (("log", "--NAME"), 2),
        (("log", "--port", "NAME"), 2),
        (("--queue", "queue://NAME"), 2),
        (("log", "--once", "--csv", "none/NAME"), 1),
    ],
)
def test_no_name_in_an_error_moves_the_cursor(haul: Haul, args: tuple[str, ...], code: int) -> None:
    name = "\x1b]0;title\x07\x1b[2J\u202e\rgone"
    (haul.folder / "log").mkdir()
    said = haul("watch", *(word.replace("NAME", name) for word in args), code=code).stderr
    assert said.startswith("haul: ")
    assert not any(unicodedata.category(letter) in ("Cc", "Cf") for letter in said.rstrip("\n"))


def test_rows_are_kept_as_csv_and_parquet(haul: Haul, folder: InFolder, tmp_path: Path) -> None:
    finished_job(folder)
    haul("watch", folder.root, "--once", "--quiet", "--csv", "rows.csv", "--parquet", "rows.parquet", code=1)
    rows = rows_of(tmp_path / "rows.csv")
    assert [*rows[0]] == [*COLUMNS]
    events = ["job_started", "object", "object", "attempt", "warning", "summary"]
    assert [row["event"] for row in rows] == events
    assert (rows[2]["object"], rows[2]["kind"], rows[2]["level"]) == (
        'odd ", \n name.nc',
        "permission",
        "ERROR",
    )
    found = duckdb.read_parquet(str(tmp_path / "rows.parquet"))
    assert dict(zip(found.columns, map(str, found.types), strict=True)) == COLUMNS
    kept = found.project("event, object, status, seq").fetchall()
    assert [row[0] for row in kept] == events
    assert kept[2][1] == 'odd ", \n name.nc'
    assert kept[3][2] == 503
    assert not (tmp_path / f"rows.parquet{ROWS}").exists()


def test_a_kill_leaves_rows_that_can_be_used(haul: Haul, folder: InFolder, tmp_path: Path) -> None:
    writer = Writer(folder)
    writer.start()
    watching = haul.start("watch", folder.root, "--csv", "rows.csv", "--parquet", "rows.parquet")
    _until(lambda: (tmp_path / "rows.csv").exists() and len(rows_of(tmp_path / "rows.csv")) == 1)
    writer.write([writer.line("object", **object_fields(f"é/{number}.nc")) for number in range(20_000)])
    _until(lambda: (tmp_path / "rows.csv").stat().st_size > 100_000)
    watching.kill()
    watching.communicate()
    for name in ("rows.csv", f"rows.parquet{ROWS}"):
        rows = rows_of(tmp_path / name)
        assert all(None not in row.values() for row in rows)
        assert [int(row["seq"]) for row in rows] == [*range(len(rows))]
    assert not (tmp_path / "rows.parquet").exists()


def test_ctrl_c_ends_at_once_and_keeps_the_rows(haul: Haul, folder: InFolder, tmp_path: Path) -> None:
    Writer(folder).start()
    watching = haul.start("watch", folder.root, "--parquet", "rows.parquet")
    _until(
        lambda: (
            (tmp_path / f"rows.parquet{ROWS}").exists()
            and len(rows_of(tmp_path / f"rows.parquet{ROWS}")) == 1
        )
    )
    began = time.monotonic()
    watching.send_signal(signal.SIGINT)
    _, said = watching.communicate(timeout=10)
    assert (watching.returncode, said) == (130, b"haul: interrupted\n")
    assert time.monotonic() - began < 5
    assert len(duckdb.read_parquet(str(tmp_path / "rows.parquet")).fetchall()) == 1


def test_sigint_ends_what_a_script_has_put_into_the_background(haul: Haul, folder: InFolder) -> None:
    Writer(folder).start()
    # As a shell without job control does.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        watching = haul.start("watch", folder.root, "--parquet", "rows.parquet")
    finally:
        signal.signal(signal.SIGINT, before)
    _until(lambda: (haul.folder / f"rows.parquet{ROWS}").exists())
    watching.send_signal(signal.SIGINT)
    _, said = watching.communicate(timeout=10)
    assert (watching.returncode, said) == (130, b"haul: interrupted\n")


def test_ctrl_c_ends_at_once_while_the_store_is_waited_for(
    haul: Haul, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        endpoint = f"http://127.0.0.1:{deaf.getsockname()[1]}/devstoreaccount1"
        monkeypatch.setitem(haul.env, "AZURE_STORAGE_ACCOUNT", "devstoreaccount1")
        monkeypatch.setitem(haul.env, "AZURE_STORAGE_KEY", "c2VjcmV0")
        watching = haul.start("watch", "az://logs/jobs", "--endpoint", endpoint)
        deaf.settimeout(20)
        asked, _ = deaf.accept()
        began = time.monotonic()
        watching.send_signal(signal.SIGINT)
        _, said = watching.communicate(timeout=10)
        asked.close()
    assert (watching.returncode, said) == (130, b"haul: interrupted\n")
    assert time.monotonic() - began < 5


def test_one_that_is_long_gone_is_said_at_once(haul: Haul, folder: InFolder) -> None:
    Writer(folder, now=lambda: time.time_ns() - 3600 * SECOND).start()
    Clock().stamp(*folder.root.rglob("*.jsonl"), ago=3600)
    haul("watch", folder.root, "--quiet", "--csv", "rows.csv", code=1)
    assert [row["event"] for row in rows_of(haul.folder / "rows.csv")] == ["job_started", "silent"]


@pytest.mark.parametrize("once", [(), ("--once",)])
def test_an_input_that_is_over_is_not_waited_for(haul: Haul, once: tuple[str, ...]) -> None:
    said = haul("watch", "-", *once).text
    assert "the input has ended without an event" in said
    assert "waiting" not in said


def test_lines_of_cp_come_through_a_pipe(haul: Haul, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for number in range(30):
        (tmp_path / "data" / str(number)).write_bytes(bytes(1000))
    lines = haul("cp", "data", "copy", "--json")
    (tmp_path / "run.jsonl").write_bytes(lines.stdout)
    for source, stdin in (("-", lines.stdout), ("run.jsonl", b"")):
        said = haul("watch", source, "--csv", "rows.csv", stdin=stdin).text
        assert "30/30 objects" in said
        assert len([row for row in rows_of(tmp_path / "rows.csv") if row["event"] == "object"]) == 30
    # Of a job that was killed they end too early. It was said to be running, with the exit code 0.
    cut = b"".join(lines.stdout.splitlines(keepends=True)[:9])
    said = haul("watch", "-", stdin=cut, code=1).text
    assert "1 SILENT" in said
    assert "the input ended before the job did: it was killed, or its output was cut" in said


def test_a_log_says_why_a_job_has_failed_that_has_no_objects(haul: Haul, tmp_path: Path) -> None:
    """It said: exit code 4."""
    haul("cp", "nothing", "copy", "--log", "log", code=4)
    said = haul("watch", "log", "--once", "--csv", "rows.csv", code=1).text
    why = "not_found: nothing: no such file or directory"
    assert f"the job ended with exit code 4: {why}" in said
    summary = next(row for row in rows_of(tmp_path / "rows.csv") if row["event"] == "summary")
    assert json.loads(summary["message"])["failure"] == why


def test_a_record_is_replayed(haul: Haul, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for number in range(30):
        (tmp_path / "data" / str(number)).write_bytes(bytes(1000))
    with haulage.Emulator(faults="busy=20%,seed=3") as emulator:
        haul.env["AZURE_STORAGE_CONNECTION_STRING"] = emulator.connection_string
        haul("mb", "az://demo")
        haul("cp", "data", "az://demo/data/", "--record", "run.parquet")
    shown = json.loads(
        haul(
            "watch", "--record", "run.parquet", "--speed", "0", "--json", "--csv", "rows.csv"
        ).text.splitlines()[-1]
    )
    assert shown["totals"]["objects_done"] == 30
    assert shown["totals"]["bytes_done"] == 30_000
    assert [kind["kind"] for kind in shown["errors"]] == ["busy"]
    assert shown["ended"]
    assert len([row for row in rows_of(tmp_path / "rows.csv") if row["event"] == "object"]) == 30
    slow = haul("watch", "--record", "run.parquet", "--speed", "5")
    assert "30 objects" in slow.text or "30/30 objects" in slow.text


class Terminal:
    """The command in a terminal of its own."""

    def __init__(
        self, haul: Haul, *args: str | Path, columns: int = 120, lines: int = 40, **env: str
    ) -> None:
        self.said = b""
        self._main, child = pty.openpty()
        size = {"COLUMNS": str(columns), "LINES": str(lines), "TERM": "xterm-256color"}
        base = {name: value for name, value in haul.env.items() if name != "NO_COLOR"}
        self.process = subprocess.Popen(
            [str(HAUL), *map(str, args)],
            stdin=child,
            stdout=child,
            stderr=child,
            cwd=haul.folder,
            env={**base, **size, **env},
            start_new_session=True,
        )
        os.close(child)

    def until(self, text: bytes, seconds: float = 15) -> None:
        give_up = time.monotonic() + seconds
        while text not in CSI.sub(b"", self.said):
            assert time.monotonic() < give_up, CSI.sub(b"", self.said)[-3000:].decode(errors="replace")
            self._read()

    def _read(self) -> None:
        if select.select([self._main], [], [], 0.1)[0]:
            try:
                self.said += os.read(self._main, 1 << 16)
            except OSError:
                time.sleep(0.05)

    def end(self) -> int:
        give_up = time.monotonic() + 15
        while self.process.poll() is None and time.monotonic() < give_up:
            self._read()
        for _ in range(3):
            self._read()
        self.process.kill()
        os.close(self._main)
        return self.process.wait()


@pytest.fixture
def terminal(haul: Haul) -> Iterator[Callable[..., Terminal]]:
    started: list[Terminal] = []

    def start(*args: str | Path, **more: Any) -> Terminal:
        started.append(Terminal(haul, *args, **more))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()


def test_a_terminal_shows_a_screen_and_gets_its_own_back(
    folder: InFolder, terminal: Callable[..., Terminal]
) -> None:
    writer = Writer(folder)
    writer.start()
    writer.object("evil\x1b]0;owned\x07.nc", failure="permission")
    screen = terminal("watch", folder.root)
    screen.until(b"NODE")
    screen.until("evil\N{REPLACEMENT CHARACTER}]0;owned".encode())
    assert b"\x1b[?1049h" in screen.said
    writer.end(done=1)
    assert screen.end() == 0
    assert b"\x1b[?1049l" in screen.said
    assert b"done  job 0123456789abcdef" in CSI.sub(b"", screen.said.partition(b"\x1b[?1049l")[2])
    assert b"\x1b]0;owned" not in screen.said


def test_no_color_is_respected(folder: InFolder, terminal: Callable[..., Terminal]) -> None:
    finished_job(folder)
    coloured, plain = (
        terminal("watch", folder.root, "--once"),
        terminal("watch", folder.root, "--once", NO_COLOR="1"),
    )
    assert (coloured.end(), plain.end()) == (1, 1)
    assert re.search(rb"\x1b\[[0-9;]*3[0-9]m", coloured.said)
    assert not re.search(rb"\x1b\[[0-9;]*3[0-9]m", plain.said)


def test_a_small_terminal_holds_all_of_it(folder: InFolder, terminal: Callable[..., Terminal]) -> None:
    for number in range(40):
        writer = Writer(folder, f"node-{number}")
        writer.start()
        writer.write([writer.line("progress", **progress_fields(1, 3))])
        writer.object("a.nc", failure="permission")
    screen = terminal("watch", folder.root, lines=18, columns=70)
    screen.until(b"more")
    last = screen.said.rpartition(b"\x1b[H")[2]
    assert last.count(b"\n") <= 18
    screen.process.send_signal(signal.SIGINT)
    assert screen.end() == 130


def test_the_page_is_there_and_its_address_is_said(haul: Haul, folder: InFolder) -> None:
    import urllib.request

    Writer(folder).start()
    watching = haul.start("watch", folder.root, "--web", "--quiet")
    assert watching.stderr is not None
    line = watching.stderr.readline().decode()
    url = line.removeprefix("page: ").strip()
    with urllib.request.urlopen(url, timeout=5) as answer:
        assert b"haul watch" in answer.read()
    watching.send_signal(signal.SIGINT)
    watching.communicate(timeout=10)
    assert watching.returncode == 130


def test_a_reader_that_has_seen_enough_is_no_error(haul: Haul, folder: InFolder) -> None:
    Writer(folder).start()
    with subprocess.Popen(
        [str(HAUL), "watch", str(folder.root), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=haul.env,
    ) as watching:
        assert watching.stdout is not None
        assert watching.stderr is not None
        assert json.loads(watching.stdout.readline())["totals"]["jobs"] >= 0
        watching.stdout.close()
        assert watching.wait(timeout=10) == 0
        assert watching.stderr.read() == b""


def test_the_guide_names_every_column() -> None:
    section = (ROOT / "docs/guides/watch.md").read_text().split("## Rows to keep")[1].split("\n## ")[0]
    named = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (.*?) \|", section, re.MULTILINE)))
    assert named == [*COLUMNS]


def _until(holds: Callable[[], object], seconds: float = 15) -> None:
    give_up = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.05)


def test_a_narrow_terminal_shows_fewer_columns_and_no_pieces_of_them() -> None:
    """At 80 columns the last column, which says whether a worker is alive, was one letter wide."""
    from rich.console import Console

    from haulage.watch.narrowing import NarrowingTable

    table = NarrowingTable("NODE", "STATE", "WHAT?", ">RATE?", ">DONE?", ">FAILED?", "*HEARD")
    table.add_row("node-1", "running", "cp az://here to there", "81 Mbit/s", "1,502", "17", "2.1 s ago")
    shown = {}
    for width in (100, 70, 50, 36):
        console = Console(width=width, highlight=False)
        with console.capture() as said:
            console.print(table)
        assert "…" not in said.get()
        shown[width] = said.get().split("\n")[0].split()
    every = ["NODE", "STATE", "WHAT", "RATE", "DONE", "FAILED", "HEARD"]
    assert shown[100] == every
    assert shown[70] == ["NODE", "STATE", "WHAT", "RATE", "DONE", "HEARD"]
    assert shown[50] == ["NODE", "STATE", "RATE", "DONE", "HEARD"]
    assert shown[36] == ["NODE", "STATE", "DONE", "HEARD"]
