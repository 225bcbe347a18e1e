"""Workers of users' own: what they log and what ends them is in the log, and nothing of it can stop them."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import haulage.watch
from command import clean_environment
from haulage import _engine
from haulage.errors import ArgumentTypeError, LocalIOError, UsageError
from sentences import Sentence


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """A logger whose records go nowhere else."""
    own = logging.getLogger("tests.workers")
    own.setLevel(logging.DEBUG)
    own.propagate = False
    yield own
    own.propagate = True
    assert not any(isinstance(one, haulage.watch.Handler) for one in own.handlers)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def spool(tmp_path: Path) -> str:
    return str(tmp_path / "spool")


def lines(log: Path, *, samples: bool = False) -> list[dict[str, Any]]:
    return [line for line in haulage.watch.lines(str(log)) if samples or line["event"] != "progress"]


def test_a_worker_from_its_start_to_its_end(log: Path, spool: str, logger: logging.Logger) -> None:
    with haulage.watch.worker(str(log), program="regrid", node="desk", spool=spool, logger=logger):
        logger.info("step %d", 1)
        logger.debug("not sent")
    started, said, ended = lines(log)
    assert (started["event"], started["program"], started["pid"]) == ("worker_started", "regrid", os.getpid())
    assert started["node"] == "desk"
    assert (said["event"], said["level"], said["logger"]) == ("log", "INFO", "tests.workers")
    assert (said["message"], said["traceback"]) == ("step 1", None)
    assert said["file"] == __file__
    assert type(said["line"]) is int
    assert (ended["event"], ended["ok"]) == ("worker_ended", True)


def test_what_nobody_catches_is_there_with_its_traceback(
    log: Path, spool: str, logger: logging.Logger
) -> None:
    def fail() -> None:
        try:
            raise KeyError("grid")
        except KeyError as error:
            logger.exception("step 2")
            raise ValueError("no poles") from error

    with (
        pytest.raises(ValueError, match="no poles"),
        haulage.watch.worker(str(log), spool=spool, logger=logger),
    ):
        fail()
    _, logged, uncaught, ended = lines(log)
    assert "KeyError: 'grid'" in logged["traceback"]
    assert (uncaught["event"], uncaught["kind"], uncaught["message"]) == (
        "uncaught",
        "ValueError",
        "no poles",
    )
    assert "The above exception was the direct cause" in uncaught["traceback"]
    assert ended["ok"] is False


@pytest.mark.parametrize(("code", "ok"), [(None, True), (0, True), (3, False), ("no", False)])
def test_an_exit_is_no_exception(log: Path, spool: str, logger: logging.Logger, code: Any, ok: bool) -> None:
    with pytest.raises(SystemExit), haulage.watch.worker(str(log), spool=spool, logger=logger):
        sys.exit(code)
    assert [line["event"] for line in lines(log)] == ["worker_started", "worker_ended"]
    assert lines(log)[-1]["ok"] is ok


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_exception_that_ends_a_thread(log: Path, spool: str, logger: logging.Logger) -> None:
    def fail() -> None:
        raise ZeroDivisionError("in a thread")

    before = threading.excepthook
    with haulage.watch.worker(str(log), spool=spool, logger=logger):
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
    assert threading.excepthook is before
    events = {line["event"]: line for line in lines(log)}
    assert events["uncaught"]["kind"] == "ZeroDivisionError"
    assert events["worker_ended"]["ok"] is True


def test_a_worker_gives_signs_of_life(
    log: Path, spool: str, logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("haulage.watch.workers.ALIVE_S", 0.05)
    with haulage.watch.worker(str(log), spool=spool, logger=logger):
        time.sleep(0.5)
    assert [line["event"] for line in lines(log, samples=True)].count("progress") >= 3


def test_a_worker_that_holds_the_gil_gives_signs_of_life(
    log: Path, spool: str, logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("haulage.watch.workers.ALIVE_S", 0.05)
    usual = sys.getswitchinterval()
    sys.setswitchinterval(60)
    try:
        with haulage.watch.worker(str(log), spool=spool, logger=logger):
            before = time.monotonic()
            while time.monotonic() - before < 0.6:
                pass
            logger.info("let go")
    finally:
        sys.setswitchinterval(usual)
    events = [line["event"] for line in lines(log, samples=True)]
    assert events[: events.index("log")].count("progress") >= 3


@pytest.mark.parametrize(
    "url",
    [
        "https://acc.blob.core.windows.net/c/a?sv=2025&sig={}&se=2026",
        "a%3Fsv%3D2025%26sig%3D{}",
        "https://b.s3.amazonaws.com/a?X-Amz-Signature={}",
        "DefaultEndpointsProtocol=https;AccountName=acc;AccountKey={};EndpointSuffix=x",
        "Authorization: Bearer {}",
        "http://user:{}@proxy:3128/",
    ],
)
def test_secrets_are_taken_out(log: Path, spool: str, logger: logging.Logger, url: str) -> None:
    secret = "c2VjcmV0c2VjcmV0c2VjcmV0"
    url = url.format(secret)

    def fail() -> None:
        logger.info("reading %s", url)
        raise RuntimeError(f"cannot read {url}")

    with pytest.raises(RuntimeError), haulage.watch.worker(str(log), spool=spool, logger=logger):
        fail()
    for file in [*log.rglob("*.jsonl"), *Path(spool).rglob("*")]:
        assert not file.is_file() or secret not in file.read_text()


@pytest.mark.parametrize("word", ["off", "0", "OFF", "no"])
def test_it_can_be_switched_off(
    log: Path, logger: logging.Logger, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAULAGE_WATCH", word)
    with haulage.watch.worker(str(log), logger=logger) as handler:
        logger.info("nobody hears")
        assert (handler.job, handler.dropped) == ("", 0)
    assert not log.exists()


def test_a_handler_by_itself(log: Path, spool: str, logger: logging.Logger) -> None:
    handler = haulage.watch.Handler(str(log), spool=spool, level="WARNING", job="0123456789abcdef")
    logger.addHandler(handler)
    logger.info("not sent")
    logger.removeHandler(handler)
    # By itself: pytest cannot pass this text on between processes.
    handler.handle(
        logging.LogRecord("a", logging.WARNING, "a.py", 1, "half a pair: \ud800, and a NUL: \0", (), None)
    )
    handler.close()
    (line,) = lines(log)
    assert (line["job"], line["message"]) == ("0123456789abcdef", "half a pair: ?, and a NUL: \0")


@pytest.mark.parametrize(("level", "kind"), [("NOSUCH", UsageError), (None, ArgumentTypeError)])
def test_a_level_that_there_is_not_opens_no_log(
    log: Path, spool: str, level: Any, kind: type[UsageError], sentence: Sentence
) -> None:
    """The log was opened first, and nobody closed it."""
    calls: list[Callable[..., Any]] = [
        haulage.watch.Handler,
        lambda *args, **more: haulage.watch.worker(*args, **more).__enter__(),
    ]
    for call in calls:
        with pytest.raises(kind) as caught:
            call(str(log), spool=spool, level=level)
        assert isinstance(caught.value, ValueError)
        sentence(caught.value)
    assert not log.exists()
    assert not Path(spool).exists()


def test_what_cannot_be_formatted_is_logging_s_affair(
    log: Path, spool: str, logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    with haulage.watch.worker(str(log), spool=spool, logger=logger) as handler:
        handler.handle(logging.LogRecord("a", logging.INFO, "a.py", 1, "%d", ("no number",), None))
        logger.info("goes on")
    assert [line["message"] for line in lines(log) if line["event"] == "log"] == ["goes on"]
    assert "Logging error" in capsys.readouterr().err


class Full:
    """A log whose spool is full, and whose store is away."""

    job, node, stream, dropped = "0" * 16, "desk", "0" * 8, 7

    def __init__(self, *_: object, **__: object) -> None:
        self.said = 0

    def say(self, event: str, fields: str) -> None:
        json.loads(fields)
        self.said += 1
        raise LocalIOError("write log", event, "no space left on the device")

    def flush(self, seconds: float) -> bool:
        assert seconds <= 5
        return False

    close = flush


def test_a_log_that_is_full_or_away_stops_nobody(
    logger: logging.Logger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_engine, "EventLog", Full)
    monkeypatch.setattr(logging, "raiseExceptions", False)
    with haulage.watch.worker("az://logs/x", logger=logger) as handler:
        logger.info("goes on")
        assert handler.dropped == 7
    assert "no space left" in caplog.text


def test_a_log_that_cannot_be_opened_stops_nobody(
    logger: logging.Logger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise LocalIOError("open spool", "/none", "read-only file system")

    monkeypatch.setattr(_engine, "EventLog", fail)
    with haulage.watch.worker("az://logs/x", logger=logger):
        logger.info("goes on")
    assert "this worker is not recorded" in caplog.text


def test_a_wrong_name_is_said_at_once(logger: logging.Logger) -> None:
    with pytest.raises(UsageError), haulage.watch.worker("ftp://host/log", logger=logger):
        pass


def test_a_handler_that_could_not_be_made_keeps_nobody_from_being_flushed(tmp_path: Path) -> None:
    code = """
