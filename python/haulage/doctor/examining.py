"""The examination as a whole: what is looked at, and in which order."""

from __future__ import annotations

import os
import pathlib
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain
from os import PathLike
from typing import Any, Unpack

from haulage.doctor.asking import Answer, ask
from haulage.doctor.credentials import examine_found, examine_identity
from haulage.doctor.disks import examine_disk
from haulage.doctor.finding import Finding, Report, by_error
from haulage.doctor.job import examine_job
from haulage.doctor.machine import examine_machine
from haulage.doctor.network import Path
from haulage.doctor.project import NODES_S, ProjectExamination
from haulage.doctor.rights import examine_reading, examine_writing
from haulage.doctor.versions import examine_versions
from haulage.errors import UsageError
from haulage.places import without_signature
from haulage.transfer import StoreOptions

#: How long one look at something may take.
TIMEOUT_S = 5.0

Name = str | PathLike[str]
Tell = Callable[[Finding], object]


def examine(
    url: Name | None = None,
    *,
    job: tuple[Name, Name] | None = None,
    write: bool = False,
    timeout: float | timedelta = TIMEOUT_S,
    on_finding: Tell | None = None,
    **options: Unpack[StoreOptions],
) -> Report:
    """Examine this machine, and whether ``url`` can be reached and used from here.

    Nothing is changed, unless ``write`` allows it. Each look runs in a process of its own, so that none takes
    longer than ``timeout`` and a moment to start. Looks that build on one that failed are left out.

    Args:
        url: A container, bucket, prefix, object or folder; default: this machine alone.
        job: Source and destination of a copy; both are examined, and whether there is room for it.
        write: Prove the rights by writing, reading and removing a tiny object, whose name nobody else uses.
            Default: only what reads.
        timeout: For each look, in seconds or as a ``timedelta``. Default 5 s: from the other side of the
            world an answer takes one.
        on_finding: Called with each finding as it is made.
        options: As of :func:`haulage.copy`, but no ``session`` and no ``keys``: credentials are those of the
            environment.

    Raises:
        UsageError: An option makes no sense.
        KeyboardInterrupt: Ctrl-C, at once.

    >>> report = examine()
    >>> report.find("versions.haulage").level
    'ok'
    """
    began, made = time.monotonic(), datetime.now(UTC)
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)
    if not 0 < seconds < 86400:
        raise UsageError("examine", f"timeout {seconds:g}", "not a time to wait", "write seconds, such as 5")
    for name in ("session", "keys"):
        if options.get(name) is not None:
            hint = "put the credentials into the environment"
            raise UsageError(
                "examine", name, "the checks run in separate processes, which do not receive it", hint
            )
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    # A service that says nothing is given up by the engine itself first, and its words are better than ours.
    given.setdefault("stall_timeout", f"{max(int(seconds * 800), 1)}ms")
    if isinstance(given["stall_timeout"], timedelta):
        given["stall_timeout"] = f"{int(given['stall_timeout'].total_seconds() * 1000)}ms"
    examination = Examination(seconds, given, write)
    findings = []
    for finding in examination.run(_text(url), job and (_text(job[0]) or "", _text(job[1]) or "")):
        findings.append(finding)
        if on_finding is not None:
            on_finding(finding)
    target = (
        " -> ".join(without_signature(str(one)) for one in job)
        if job
        else (without_signature(str(url)) if url is not None else None)
    )
    stamp = f"{made:%Y-%m-%dT%H:%M:%SZ}"
    return Report(target, tuple(findings), time.monotonic() - began, stamp)


