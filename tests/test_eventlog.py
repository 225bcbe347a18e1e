"""`--log`: what happens outlives whoever writes it, and never holds up what is moved."""

from __future__ import annotations

import json
import multiprocessing
import platform
import random
import re
import shutil
import signal
import socket
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

import endpoints
import haulage
import trees
from command import Haul, in_own_mounts
from conftest import StartEmulator
from endpoints import Container, Endpoint
from haulage import _engine
from sentences import Sentence

OUTBOX = f".local/state/haulage/log/{platform.node()}"
Line = dict[str, Any]


def names(haul: Haul, log: str) -> list[str]:
    """The files of a log, as `haul ls` tells them."""
    listed = haul("ls", "-r", log.rstrip("/") + "/", "--json").text.splitlines()
    return sorted(
        f"{log.split('://')[0]}://{log.split('://')[1].split('/')[0]}/{json.loads(line)['key']}"
        for line in listed
    )


def read(haul: Haul, log: str) -> dict[str, list[Line]]:
    """The lines of a log by stream, each once and none missing."""
    files = names(haul, log) if "://" in log else sorted(map(str, Path(haul.folder, log).glob("*/*/*.jsonl")))
    streams: dict[str, dict[int, Line]] = {}
    for name in files:
        text = haul("cat", name).text if "://" in name else Path(name).read_text()
        for text_line in text.splitlines():
            line = json.loads(text_line)
            stream = streams.setdefault(line["stream"], {})
            assert stream.setdefault(line["seq"], line) == line, "another line has the same number"
            assert f"{line['job']}/{line['node']}.{line['stream']}/" in name
    for lines in streams.values():
        assert sorted(lines) == list(range(len(lines))), "a line is missing"
    return {stream: [lines[number] for number in sorted(lines)] for stream, lines in streams.items()}


def one(streams: dict[str, list[Line]]) -> list[Line]:
    assert len(streams) == 1, list(streams)
    return next(iter(streams.values()))


def outbox(haul: Haul) -> list[Path]:
    return sorted((haul.folder / OUTBOX).glob("*"))


def outcomes(lines: Sequence[Line]) -> dict[str, str]:
    return {line["name"]: line["outcome"] for line in lines if line["event"] == "object"}


@pytest.fixture(params=["folder", "azurite", "emulator", "versitygw"])
def logged(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Haul, str]:
    """The command and a log, for each place that one may lie in. On S3 each piece is an object."""
    if request.param == "folder":
        emulator: Endpoint = request.getfixturevalue("emulator")
        return Haul(tmp_path, emulator.env, [endpoints.KEY]), "logs"
    if request.param == "versitygw":
        service: endpoints.S3Endpoint = request.getfixturevalue("versitygw")
        haul = Haul(tmp_path, service.env, [service.keys[1]])
        bucket = f"s3://log{random.getrandbits(40):x}"
        haul("mb", bucket)
        return haul, f"{bucket}/runs"
    endpoint: Endpoint = request.getfixturevalue(request.param)
    return Haul(tmp_path, endpoint.env, [endpoints.KEY]), f"{endpoint.container().az()}/runs"


def test_every_place_gets_the_whole_of_a_job(logged: tuple[Haul, str], tree: Path) -> None:
    haul, log = logged
    copied = haul("cp", tree, "copy", "--log", log, "--json")
    lines = one(read(haul, log))
    assert [line["event"] for line in (lines[0], lines[-1])] == ["job_started", "summary"]
    assert outcomes(lines) == outcomes(copied.events)
    assert lines[-1]["objects_done"] == copied.summary["objects_done"]
    assert {line["job"] for line in lines} == {lines[0]["job"]} == {copied.events[0]["job"]}
    assert [line["time_unix_ns"] for line in lines] == sorted(line["time_unix_ns"] for line in lines)
    assert outbox(haul) == []