import logging, logging.handlers, haulage, haulage.watch
kept = logging.handlers.MemoryHandler(1000, target=logging.FileHandler("kept.log"))
logging.getLogger().addHandler(kept)
errors = []
for url in ("ftp://host/log", "", "az://logs/x"):
    try:
        haulage.watch.Handler(url)
    except haulage.HaulageError as error:
        errors.append(error)
        logging.warning("no log at %r", url)
"""
    done = run(code, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len((tmp_path / "kept.log").read_text().splitlines()) == 3


def test_what_is_logged_while_a_line_is_said_goes_in_no_circle(
    logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Talking(Full):
        def say(self, event: str, fields: str) -> None:
            self.said += 1
            logger.info("while %s is said: %d", event, len(fields))

    monkeypatch.setattr(_engine, "EventLog", Talking)
    handler = haulage.watch.Handler("az://logs/x")
    logger.addHandler(handler)
    logger.info("once")
    logger.removeHandler(handler)
    assert handler._sink.said == 1  # type: ignore[union-attr]


def run(code: str, tmp_path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**clean_environment(tmp_path), **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_forked_child_has_a_stream_of_its_own(tmp_path: Path, log: Path) -> None:
    code = """
import logging, os, haulage.watch
logging.getLogger().setLevel(logging.INFO)
with haulage.watch.worker("log", spool="spool") as handler:
    logging.info("parent")
    child = os.fork()
    if not child:
        logging.info("child")
        handler.flush()
        os._exit(0)
    os.waitpid(child, 0)
    logging.info("parent again")
