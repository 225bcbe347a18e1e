"""Commands that run plans: run, rerun."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haulage.commands.interrupts import interrupted_by_term
from haulage.commands.saying import echo
from haulage.errors import UsageError
from haulage.lab.cli.network import own_network
from haulage.lab.cli.output import Talk, progress_of
from haulage.lab.cli.read import show_comparison

if TYPE_CHECKING:
    from haulage.lab.plan import Plan
    from haulage.lab.target import Target


def run(
    *,
    plan: str | None,
    target: str | None,
    insecure_http: bool,
    stopped: str | None,
    out: str | None,
    places: str | None,
    variant: str | None,
    full: bool,
    only_estimate: bool,
    no_confirm: bool,
    no_report: bool,
    profile_name: str | None,
    scheduler: str | None,
    scheduler_file: str | None,
    progress: str,
    quiet: bool,
    as_json: bool,
    **given: Any,
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
        if stopped is not None:
            if plan is not None:
                raise UsageError("run", plan, "a stopped run has its plan", "leave it out")
            where = runner.target_of(Path(stopped), target, insecure_http=insecure_http)
            own_network(where)
            _try(where)
            with progress_of(progress, quiet) as show:
                done = runner.resume(Path(stopped), target=where, on_progress=show, where=nodes_at)
        else:
            if plan is None:
                raise UsageError("run", "PLAN", "no plan", f"one of {', '.join(planfile.names())}, or a file")
            wanted = planfile.load(plan, variant="full" if full else variant, overrides=_overrides(given))
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
            cells = schedule(wanted)
            takes = estimate(wanted, where, cells, confirm=not no_confirm, report=not no_report)
            if only_estimate:
                echo(json.dumps(vars(takes)) if as_json else str(takes))
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
                confirm=not no_confirm,
                report=not no_report,
                profile_name=profile_name,
                say=say,
                on_progress=show,
            )
    page = None if no_report else done.page
    values = {"run": str(done.folder), "state": done.state, "profile": kept and str(kept)}
    echo(json.dumps(values | {"report": page and str(page)}) if as_json else str(page or done.folder))


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


def _overrides(given: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for setting in given["settings"]:
        key, equals, value = setting.partition("=")
        if not equals:
            raise UsageError("parse", f"--set {setting}", "no =", "write --set KEY=VALUE")
        found[key] = _toml_value(value)
    if given["sizes"]:
        found["files"] = [{"size": size} for size in given["sizes"]]
    if given["nodes"] is not None:
        found["scale.nodes"] = list(given["nodes"])
    for key in ("replicates", "seed"):
        if given[key] is not None:
            found[key] = given[key]
    return found


def _toml_value(text: str) -> Any:
    """Return a value as TOML has it; what is none of it is text, so that sizes need no quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def rerun(
    *,
    directory: str,
    target: str | None,
    insecure_http: bool,
    out: str | None,
    no_compare: bool,
    only_estimate: bool,
    progress: str,
    quiet: bool,
    as_json: bool,
    **_: Any,
) -> None:
    """Repeat the run in DIRECTORY: same plan, seed and order; put both side by side."""
    from haulage import lab as library
    from haulage.lab.estimate import estimate
    from haulage.lab.runner import target_of
    from haulage.lab.schedule import schedule

    say = Talk(quiet)
    where = target_of(Path(directory), target, insecure_http=insecure_http)
    wanted = library.load(directory).plan
    takes = estimate(wanted, where, schedule(wanted), report=not no_compare)
    if only_estimate:
        echo(json.dumps(vars(takes)) if as_json else str(takes))
        return
    own_network(where)
    _try(where)
    say(f"{wanted.name} on {where.text}: {takes}")
    with interrupted_by_term(), progress_of(progress, quiet) as show:
        again = library.rerun(directory, out, target=target, insecure_http=insecure_http, on_progress=show)
    say(f"into {again.folder}: {again.state}")
    if no_compare:
        echo(str(again.folder))
    else:
        show_comparison(Path(directory), again.folder, as_json)