def test_what_a_killed_job_left_is_sent_by_the_next_one(logged: tuple[Haul, str], emulator: Endpoint) -> None:
    haul, log = logged
    trees.make(haul.folder / "tree", files=200, size=20_000)
    there = log.rpartition("/")[0] if "://" in log else emulator.container().az()
    words = ["cp", "tree", f"{there}/tree/", "--log", log, "--json", "--cap", "10mbit"]
    process = haul.start(*words)
    assert process.stdout is not None
    seen: list[bytes] = []
    for line in process.stdout:
        seen.append(line)
        if sum(b'"copied"' in line for line in seen) == 20:
            process.kill()
            break
    # What is read by lines is to be read so to its end.
    seen += process.stdout.readlines()
    process.communicate()
    told = [json.loads(line) for line in seen if line.strip().endswith(b"}")]
    assert process.returncode == -9
    (haul.folder / "other").write_bytes(b"other")
    haul("cp", "other", "elsewhere", "--log", log)
    killed = next(lines for lines in read(haul, log).values() if lines[0]["job"] == told[0]["job"])
    assert outcomes(told).items() <= outcomes(killed).items()
    assert killed[-1]["event"] != "summary"
    assert outbox(haul) == []


def test_a_log_that_is_not_there_holds_nothing_up(haul: Haul, endpoint: Endpoint, tree: Path) -> None:
    container = endpoint.container().az()
    log = f"az://nobody{random.getrandbits(40):x}/log"
    began = time.monotonic()
    copied = haul("cp", tree, f"{container}/", "--log", log)
    assert time.monotonic() - began < 15
    assert "the next job that writes to it sends the rest" in copied.stderr
    assert "no such container" in copied.stderr
    assert outbox(haul)
    haul("mb", log.rpartition("/")[0])
    haul("cp", tree, f"{container}/", "--log", log)
    assert len(read(haul, log)) == 2
    assert outbox(haul) == []


def test_failures_and_refused_requests_are_told_and_samples_are_few(
    haul_at: Callable[[Endpoint], Haul], start_emulator: StartEmulator, tmp_path: Path
) -> None:
    endpoint = start_emulator(faults="busy=20%,seed=1")
    haul = haul_at(endpoint)
    tree = trees.make(tmp_path / "tree", files=100, size=10_000)
    (tree / "pipe").symlink_to("nowhere")
    copied = haul("cp", tree, f"{endpoint.container().az()}/", "--log", "log", "--cap", "4mbit")
    lines = one(read(haul, "log"))
    counted = Counter(line["event"] for line in lines)
    assert counted["attempt"] >= 10
    assert {line["fate"] for line in lines if line["event"] == "attempt"} == {"busy"}
    assert counted["warning"] >= 1
    seconds = (lines[-1]["time_unix_ns"] - lines[0]["time_unix_ns"]) / 1e9
    assert 1 <= counted["progress"] <= seconds + 2
    assert "warning" in copied.stderr


def test_a_signature_stays_out_of_the_log_and_of_what_waits_for_it(
    haul: Haul, azurite: Endpoint, tree: Path
) -> None:
    container = azurite.container()
    sas = azurite.sas()
    signature = re.search(r"sig=([^&]+)", sas)
    assert signature
    haul = Haul(haul.folder, {}, [signature.group(1)])
    haul("cp", tree, "copy", "--log", container.url("runs", sas))
    assert len(container.contents()) == 1
    # Nobody may write to this one, so that it waits.
    haul("cp", tree, "again", "--log", container.url("runs", sas).replace(container.name, "nowhere"))
    kept = [path.read_text() for path in outbox(haul)]
    assert len(kept) == 2
    assert signature.group(1) not in "".join(kept)


def test_a_full_disk_drops_lines_and_says_so(haul: Haul, tree: Path) -> None:
    state = haul.folder / "state"
    state.mkdir()
    wrap = in_own_mounts(f"mount -t tmpfs -o size=16k none {state}")
    copied = haul("cp", tree, "copy", "--log", "log", env={"XDG_STATE_HOME": str(state)}, wrap=wrap)
    assert "lines were lost, because this machine's disk is full" in copied.stderr
    trees.assert_same(trees.contents(haul.folder / "copy"), trees.contents(tree))


def test_a_log_is_a_place_that_others_can_read(haul: Haul, tree: Path, sentence: Sentence) -> None:
    for place in ("-", "mem://log/x"):
        failed = haul("cp", tree, "copy", "--log", place, code=2)
        sentence(failed.hints)
    assert not (haul.folder / "copy").exists()


def test_no_room_for_what_waits_is_said_at_once(haul: Haul, tree: Path, sentence: Sentence) -> None:
    (haul.folder / "file").write_bytes(b"")
    failed = haul(
        "cp", tree, "copy", "--log", "log", env={"XDG_STATE_HOME": str(haul.folder / "file")}, code=1
    )
    sentence(failed.hints)