"""
    ran = run(code, tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    said = {line["message"]: line for line in lines(log) if line["event"] == "log"}
    assert said["parent"]["stream"] == said["parent again"]["stream"] != said["child"]["stream"]
    assert said["parent"]["job"] == said["child"]["job"]
    assert len(lines(log)) == 5


def test_no_worker_waits_for_a_store_that_is_away(tmp_path: Path) -> None:
    code = """
import logging, time, haulage.watch, haulage.watch.workers
haulage.watch.workers.END_S = 1.0
logging.getLogger().setLevel(logging.INFO)
began = time.monotonic()
with haulage.watch.worker("az://logs/x", spool="spool", endpoint="http://127.0.0.1:9/acc", program="w"):
    for number in range(10_000):
        logging.info("line %d", number)
    print(time.monotonic() - began)
print(time.monotonic() - began)
"""
    ran = run(code, tmp_path, AZURE_STORAGE_ACCOUNT="acc", AZURE_STORAGE_KEY="c2VjcmV0")
    assert ran.returncode == 0, ran.stderr
    said, ended = map(float, ran.stdout.split())
    assert said < 5
    assert ended - said < 8


def test_an_exception_is_shown_before_the_worker_is_gone(tmp_path: Path, log: Path) -> None:
    code = """
import haulage.watch
with haulage.watch.worker("log", spool="spool", program="regrid"):
    raise RuntimeError("the grid has no poles")
"""
    ran = run(code, tmp_path)
    assert ran.returncode == 1
    assert ran.stderr.endswith("RuntimeError: the grid has no poles\n")
    haul = Path(sys.executable).parent / "haul"
    shown = subprocess.run(
        [haul, "watch", log, "--once"],
        capture_output=True,
        text=True,
        check=False,
        env=clean_environment(tmp_path),
    )
    assert shown.returncode == 1
    assert "regrid (" in shown.stdout
    assert "RuntimeError: the grid has no poles" in shown.stdout
