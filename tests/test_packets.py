"""Links of real packets: the endpoint behind them, what they carry, and the commands that run before them."""

from __future__ import annotations

import json
import os
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command import HAUL, clean_environment
from sentences import Sentence

#: Reads or writes without HTTP for two seconds, after one in which the rate is found; prints bits per second.
BULK = """
import os, socket, sys, time
host, port = os.environ["HAUL_BULK"].split(":")
line = socket.create_connection((host, int(port)))
line.sendall(sys.argv[1].encode())
began, moved = time.monotonic(), 0
while (spent := time.monotonic() - began) < 3.0:
    piece = len(line.recv(1 << 18)) if sys.argv[1] == "d" else line.send(bytes(1 << 16))
    moved += piece if spent >= 1.0 else 0
print(8 * moved / 2.0)
"""
#: The time that a connection takes to be made, in seconds.
CONNECT = """
import os, socket, time
host, port = os.environ["HAUL_BULK"].split(":")
began = time.monotonic()
socket.create_connection((host, int(port)))
print(time.monotonic() - began)
"""

GRAMMAR = (
    "write something like rtt=80ms,total=200mbit,queue=50ms,loss=0.5%,jitter=2ms,seed=7,at=10s:total=2.3mbit"
)

Behind = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def behind(tmp_path: Path) -> Behind:
    """Run a command before a link of packets."""

    def run(link: str, *command: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        line = [str(HAUL), "emulate", "--link", f"packets:{link}", *options, "--", *command]
        environment = clean_environment(tmp_path)
        return subprocess.run(
            line, capture_output=True, text=True, timeout=90, check=False, env=environment, cwd=tmp_path
        )

    return run


def test_a_file_goes_through_packets_and_back_and_is_the_same(behind: Behind, tmp_path: Path) -> None:
    data = tmp_path / "data.bin"
    data.write_bytes(os.urandom(3_000_000))
    steps = (
        f"{HAUL} mb -q az://con",
        f"{HAUL} cp -q data.bin az://con/",
        f"{HAUL} cp -q az://con/data.bin back.bin",
        f"{HAUL} verify -q data.bin az://con/",
    )
    ran = behind("rtt=20ms,total=100mbit,loss=0.5%,seed=3", "sh", "-c", " && ".join(steps))
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "back.bin").read_bytes() == data.read_bytes()
    assert "packets up:" in ran.stderr
    assert "packets down:" in ran.stderr


@pytest.mark.long
def test_packets_take_their_time_and_no_more_than_the_rate(behind: Behind) -> None:
    ran = behind("rtt=80ms,total=20mbit,queue=80ms", sys.executable, "-c", BULK, "d")
    assert ran.returncode == 0, ran.stderr
    # Headers are 40 to 52 of 1,500 bytes.
    assert 0.75 * 20e6 < float(ran.stdout) < 0.98 * 20e6
    ran = behind("rtt=80ms", sys.executable, "-c", CONNECT)
    assert 0.08 <= float(ran.stdout) < 0.16


@pytest.mark.long
def test_each_flow_has_a_rate_of_its_own(behind: Behind) -> None:
    ran = behind("rtt=10ms,conn=8mbit,total=100mbit", sys.executable, "-c", BULK, "d")
    assert 0.75 * 8e6 < float(ran.stdout) < 0.98 * 8e6


@pytest.mark.long
def test_packets_are_lost_and_dropped_and_counted(behind: Behind) -> None:
    line = ("rtt=10ms,total=50mbit,loss=2%,queue=5ms,seed=1", sys.executable, "-c", BULK, "d")
    ran = behind(*line, options=("--json",))
    said = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    (served,) = [line for line in said if line["event"] == "served"]
    down = served["packets"]["down"]
    assert down["carried"] > 1000
    assert down["dropped"] > 0
    assert 0.005 < down["lost"] / (down["carried"] + down["lost"] + down["dropped"]) < 0.04
    assert down["carried_bytes"] > 1000 * down["carried"]


@pytest.mark.long
def test_a_competing_connection_takes_a_part_and_says_how_much(behind: Behind) -> None:
    line = ("rtt=10ms,total=40mbit,compete=down", sys.executable, "-c", BULK, "d")
    ran = behind(*line, options=("--json",))
    said = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    rival = said[-1]["competing_bits_per_second"]
    assert rival["up"] is None
    assert 0.1 * 40e6 < rival["down"] < 0.95 * 40e6
    first = next(line for line in ran.stdout.splitlines() if not line.startswith("{"))
    assert 0.1 * 40e6 < float(first) < 0.9 * 40e6


