"""Commands that run plans: run, rerun."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from haulage.commands.grammar import command
from haulage.commands.interrupts import interrupted_by_term
from haulage.errors import UsageError
from haulage.lab.cli.network import own_network
from haulage.lab.cli.output import (
    Talk,
    examples,
    output_options,
    progress_of,
    progress_option,
)
from haulage.lab.cli.read import show_comparison

if TYPE_CHECKING:
    from haulage.lab.plan import Plan
    from haulage.lab.target import Target

to_option = click.option(
    "--to",
    "target",
    metavar="URL",
    help="Target: emulated:LINK on this machine, packets:LINK for a link of real packets, or a container's"
    " URL.  [default: the plan's]",
)
insecure_option = click.option(
    "--insecure-http", is_flag=True, help="Allow a target of plain http on another machine."
)


@command(
    short_help="Run a plan and report on it.",
    epilog=examples(
        "haul lab run block-upload                      about 7 minutes, and a report",
        "haul lab run block-upload --estimate           only say what it takes",
        "haul lab run mine.toml --to emulated:rtt=20ms,total=1gbit --out runs/mine",
        "haul lab run concurrency --to packets:rtt=80ms,total=200mbit,loss=0.1%",
        "haul lab run concurrency --replicates 3 --size 8MiB --set time_bound=2m",
        "haul lab run concurrency --to 'https://A.blob.core.windows.net/c?SAS' --profile-name home",
        "haul lab run failing-link --from here,elsewhere   whose fault is it?",
        "haul lab run scale-out --nodes 1,2,3,4,6,8     many processes from one moment on",
        "haul lab run scale-out --scheduler tcp://head:8786     the same on the workers of a Dask cluster",
        "haul lab run --continue runs/mine              resume a stopped run",
    ),
)
@click.argument("plan", required=False)
@to_option
@insecure_option
@click.option("--continue", "continue_", metavar="DIR", help="Continue this stopped run.")
@click.option("--out", metavar="DIR", help="Folder for the run; new or empty.  [default: runs/PLAN-TIME]")
@click.option(
    "--from",
    "places",
    metavar="A,B",
    help="Run it from several places: names of the plan's, or NAME=WAY with a link, netns:NAME,"
    " proxy:HOST:PORT or a URL.",
)
@click.option("--variant", help="A variant of the plan.")
@click.option("--full", is_flag=True, help="The full-size variant: hours or days. As --variant full.")
@click.option("--replicates", type=click.IntRange(1), help="How often each treatment is run.")
@click.option("--seed", type=click.IntRange(0), help="Seed of the order and of the bytes.")
@click.option("--size", "sizes", multiple=True, help="Only files of this size; may be repeated.")
@click.option(
    "--nodes",
    metavar="N,N,...",
    help="Numbers of processes to run at once, one after another; 1 is always included.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Run the nodes on the workers of this Dask scheduler.")
@click.option("--scheduler-file", metavar="FILE", help="The same, for the scheduler that wrote this file.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Replace a key of the plan.")
@click.option(
    "--estimate", "only_estimate", is_flag=True, help="Print what the plan takes, without running it."
)
@click.option(
    "--confirm/--no-confirm",
    default=True,
    show_default=True,
    help="Confirm the cause with some seconds of short transfers.",
)
@click.option("--report/--no-report", default=True, show_default=True, help="Analyse and write the page.")
@click.option(
    "--profile-name", metavar="NAME", help="Save the result of a sweep as a profile with this name."
)
@progress_option
@output_options
def run(
    plan: str | None,
    target: str | None,
    insecure_http: bool,
    continue_: str | None,
    out: str | None,
    places: str | None,
    variant: str | None,
    full: bool,
    only_estimate: bool,
    confirm: bool,
    report: bool,
    profile_name: str | None,
    scheduler: str | None,
    scheduler_file: str | None,
    progress: str,
    quiet: bool,
    as_json: bool,
    **overrides: Any,
) -> None:
    """Run PLAN, a name or a TOML file. Ctrl-C stops at once and keeps what is finished."""
    from haulage.lab import planfile, runner
    from haulage.lab.estimate import estimate
    from haulage.lab.finish import finish
    from haulage.lab.places import seen_from
    from haulage.lab.scale.workers import Where
    from haulage.lab.schedule import schedule
    from haulage.lab.target import parse_target

    say, nodes_at = Talk(quiet), Where(scheduler, scheduler_file)
    with interrupted_by_term():
        if continue_ is not None:
            if plan is not None:
                raise UsageError("run", plan, "a stopped run has its plan", "leave it out")
            where = runner.target_of(Path(continue_), target, insecure_http=insecure_http)
            own_network(where)
            _try(where)
            with progress_of(progress, quiet) as show:
                done = runner.resume(Path(continue_), target=where, on_progress=show, where=nodes_at)
        else:
            if plan is None:
                raise UsageError("run", "PLAN", "no plan", f"one of {', '.join(planfile.names())}, or a file")
            wanted = planfile.load(
                plan, variant="full" if full else variant, overrides=_overrides(**overrides)
            )
            wanted, left_out = runner.available(wanted)
            where = parse_target(target or wanted.target, faults=wanted.faults, insecure_http=insecure_http)
            if not only_estimate:
                own_network(where)
            if places is not None:
                wanted = seen_from(wanted, places, where)
            _try(where, wanted, start=not only_estimate)
            nodes_at.check(wanted, where)
            for arm, why in left_out.items():
                say(f"left out: {arm}: {why}")
            takes = estimate(wanted, where, schedule(wanted), confirm=confirm)
            if only_estimate:
                click.echo(json.dumps(vars(takes)) if as_json else str(takes))
                return
            folder = runner.new_folder(wanted) if out is None else runner.folder_of(out)
            say(f"{wanted.name} on {where.text}: {takes}")
            say(f"into {folder}; Ctrl-C stops, `haul lab run --continue {folder}` resumes")
            with progress_of(progress, quiet) as show:
                done = runner.run(wanted, where, folder, on_progress=show, left_out=left_out, where=nodes_at)
        with progress_of(progress, quiet) as show:
            done, kept = finish(
                done,
                where,
                confirm=confirm,
                report=report,
                profile_name=profile_name,
                say=say,
                on_progress=show,
            )
    page = done.page if report else None
    values = {"run": str(done.folder), "state": done.state, "profile": kept and str(kept)}
    click.echo(json.dumps(values | {"report": page and str(page)}) if as_json else str(page or done.folder))


def _try(target: Target, plan: Plan | None = None, *, start: bool = True) -> None:
    """Let the emulator judge the links and faults before anything is made for a run.

    Args:
        target: A real one is not tried.
        plan: What has further links.
        start: Start one with a link of packets, too, for which this process needs a network of its own.
    """
    if not target.emulated:
        return
    from haulage.emulator import Emulator
    from haulage.lab.link import PACKETS
    from haulage.lab.schedule import schedule
    from haulage.lab.target import start_emulator

    links = {target.link_of(own) for own in (None, *(dict(plan.own_links).values() if plan else ()))}
    for cell in schedule(plan) if plan is not None else ():
        links |= {target.link_of(link) for link in (cell.link, cell.node_link)}
    for link in sorted(links):
        if not link.startswith(PACKETS):
            Emulator(store="null", link=link, faults=target.faults).close()
        elif start:
            start_emulator(store="null", link=link, faults=target.faults).close()


def _overrides(
    replicates: int | None,
    seed: int | None,
    sizes: Sequence[str],
    settings: Sequence[str],
    nodes: str | None,
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise UsageError("parse", f"--set {setting}", "no =", "write --set KEY=VALUE")
        found[key] = _toml_value(value)
    if sizes:
        found["files"] = [{"size": size} for size in sizes]
    if nodes is not None:
        try:
            found["scale.nodes"] = [int(word) for word in nodes.split(",")]
        except ValueError:
            raise UsageError(
                "parse", f"--nodes {nodes}", "no list of numbers", "write --nodes 1,2,4"
            ) from None
    if replicates is not None:
        found["replicates"] = replicates
    if seed is not None:
        found["seed"] = seed
    return found


def _toml_value(text: str) -> Any:
    """Return a value as TOML has it; what is none of it is text, so that sizes need no quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


