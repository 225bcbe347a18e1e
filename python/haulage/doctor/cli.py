"""The command ``haul doctor``: one call, render. Needs no other package."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from haulage.commands.saying import echo
from haulage.commands.stores import reached
from haulage.doctor import asking
from haulage.doctor.examining import examine, examine_project
from haulage.doctor.finding import Finding, Report
from haulage.doctor.page import as_page
from haulage.doctor.text import Screen
from haulage.errors import HaulageError, LocalIOError, UnsupportedError, UsageError
from haulage.outputs import check_page, refuse_other, same
from haulage.words.printable import printable


def doctor(**values: Any) -> int:
    """Say what is here, what is missing and what to do: this machine, a service, a copy."""
    given = SimpleNamespace(**values)
    asking.verbose = min(given.verbose, 2)
    _check_usage(given)
    # Before the work, not after it.
    _check_files(given)
    if given.serve:
        return _serve(given)
    screen = None if given.as_json or given.quiet else Screen(sys.stdout)
    told: str | None = None

    def show(finding: Finding) -> None:
        if screen is not None:
            screen.show(finding)

    try:
        report = _examine(given, show)
        told = report.verdict()
    finally:
        if screen is not None:
            screen.end(told)
    return _render(report, given)


def _serve(given: SimpleNamespace) -> int:
    try:
        from haulage.doctor.upload import UploadPage
        from haulage.web.stopping import stopped_by_ctrl_c
    except ModuleNotFoundError as error:
        cause = f"the package {error.name} is missing"
        raise UnsupportedError("start", "doctor --serve", cause, "pip install 'haulage[doctor]'") from None

    page = UploadPage(given.port or 0, given.scheduler, given.scheduler_file, given.timeout)
    with stopped_by_ctrl_c(page.stop):
        if given.as_json:
            echo(json.dumps({"event": "serving", "url": page.url}))
        else:
            echo(f"page: {page.url}\nCtrl-C stops it", err=True)
        page.run()
    return 0


def _check_usage(given: SimpleNamespace) -> None:
    hint = "haul doctor --help shows examples"
    if given.url == "":
        raise UsageError("parse", "URL", "names must not be empty", hint)
    if given.url is not None and given.job is not None:
        raise UsageError("parse", "--job", "duplicate or conflicting option", "give a URL or --job, not both")
    if given.project is not None and (given.url is not None or given.job is not None):
        cause = "a project cannot be combined with a target"
        raise UsageError("parse", "--project", cause, "run haul doctor again for the URL or the job")
    if given.scheduler is not None and given.scheduler_file is not None:
        cause = "duplicate or conflicting option"
        raise UsageError("parse", "--scheduler-file", cause, "give --scheduler or --scheduler-file, not both")
    if given.serve:
        for name in ("url", "job", "project", "corrected", "html"):
            if getattr(given, name) is not None:
                cause = "duplicate or conflicting option"
                raise UsageError("parse", "--serve", cause, "upload the project's file to the page instead")
    elif given.port is not None:
        raise UsageError("parse", "--port", "it goes with --serve", "serve the page: --serve")
    for name in ("scheduler", "scheduler_file", "corrected"):
        if given.project is None and not given.serve and getattr(given, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise UsageError("parse", option, "it goes with --project", "name the project: --project FILE")


def _examine(given: SimpleNamespace, show: Callable[[Finding], None]) -> Report:
    time = {} if given.timeout is None else {"timeout": given.timeout}
    if given.project is not None:
        return examine_project(
            given.project,
            scheduler=given.scheduler,
            scheduler_file=given.scheduler_file,
            on_finding=show,
            **time,
        )
    return examine(
        given.url, job=given.job, write=given.write, on_finding=show, **time, **reached(vars(given))
    )


def _render(report: Report, given: SimpleNamespace) -> int:
    if given.as_json:
        echo(json.dumps(report.to_dict()))
    elif given.quiet:
        for fault in report.faults:
            hint = f" (hint: {printable(fault.hint)})" if fault.hint else ""
            echo(f"haul: {printable(fault.text)}{hint}", err=True)
    if given.html is not None:
        _write("page", Path(given.html), as_page(report), given.quiet)
    if given.corrected is not None and report.corrected is not None:
        _write("corrected file", Path(given.corrected), report.corrected, given.quiet)
    return report.exit_code


def _write(what: str, file: Path, text: str, quiet: bool) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        hint = "name a file in another folder"
        raise LocalIOError("write", str(file), error.strerror or str(error), hint) from None
    if not quiet:
        echo(f"{what}: {file}", err=True)


def _check_files(given: SimpleNamespace) -> None:
    """Raise unless the page and the corrected file may be written: each replaces its like alone."""
    for file in (given.html, given.corrected):
        if file is not None:
            _check(Path(file))
    read = [given.url, *(given.job or ()), given.project, given.scheduler_file, given.ca]
    if given.html is not None:
        if given.corrected is not None and same(Path(given.html), Path(given.corrected)):
            cause = "--html and --corrected name the same file"
            raise UsageError("write", given.html, cause, "name two different files")
        check_page(given.html, [name for name in read if name])
    if given.corrected is not None:
        path, project = Path(given.corrected), Path(given.project)
        if not same(path, project):
            kind, hint = "a project's file of the same kind", "name another file for the corrected one"
            refuse_other(path, lambda path: _is_project(path, project), kind, hint)


def _is_project(path: Path, project: Path) -> bool:
    """Return whether a file is one of a project, and of the kind of this one."""
    kinds = [".toml"], [".yml", ".yaml"], [".txt", ".in", ".pip", ".lock"]
    if path.suffix and not any({path.suffix.lower(), project.suffix.lower()} <= {*kind} for kind in kinds):
        return False
    try:
        from haulage.doctor.project.decoding import decoded
        from haulage.doctor.project.reading import parse

        # What it includes is of no interest here.
        found = parse(project, decoded(path.read_bytes()), alone=True)
        # A line of prose is none that could be understood.
        return len(found.wanted) > len(found.troubles)
    except ModuleNotFoundError:
        # Nothing will be written either.
        return True
    except (HaulageError, UnicodeDecodeError):
        return False


def _check(file: Path) -> None:
    if not file.parent.is_dir() or file.is_dir():
        why = "it is a folder" if file.is_dir() else "its folder does not exist"
        raise LocalIOError("write", str(file), why, "name a file in an existing folder")
