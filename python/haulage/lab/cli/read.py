"""Commands that read runs: report, verify, compare, profile; and the list of plans."""

from __future__ import annotations

import json
import sys
import tomllib
from dataclasses import asdict
from pathlib import Path

import click

from haulage.commands.grammar import QUIET, command
from haulage.errors import UsageError
from haulage.lab.cli.output import STDERR, Talk, examples, output_options


@command(
    short_help="List the plans that come with Haulage, or print one.",
    epilog=examples(
        "haul lab plans",
        "haul lab plans block-upload > mine.toml   a plan to change",
    ),
)
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Write a line of JSON for each plan.")
@QUIET
def plans(name: str | None, as_json: bool, quiet: bool) -> None:  # noqa: ARG001  # all commands take it
    """List the plans that come with Haulage, or print the text of one."""
    from haulage.lab import planfile
    from haulage.lab.estimate import estimate
    from haulage.lab.schedule import schedule
    from haulage.lab.target import parse_target

    if name is not None:
        click.echo(planfile.text_of(name), nl=False)
        return
    for known in planfile.names():
        plan = planfile.load(known)
        wanted = estimate(plan, parse_target(plan.target), schedule(plan), confirm=True)
        if as_json:
            click.echo(
                json.dumps({"plan": known, "title": plan.title, "follows": plan.follows, **vars(wanted)})
            )
        else:
            click.echo(f"{known:14} {plan.title}{f' ({plan.follows})' if plan.follows else ''}")
            click.echo(f"{'':14} {wanted}")
            variants = ", ".join(tomllib.loads(planfile.text_of(known)).get("variants", {}))
            click.echo(f"{'':14} variants: {variants or 'none'}")


@command(
    short_help="Analyse a run and write its page.",
    epilog=examples("haul lab report runs/mine", "xdg-open $(haul lab report runs/mine)"),
)
@click.argument("directory")
@output_options
def report(directory: str, quiet: bool, as_json: bool) -> None:
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
    click.echo(json.dumps({"report": str(page), "sums_sha256": digest}) if as_json else str(page))


@command(
    short_help="Check every file of a run, make its results and page again.",
    epilog=examples(
        "haul lab verify runs/mine",
        "haul lab verify runs/mine --quick              only compare hashes",
        "haul lab verify runs/mine --sha256 4a31899e…   with the hash of SHA256SUMS that you kept",
    ),
)
@click.argument("directory")
@click.option("--sha256", metavar="HASH", help="SHA-256 of SHA256SUMS, from wherever you kept it.")
@click.option("--quick", is_flag=True, help="Compare hashes only, make nothing again.")
@output_options
def verify(directory: str, sha256: str | None, quick: bool, quiet: bool, as_json: bool) -> None:
    """Check every file of the run in DIRECTORY, and that its results and page follow from what was recorded.

    Exit code 5 where a file is changed, missing or added, or where something comes out otherwise.
    """
    from haulage.lab import verify as check_all

    checks = check_all(directory, sha256=sha256, quick=quick)
    wrong = [check for check in checks if not check.ok]
    for check in checks:
        if as_json:
            click.echo(json.dumps({"check": check.name, "ok": check.ok, "detail": check.detail}))
        elif not check.ok:
            click.echo(f"differs: {check.name}: {check.detail}")
        elif not quiet:
            STDERR.print(f"same: {check.name}: {check.detail}")
    Talk(quiet)(f"{len(checks) - len(wrong)} of {len(checks)} as they were")
    if wrong:
        sys.exit(5)


@command(short_help="Put two runs side by side.", epilog=examples("haul lab compare runs/before runs/after"))
@click.argument("a")
@click.argument("b")
@output_options
def compare(a: str, b: str, quiet: bool, as_json: bool) -> None:  # noqa: ARG001  # all commands take it
    """Put the runs A and B side by side: the ratio of each treatment and size, with its interval."""
    show_comparison(Path(a), Path(b), as_json)


def show_comparison(a: Path, b: Path, as_json: bool) -> None:
    """Print two runs side by side."""
    from haulage.lab import compare as put

    found = put(a, b)
    if not as_json:
        click.echo(str(found))
        return
    for pair in found.pairs:
        click.echo(json.dumps(asdict(pair)))


@command(
    short_help="Derive start values for the mover from a sweep.",
    epilog=examples("haul lab profile runs/mine", "haul lab profile runs/mine --name home"),
)
@click.argument("directory")
@click.option("--name", help="Save it under this name, for haul cp --profile NAME.")
@output_options
def profile(directory: str, name: str | None, quiet: bool, as_json: bool) -> None:
    """Derive start values for the mover from the sweep in DIRECTORY; print the file's path."""
    from haulage.lab import profile as profiles

    path = profiles.write(Path(directory), name=name)
    if path is None:
        why = profiles.why_none(Path(directory))
        raise UsageError(
            "write profile", directory, why, "run block-upload or concurrency, with larger files"
        )
    if as_json:
        click.echo(profiles.as_json(Path(directory)))
        return
    for found in profiles.measure(Path(directory)):
        for reason in found.reasons:
            Talk(quiet)(f"{found.direction}: {reason}")
    click.echo(str(path))
