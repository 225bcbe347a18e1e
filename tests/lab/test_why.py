"""`haul why`: what it says of jobs whose limit is known, and of files that are no records."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import pytest

import haulage
from command import HAUL, Haul, in_process
from endpoints import Endpoint
from haulage.lab.analysis import ledger
from haulage.lab.why.drawing import page
from haulage.lab.why.experiment import experiment, unknown
from haulage.lab.why.explaining import Explanation, explain
from haulage.lab.why.plain import shown
from haulage.lab.why.words import paragraph, title
from haulage.words.numbers import time_words
from lab import made_records as made
from lab.in_process import InProcess
from lab.made_records import BLOCKS, MIB, MS, explained as of, ramp

DAMAGED = "the file is damaged or cut short; copy it again from where it was written, or record another job"


class StartEmulator(Protocol):
    def __call__(self, *, store: str = ..., link: str = ..., faults: str = ...) -> Endpoint: ...


def closes(found: Explanation) -> None:
    for part in (found.whole, *found.phases):
        assert set(part.ledger) == set(ledger.CATEGORIES)
        assert sum(part.ledger.values()) == part.evidence.lanes * part.window.wall_ns
        assert min(part.ledger.values()) >= 0


@pytest.mark.parametrize(
    ("time", "sizes", "lanes", "cause", "status"),
    [
        (made.per_connection(20e6), BLOCKS, ramp, "connection-rate", "seen"),
        (made.in_all(100e6), BLOCKS, ramp, "total-rate", "seen"),
        # With eight in flight from the beginning to the end, nothing varied that would tell.
        (made.in_all(100e6), [MIB] * 240, lambda _: 8, "bytes", "undetermined"),
        (made.by_answer(0), [4096] * 1200, ramp, "latency", "seen"),
        (made.per_connection(20e6), [MIB] * 40, lambda _: 1, "one-at-a-time", "seen"),
    ],
)
def test_the_limit_is_named_as_far_as_the_record_shows_it(
    time: made.Time, sizes: list[int], lanes: Any, cause: str, status: str, tmp_path: Path
) -> None:
    found = of(made.job(time, sizes, lanes), tmp_path)
    assert (found.whole.cause.cause, found.whole.cause.status) == (cause, status)
    closes(found)
    text = " ".join(paragraph(found))
    assert "confirmed" not in text.replace("not confirmed", "")


def test_the_end_of_a_download_says_nothing_of_connections(tmp_path: Path) -> None:
    """What all share stands in line at the service by then, so that fewer beside it make none quicker."""
    rows = made.job(made.per_connection(20e6), [MIB] * 200, lambda _: 24, api="GetBlob")
    alike = of(rows, tmp_path).whole.cause
    assert (alike.cause, alike.status) == ("bytes", "undetermined")
    varied = of(made.job(made.per_connection(20e6), BLOCKS, ramp, api="GetBlob"), tmp_path).whole.cause
    assert (varied.cause, varied.status) == ("connection-rate", "seen")


def test_a_slow_service_is_not_a_long_path(tmp_path: Path) -> None:
    # The path answers in 20 ms, the service needs 300 ms for each write, whatever its size.
    found = of(made.job(made.by_answer(300 * MS), [4096, 200_000] * 100, ramp), tmp_path)
    assert (found.whole.cause.cause, found.whole.cause.status) == ("service", "seen")


def test_whole_files_of_one_size_do_not_tell_a_far_path_from_a_slow_service(tmp_path: Path) -> None:
    rows = made.job(made.by_answer(200 * MS), [20_000] * 300, lambda _: 8, answer_ns=MS, api="PutBlob")
    found = of([row for row in rows if row["api"] == "PutBlob"], tmp_path)
    assert found.whole.cause.status == "undetermined"
    assert "answers" in found.whole.cause.rivals


def test_a_slow_pipe_is_not_the_path(tmp_path: Path) -> None:
    for lanes in (1, 4):
        rows = made.job(made.by_answer(0), [4096] * 400, lambda _, lanes=lanes: lanes)  # type: ignore[misc]
        found = of(made.fed(rows, lanes, 40 * MS), tmp_path)
        assert (found.whole.cause.cause, found.whole.cause.status) == ("starved", "seen")
        assert "no request was in flight, and none was queued" in " ".join(paragraph(found))
        settles = experiment(found)
        assert settles is not None
        assert settles.command == "time PRODUCER > /dev/null"
        # Where it is hardly slower than the path, it may have been either.
        often = of(made.fed(rows, lanes, 10 * MS), tmp_path).whole.cause
        first = "one-at-a-time" if lanes == 1 else "latency"
        assert (often.status, often.rivals) == ("undetermined", (first, "starved"))
        # Refused requests pause, and what is queued is there to be sent.
        queued = [row | {"queued_ns": 0} for row in made.fed(rows, lanes, 40 * MS)]
        assert of(queued, tmp_path).whole.cause.cause != "starved"


def test_a_slow_reader_of_what_is_fetched_is_not_the_path(tmp_path: Path) -> None:
    rows = made.job(made.by_answer(0), [4096] * 400, lambda _: 4, api="GetBlob")
    found = of(made.fed(rows, 4, 40 * MS), tmp_path)
    assert (found.whole.cause.cause, found.whole.cause.status) == ("starved", "seen")
    assert "The job had nothing to fetch" in " ".join(paragraph(found))
    settles = experiment(found)
    assert settles is not None
    assert settles.command.startswith("haul cp SRC /dev/shm/copy")


def test_a_real_job_that_a_slow_pipe_feeds(
    haul_at: Callable[[Endpoint], Haul], start_emulator: StartEmulator, tmp_path: Path
) -> None:
    endpoint = start_emulator(store="null", link="rtt=10ms")
    haul = haul_at(endpoint)
    slow = "for n in $(seq 12); do head -c 200000 /dev/zero; sleep 0.15; done"
    copy = [str(HAUL), "cp", "-", endpoint.container().az("slow"), "--record", "run.parquet"]
    with subprocess.Popen(["sh", "-c", slow], stdout=subprocess.PIPE) as pipe:
        subprocess.run(copy, check=True, stdin=pipe.stdout, env=haul.env, cwd=tmp_path, timeout=60)
    cause = explain(tmp_path / "run.parquet").whole.cause
    assert (cause.cause, cause.status) == ("starved", "seen")


def test_two_regimes_are_not_averaged(tmp_path: Path) -> None:
    time = made.then(made.per_connection(40e6), 8 * 10**9, made.per_connection(8e6))
    found = of(made.job(time, [MIB // 2] * 500, lambda n: 4 + n // 10 % 4), tmp_path)
    assert len(found.phases) == 2
    first, second = found.phases
    assert 7 * 10**9 < second.window.began_ns < 9 * 10**9
    assert first.evidence.rate_bits_per_second > 3 * second.evidence.rate_bits_per_second
    assert "Its rate changed at" in " ".join(paragraph(found))
    closes(found)
    # Together the phases hold all of the payload, and no byte twice.
    moved = first.evidence.bytes + second.evidence.bytes
    assert abs(moved - found.facts.bytes) < 1e-4 * found.facts.bytes


def test_a_steady_job_has_no_phases(tmp_path: Path) -> None:
    assert of(made.job(made.per_connection(20e6), BLOCKS, ramp), tmp_path).phases == ()


def test_smaller_files_are_no_other_regime(tmp_path: Path) -> None:
    # The rate falls with the sizes; what a request waits for does not.
    sizes = [60_000 - 50 * number for number in range(1000)]
    found = of(made.job(made.by_answer(0), sizes, lambda _: 8), tmp_path)
    assert found.whole.cause.cause == "latency"
    assert found.phases == ()


def begun_after(
    rows: list[dict[str, Any]], began_ns: int, listed_ns: int, nodes: list[str], api: str = "ListBlobs"
) -> list[dict[str, Any]]:
    """Let a coordinator list for a while, and nodes do the requests from a moment on."""
    stamps = [name for name in rows[0] if name.endswith("_ns") and name != "backoff_ns"]
    moved = [
        row | {name: row[name] + began_ns for name in stamps} | {"node": nodes[number % len(nodes)]}
        for number, row in enumerate(rows)
    ]
    asked: dict[str, Any] = dict.fromkeys(stamps, listed_ns)
    asked |= {"queued_ns": 0, "slot_ns": 0, "ready_ns": 0, "sent_ns": 1000}
    asked |= {"object_id": None, "object": "az://c/", "api": api, "size_bytes": 0, "node": "head"}
    return [rows[0] | asked, *moved]


def test_the_start_of_nodes_is_no_limit_of_the_link(tmp_path: Path) -> None:
    rows = made.job(made.per_connection(40e6), BLOCKS, ramp)
    took = max(row["ended_ns"] for row in rows)
    late = of(begun_after(rows, 3 * took, MS, ["head-0", "head-1"]), tmp_path)
    assert (late.whole.cause.cause, late.whole.cause.status) == ("nodes", "seen")
    assert title(late.whole) == "What limited it: starting the nodes (seen, not confirmed)"
    settle = experiment(late)
    assert settle is not None
    assert "without --nodes" in settle.outcome
    # One node has a name that is not the coordinator's.
    assert of(begun_after(rows, 3 * took, MS, ["head-0"]), tmp_path).whole.cause.cause == "nodes"
    # Where it is not the greater part, it is said beside the limit, with its time.
    part = of(begun_after(rows, took // 2, MS, ["head-0", "head-1"]), tmp_path)
    assert part.whole.cause.cause == "connection-rate"
    assert f"The nodes needed {time_words(took // 2)} to start" in " ".join(paragraph(part))
    # One machine starts no nodes, however late it begins.
    alone = of(begun_after(rows, 3 * took, MS, ["head"]), tmp_path)
    assert (alone.facts.nodes, alone.whole.cause.cause) == (0, "before")
    assert "nodes needed" not in " ".join(paragraph(alone))


@pytest.mark.parametrize("api", ["ListBlobs", "ListObjectsV2"])
def test_lists_in_a_record_are_not_said_to_be_missing(tmp_path: Path, api: str) -> None:
    rows = made.job(made.per_connection(40e6), BLOCKS, ramp)
    took = max(row["ended_ns"] for row in rows)
    listed = of(begun_after(rows, 3 * took, 3 * took - MS, ["head"], api), tmp_path)
    assert (listed.whole.cause.cause, listed.whole.cause.status) == ("listing", "seen")
    assert f"Haulage listed for {time_words(3 * took - MS)} of it" in " ".join(paragraph(listed))
    assert not [one for one in unknown(listed) if "listing" in one]
    without = of(begun_after(rows, 3 * took, 3 * took - MS, ["head"])[1:], tmp_path)
    assert [one for one in unknown(without) if one.startswith("Requests of listing: this record has none.")]


def test_lines_of_a_cluster_say_where_its_requests_are(tmp_path: Path) -> None:
    end = {"event": "summary", "elapsed_ns": 3 * 10**9, "exit_code": 0, "bytes_done": 5, "requests": 41}
    (tmp_path / "run.jsonl").write_text(json.dumps({"event": "job_started"}) + "\n" + json.dumps(end) + "\n")
    (said,) = paragraph(explain(tmp_path / "run.jsonl"))
    assert said.startswith("The lines hold none of the 41 requests that the job sent.")
    assert "--record FILE" in said


def test_more_in_flight_is_no_other_regime(tmp_path: Path) -> None:
    # Each connection gives the same throughout; twice as many of them give twice the rate.
    found = of(made.job(made.per_connection(20e6), [MIB] * 240, lambda n: 4 if n < 80 else 16), tmp_path)
    assert found.whole.cause.cause == "connection-rate"
    assert found.phases == ()


def test_a_request_cut_at_the_border_of_a_phase_is_no_quick_answer(tmp_path: Path) -> None:
    time = made.then(made.per_connection(40e6), 8 * 10**9, made.per_connection(8e6))
    found = of(made.job(time, [MIB // 2] * 500, lambda n: 4 + n // 10 % 4), tmp_path)
    assert found.phases
    assert {part.evidence.answer_ns for part in (found.whole, *found.phases)} == {
        found.whole.evidence.answer_ns
    }
    assert (found.whole.evidence.answer_ns or 0) >= 19 * MS


def test_columns_of_other_versions_do_no_harm(tmp_path: Path) -> None:
    rows = made.job(made.per_connection(20e6), BLOCKS, ramp)
    usual = of(rows, tmp_path).whole
    newer = [row | {"tcp_of_tomorrow": [1, 2], "size_bytes": str(row["size_bytes"])} for row in rows]
    assert of(newer, tmp_path).whole.ledger == usual.ledger
    gone = {"connection", "connection_reused", "queued_ns", "backoff_ns", "request_id", "object_id"}
    older = [{name: value for name, value in row.items() if name not in gone} for row in rows]
    found = of(older, tmp_path)
    assert found.whole.ledger == usual.ledger
    assert found.facts.connections is None


def test_lines_of_events_say_the_same_as_the_record(tmp_path: Path) -> None:
    rows = made.job(made.in_all(100e6), BLOCKS, ramp)
    lines = tmp_path / "run.jsonl"
    lines.write_text("\n".join(made.as_events(rows)) + "\n")
    by_lines, by_rows = explain(lines), of(rows, tmp_path)
    assert by_lines.whole.ledger == by_rows.whole.ledger
    assert by_lines.whole.cause == by_rows.whole.cause
    # Killed in the middle of a line: what is whole is read, and the rest said.
    lines.write_text(lines.read_text()[:-400])
    cut = explain(lines)
    assert cut.unread == 1
    assert cut.summary is None


def test_names_are_shown_without_secrets_or_control_characters(tmp_path: Path) -> None:
    evil = "https://me:pw@host/c/<script>alert(1)</script>\x1b[31m?sv=1&sig=SECRET%3D"
    rows = [
        row | {"object": evil, "object_id": n}
        for n, row in enumerate(made.job(made.in_all(1e8), BLOCKS, ramp))
    ]
    path = made.write(rows, tmp_path / "run.parquet")
    found = explain(path)
    drawn = page(found)
    assert "<script>" not in drawn
    assert re.search(r"https?://(?!host)", drawn) is None
    for text in (drawn, shown(evil)):
        assert "SECRET" not in text
        assert "pw@" not in text
        assert "\x1b" not in text


@pytest.mark.parametrize(
    ("content", "kind", "hint"),
    [
        (None, haulage.NotFoundError, "check the path of the record"),
        (b"", haulage.UsageError, "name a file of haul cp --record, or of haul cp --json"),
        (b"no record\n", haulage.UsageError, "name a file of haul cp --record, or of haul cp --json"),
        (b'{"a": 1}\n', haulage.UsageError, "name a file of haul cp --record"),
        (
            b"PAR1 and nothing else",
            haulage.IntegrityError,
            DAMAGED,
        ),
    ],
)
def test_what_is_no_record_is_refused(
    content: bytes | None, kind: type[haulage.HaulageError], hint: str, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(kind) as caught:
        explain(path)
    assert caught.value.hint is not None
    assert caught.value.hint.startswith(hint)


def test_two_jobs_in_one_record_are_refused(tmp_path: Path) -> None:
    rows = made.job(made.per_connection(20e6), BLOCKS, ramp)
    with pytest.raises(haulage.IntegrityError) as caught:
        of([*rows, *rows], tmp_path)
    assert caught.value.hint == "name the record of one job, as haul wrote it"


def test_impossible_rows_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = made.job(made.per_connection(20e6), BLOCKS, ramp)
    wrong = [rows[5] | {"ended_ns": None}, rows[6] | {"slot_ns": -1}, rows[7] | {"ended_ns": 2**62}]
    found = of([*rows, *wrong], tmp_path)
    assert found.left_out == 3
    assert found.whole.ledger == of(rows, tmp_path).whole.ledger


def test_a_real_job_over_a_link_of_each_connection(
    haul_at: Callable[[Endpoint], Haul], start_emulator: StartEmulator, tmp_path: Path
) -> None:
    endpoint = start_emulator(store="null", link="rtt=5ms,conn=20mbit")
    (tmp_path / "large").write_bytes(bytes(24_000_000))
    haul = haul_at(endpoint)
    haul("cp", "large", endpoint.container().az("large"), "--concurrency", "8", "--record", "run.parquet")
    said = haul("why", "run.parquet", "--json", "--html", "why.html")
    answer = json.loads(said.text)
    # On a busy machine the last blocks may say too little to tell the connections from the whole.
    assert (answer["cause"], answer["status"]) in [("connection-rate", "seen"), ("bytes", "undetermined")]
    assert answer["experiment"]["command"].startswith("haul cp large az://")
    assert sum(answer["ledger_ns"].values()) == answer["lanes"] * answer["wall_ns"]
    assert "page written: why.html" in said.stderr
    assert (tmp_path / "why.html").read_text().startswith("<!doctype html>")


def test_a_job_that_failed_leaves_a_record_too(emulator: Endpoint, tmp_path: Path) -> None:
    with pytest.raises(haulage.NotFoundError):
        haulage.copy(
            emulator.container().url("none", emulator.sas()), tmp_path / "x", record=tmp_path / "none.parquet"
        )
    assert explain(tmp_path / "none.parquet").whole.cause.status == "nothing to explain"


def test_a_job_that_failed_is_said_to_have_failed(
    haul_at: Callable[[Endpoint], Haul], emulator: Endpoint, in_process: InProcess, tmp_path: Path
) -> None:
    """It was "nothing to explain: it finished in 1 request"."""
    haul = haul_at(emulator)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a").write_bytes(b"a")
    lines = haul("cp", "data", "az://nocontainer/d/", "--json", "--record", "f.parquet", code=4).text
    (tmp_path / "f.jsonl").write_text(lines)
    answer = json.loads(in_process("why", "f.jsonl", "--json").text)
    assert (answer["title"], answer["status"], answer["cause"]) == ("The job failed", "failed", "failed")
    assert answer["text"][0].startswith("It ended with exit code 4: list az://nocontainer/d/: no such")
    assert (answer["failure"]["kind"], answer["failure"]["exit_code"]) == ("not_found", 4)
    assert answer["failure"]["hint"] in answer["text"][0]
    assert answer["experiment"] is None
    assert in_process("why", "f.jsonl", "-q").text.startswith(
        "The job failed. It ended with exit code 4: list "
    )
    # A record has no end. What failed last is in it.
    answer = json.loads(in_process("why", "f.parquet", "--json").text)
    assert (answer["title"], answer["status"]) == ("The last request failed", "nothing to explain")
    assert answer["text"][0].startswith("ListBlobs az://nocontainer/d/ failed: 404 ContainerNotFound.")
    assert answer["failure"]["exit_code"] is None


def ended(folder: Path, *events: dict[str, Any], rows: Sequence[dict[str, Any]] = ()) -> Explanation:
    lines = [line for line in made.as_events([*rows]) if '"summary"' not in line] if rows else []
    (folder / "run.jsonl").write_text("\n".join([*lines, *map(json.dumps, events)]) + "\n")
    return explain(folder / "run.jsonl")


def test_the_end_of_a_job_is_told_as_its_lines_have_it(tmp_path: Path) -> None:
    error = {"kind": "not_found", "operation": "stat", "object": "x", "cause": "no such file", "hint": "look"}
    failed = {"event": "summary", "elapsed_ns": 5, "exit_code": 4}
    for events in (
        [failed, {"event": "error", **error, "exit_code": 4}],
        # With several objects there is no line of its own.
        [failed | {"failures": [error, error | {"object": "y"}]}],
        # As of a mistake in the command line, before there was a job.
        [{"event": "error", **error, "exit_code": 4}],
    ):
        found = ended(tmp_path, *events)
        assert title(found.whole) == "The job failed"
        assert paragraph(found) == ["It ended with exit code 4: stat x: no such file. To mend it: look."]
    assert paragraph(ended(tmp_path, failed)) == ["It ended with exit code 4."]
    # What limited a long job is said all the same, after how it ended.
    rows = made.job(made.per_connection(20e6), BLOCKS, ramp)
    found = ended(tmp_path, failed | {"failures": [error]}, rows=rows)
    assert found.whole.cause.cause == "connection-rate"
    assert paragraph(found)[0].startswith("The job failed with exit code 4: stat x: no such file.")
    stopped = {"event": "error", **error, "kind": "cancelled", "exit_code": 130}
    found = ended(tmp_path, stopped, rows=rows)
    assert paragraph(found)[0] == "The job was interrupted."
    assert title(ended(tmp_path, stopped).whole) == "No requests"


def test_a_page_replaces_a_page_and_nothing_else(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """It replaced the record that it had just read."""
    path = made.write(made.job(made.in_all(1e8), [MIB] * 3, ramp), tmp_path / "run.parquet")
    (tmp_path / "soft").symlink_to(path)
    (tmp_path / "hard").hardlink_to(path)
    (tmp_path / "notes.txt").write_text("notes")
    for name, cause in (
        ("run.parquet", "this is what is read"),
        ("soft", "this is what is read"),
        ("hard", "this is what is read"),
        ("notes.txt", "what is there is not a page"),
    ):
        before = (tmp_path / name).read_bytes()
        code, _, said = run([path, "--html", tmp_path / name], capfd)
        assert code == 2
        assert f"{cause} (hint: name another file for the page)" in said
        assert (tmp_path / name).read_bytes() == before
    (tmp_path / "empty").touch()
    for name in ("new.html", "new.html", "empty"):
        assert run([path, "--html", tmp_path / name], capfd)[0] == 0
        assert (tmp_path / name).read_text().startswith("<!doctype html>")
    assert run([path, "--html", "/dev/null"], capfd)[0] == 0


def run(arguments: Sequence[str | Path], capfd: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = in_process("why", *map(str, arguments))
    said = capfd.readouterr()
    return code, said.out, said.err


def test_the_command_says_it_in_words(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = made.write(made.job(made.per_connection(20e6), BLOCKS, ramp), tmp_path / "run.parquet")
    code, out, _ = run([path], capfd)
    assert code == 0
    for said in (
        "What limited it: a limit on each connection (seen, not confirmed)",
        "To settle it: haul cp SRC DST --concurrency 32",
        "split exactly",
        "Slowest requests",
        "What this record cannot tell",
    ):
        assert said in out
    code, out, _ = run([path, "-q"], capfd)
    assert code == 0
    assert len(out.splitlines()) == 2


def test_what_is_typed_wrong_is_said(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = made.write(made.job(made.in_all(1e8), [MIB] * 3, ramp), tmp_path / "run.parquet")
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(path.read_bytes()[:-100])
    nowhere = tmp_path / "no/such/folder"
    tries: list[tuple[list[str | Path], int, str]] = [
        ([], 2, "haul why --help shows examples"),
        ([nowhere], 4, "check the path of the record"),
        ([cut], 5, "the file is damaged or cut short"),
        ([path, "--html", nowhere], 1, "name another file for the page"),
    ]
    for arguments, code, hint in tries:
        ended, _, said = run(arguments, capfd)
        assert (ended, hint in said) == (code, True), said


def test_a_record_that_may_not_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "run.parquet").write_bytes(b"PAR1")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse)
        with pytest.raises(haulage.HaulageError) as caught:
            explain(tmp_path / "run.parquet")
    assert caught.value.hint == f"make it readable: chmod u+r {tmp_path / 'run.parquet'}"