@pytest.fixture
def said(tmp_path: Path) -> Iterator[_engine.EventLog]:
    log = _engine.EventLog(
        tmp_path / "log", job="00000000000000ab", node="here / there", spool=tmp_path / "spool"
    )
    yield log
    log.close(5)


def test_programs_say_what_they_like(said: _engine.EventLog, tmp_path: Path, sentence: Sentence) -> None:
    for number in range(1000):
        said.say("log", json.dumps({"message": f"line {number}", "level": "INFO"}))
    assert said.flush(10)
    files = list((tmp_path / "log").glob("*/*/*"))
    assert [file.relative_to(tmp_path / "log").as_posix() for file in files] == [
        f"00000000000000ab/here---there.{said.stream}/000000.jsonl"
    ]
    lines = [json.loads(line) for line in files[0].read_text().splitlines()]
    assert [line["message"] for line in lines] == [f"line {number}" for number in range(1000)]
    assert (said.job, said.node, said.dropped) == ("00000000000000ab", "here / there", 0)
    assert said.close(5)
    assert list((tmp_path / "spool").iterdir()) == []
    with pytest.raises(haulage.UsageError):
        said.say("log", "no json")
    said.say("log", "{}")
    assert said.dropped == 1, "it came too late"
    with pytest.raises(haulage.UsageError) as caught:
        _engine.EventLog(tmp_path / "log", job="nightly")
    sentence(caught.value)