def test_a_named_congestion_control_is_used(behind: Behind, sentence: Sentence) -> None:
    code = (
        "import os, socket; host, port = os.environ['HAUL_BULK'].split(':');"
        "line = socket.create_connection((host, int(port)));"
        "print(line.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).strip(bytes(1)).decode())"
    )
    assert behind("control=reno", sys.executable, "-c", code).stdout == "reno\n"
    ran = behind("control=nosuch", "true")
    assert ran.returncode != 0
    assert "haul: " in ran.stderr
    sentence(ran.stderr)


def test_the_exit_code_of_the_command_is_passed_on(behind: Behind, sentence: Sentence) -> None:
    assert behind("rtt=1ms", "sh", "-c", "exit 7").returncode == 7
    assert behind("rtt=1ms", "sh", "-c", "kill -9 $$").returncode == 128 + 9
    missing = behind("rtt=1ms", "/no/such/program")
    assert missing.returncode == 4
    sentence(missing.stderr)


def test_a_command_runs_before_a_link_of_bytes_too(tmp_path: Path) -> None:
    line = [str(HAUL), "emulate", "--listen", "127.0.0.1:0", "--link", "rtt=5ms", "--quiet", "--"]
    command = ["sh", "-c", f"{HAUL} mb -q az://con && {HAUL} ls az://con && exit 3"]
    environment = clean_environment(tmp_path)
    ran = subprocess.run(
        [*line, *command], capture_output=True, text=True, timeout=60, check=False, env=environment
    )
    assert (ran.returncode, ran.stderr) == (3, "")


def test_without_a_command_it_says_where_the_near_end_is(tmp_path: Path) -> None:
    line = [str(HAUL), "emulate", "--link", "packets:rtt=5ms", "--json"]
    environment = clean_environment(tmp_path)
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as link:
        assert link.stdout is not None
        assert select.select([link.stdout], [], [], 30)[0]
        serving: dict[str, Any] = json.loads(link.stdout.readline())
        enter = ["nsenter", f"--net={serving['near']}"]
        environment |= {"AZURE_STORAGE_CONNECTION_STRING": serving["connection_string"]}
        made = subprocess.run([*enter, str(HAUL), "mb", "-q", "az://con"], env=environment, check=False)
        # From here nobody reaches it.
        outside = subprocess.run(
            [str(HAUL), "stat", "-q", "az://con/x"],
            env=environment,
            capture_output=True,
            check=False,
            timeout=60,
        )
        link.send_signal(signal.SIGINT)
        assert link.wait(20) == 0
    assert made.returncode == 0
    assert outside.returncode not in (0, 4)


def test_links_share_a_near_end_where_nothing_else_is(tmp_path: Path, sentence: Sentence) -> None:
    own = [str(HAUL), "emulate", "--quiet", "--link", "packets:rtt=5ms", "--here", "--"]

    def alone(line: list[str]) -> subprocess.CompletedProcess[str]:
        # In a namespace of its own, also where it is to be refused: what is changed there is no machine's.
        words = ["unshare", "--net", *line]
        environment = clean_environment(tmp_path)
        return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env=environment)

    make = f"{HAUL} mb -q az://con"
    # Two at once, and one when they are gone.
    steps = f"{shlex.join([*own, *own])} sh -c '{make} && cat /proc/net/dev' && {shlex.join(own)} {make}"
    ran = alone(["sh", "-c", steps])
    assert ran.returncode == 0, ran.stderr
    assert "near0:" in ran.stdout
    assert "near1:" in ran.stdout
    used = alone(["sh", "-c", f"ip link set lo up && {shlex.join(own)} true; echo $?; ip address show lo"])
    assert used.stdout.startswith("2\n")
    assert "127.0.0.1/8" in used.stdout
    assert "--net" in used.stderr
    sentence(used.stderr)


def test_who_may_not_make_links_is_told_how(tmp_path: Path, sentence: Sentence) -> None:
    line = ["setpriv", "--reuid=65534", "--clear-groups", str(HAUL), "emulate", "--link", "packets:rtt=5ms"]
    ran = subprocess.run(
        line, capture_output=True, text=True, timeout=60, check=False, env=clean_environment(tmp_path)
    )
    assert ran.returncode == 3
    sentence(ran.stderr)


@pytest.mark.parametrize("bad", ["rtt=60", "loss=2", "fast", "at=1s", "compete=left"])
def test_a_link_that_cannot_be_is_refused(bad: str, behind: Behind) -> None:
    ran = behind(bad, "true")
    assert ran.returncode == 2
    if bad != "rtt=60":
        assert GRAMMAR in ran.stderr
