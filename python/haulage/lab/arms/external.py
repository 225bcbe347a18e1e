"""Movers of others, timed from outside as processes: their start and their own planning are included."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from haulage import children
from haulage.errors import NotFoundError
from haulage.lab.arms import Item, Moved, Watch, Work, differing
from haulage.lab.target import Endpoint

_POLL_S = 0.1


@dataclass(frozen=True)
class Line:
    """A command with what it reads of its environment."""

    words: list[str]
    environment: Mapping[str, str]


def find(tool: str) -> str:
    """Return the path of a tool.

    It is looked for where the variable of its name in capitals says, beside this interpreter, in
    ``build/bin`` and on ``PATH``.

    Raises:
        NotFoundError: It is not there.
    """
    given = os.environ.get(tool.upper())
    places = [str(Path(sys.executable).parent), str(Path("build/bin").resolve()), os.environ.get("PATH", "")]
    found = given or shutil.which(tool, path=os.pathsep.join(places))
    if not found or not Path(found).is_file():
        raise NotFoundError(
            "find tool",
            tool,
            "not here",
            f"install it, or let {tool.upper()} name it; `make peers peers-bench` brings two",
        )
    return found


def move(work: Work, watch: Watch) -> Moved:
    """Let the tool move all files in one call."""
    assert work.arm.tool is not None
    program = find(work.arm.tool)
    folder = work.scratch / "files"
    folder.mkdir()
    if work.direction == "up":
        for item in work.items:
            # A folder of links has just the files of this cell, whatever lies beside them.
            os.link(item.local, folder / Path(item.name).name)
    remote = str(Path(work.items[0].name).parent)
    line = _LINES[work.arm.tool](program, work, folder, remote)
    offset, began = time.time_ns(), time.monotonic_ns()
    code, said = _run(line, lambda: watch(0, 0.0))
    wall = time.monotonic_ns() - began
    return _moved(work, folder, wall, offset, None if code == 0 else said or f"exit code {code}")


def _moved(work: Work, folder: Path, wall: int, offset: int, failure: str | None) -> Moved:
    wrong = None
    if work.direction == "down" and failure is None:
        came = [
            Item(item.name, str(folder / Path(item.name).name), item.size_bytes, item.original)
            for item in work.items
        ]
        missing = [item.name for item in came if not Path(item.local).is_file()]
        wrong = missing[0] if missing else differing(came)
    fine = failure is None and wrong is None
    total = sum(item.size_bytes for item in work.items)
    # Of the files it says nothing; each is given the time of all of them.
    transfers = [
        {
            "object": item.name,
            "size_bytes": item.size_bytes,
            "began_ns": 0,
            "ended_ns": wall,
            "duration_ns": wall,
            "outcome": "ok" if fine else "service",
            "method": str(work.arm.tool),
            "attempts": 1,
        }
        for item in work.items
    ]
    return Moved(
        wall_ns=wall,
        bytes=total if fine else 0,
        transfers=transfers,
        monotonic_offset_ns=offset,
        outcome="ok" if fine else "integrity" if wrong else "service",
        cause=failure or (f"{wrong} differs or is missing" if wrong else None),
        chosen="timed from outside, start of the process included",
    )


def _run(line: Line, alive: object) -> tuple[int, str]:
    with children.start_other(
        line.words,
        env={**os.environ, **line.environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        try:
            while True:
                try:
                    _, said = process.communicate(timeout=_POLL_S)
                    break
                except subprocess.TimeoutExpired:
                    assert callable(alive)
                    alive()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, said.decode(errors="replace").strip()[-500:]


def _azcopy(program: str, work: Work, folder: Path, remote: str) -> Line:
    base, query = _with_sas(work.endpoint)
    flags = ["--recursive", "--output-level", "quiet", "--log-level", "NONE", "--overwrite", "true"]
    if work.direction == "up":
        words = ["copy", f"{folder}/*", f"{base}/{remote}?{query}", "--from-to", "LocalBlob"]
    else:
        words = ["copy", f"{base}/{remote}/*?{query}", str(folder), "--from-to", "BlobLocal"]
    logs = str(work.scratch / "azcopy")
    return Line(
        [program, *words, *flags],
        {"AZCOPY_LOG_LOCATION": logs, "AZCOPY_JOB_PLAN_LOCATION": logs, "AZCOPY_DISABLE_SYSLOG": "true"},
    )


def _rclone(program: str, work: Work, folder: Path, remote: str) -> Line:
    environment = {"RCLONE_CONFIG": os.devnull, "RCLONE_CONFIG_LAB_TYPE": "azureblob"}
    if work.endpoint.connection_string is not None:
        known = dict(part.split("=", 1) for part in work.endpoint.connection_string.split(";") if "=" in part)
        environment |= {
            "RCLONE_CONFIG_LAB_ACCOUNT": known["AccountName"],
            "RCLONE_CONFIG_LAB_KEY": known["AccountKey"],
            "RCLONE_CONFIG_LAB_ENDPOINT": known["BlobEndpoint"].rstrip("/"),
        }
        path = f"{work.endpoint.base.rsplit('/', 1)[1]}/{remote}"
    else:
        base, query = _with_sas(work.endpoint)
        scheme, _, rest = base.partition("://")
        host, container, *prefix = rest.split("/")
        environment["RCLONE_CONFIG_LAB_SAS_URL"] = f"{scheme}://{host}/{container}?{query}"
        path = "/".join([container, *prefix, remote])
    there = f"LAB:{path}"
    names = [str(folder), there] if work.direction == "up" else [there, str(folder)]
    return Line([program, "copy", *names, "--ignore-times", "--retries", "1"], environment)


def _with_sas(endpoint: Endpoint) -> tuple[str, str]:
    endpoint.http_url("")  # Says what is wrong with one that has none.
    return endpoint.base, endpoint.query


_LINES = {"azcopy": _azcopy, "rclone": _rclone}
