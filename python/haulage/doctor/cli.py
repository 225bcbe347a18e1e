"""The command ``haul doctor``: parse, one call, render. Needs no other package."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from haulage.commands import mistakes
from haulage.doctor.examining import examine, examine_project
from haulage.doctor.finding import Finding, Report
from haulage.doctor.page import as_page
from haulage.doctor.text import Screen
from haulage.errors import HaulageError, LocalIOError, UnsupportedError, UsageError
from haulage.outputs import check_page, refuse_other, same
from haulage.words.printable import printable

_EPILOG = """\
Examples:
  haul doctor                                   what is here
  haul doctor az://climate/cmip6/               whether it can be reached and read
  haul doctor az://climate/cmip6/ --write       and written: a tiny object, removed again
  haul doctor --job az://climate/cmip6/ here/   whether there is room for a copy
  haul doctor s3://archive --html doctor.html   a page to send to an administrator
  haul doctor --project requirements.txt        whether all that a project needs is installed
  haul doctor --serve                           a page to upload such a file to
  haul doctor --project pyproject.toml --scheduler tcp://10.0.0.1:8786 --corrected new.toml
                                                on every node too, and what the file would have to say

Exit codes, if there is a fault those of the copy that it would spoil:
  0  no faults                  4    not found
  1  a copy would fail          5    bytes differ from their checksum
  2  wrong usage                130  interrupted
  3  credentials or permission
