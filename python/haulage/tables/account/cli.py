"""The commands ``haul table ls``, ``create`` and ``rm``."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from haulage import _engine
from haulage.commands.saying import echo, report
from haulage.commands.stores import reached
from haulage.errors import HaulageError
from haulage.tables.account import list_tables


def ls(*, url: str, as_json: bool, **given: Any) -> int:
    """List the tables of an account, or look for one."""
    options = reached(given)
    account = _engine.Table(url, **options).url.rpartition("/")[0]
    for name in list_tables(url, **options):
        echo(json.dumps({"name": name, "url": f"{account}/{name}"}) if as_json else name)
    return 0


def create(*, tables: Sequence[str], **given: Any) -> int:
    """Create tables."""
    return _each(tables, given, _engine.Table.create, "created", {"event": "made"})


def rm(*, tables: Sequence[str], dry_run: bool, **given: Any) -> int:
    """Remove tables with all their rows."""
    verb = "would remove" if dry_run else "removed"
    told = {"event": "removed", "dry_run": dry_run}
    return _each(tables, given, lambda table: table.remove(dry_run=dry_run), verb, told)


def _each(
    tables: Sequence[str],
    given: dict[str, Any],
    change: Callable[[_engine.Table], None],
    verb: str,
    told: dict[str, Any],
) -> int:
    """Change each table, and say so. One that fails does not stop the others; one that is not a name does."""
    as_json, options = given["as_json"], reached(given)
    failures, opened = [], [_engine.Table(table, **options) for table in tables]
    for table in opened:
        try:
            change(table)
        except HaulageError as error:
            failures.append(report(error, as_json))
            continue
        if as_json:
            echo(json.dumps({**told, "url": table.name}))
        elif not given["quiet"]:
            echo(f"{verb} {table.name}", err=True)
    # As of a copy: if nothing was done, always for the same reason, that reason's.
    return failures[0] if len(failures) == len(opened) and len({*failures}) == 1 else int(bool(failures))
