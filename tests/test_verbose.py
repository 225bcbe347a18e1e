"""`-v` and `-vv`: what is decided and why, on standard error, with every command and without a secret."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import endpoints
from command import HAUL, Haul
from endpoints import Endpoint, S3Endpoint
from sentences import Sentence
from sides import fill

LINE = re.compile(r"^(info|debug): .+")


def said(stderr: str, level: str) -> list[str]:
    return [line.partition(": ")[2] for line in stderr.splitlines() if line.startswith(f"{level}: ")]


def test_v_says_who_asks_where_and_what_becomes_of_each(emulator: Endpoint, tmp_path: Path) -> None:
    haul, container = Haul(tmp_path, emulator.env, [endpoints.KEY]), emulator.container()
    fill(tmp_path / "data", {"a b": b"1", "c/d": b"22"})
    info = said(haul("-v", "cp", "data", container.az("x/")).stderr, "info")
    account = f"the account {endpoints.ACCOUNT} is at {emulator.url}; credential: shared key, from "
    assert f"{account}AZURE_STORAGE_CONNECTION_STRING" in info
    assert any(line.startswith("connecting to http://127.0.0.1:") for line in info)
    assert any(line.startswith("copy: begins with ") for line in info)
    copied = [line for line in info if line.startswith("copied ")]
    assert len(copied) == 2
    assert any(f"data/a b to {container.az('x/a b')}" in line for line in copied)
    again = haul("cp", "data", container.az("x/"), "-vv").stderr
    assert len([line for line in said(again, "debug") if line.startswith("skipped ")]) == 2
    assert any(re.match(r"GET http://\S+ to list ", line) for line in said(again, "debug"))
    assert any(line.startswith("HTTP 200 to list ") for line in said(again, "debug"))
    # Nothing is said to whoever did not ask, and data stays data.
    assert not any(LINE.match(line) for line in haul("ls", container.az()).stderr.splitlines())
    went = haul("-v", "cp", "data", container.az("y/"), "--json")
    assert went.summary["objects_done"] == 2
    assert said(went.stderr, "info")


def test_what_is_tried_again_is_said_with_its_reason(tmp_path: Path) -> None:
    with endpoints.emulator(tmp_path, faults="busy=30%,seed=7") as emulator:
        haul, container = Haul(tmp_path, emulator.env, [endpoints.KEY]), emulator.container()
        fill(tmp_path / "data", {f"{n}": b"x" for n in range(40)})
        went = haul("-v", "cp", "data", container.az(), "--json")
    again = [line for line in said(went.stderr, "info") if line.startswith("trying again in ")]
    assert len(again) == went.summary["retries"] > 0
    assert all("the service is busy" in line for line in again)


def test_where_options_and_keys_are_from(versitygw: S3Endpoint, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[defaults]\nchecksum = "md5"\n')
    proxy = {"HAULAGE_PROXY": "none", "HAULAGE_CAP": "800mbit", "HAULAGE_CONFIG": str(config)}
    haul = Haul(tmp_path, versitygw.env | proxy, [versitygw.keys[1]])
    bucket = f"s3://{versitygw.new_name()}"
    haul("mb", bucket)
    info = said(haul("-v", "cp", "-", f"{bucket}/a", stdin=b"x").stderr, "info")
    assert f"configuration {config}: read" in info
    assert "option --cap=800mbit, from HAULAGE_CAP" in info
    assert f"option --checksum=md5, from {config}" in info
    assert "option --proxy, from HAULAGE_PROXY" in info
    assert f"credential for {bucket}: access key {versitygw.keys[0]}, from: environment" in [
        re.sub(r"(credential for s3://[^/:]+)\S*:", r"\1:", line) for line in info
    ]
    assert any(line.startswith(f"{bucket} is at {versitygw.url}, region ") for line in info)


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize(
    "line",
    [
        ["ls", "URL"],
        ["du", "URL"],
        ["rm", "URLa"],
        ["plan", "URL", "back"],
        ["doctor", "URL"],
        ["verify", "URL", "URL"],
    ],
    ids=lambda line: line[0],
)
def test_every_command_takes_it(emulator: Endpoint, tmp_path: Path, line: list[str], place: str) -> None:
    haul, container = Haul(tmp_path, emulator.env, [endpoints.KEY]), emulator.container()
    container.client.upload_blob("a", b"x")
    words = [word.replace("URL", container.az()) for word in line]
    words = ["-v", *words] if place == "before" else [*words, "-v"]
    info = said(haul(*words).stderr, "info")
    assert any(text.startswith("the account ") for text in info), info


def test_a_sas_is_in_no_line(emulator: Endpoint, tmp_path: Path) -> None:
    container, sas = emulator.container(), emulator.sas()
    signature = sas.partition("sig=")[2].partition("&")[0]
    haul = Haul(tmp_path, secrets=[signature, sas])
    fill(tmp_path / "data", {"a": b"x" * 300_000})
    how = ["--single-put-max", "64KiB", "--block-size", "64KiB"]
    stderr = haul("-vv", "cp", "data", container.url("x/", sas), *how).stderr
    assert any("; credential: SAS, from the URL" in line for line in said(stderr, "info"))
    assert any(line.startswith("PUT ") for line in said(stderr, "debug"))
    assert "sig=" not in stderr


def test_a_forked_child_logs_what_it_does(emulator: Endpoint, tmp_path: Path) -> None:
    """Once, in the child alone; and what was said before `verbose(None)` is not lost."""
    url = emulator.container().az("a")
    program = f"""
        import logging, os, sys, threading
        import haulage
        logging.basicConfig(level="DEBUG", format="%(process)d %(message)s", stream=sys.stdout)
        haulage.verbose("debug")
        haulage.put({url!r}, b"x")
        child = os.fork()
        if child == 0:
            haulage.stat({url!r})
            haulage.verbose(None)
            for thread in threading.enumerate():
                if thread.name == "haulage-verbose":
                    thread.join()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        print(os.getpid(), child)
    """
    env = {**os.environ, **Haul(tmp_path, emulator.env).env}
    line = [sys.executable, "-c", textwrap.dedent(program)]
    ran = subprocess.run(line, env=env, capture_output=True, text=True, check=True, timeout=60)
    lines = [line.split(" ", 1) for line in ran.stdout.splitlines()]
    # It ends at once, so that the parent's number may be said before its last words.
    [(parent, child)] = [(one, other) for one, other in lines if other.isdigit()]
    answers = [(who, text.split(" az://")[0]) for who, text in lines if text.startswith("HTTP ")]
    assert sorted(answers, key=lambda told: told[1]) == [
        (child, "HTTP 200 to inspect"),
        (parent, "HTTP 201 to write"),
    ]


def test_python_logs_it(emulator: Endpoint, tmp_path: Path, sentence: Sentence) -> None:
    """In a process of its own: whoever listens is one for each process."""
    container = emulator.container()
    program = f"""
        import logging, sys
        import haulage
        logging.basicConfig(level="DEBUG", format="%(levelname)s %(name)s %(message)s", stream=sys.stdout)
        haulage.verbose("debug")
        haulage.put({container.az("a")!r}, b"x")
        haulage.verbose(None)
        haulage.stat({container.az("a")!r})
        try:
            haulage.verbose("loud")
        except ValueError as error:
            print(error)
    """
    env = {**os.environ, **Haul(tmp_path, emulator.env).env}
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], env=env, capture_output=True, text=True, check=True
    )
    lines = ran.stdout.splitlines()
    assert any(line.startswith("INFO haulage the account ") for line in lines), ran.stdout
    assert any(re.match(r"DEBUG haulage PUT http://\S+ to write ", line) for line in lines)
    assert not any(" to inspect " in line for line in lines)
    sentence(next(line for line in lines if "'loud'" in line))
    assert endpoints.KEY not in ran.stdout
    assert logging.getLogger("haulage").level == logging.NOTSET
    assert HAUL.exists()