def examine_project(
    file: Name,
    *,
    scheduler: str | None = None,
    scheduler_file: Name | None = None,
    timeout: float | timedelta = NODES_S,
    on_finding: Tell | None = None,
) -> Report:
    """Compare what a project needs with what is installed, here and on every node of a cluster.

    Each requirement that does not hold is a finding, as is what installed packages lack themselves, and
    versions that differ between nodes. :attr:`Report.corrected` is the file with the versions that are
    installed everywhere, and with names of packages in place of names of modules; what is not installed stays
    in it. Needs ``haulage[doctor]``, and ``haulage[cluster]`` for a cluster.

    Args:
        file: ``requirements.txt`` (with what it includes), ``pyproject.toml`` (also Poetry's) or
            ``environment.yml``.
        scheduler: Address of the cluster's scheduler, ``tls://host:port`` or ``tcp://host:port``. Default: no
            cluster.
        scheduler_file: The file that ``dask scheduler --scheduler-file`` has written, in place of that.
        timeout: For the answers of all nodes together, in seconds or as a ``timedelta``. Default 30 s.
        on_finding: Called with each finding as it is made.

    Raises:
        NotFoundError: There is no such file.
        UsageError: It lists nothing that a project needs.
        UnsupportedError: A package is missing that reads it.
        KeyboardInterrupt: Ctrl-C, at once.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "requirements.txt"
    >>> _ = file.write_text("haulage>=99")
    >>> report = examine_project(file)
    >>> report.find("project.version").level
    'fault'
    """
    began, made = time.monotonic(), datetime.now(UTC)
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)
    written = None if scheduler_file is None else os.fspath(scheduler_file)
    examination = ProjectExamination(pathlib.Path(file), ask, seconds, scheduler, written)
    findings = []
    for finding in chain(examine_versions(), examination.run()):
        findings.append(finding)
        if on_finding is not None:
            on_finding(finding)
    stamp = f"{made:%Y-%m-%dT%H:%M:%SZ}"
    taken = time.monotonic() - began
    return Report(os.fspath(file), tuple(findings), taken, stamp, examination.corrected)


def _text(name: Name | None) -> str | None:
    return None if name is None else os.fspath(name)


class Examination:
    """One examination: how long each look may take, how stores are reached, whether it may write."""

    def __init__(self, timeout_s: float, options: dict[str, Any], write: bool) -> None:
        self.timeout_s, self.options, self.write = timeout_s, options, write

    def ask(self, question: str, **arguments: Any) -> Answer:
        """Ask, within the time."""
        return ask(question, self.timeout_s, **arguments)

    def run(self, url: str | None, job: tuple[str, str] | None) -> Iterator[Finding]:
        """Yield findings, what others build on first."""
        yield from examine_versions()
        yield from examine_machine()
        if job is None:
            yield from self._here(url)
            if url is None:
                yield from examine_found(new=True)
            else:
                yield from self.target(url, "rl", writes=False)
            return
        source, destination = job
        ways = []
        for name, wanted, writes in ((source, "rl", False), (destination, "wc", True)):
            answer = self.ask("way", url=name, options=self.options)
            if answer.error is not None:
                yield by_error("network.url", answer.error)
                continue
            ways.append(answer.value)
            if answer.value["service"] in ("azure", "s3"):
                yield from self.target(name, wanted, writes=writes)
        if len(ways) == 2:
            yield from examine_job(self.ask, source, destination, (ways[0], ways[1]), self.options)

    def _here(self, url: str | None) -> Iterator[Finding]:
        """Look at the disk that a download would go to."""
        folder = url if url is not None and "://" not in url and url != "-" else "."
        yield from examine_disk(self.ask, folder, writes=True)[0]

    def target(self, url: str, wanted: str, *, writes: bool) -> Iterator[Finding]:
        """Look at a service: the way there, who asks, what may be done."""
        answer = self.ask("way", url=url, options=self.options)
        if answer.error is not None:
            yield from examine_found(new=True)
            yield by_error("network.url", answer.error)
            return
        way = answer.value
        if way["service"] == "local":
            return
        if way["service"] not in ("azure", "s3"):
            text = f"{without_signature(url)} cannot be examined"
            hint = "name a container, a bucket, or a folder"
            yield Finding("network.url", "fault", text, hint, "usage")
            return
        path = Path(way, self.ask, url, self.options)
        yield from path.examine()
        yield from examine_found()
        identity = self.ask("identity", url=url, options=self.options)
        now = time.time() - (path.skew_s or 0.0)
        needs = wanted + ("wd" if self.write else "")
        refused = False
        for finding in examine_identity(identity, url, now, way["secure"], "".join(dict.fromkeys(needs))):
            refused = refused or finding.level == "fault"
            yield finding
        if not path.reached or identity.value is None:
            return
        findings = list(examine_reading(self.ask, url, way["key"], self.options, writes or self.write))
        findings += self._writing(url, way, refused) if self.write else []
        yield from sorted(findings, key=lambda finding: finding.section == "path")

    def _writing(self, url: str, way: dict[str, Any], refused: bool) -> Iterator[Finding]:
        if way["container"] == "":
            text = "writing was not tested: the URL does not name a container"
            yield Finding("rights.write", "note", text, "name a container")
        elif refused:
            text = "writing was not tested: the credential does not allow writing and removing"
            yield Finding("rights.write", "warning", text, "fix the credential first, as described above")
        else:
            yield from examine_writing(self.ask, url, way["key"], self.options)
