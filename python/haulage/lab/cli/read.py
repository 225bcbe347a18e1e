"""Commands that read runs: report, verify, compare, profile; and the list of plans."""

from __future__ import annotations

import json
import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from haulage.commands.saying import echo
from haulage.errors import UsageError
from haulage.lab.cli.output import STDERR, Talk


def plans(*, name: str | None, as_json: bool, **_: Any) -> None:
    """List the plans that come with Haulage, or print the text of one."""
    from haulage.lab import planfile
    from haulage.lab.estimate import estimate
    from haulage.lab.schedule import schedule
    from haulage.lab.target import parse_target

    if name is not None:
        echo(planfile.text_of(name), end="")
        return
    for known in planfile.names():
        plan = planfile.load(known)
        wanted = estimate(plan, parse_target(plan.target), schedule(plan), confirm=True)
        if as_json:
            echo(json.dumps({"plan": known, "title": plan.title, "follows": plan.follows, **vars(wanted)}))
        else:
            echo(f"{known:14} {plan.title}{f' ({plan.follows})' if plan.follows else ''}")
            echo(f"{'':14} {wanted}")
            variants = ", ".join(tomllib.loads(planfile.text_of(known)).get("variants", {}))
            echo(f"{'':14} variants: {variants or 'none'}")


def report(*, directory: str, quiet: bool, as_json: bool, **_: Any) -> None:
    """Analyse the run in DIRECTORY and write its page; print the page's path."""
    from haulage.lab import chain
    from haulage.lab.files import sha256
    from haulage.lab.report.page import write

    say = Talk(quiet)
    say("analysing")
    page = write(Path(directory))
    sums = page.with_name(chain.SUMS)
    digest = sha256(sums) if sums.is_file() else None
    if digest is not None:
        say(f"SHA-256 of {sums}: {digest}")
    echo(json.dumps({"report": str(page), "sums_sha256": digest}) if as_json else str(page))


def verify(*, directory: str, sha256: str | None, quick: bool, quiet: bool, as_json: bool, **_: Any) -> int:
    """Check every file of a run, and that its results and page follow from what was recorded."""
    from haulage.lab import verify as check_all

    checks = check_all(directory, sha256=sha256, quick=quick)
    wrong = [check for check in checks if not check.ok]
    for check in checks:
        if as_json:
            echo(json.dumps({"check": check.name, "ok": check.ok, "detail": check.detail}))
        elif not check.ok:
            echo(f"differs: {check.name}: {check.detail}")
        elif not quiet:
            STDERR.print(f"same: {check.name}: {check.detail}")
    Talk(quiet)(f"{len(checks) - len(wrong)} of {len(checks)} as they were")
    return 5 if wrong else 0


def compare(*, a: str, b: str, as_json: bool, **_: Any) -> None:
    """Put the runs A and B side by side: the ratio of each treatment and size, with its interval."""
    show_comparison(Path(a), Path(b), as_json)


def show_comparison(a: Path, b: Path, as_json: bool) -> None:
    """Print two runs side by side."""
    from haulage.lab import compare as put

    found = put(a, b)
    if not as_json:
        echo(str(found))
        return
    for pair in found.pairs:
        echo(json.dumps(asdict(pair)))


def profile(*, directory: str, name: str | None, quiet: bool, as_json: bool, **_: Any) -> None:
    """Derive start values for the mover from the sweep in DIRECTORY; print the file's path."""
    from haulage.lab import profile as profiles

    path = profiles.write(Path(directory), name=name)
    if path is None:
        why = profiles.why_none(Path(directory))
        raise UsageError(
            "write profile", directory, why, "run block-upload or concurrency, with larger files"
        )
    if as_json:
        echo(profiles.as_json(Path(directory)))
        return
    for found in profiles.measure(Path(directory)):
        for reason in found.reasons:
            Talk(quiet)(f"{found.direction}: {reason}")
    echo(str(path))
