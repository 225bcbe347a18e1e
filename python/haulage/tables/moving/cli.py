"""The commands ``haul table export``, ``import``, ``copy``, ``backup``, ``restore`` and ``verify``."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress as Bar, TextColumn, TimeElapsedColumn

from haulage.commands.interrupts import interrupted_by_term
from haulage.commands.saying import echo
from haulage.commands.stores import reached
from haulage.errors import UsageError
from haulage.tables.moving.leftovers import called, name_of
from haulage.tables.moving.results import Compared, Exported, Imported, Progress
from haulage.tables.moving.streaming import ends_if_unread
from haulage.tables.streamed import beside, kept
from haulage.words.numbers import counted, format_size

if TYPE_CHECKING:
    from haulage.tables.moving.operations import OnProgress

STDERR = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
#: Seconds between two lines of progress.
_PLAIN_S = 10.0
#: How the type of a column ends that keeps as text the times that Arrow cannot hold.
_TEXT = ".text"


@contextmanager
def _shown(what: str, given: Mapping[str, Any], *, has_output: bool = True) -> Iterator[OnProgress | None]:
    """Show how far it is: as a bar that moves, or as a line every ten seconds.

    Args:
        what: What is done.
        given: Which of them, as all commands take it.
        has_output: ``False`` if standard output takes the rows, whose reader may share the terminal.
    """
    how = given["progress"]
    if how == "auto":
        how = ("bar" if STDERR.is_terminal else "plain") if has_output else "none"
    if given["quiet"] or how == "none":
        yield None
    elif how == "plain":
        yield _in_lines(what)
    else:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[rows]:>12,} rows  {task.fields[rate]:>9,}/s  {task.fields[size]:>10}"),
            TimeElapsedColumn(),
        )
        with Bar(*columns, console=STDERR, transient=True) as bar:
            task = bar.add_task(what, total=None, rows=0, rate=0, size="0 B")

            def show(progress: Progress) -> None:
                seconds = bar.tasks[0].elapsed or 1.0
                size = format_size(progress.bytes_wire)
                bar.update(task, rows=progress.rows, rate=round(progress.rows / max(seconds, 0.1)), size=size)

            yield show


def _in_lines(what: str) -> OnProgress:
    """Return what prints a line every ten seconds."""
    began = last = time.monotonic()

    def show(progress: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _PLAIN_S:
            last = now
            size = format_size(progress.bytes_wire)
            rate = round(progress.rows / (now - began))
            STDERR.print(f"{what}: {progress.rows:,} rows, {rate:,}/s, {size}")

    return show


def _tell_export(done: Exported, as_json: bool, json_lines: bool = False) -> None:
    # Standard output may hold the rows.
    target = STDERR.print if done.path == "-" else echo
    if as_json:
        target(json.dumps(asdict(done)))
        return
    rate = round(done.rows / done.seconds) if done.seconds else done.rows
    target(
        f"{counted(done.rows, 'row')} of {done.table} to {done.path} in {done.seconds:.1f} s "
        f"({rate:,} rows/s, {counted(done.requests, 'request')})"
    )
    _tell_resumed(done)
    if done.disarmed:
        STDERR.print(
            f"haul: put an apostrophe in front of {counted(done.disarmed, 'text')} that a spreadsheet would "
            "run as a formula; to leave text as it is, use --formulas keep"
        )
    if done.index:
        STDERR.print(
            f"haul: found the rows by the index {done.index}; to read the table itself, use --no-index"
        )
    if not json_lines:
        _tell_columns(done)


def _tell_columns(done: Exported) -> None:
    """Say which properties have several columns, and why."""
    for name, kinds in done.mixed:
        types = [kind for kind in kinds if not kind.endswith(_TEXT)]
        if len(types) > 1:
            columns = " and ".join(f"{name}@{kind}" for kind in types)
            STDERR.print(f"haul: the property {name} has several types: it is in the columns {columns}")
        for kind in kinds:
            if kind.endswith(_TEXT):
                STDERR.print(
                    f"haul: the property {name} has times outside 1677 to 2262: they are kept as text in the "
                    f"column {name}@{kind}"
                )


def _tell_resumed(done: Exported) -> None:
    if done.resumed_rows:
        since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(done.since_unix_s))
        STDERR.print(
            f"haul: an earlier run that was interrupted, at {since}, had already fetched "
            f"{done.resumed_rows:,} of these rows"
        )


def _tell_import(done: Imported, as_json: bool) -> int:
    if as_json:
        echo(json.dumps(asdict(done)))
    else:
        rate = round((done.rows - done.resumed_from) / done.seconds) if done.seconds else done.rows
        went_on = (
            f", after {counted(done.resumed_from, 'row')} of an earlier run" if done.resumed_from else ""
        )
        echo(
            f"{done.written:,} of {counted(done.rows, 'row')} of {done.path} to {done.table} in "
            f"{done.seconds:.1f} s ({rate:,} rows/s{went_on})"
        )
    if done.refused:
        were = "row was" if done.refused == 1 else "rows were"
        STDERR.print(
            f"haul: {done.refused:,} {were} refused; {done.dead_letters} has the reasons, and the number of "
            "each row, counted from 0 without a header"
        )
    return 1 if done.refused else 0


def _tell_comparison(found: Compared, names: tuple[str, str], as_json: bool) -> int:
    if as_json:
        echo(json.dumps({**asdict(found), "same": found.same}))
        return 0 if found.same else 5
    if found.same:
        same = "row is" if found.rows == 1 else "rows are"
        echo(f"{found.rows:,} {same} the same in both (SHA-256 over all rows {found.hash[:16]}...)")
        return 0
    for one in found.differences[:20]:
        where = "" if one.kind == "changed" else f" {names[1]}"
        verb = {"missing": "missing from", "extra": "extra in", "changed": "changed"}[one.kind]
        what = f": {', '.join(one.properties)}" if one.properties else ""
        echo(f"{verb}{where} PartitionKey={one.partition!r} RowKey={one.row!r}{what}")
    told = min(20, len(found.differences))
    all_of_them = found.missing + found.extra + found.changed
    if all_of_them > told:
        echo(f"... and {all_of_them - told:,} more; --json lists up to 1,000 of them")
    STDERR.print(
        f"haul: {counted(found.equal, 'row')} the same, {found.changed:,} changed, {found.missing:,} "
        f"missing, {found.extra:,} extra"
    )
    return 5


def export(*, table: str, path: str, **given: Any) -> int:
    """Write the rows of TABLE to FILE: Parquet, Arrow, CSV or lines of JSON; - for standard output."""
    from haulage.tables.moving import files, operations

    if path == "-" and given["as_json"]:
        cause = "standard output cannot hold both the rows and the result"
        hint = "write the rows to a file, or leave out --json"
        raise UsageError("parse", "--json", cause, hint)
    with ends_if_unread(path), _shown("export", given, has_output=path != "-") as progress:
        done = operations.export_table(
            table,
            path,
            format=given["format"],
            filter=given["rows"],
            select=[name.strip() for name in (given["select"] or "").split(",") if name.strip()],
            queries=given["queries"],
            use_index=not given["no_index"],
            formulas=given["formulas"],
            record=given["record"],
            on_progress=progress,
            **reached(given),
        )
        _tell_export(done, given["as_json"], files.is_json_lines(path, given["format"]))
    return 0


def import_(*, path: str, table: str, **given: Any) -> int:
    """Write the rows of FILE to TABLE. Refused rows go to a file, with the reason."""
    from haulage.tables.moving import files

    named = files.readable(path, given["format"])
    # It is looked at several times: for its keys, for its rows, and for what was left out.
    with interrupted_by_term(), kept(named) as file, called(file, named):
        if file != named and given["dead_letters"] is None:
            given["dead_letters"] = str(beside(named) / f"{named.name}.{name_of(table)}.refused.jsonl")
        return _import(path, str(file), table, given, again=file == named)


def _import(path: str, file: str, table: str, given: dict[str, Any], *, again: bool) -> int:
    """Write the rows of a file, which is that of the path or holds what came from there.

    Args:
        path: As it was given.
        file: Where the rows are.
        table: Where they go.
        given: The options.
        again: Whether the path can be read once more.
    """
    from haulage.tables.moving import files, operations

    partition_key, row_key = given["partition_key"], given["row_key"]
    if partition_key is None and row_key is None:
        partition_key, row_key = _chosen(file, given, again=again)
    excluded = [name.strip() for names in given["exclude"] for name in names.split(",") if name.strip()]
    with _shown("import", given) as progress:
        done = operations.import_table(
            file,
            table,
            format=given["format"],
            mode=given["mode"],
            partition_key=partition_key,
            row_key=row_key,
            exclude=excluded,
            index=given["index"],
            create=given["create"],
            dead_letters=given["dead_letters"],
            transactions=given["transactions"],
            record=given["record"],
            on_progress=progress,
            **reached(given),
        )
    code = _tell_import(replace(done, path=path), given["as_json"])
    if not given["quiet"] and "Timestamp" not in excluded and files.has_own_time(file, given["format"]):
        STDERR.print("haul: the column Timestamp was left out: the service sets it")
    return code


def _chosen(path: str, given: dict[str, Any], *, again: bool) -> tuple[str | None, str | None]:
    """Choose keys for a file that has none, and say which; ``again`` if it can be read once more."""
    from haulage.tables.moving import files
    from haulage.tables.plan import choose

    if files.has_keys(path, given["format"]):
        return None, None
    partition_key, row_key, why = choose(path, format=given["format"])
    if not given["quiet"]:
        STDERR.print(f"haul: chose keys: PartitionKey '{partition_key}', RowKey '{row_key}'")
        for line in why:
            STDERR.print(f"haul:   {line}")
        if again and given["format"] is None:
            # A plan goes by the name.
            STDERR.print(f"haul:   to see other choices, run: haul table plan {shlex.quote(path)}")
    return partition_key, row_key


def copy(*, source: str, destination: str, **given: Any) -> int:
    """Copy the table SOURCE to the table DESTINATION, which is made where none is."""
    from haulage.tables.moving import operations

    options = reached(given)
    with _shown("copy", given) as progress:
        exported, imported = operations.copy_table(
            source, destination, mode=given["mode"], on_progress=progress, **options
        )
    # The rows lay in a file in between, which means nothing to people.
    told = replace(imported, path=exported.table)
    code = _tell_import(told, False) if not given["as_json"] else int(bool(imported.refused))
    if given["as_json"]:
        echo(json.dumps({"exported": asdict(exported), "imported": asdict(imported)}))
    else:
        _tell_resumed(exported)
    if code or given["no_verify"]:
        return code
    found = operations.verify(source, destination, **options)
    return _tell_comparison(found, (source, destination), given["as_json"])


def backup(*, table: str, path: str, **given: Any) -> int:
    """Write TABLE to FILE.parquet, and what it holds to FILE.parquet.receipt.json."""
    from haulage.tables.moving import operations

    with _shown("backup", given) as progress:
        done, receipt = operations.backup(table, path, on_progress=progress, **reached(given))
    _tell_export(done, given["as_json"])
    if not given["as_json"]:
        echo(f"receipt: {receipt}")
    return 0


def restore(*, path: str, table: str, **given: Any) -> int:
    """Write the backup FILE.parquet to TABLE, which is made where none is, and prove that it is there."""
    from haulage.tables.moving import files, operations

    options, path = reached(given), operations.behind_receipt(path)
    named = files.readable(path)
    with interrupted_by_term(), kept(named) as kept_file, called(kept_file, named):
        file = str(kept_file)
        streamed = kept_file != named
        letters = beside(named) / f"{named.name}.{name_of(table)}.refused.jsonl" if streamed else None
        with _shown("restore", given) as progress:
            done = operations.import_table(
                file, table, create=True, dead_letters=letters, on_progress=progress, **options
            )
        code = _tell_import(replace(done, path=path), given["as_json"])
        if code or given["no_verify"]:
            return code
        return _tell_comparison(operations.verify(file, table, **options), (path, table), given["as_json"])


def verify(*, first: str, second: str, **given: Any) -> int:
    """Compare FIRST and SECOND row by row: tables, files of their rows, or receipts of backups."""
    from haulage.tables.moving import operations

    with interrupted_by_term():
        found = operations.verify(first, second, **reached(given))
    code = _tell_comparison(found, (first, second), given["as_json"])
    sys.stdout.flush()
    return code