def test_forked_children_have_streams_of_their_own(said: _engine.EventLog, tmp_path: Path) -> None:
    def child() -> None:
        with pytest.raises(haulage.UsageError) as caught:
            said.say("log", "{}")
        assert caught.value.hint == "open it in each process"
        own = _engine.EventLog(tmp_path / "log", job=said.job, node="child", spool=tmp_path / "spool")
        own.say("log", "{}")
        assert own.close(20)

    processes = [multiprocessing.get_context("fork").Process(target=child) for _ in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for process in processes:
            process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 4
    assert len(list((tmp_path / "log").glob("*/child.*/000000.jsonl"))) == 4


def test_a_log_that_is_forgotten_is_sent_by_the_next(tmp_path: Path) -> None:
    for _ in range(2):
        log = _engine.EventLog(tmp_path / "log", spool=tmp_path / "spool")
        log.say("log", "{}")
        del log
    before = time.process_time()
    time.sleep(1)
    assert time.process_time() - before < 0.5, "its task goes round and round"
    last = _engine.EventLog(tmp_path / "log", spool=tmp_path / "spool")
    last.say("log", "{}")
    assert last.close(20)
    assert len(list((tmp_path / "log").glob("*/*/000000.jsonl"))) == 3
    assert list((tmp_path / "spool").iterdir()) == []


def test_one_log_has_one_name(haul: Haul) -> None:
    """What is left of a log goes to that one, however and from wherever it is named."""
    for number in range(3):
        (haul.folder / f"{number}").mkdir()
    (haul.folder / "file").write_bytes(b"file")
    (haul.folder / "0/logs").write_bytes(b"in the way")
    left = haul("cp", "file", "copy", "--log", "0/logs")
    assert "sends the rest" in left.stderr
    haul("cp", "file", "copy", "--log", "1/logs")
    assert outbox(haul), "another log has taken it"
    (haul.folder / "0/logs").unlink()
    haul.folder.joinpath("0/logs").mkdir()
    haul("cp", "file", "copy", "--log", f"{haul.folder}/0/logs/")
    assert len(read(haul, "0/logs")) == 2
    assert len(read(haul, "1/logs")) == 1
    assert outbox(haul) == []


def test_a_log_that_is_removed_begins_anew(said: _engine.EventLog, tmp_path: Path) -> None:
    said.say("log", "{}")
    assert said.flush(5)
    shutil.rmtree(tmp_path / "log")
    said.say("log", "{}")
    assert said.flush(10)
    files = list((tmp_path / "log").glob("*/*/*"))
    assert [file.name for file in files] == ["000001.jsonl"]
    assert json.loads(files[0].read_text())["seq"] == 1


def test_two_writers_leave_each_other_alone(said: _engine.EventLog, tmp_path: Path) -> None:
    said.say("log", "{}")
    other = _engine.EventLog(tmp_path / "log", job="00000000000000ab", node="there", spool=tmp_path / "spool")
    other.say("log", "{}")
    assert other.close(5)
    assert said.flush(5)
    assert len(list((tmp_path / "log").glob("00000000000000ab/*/*"))) == 2


def test_many_nodes_write_one_log(haul: Haul, emulator: Endpoint) -> None:
    tree = trees.make(haul.folder / "tree", files=40, size=50_000)
    copied = haul("cp", tree, f"{emulator.container().az()}/", "--log", "log", "--nodes", "2", "--json")
    streams = read(haul, "log")
    assert {line["job"] for lines in streams.values() for line in lines} == {copied.events[0]["job"]}
    speakers = [lines for lines in streams.values() if all(line.get("coordinator") for line in lines)]
    assert len(speakers) == 1
    assert [line["event"] for line in (speakers[0][0], speakers[0][-1])] == ["job_started", "summary"]
    nodes = [lines for lines in streams.values() if lines is not speakers[0]]
    assert all(lines[-1]["event"] == "summary" for lines in nodes)
    told = {name: outcome for lines in nodes for name, outcome in outcomes(lines).items()}
    assert told == outcomes(copied.events)


@pytest.mark.long
def test_nothing_is_lost_in_a_hundred_kills(azurite: Endpoint, tmp_path: Path) -> None:
    """A job is killed at a random moment; what it has said is in the log when the next one has ended."""
    tree = trees.make(tmp_path / "tree", files=300, size=5000)
    container: Container = azurite.container()
    for trial in range(100):
        rng = random.Random(trial)
        folder = tmp_path / f"{trial}"
        folder.mkdir()
        haul = Haul(folder, azurite.env, [endpoints.KEY])
        log = f"{container.az()}/{trial}"
        words = [
            "cp",
            str(tree),
            f"{container.az()}/data/{trial}/",
            "--log",
            log,
            "--json",
            "--cap",
            "20mbit",
        ]
        process = haul.start(*words)
        time.sleep(rng.uniform(0.05, 1.2))
        process.send_signal(signal.SIGKILL)
        said = process.communicate()[0].splitlines()
        seen = [json.loads(line) for line in said if line.endswith(b"}")]
        # Azurite takes longer with each trial: it writes down all that it holds again and again.
        assert haul(*words, timeout=300).summary["exit_code"] == 0
        streams = read(haul, log)
        if seen:
            kept = next(lines for lines in streams.values() if lines[0]["job"] == seen[0]["job"])
            lost = outcomes(seen).items() - outcomes(kept).items()
            assert not lost, f"trial {trial}: {lost}"
        assert outbox(haul) == []


def test_metrics_are_what_prometheus_reads(
    haul_at: Callable[[Endpoint], Haul], start_emulator: StartEmulator, tmp_path: Path, sentence: Sentence
) -> None:
    endpoint = start_emulator(faults="busy=20%,seed=1")
    haul = haul_at(endpoint)
    trees.make(tmp_path / "tree", files=100, size=10_000)
    port = endpoints.free_port()
    words = ["cp", "tree", f"{endpoint.container().az()}/", "--cap", "4mbit", "--progress", "none"]
    process = haul.start(*words, "--metrics", f"127.0.0.1:{port}")
    values: dict[tuple[str, str], float] = {}
    while process.poll() is None:
        try:
            with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
                text = answer.read().decode()
        except (URLError, ConnectionError):
            time.sleep(0.05)
            continue
        for family in text_string_to_metric_families(text):
            assert family.documentation
            for sample in family.samples:
                assert {"job", "node", "direction"} <= sample.labels.keys()
                assert sample.labels.keys() <= {"job", "node", "direction", "outcome", "kind"}
                assert sample.labels["direction"] == "up"
                more = sample.labels.get("outcome", "") + sample.labels.get("kind", "")
                key = (sample.name, more)
                if family.type == "counter":
                    assert sample.value >= values.get(key, 0)
                values[key] = sample.value
        time.sleep(0.1)
    process.communicate()
    assert process.returncode == 0
    assert values["haulage_bytes_total", ""] > 0
    assert values["haulage_errors_total", "busy"] > 0
    assert values["haulage_retries_total", ""] > 0
    assert values["haulage_found_objects", ""] > 100
    with socket.create_server(("127.0.0.1", port)):
        failed = haul(*words, "--metrics", f"127.0.0.1:{port}", code=1)
    sentence(failed.hints)


def test_an_address_of_metrics_is_numbers_and_a_port(tmp_path: Path, sentence: Sentence) -> None:
    with pytest.raises(haulage.UsageError) as caught:
        haulage.copy(tmp_path / "a", tmp_path / "b", metrics="here")
    sentence(caught.value)
