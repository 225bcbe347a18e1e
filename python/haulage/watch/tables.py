"""The view of the terminal: what one looks at first comes first, the rest as far as there are lines."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from haulage.watch import tables_of_queues, words
from haulage.watch.narrowing import NarrowingTable
from haulage.words.numbers import counted, format_count, format_duration, format_rate, format_size
from haulage.words.printable import printable

#: The style of each state, and the word for it. Never the colour alone.
HEALTH = {
    "alive": ("green", "running"),
    "done": ("dim", "done"),
    "quiet": ("dim", "quiet"),
    "failed": ("bold red", "failed"),
    "silent": ("bold yellow", "SILENT"),
    "lost": ("bold red", "LOST"),
    "panicked": ("bold red", "PANIC"),
}
_LEVELS = {"CRITICAL": "bold red", "ERROR": "red", "WARNING": "yellow", "DEBUG": "dim"}
#: Messages of each sort in a summary.
MESSAGES = 20
#: Nodes in trouble that the end of a summary names.
TROUBLES = 5
#: Lines that a table takes besides its rows: its head, and the empty line below.
_HEAD = 2


def screen(shown: dict[str, Any], height: int, *, hint: str = "") -> RenderableType:
    """Return all of it for a terminal of so many lines."""
    parts: list[RenderableType] = [*_top(shown, hint)]
    left = height - len(parts) - 1
    several = shown["totals"]["jobs"] > 1
    tables = [
        (_queues, shown["queues"], 0),
        # One job is described above.
        (_jobs, shown["jobs"] if several else [], shown["jobs_left_out"]),
        (_nodes_by_job if several else _nodes, shown["nodes"], shown["nodes_left_out"]),
        (_errors, shown["errors"], shown["errors_left_out"]),
        (_slow, shown["slow"], 0),
        (_messages, shown["problems"], shown["problems_left_out"]),
        (_logs, shown["logs"], shown["logs_left_out"]),
    ]
    wanted = [len(rows) for _, rows, _ in tables]
    shares = _shares(wanted, left - sum(_HEAD + 1 for count in wanted if count))
    for (draw, rows, beyond), share in zip(tables, shares, strict=True):
        if rows and share > 0:
            parts += [draw(rows[:share]), _beyond(len(rows) - share + beyond)]
    return Group(*parts)


def whole(shown: dict[str, Any]) -> RenderableType:
    """Return all of it, however many lines that takes, but of messages the latest."""
    cut = dict(shown)
    for name in ("problems", "logs"):
        cut[name] = shown[name][:MESSAGES]
        cut[f"{name}_left_out"] += len(shown[name]) - len(cut[name])
    return Group(screen(cut, 10_000), *_troubles(shown))


def _troubles(shown: dict[str, Any]) -> list[Text]:
    """Return who is in trouble once more: the head of a long summary has scrolled away when it ends."""
    nodes = [
        row
        for row in shown["nodes"]
        if row["health"] not in ("alive", "done", "quiet") or row["objects_failed"]
    ]
    lines = []
    for row in nodes[:TROUBLES]:
        failed = f"{counted(row['objects_failed'], 'object')} failed" if row["objects_failed"] else ""
        said = ", ".join(filter(None, [failed, printable(row["cause"])]))
        style, word = HEALTH[row["health"]]
        lines.append(Text.assemble((word, style), f"  {printable(row['node'])}", f": {said}" if said else ""))
    if nodes and shown["problems"]:
        last = shown["problems"][0]
        text = ": ".join(filter(None, [printable(last["object"]), printable(last["text"])]))
        when = words.clock(last["time_unix_ns"])
        lines.append(Text.assemble(("latest error", "bold red"), f"  {when}  {text}"))
    return [*lines, _beyond(len(nodes) - TROUBLES)] if len(nodes) > TROUBLES else lines


def totals(shown: dict[str, Any]) -> str:
    """Return the totals in one line."""
    if not shown["jobs"]:
        return ", ".join(_of_queues(shown)) or _nothing(shown)
    healths = ", ".join(f"{number} {HEALTH[name][1]}" for name, number in shown["health"].items())
    progress = [text for text, _ in _progress(shown)]
    return ", ".join([*progress, f"nodes: {healths}", *_of_queues(shown)])


def _nothing(shown: dict[str, Any]) -> str:
    return "the input has ended without an event" if shown["over"] else "nothing to show yet; waiting"


def _of_queues(shown: dict[str, Any]) -> list[str]:
    return [f"queue {one['name']}: {counted(one['messages'], 'message')}" for one in shown["queues"]]


def _shares(wanted: list[int], lines: int) -> list[int]:
    """Return how many rows each table gets: one each in turn, as long as there are lines."""
    shares = [0] * len(wanted)
    while lines > 0 and shares != wanted:
        for place, count in enumerate(wanted):
            # Nodes and errors get twice as many: they are what one looks for.
            for _ in range(2 if place in (2, 3) else 1):
                if shares[place] < count and lines > 0:
                    shares[place] += 1
                    lines -= 1
    return shares


def _beyond(count: int) -> Text:
    return Text(f"  and {format_count(count)} more" if count > 0 else "", style="dim")


def _line(*parts: tuple[str, str] | str) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis")
    for part in parts:
        text.append(*((part, "") if isinstance(part, str) else part))
    return text


def _top(shown: dict[str, Any], hint: str) -> list[RenderableType]:
    totals = shown["totals"]
    lines = [_line((printable(shown["source"]), "bold"), "  ", (hint, "dim"))]
    if shown["away"]:
        ago = format_duration(shown["away"]["for_ns"])
        lines.append(
            _line((f"has been unavailable for {ago}: ", "bold yellow"), printable(shown["away"]["cause"]))
        )
    lines += [_line((name, "bold yellow"), cause) for name, cause in tables_of_queues.away(shown)]
    if not shown["jobs"]:
        waiting = [] if shown["queues"] else [_line((_nothing(shown), "dim"))]
        return [*lines, *waiting, Text()]
    job = shown["jobs"][0]
    if totals["jobs"] == 1:
        style, word = HEALTH[job["health"]]
        what = printable(" ".join(filter(None, [job["what"], ", ".join(job["sources"])])))
        goal = f" to {printable(job['destination'])}" if job["destination"] else ""
        lines.append(_line((word, style), f"  job {printable(job['job'])}  {what}{goal}"))
    else:
        silent = totals["jobs_silent"]
        running = f"{counted(totals['jobs'], 'job')}: {format_count(totals['jobs_running'] - silent)} running"
        said = [(f", {format_count(silent)} silent", "bold yellow")] if silent else []
        lines.append(_line(running, *said))
    healths = [(f"{number} {HEALTH[name][1]}", HEALTH[name][0]) for name, number in shown["health"].items()]
    lines.append(_line(*_between(healths, "  ")))
    lines.append(_line(*_between(_progress(shown), "  ")))
    if shown["lines_lost"] or shown["lines_unread"]:
        lost, unread = shown["lines_lost"], shown["lines_unread"]
        lines.append(
            _line(
                (f"{counted(lost, 'line')} of the log missing, {format_count(unread)} unreadable", "yellow")
            )
        )
    return [*lines, Text()]


def _between(parts: list[tuple[str, str]], between: str) -> list[tuple[str, str] | str]:
    found: list[tuple[str, str] | str] = []
    for part in parts:
        found += [between, part] if found else [part]
    return found


def _progress(shown: dict[str, Any]) -> list[tuple[str, str]]:
    totals = shown["totals"]
    tasks = [(tables_of_queues.of_tasks(shown["tasks"]), "bold")] if shown["tasks"] else []
    if tasks and not totals["objects_total"] and not totals["bytes_total"]:
        return tasks
    done, total = _done(totals), totals["objects_total"]
    known = total and total >= totals["objects_done"]
    of = f"{format_count(done)}/{format_count(total)}" if known else format_count(done)
    more = "" if totals["listed"] or not total else "+"
    plural = "" if max(done, total) == 1 and not more else "s"
    parts = [(f"{of}{more} object{plural}", "bold")]
    if totals["objects_failed"]:
        # A run that has put right what an earlier one failed to copy leaves that one's count as it was.
        of_jobs = f" in {totals['jobs_with_failures']} of {totals['jobs']} jobs" if totals["jobs"] > 1 else ""
        parts.append((f"{format_count(totals['objects_failed'])} failed{of_jobs}", "bold red"))
    if totals["objects_skipped"]:
        parts.append((f"{format_count(totals['objects_skipped'])} skipped", ""))
    moved = format_size(totals["bytes_done"])
    parts.append((f"{moved} of {format_size(totals['bytes_total'])}" if totals["bytes_total"] else moved, ""))
    if totals["jobs_running"]:
        parts.append((format_rate(totals["rate_bits_per_second"]), "green"))
        parts.append((f"{totals['in_flight']} in flight", ""))
        if totals["eta_ns"] is not None:
            parts.append((f"{format_duration(totals['eta_ns'])} left", "bold"))
    if totals["retries"]:
        parts.append((counted(totals["retries"], "retry", "retries"), "yellow"))
    return [*parts, *tasks]


def _done(row: dict[str, Any]) -> int:
    """Return how many objects are done, without those that failed, which the events count among them."""
    # Of tasks, those that failed are not counted among them.
    failed: int = 0 if row.get("tasks") else row["objects_failed"]
    return max(0, int(row["objects_done"]) - failed)


def _jobs(rows: list[dict[str, Any]]) -> Table:
    table = NarrowingTable("JOB", "STATE", ">DONE", ">FAILED?", ">MOVED?", ">LEFT", "*WHAT")
    for row in rows:
        style, word = HEALTH[row["health"]]
        what = " ".join(filter(None, [row["what"], ", ".join(row["sources"])]))
        goal = f" to {row['destination']}" if row["destination"] else ""
        table.add_row(
            Text(_short(row["job"])),
            Text(word, style=style),
            f"{format_count(_done(row))}/{format_count(row['objects_total'])}",
            Text(format_count(row["objects_failed"]), style="red" if row["objects_failed"] else "dim"),
            format_size(row["bytes_done"]),
            format_duration(row["eta_ns"]) if row["eta_ns"] is not None else "",
            Text(printable(f"{what}{goal}")),
        )
    return table


def _short(job: str) -> str:
    """Return enough of the name of a job to find it among others."""
    return printable(job[:8])


def _nodes_by_job(rows: list[dict[str, Any]]) -> Table:
    return _nodes(rows, by_job=True)


def _nodes(rows: list[dict[str, Any]], *, by_job: bool = False) -> Table:
    of_job = ("JOB",) if by_job else ()
    columns = (
        "STATE",
        "WHAT?",
        ">RATE?",
        ">IN FLIGHT?",
        ">DONE?",
        ">FAILED?",
        ">MOVED?",
        ">ERRORS?",
        "*HEARD",
    )
    table = NarrowingTable("NODE", *of_job, *columns)
    for row in rows:
        style, word = HEALTH[row["health"]]
        ago = f"{format_duration(row['heard_ago_ns'])} ago" if row["heard_ago_ns"] >= 2 * 10**9 else "now"
        engine, tasks = row["engine"], row["tasks"]
        counts = engine or tasks
        table.add_row(
            Text(printable(row["node"])),
            *([Text(_short(row["job"]))] if by_job else []),
            Text(word, style=style),
            Text(printable(row["what"])),
            format_rate(row["rate_bits_per_second"]) if engine else "",
            str(row["in_flight"]) if counts else "",
            format_count(_done(row)) if counts else "",
            Text(
                format_count(row["objects_failed"]) if counts else "",
                style="red" if row["objects_failed"] else "dim",
            ),
            format_size(row["bytes_done"]) if engine else "",
            Text(format_count(row["errors"]), style="yellow" if row["errors"] else "dim"),
            Text(f"{ago}  {printable(row['cause'])}" if row["cause"] else ago),
        )
    return table


def _queues(rows: list[dict[str, Any]]) -> Table:
    table = NarrowingTable("QUEUE", ">MESSAGES", ">TREND", ">LEFT", "*COUNTED")
    for row in rows:
        table.add_row(*tables_of_queues.queue_cells(row))
    return table


def _errors(rows: list[dict[str, Any]]) -> Table:
    table = NarrowingTable(
        "ERRORS", ">REQUESTS?", ">OBJECTS?", ">OTHERS?", "LAST?", "NODE?", "*OBJECT AND CAUSE"
    )
    for row in rows:
        said = ": ".join(filter(None, [printable(row["object"]), printable(row["cause"])]))
        table.add_row(
            Text(printable(row["kind"]), style="red" if row["objects"] or row["others"] else "yellow"),
            *(format_count(row[name]) if row[name] else "" for name in ("attempts", "objects", "others")),
            words.clock(row["time_unix_ns"]),
            Text(printable(row["node"])),
            Text(said),
        )
    return table


def _slow(rows: list[dict[str, Any]]) -> Table:
    table = NarrowingTable("SLOW", ">DONE", ">SIZE?", "NODE?", "*OBJECT")
    for row in rows:
        share = f"{100 * row['bytes_done'] // row['size_bytes']} %" if row["size_bytes"] else ""
        table.add_row(
            format_duration(row["age_ns"]),
            share,
            format_size(row["size_bytes"]),
            Text(printable(row["node"])),
            Text(printable(row["object"])),
        )
    return table


def _messages(rows: list[dict[str, Any]], name: str = "LATEST ERRORS") -> Table:
    table = NarrowingTable("TIME?", "NODE?", "LEVEL", f"*{name}")
    for row in rows:
        text = ": ".join(filter(None, [printable(row["object"]), printable(row["text"])]))
        table.add_row(
            words.clock(row["time_unix_ns"]),
            Text(printable(row["node"])),
            Text(printable(row["level"]), style=_LEVELS.get(row["level"], "")),
            Text(text),
        )
    return table


def _logs(rows: list[dict[str, Any]]) -> Table:
    return _messages(rows, "LATEST WARNINGS AND LOG LINES")
