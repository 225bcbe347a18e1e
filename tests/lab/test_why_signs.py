"""`haul why`: names, TLS, the kernel's counters, addresses, the disk, processors, and standard input."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

import pytest

from command import Haul, in_process
from endpoints import Endpoint
from haulage.lab.why.drawing import page
from haulage.lab.why.experiment import experiment, unknown
from haulage.lab.why.explaining import Explanation, explain
from haulage.lab.why.words import paragraph, title
from lab import made_records as made
from lab.made_records import BLOCKS, MIB, MS, explained as of, ramp

NOT_THE_PATH = "a limit on each connection that is not the path's"
LOSS = "loss on the path as what bounds each connection"


class StartEmulator(Protocol):
    def __call__(self, *, store: str = ..., link: str = ..., faults: str = ...) -> Endpoint: ...


def bearings(found: Explanation) -> set[tuple[str, str]]:
    return {(sign.bearing, sign.about) for sign in found.signs if sign.bearing != "shown"}


@pytest.mark.parametrize(
    ("counters", "decided"),
    [
        ({"full": 0.8}, {("supports", NOT_THE_PATH), ("contradicts", "loss as what bounds each connection")}),
        ({"full": 0.1, "lost_per_mb": 3.0}, {("supports", LOSS)}),
        # With the window full as well, loss is not what bounds it.
        ({"full": 0.8, "lost_per_mb": 3.0}, {("supports", NOT_THE_PATH)}),
        ({"full": 0.3, "lost_per_mb": 0.4}, set()),
        (
            {"short": 0.9, "lost_per_mb": 0.4},
            {("supports", "a limit on each connection, set by this machine's send buffer")},
        ),
    ],
)
def test_the_kernel_counters_bear_on_a_limit_of_each_connection(
    counters: dict[str, float], decided: set[tuple[str, str]], tmp_path: Path
) -> None:
    found = of(made.counted(made.job(made.per_connection(20e6), BLOCKS, ramp), **counters), tmp_path)
    assert (found.whole.cause.cause, found.whole.cause.status) == ("connection-rate", "seen")
    assert bearings(found) == decided
    assert "<h2>What the kernel counted" in page(found)


@pytest.mark.parametrize(("time", "lanes"), [(made.in_all(100e6), ramp), (made.in_all(100e6), lambda _: 8)])
def test_counters_that_do_not_decide_are_only_shown(time: made.Time, lanes: Any, tmp_path: Path) -> None:
    # A full link loses segments, and a service that all share reads slowly: neither names a connection.
    found = of(made.counted(made.job(time, BLOCKS, lanes), full=0.8, lost_per_mb=5), tmp_path)
    assert found.whole.cause.cause in ("total-rate", "bytes")
    assert found.signs
    assert bearings(found) == set()


def test_counters_of_a_connection_are_not_added_up_over_its_requests(tmp_path: Path) -> None:
    rows = made.job(made.per_connection(20e6), BLOCKS, ramp)
    found = of(made.counted(rows, full=0.25, lost_per_mb=2), tmp_path)
    sent = sum(row["size_bytes"] for row in rows)
    lost = next(sign.text for sign in found.signs if "sent again" in sign.text)
    assert abs(int(lost.split()[0].replace(",", "")) - 2 * sent / 1e6) < 16
    assert "full for 25 %" in " ".join(sign.text for sign in found.signs)


def test_a_record_without_the_counters_is_explained_as_before(tmp_path: Path) -> None:
    rows = made.job(made.per_connection(20e6), BLOCKS, ramp)
    old, new = of(rows, tmp_path), of(made.counted(rows, full=0.8), tmp_path)
    assert old.whole.cause == new.whole.cause
    assert old.signs == ()
    assert "what the kernel counted of connections" in " ".join(unknown(old))
    assert "<h2>What the kernel counted" not in page(old)
    nulls = [row | dict.fromkeys(("tcp_busy_ns", "tcp_retransmits", "dns_ns", "remote")) for row in rows]
    assert of(nulls, tmp_path).signs == ()


def test_names_and_tls_are_said_when_they_matter(tmp_path: Path) -> None:
    rows = made.job(made.per_connection(20e6), BLOCKS, ramp)
    said = " ".join(paragraph(of(made.opening(rows, 0.04, 0.06), tmp_path)))
    assert "Opening 240 connections took 7 % of the lanes' time: looking names up" in said
    assert "agreeing on TLS" in said
    assert "Opening" not in " ".join(paragraph(of(made.opening(rows, 0.01, 0.02), tmp_path)))


def test_a_proxy_is_said_to_be_one_and_what_its_tunnels_took(tmp_path: Path) -> None:
    rows = made.opening(made.job(made.per_connection(20e6), BLOCKS, ramp), 0.02, 0.1)
    proxied = [
        row | {"remote": "192.0.2.9:3128", "proxied": True, "proxy_ns": row.get("tls_ns", 0) // 2}
        for row in rows
    ]
    said = " ".join(paragraph(of(proxied, tmp_path)))
    assert "It spoke to 192.0.2.9:3128 (a proxy)." in said
    assert "waiting for the proxy" in said


def test_a_slow_resolver_is_asked_by_itself(tmp_path: Path) -> None:
    found = of(made.opening(made.job(made.per_connection(20e6), BLOCKS, ramp), 0.7, 0.1), tmp_path)
    assert found.whole.cause.cause == "connect"
    settle = experiment(found)
    assert settle is not None
    assert settle.command == "time getent hosts HOST"


def remote_of(row: dict[str, Any]) -> str:
    return f"192.0.2.{1 + row['lane'] % 2}:443"


@pytest.mark.parametrize(("slower", "said"), [(4.0, True), (1.0, False)])
def test_the_slow_one_of_several_addresses_is_named(slower: float, said: bool, tmp_path: Path) -> None:
    rows = made.job(made.per_connection(20e6), [MIB] * 200, lambda _: 8)
    ends: dict[int, int] = {}
    moved = []
    for row in rows[1:-1]:
        # Lanes of odd number speak to another address, and each of their requests takes longer.
        took = round((row["ended_ns"] - row["slot_ns"]) * (slower if row["lane"] % 2 else 1))
        began = ends.get(row["lane"], 20 * MS)
        ends[row["lane"]] = began + took
        at = dict.fromkeys(("queued_ns", "slot_ns", "ready_ns", "connected_ns"), began)
        at |= {
            "sent_ns": began + 1000,
            "first_byte_ns": began + took - 1000,
            "last_byte_ns": began + took - 500,
        }
        moved.append(
            row
            | at
            | {"committed_ns": began + took - 500, "ended_ns": began + took, "remote": remote_of(row)}
        )
    text = " ".join(paragraph(of(moved, tmp_path)))
    assert "It spoke to 192.0.2.1:443, 192.0.2.2:443." in text
    assert ("Requests to 192.0.2.2:443 went at" in text) is said
    if said:
        assert "those to 192.0.2.1:443 at" in text


def slow_disk(api: str, share: float, lanes: int = 8, bits_per_second: float = 4e6) -> list[dict[str, Any]]:
    rows = made.job(
        made.per_connection(bits_per_second), [MIB // 2] * 120, lambda _: lanes, answer_ns=2 * MS, api=api
    )
    return made.waiting_for_the_disk(rows, share)


@pytest.mark.parametrize(
    ("api", "way", "command"),
    [
        ("PutBlock", "Reading from the disk", "cp -r SRC /dev/shm/copy && haul cp /dev/shm/copy DST"),
        ("GetBlob", "Writing to the disk", "haul cp SRC /dev/shm/copy"),
    ],
)
@pytest.mark.parametrize("share", [0.6, 0.9])
def test_a_slow_disk_is_named_beside_a_slow_link(
    api: str, way: str, command: str, share: float, tmp_path: Path
) -> None:
    found = of(slow_disk(api, share), tmp_path)
    # Busy processors leave the same, where much of the time is neither the disk's nor known to be the path's.
    status = "seen" if share > 0.7 else "undetermined"
    assert (found.whole.cause.cause, found.whole.cause.status) == ("disk", status)
    assert ("cpu" in found.whole.cause.rivals) == (status == "undetermined")
    text = " ".join(paragraph(found))
    assert way in text
    # With a good part of the time elsewhere, the link is not said to be innocent.
    assert ("The link did not limit this job." in text) == (share > 0.7)
    settle = experiment(found)
    assert settle is not None
    assert settle.command.startswith(command)


def test_a_copy_between_services_is_not_said_to_read_from_a_disk(tmp_path: Path) -> None:
    rows = [row | {"object": "az://data/large.nc"} for row in slow_disk("PutBlock", 0.9)]
    found = of(rows, tmp_path)
    assert (found.whole.cause.cause, found.whole.cause.status) == ("source", "seen")
    assert found.whole.ledger["source"] > 0
    assert "disk" not in found.whole.ledger
    text = " ".join(paragraph(found))
    assert "Reading from the service that has the source held 9" in text
    assert "disk" not in text
    settle = experiment(found)
    assert settle is not None
    assert settle.command.startswith("haul cp SRC /dev/shm/copy")
    doubted = of([row | {"object": "s3://data/large.nc"} for row in slow_disk("PutBlock", 0.6)], tmp_path)
    assert doubted.whole.cause.rivals == ("source", "total-rate")


def test_counters_that_show_the_path_busy_leave_the_disk_alone(tmp_path: Path) -> None:
    rows = slow_disk("PutBlock", 0.6)
    assert of(made.counted(rows), tmp_path).whole.cause.status == "seen"
    idle = [row | {"tcp_busy_ns": row["tcp_busy_ns"] // 10} for row in made.counted(rows)]
    found = of(idle, tmp_path)
    assert found.whole.cause.status == "undetermined"
    assert "Bytes were on their way for 10 % of" in found.signs[0].text


def test_slots_that_stand_empty_cast_doubt_on_the_disk(tmp_path: Path) -> None:
    time = made.per_connection(4e6)
    rows = made.job(time, [MIB // 2] * 120, lambda n: 16 if n < 16 else 8, answer_ns=2 * MS)
    cause = of(made.waiting_for_the_disk(rows, 0.9), tmp_path).whole.cause
    assert (cause.cause, cause.rivals) == ("disk", ("disk", "cpu"))


def test_a_slow_disk_is_named_with_one_request_at_a_time(tmp_path: Path) -> None:
    assert of(slow_disk("PutBlock", 0.9, lanes=1), tmp_path).whole.cause.cause == "disk"
    assert of(slow_disk("PutBlock", 0.55, lanes=1), tmp_path).whole.cause.cause == "one-at-a-time"


def test_a_download_that_waits_for_its_files_to_be_kept_waits_for_the_disk(tmp_path: Path) -> None:
    rows = made.job(made.by_answer(100 * MS), [4096] * 200, lambda _: 8, answer_ns=MS, api="GetBlob")
    gone = ("ready_ns", "connected_ns", "sent_ns", "first_byte_ns", "last_byte_ns", "committed_ns")
    kept = []
    for row in rows[1:-1]:
        ended = row["slot_ns"] + 10 * MS
        got = {
            "ended_ns": ended,
            "first_byte_ns": row["slot_ns"] + MS,
            "last_byte_ns": ended,
            "committed_ns": ended,
        }
        local = {"api": "Commit", "size_bytes": 0, "slot_ns": ended, "connection": 0} | dict.fromkeys(gone)
        kept += [row | got, row | local]
    found = of(kept, tmp_path)
    assert found.whole.cause.cause == "disk"


def test_checksums_or_processors_are_not_taken_for_a_disk(tmp_path: Path) -> None:
    # Eight times 380 Mbit/s: MD5 takes about as long as such a disk would.
    time = made.per_connection(4e8)
    rows = made.waiting_for_the_disk(made.job(time, [MIB] * 800, lambda _: 8, answer_ns=MS), 0.9)
    found = of(rows, tmp_path)
    assert (found.whole.cause.status, set(found.whole.cause.rivals)) == (
        "undetermined",
        {"disk", "checksum", "cpu"},
    )
    assert "MD5" in " ".join(paragraph(found))


def spread(rows: list[dict[str, Any]], gap: float, queued_before: bool = True) -> list[dict[str, Any]]:
    """Leave a lane empty after each attempt, for this part of it."""
    stamps = [name for name in rows[0] if name.endswith("_ns") and name != "backoff_ns"]
    moved = [row | {name: round(row[name] * (1 + gap)) for name in ("slot_ns",)} for row in rows]
    for row, was in zip(moved, rows, strict=True):
        away = row["slot_ns"] - was["slot_ns"]
        for name in stamps:
            if name != "slot_ns":
                row[name] = was[name] + away
        row["queued_ns"] = 0 if queued_before else row["slot_ns"]
    return moved


def test_slots_that_stand_empty_beside_a_queue_look_like_processors(tmp_path: Path) -> None:
    rows = made.job(made.per_connection(20e6), [MIB // 2] * 200, lambda _: 8)
    found = of(spread(rows, 1.5), tmp_path)
    assert (found.whole.cause.cause, found.whole.cause.status) == ("cpu", "undetermined")
    assert title(found.whole).startswith("It looks like the processors of this machine")
    assert "a record cannot prove it" in " ".join(paragraph(found))
    settle = experiment(found)
    assert settle is not None
    assert "while nothing else runs on this machine" in settle.outcome
    # With nothing queued there was nothing to do, and a lower number allowed leaves a few lanes empty.
    assert of(spread(rows, 1.5, queued_before=False), tmp_path).whole.cause.cause != "cpu"
    rows = made.job(made.per_connection(20e6), [MIB // 2] * 300, lambda n: 16 if n < 32 or n >= 260 else 4)
    fewer = spread(rows, 0.01)
    assert of(fewer, tmp_path).whole.cause.cause == "connection-rate"


def test_a_wait_at_a_near_service_may_be_that_for_a_processor(tmp_path: Path) -> None:
    sizes = [4096, 200_000] * 400
    near = of(made.job(made.by_answer(20 * MS), sizes, ramp, answer_ns=MS // 2), tmp_path).whole.cause
    assert (near.cause, near.status, near.rivals) == ("service", "undetermined", ("service", "cpu"))
    far = of(made.job(made.by_answer(300 * MS), [4096, 200_000] * 100, ramp), tmp_path).whole.cause
    assert (far.cause, far.status) == ("service", "seen")


def held_up(waits: float, kept: float, took_ns: int = 20 * MS) -> list[dict[str, Any]]:
    """Return downloads that wait for their answer, and to be kept, for these shares of their time."""
    sizes = [4096, 200_000] * 400
    rows = made.job(made.by_answer(took_ns), sizes, ramp, answer_ns=MS // 2, api="GetBlob")
    found = [rows[0]]
    for number, row in enumerate(rows[1:-1]):
        took = row["ended_ns"] - row["slot_ns"]
        # The quickest answer is the path's own.
        first = row["slot_ns"] + (MS // 2 if number == 0 else round(waits * took))
        last = row["ended_ns"] - round(kept * took)
        found.append(row | {"first_byte_ns": first, "last_byte_ns": last, "committed_ns": row["ended_ns"]})
    return [*found, rows[-1]]


def test_processors_that_explain_several_causes_are_named_before_them(tmp_path: Path) -> None:
    """The service and the disk were said to share the time, and nothing was said of processors."""
    found = of(held_up(0.45, 0.45), tmp_path)
    cause = found.whole.cause
    assert (cause.cause, cause.status) == ("mixed", "undetermined")
    assert (cause.rivals[0], set(cause.rivals[1:])) == ("cpu", {"service", "disk"})
    assert set(cause.sharing) == {"service", "disk"}
    said = title(found.whole)
    assert said.startswith("It looks like the processors of this machine, or the ")
    assert said.endswith(" together (undetermined)")
    text = " ".join(paragraph(found))
    assert "Processors that are busy with something else" in text
    assert "with the processors of this machine busy this record would look the same" in text
    settle = experiment(found)
    assert settle is not None
    assert "while nothing else runs on this machine" in settle.outcome


def test_processors_that_explain_a_part_are_named_after_the_others(tmp_path: Path) -> None:
    # No processor is waited for that long.
    found = of(held_up(0.45, 0.45, took_ns=300 * MS), tmp_path)
    cause = found.whole.cause
    assert (cause.cause, cause.rivals[-1]) == ("mixed", "cpu")
    assert set(cause.rivals[:-1]) == set(cause.sharing) == {"service", "disk"}
    assert title(found.whole).startswith("No single cause: the ")
    assert "the processors" not in title(found.whole)
    assert "In a part of it, that may have been the processors of this machine." in " ".join(paragraph(found))
    settle = experiment(found)
    assert settle is not None
    assert settle.command.startswith("haul cp SRC /dev/shm/copy")


def from_input(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))


def test_a_record_comes_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rows = made.job(made.in_all(100e6), BLOCKS, ramp)
    path = made.write(rows, tmp_path / "run.parquet")
    lines = ("\n".join(made.as_events(rows)) + "\n").encode()
    for content in (path.read_bytes(), lines):
        from_input(content, monkeypatch)
        assert in_process("why", "-", "--json") == 0
        answer = json.loads(capsys.readouterr().out)
        assert (answer["cause"], answer["record"]) == ("shared", "-")


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (b"", 2, "standard input is empty (hint: name a file of haul cp --record, or of haul cp --json)"),
        (b'{"a": 1}\n', 2, "read record -: lines of JSON that are no events of a job"),
        (b"PAR1", 5, "read record -:"),
    ],
)
def test_what_is_no_record_on_standard_input_is_refused(
    content: bytes, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from_input(content, monkeypatch)
    assert in_process("why", "-") == code
    error = capsys.readouterr().err
    assert said in error
    assert "haul-why-" not in error


def test_a_real_transfer_shows_its_address_and_what_the_kernel_counted(
    haul_at: Callable[[Endpoint], Haul], start_emulator: StartEmulator, tmp_path: Path
) -> None:
    endpoint = start_emulator(store="null", link="rtt=5ms,conn=20mbit")
    (tmp_path / "large").write_bytes(bytes(24_000_000))
    container = endpoint.container()
    haul_at(endpoint)("cp", "large", container.az("large"), "--concurrency", "8", "--record", "up.parquet")
    found = explain(tmp_path / "up.parquet")
    assert found.facts.hosts == (endpoint.url.split("/")[2],)
    # The link takes bytes from each connection no faster than it is told to.
    window = next(sign for sign in found.signs if "window was full" in sign.text)
    assert " connections had bytes on their way" in window.text
    assert any("sent again in 24 MB" in sign.text for sign in found.signs)
    if (found.whole.cause.cause, found.whole.cause.status) != ("connection-rate", "seen"):
        assert bearings(found) == set()