@command(
    short_help="Repeat a run and compare the two.",
    epilog=examples("haul lab rerun runs/mine", "haul lab rerun runs/mine --out runs/again --no-compare"),
)
@click.argument("directory")
@to_option
@insecure_option
@click.option("--out", metavar="DIR", help="Where to write.  [default: beside DIRECTORY, -rerun-N]")
@click.option("--compare/--no-compare", "comparing", default=True, show_default=True, help="Compare both.")
@progress_option
@output_options
def rerun(
    directory: str,
    target: str | None,
    insecure_http: bool,
    out: str | None,
    comparing: bool,
    progress: str,
    quiet: bool,
    as_json: bool,
) -> None:
    """Repeat the run in DIRECTORY: same plan, seed and order; put both side by side.

    A URL with a SAS is needed again with --to: no run keeps a secret.
    """
    from haulage import lab as library
    from haulage.lab.runner import target_of

    say = Talk(quiet)
    where = target_of(Path(directory), target, insecure_http=insecure_http)
    own_network(where)
    _try(where)
    with interrupted_by_term(), progress_of(progress, quiet) as show:
        again = library.rerun(directory, out, target=target, insecure_http=insecure_http, on_progress=show)
    say(f"into {again.folder}: {again.state}")
    if comparing:
        show_comparison(Path(directory), again.folder, as_json)
    else:
        click.echo(str(again.folder))