"""
#: The help of options that all commands take and that mean nothing here.
_HIDDEN = argparse.SUPPRESS
_SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0}


class _Parser(argparse.ArgumentParser):
    """Names each mistake as all commands do."""

    def parse_args(self, args: Sequence[str], namespace: None = None) -> argparse.Namespace:  # type: ignore[override]
        """Parse; raise ``UsageError`` for what is wrong."""
        self._check_once(args)
        try:
            given, rest = self.parse_known_args(list(args), namespace)
        except argparse.ArgumentError as error:
            raise self._explain(error, args) from None
        if not rest:
            return given
        if rest[0].startswith("-") and len(rest[0]) > 1:
            known = [name for name, action in self._option_string_actions.items() if action.help != _HIDDEN]
            raise mistakes.no_such_option(rest[0], known, self.prog)
        raise mistakes.one_too_many(rest[0], self.prog)

    def _check_once(self, args: Sequence[str]) -> None:
        seen: list[argparse.Action] = []
        for word in args[: args.index("--") if "--" in args else None]:
            action = self._option_string_actions.get(word.partition("=")[0])
            if action is not None and action in seen:
                raise mistakes.given_twice(action.option_strings[-1], self.prog)
            seen += [action] if action is not None else []

    def _explain(self, error: argparse.ArgumentError, args: Sequence[str]) -> UsageError:
        option = (error.argument_name or "arguments").rpartition("/")[2]
        if error.message.startswith("ignored explicit argument"):
            written = (word.partition("=") for word in args)
            value = next((value for name, equals, value in written if equals and name == option), "")
            return mistakes.takes_no_value(option, value, self.prog)
        return mistakes.needs_a_value(option, self.prog)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            raise mistakes.not_one_of(action.option_strings[-1], str(value), choices, self.prog)

    def _get_value(self, action: argparse.Action, text: str) -> object:
        try:
            return super()._get_value(action, text)
        except argparse.ArgumentError as error:
            raise mistakes.bad_value(action.option_strings[-1], text, error.message, self.prog) from None


def _duration(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m)", text)
    if found is None or not float(found[1]):
        raise argparse.ArgumentTypeError("write a duration such as 5s")
    return float(found[1]) * _SECONDS[found[2]]


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError("write a whole number from 0 to 65535")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="haul doctor",
        description="Say what is here, what is missing and what to do: this machine, a service, a copy.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        exit_on_error=False,
    )
    parser.add_argument("url", metavar="URL", nargs="?", help="container, bucket, prefix, object or folder")
    parser.add_argument(
        "--job", nargs=2, metavar=("SRC", "DST"), help="check what a copy from SRC to DST needs"
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="test permissions by writing a tiny object, which is removed again",
    )
    project = parser.add_argument_group("projects")
    project.add_argument(
        "--project", metavar="FILE", help="compare requirements.txt, pyproject.toml or environment.yml"
    )
    project.add_argument("--scheduler", metavar="ADDRESS", help="also check each node of this Dask cluster")
    project.add_argument("--scheduler-file", metavar="FILE", help="the same, by the scheduler's file")
    project.add_argument("--corrected", metavar="FILE", help="write the project's file for what is installed")
    project.add_argument(
        "--serve", action="store_true", help="serve a page on this machine to upload a project's file to"
    )
    project.add_argument("--port", metavar="N", type=_port, help="of that page [default: a free one]")
    parser.add_argument(
        "--timeout",
        metavar="DURATION",
        type=_duration,
        help="time limit for each check [default: 5s; 30s for a project]",
    )
    parser.add_argument("--html", metavar="FILE", help="also write the findings as a page")
    parser.add_argument("--json", action="store_true", help="print all findings as one line of JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print faults only")
    parser.add_argument("--progress", choices=("auto", "bar", "plain", "none"), help=_HIDDEN)
    stores = parser.add_argument_group("stores")
    stores.add_argument("--endpoint", metavar="URL", help="the service of az:// or s3://")
    stores.add_argument("--region", metavar="NAME", help="region of an S3 bucket")
    stores.add_argument("--addressing", choices=("auto", "path", "virtual"), help="how S3 URLs name a bucket")
    stores.add_argument("--no-sign-request", action="store_true", help="send S3 requests without a signature")
    stores.add_argument(
        "--requester-pays", action="store_true", help="agree to pay for reads from requester-pays S3 buckets"
    )
    stores.add_argument("--insecure-http", action="store_true", help="allow plain http to other machines")
    stores.add_argument("--proxy", metavar="URL|none", help="use this proxy, or none")
    stores.add_argument("--bind", metavar="ADDRESS", help="connect from this address of the machine")
    stores.add_argument(
        "--ca", metavar="FILE", help="also trust the certificate authorities in this file (PEM)"
    )
    return parser


def _run(arguments: Sequence[str]) -> int:
    given = _parser().parse_args(arguments)
    _check_usage(given)
    # Before the work, not after it.
    _check_files(given)
    if given.serve:
        return _serve(given)
    screen = None if given.json or given.quiet else Screen(sys.stdout)
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


def _serve(given: argparse.Namespace) -> int:
    try:
        from haulage.doctor.upload import UploadPage
        from haulage.web.stopping import stopped_by_ctrl_c
    except ModuleNotFoundError as error:
        cause = f"the package {error.name} is missing"
        raise UnsupportedError("start", "doctor --serve", cause, "pip install 'haulage[doctor]'") from None

    page = UploadPage(given.port or 0, given.scheduler, given.scheduler_file, given.timeout)
    with stopped_by_ctrl_c(page.stop):
        if given.json:
            print(json.dumps({"event": "serving", "url": page.url}), flush=True)  # noqa: T201
        else:
            print(f"page: {page.url}\nCtrl-C stops it", file=sys.stderr, flush=True)  # noqa: T201
        page.run()
    return 0


def _check_usage(given: argparse.Namespace) -> None:
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


def _examine(given: argparse.Namespace, show: Callable[[Finding], None]) -> Report:
    time = {} if given.timeout is None else {"timeout": given.timeout}
    if given.project is not None:
        return examine_project(
            given.project,
            scheduler=given.scheduler,
            scheduler_file=given.scheduler_file,
            on_finding=show,
            **time,
        )
    options: dict[str, Any] = {
        "endpoint": given.endpoint,
        "region": given.region,
        "addressing": given.addressing,
        "unsigned": given.no_sign_request or None,
        "requester_pays": given.requester_pays or None,
        "insecure_http": given.insecure_http or None,
        "proxy": given.proxy,
        "bind": given.bind,
        "ca": given.ca,
    }
    job = (given.job[0], given.job[1]) if given.job is not None else None
    return examine(given.url, job=job, write=given.write, on_finding=show, **time, **options)


def _render(report: Report, given: argparse.Namespace) -> int:
    if given.json:
        print(json.dumps(report.to_dict()))  # noqa: T201
    elif given.quiet:
        for fault in report.faults:
            hint = f" (hint: {printable(fault.hint)})" if fault.hint else ""
            print(f"haul: {printable(fault.text)}{hint}", file=sys.stderr)  # noqa: T201
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
        print(f"{what}: {file}", file=sys.stderr)  # noqa: T201


def _check_files(given: argparse.Namespace) -> None:
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


def main(arguments: Sequence[str]) -> int:
    """Run ``haul doctor`` with these arguments; return the exit code."""
    try:
        return _run(arguments)
    except HaulageError as error:
        return mistakes.report(error, arguments)
    except KeyboardInterrupt:
        mistakes.say("interrupted")
        return 130
    except SystemExit as end:
        # What argparse does after its help.
        return end.code if isinstance(end.code, int) else 0
