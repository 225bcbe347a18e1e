"""Plans as TOML files: those that come with Haulage, and everybody's own.

``haul lab plans`` lists ours; copy one with ``haul lab plans NAME`` and change it. The reference is
``docs/reference/lab.md``.
"""

from __future__ import annotations

import difflib
import itertools
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from haulage.errors import NotFoundError, UsageError
from haulage.lab.plan import (
    BODIES,
    DIRECTIONS,
    METHODS,
    ROW_BYTES,
    ROW_FORMATS,
    TOOLS,
    WAYS,
    Arm,
    FileSet,
    Node,
    Plan,
    Prices,
)
from haulage.lab.toml_tables import Table
from haulage.lab.units import spell_size

#: Of one machine; a plan with more has a typing error.
MOST_NODES = 256


def names() -> list[str]:
    """Return the plans that come with Haulage."""
    folder = resources.files("haulage.lab") / "plans"
    return sorted(item.name.removesuffix(".toml") for item in folder.iterdir() if item.name.endswith(".toml"))


def text_of(name: str) -> str:
    """Return the text of a plan of ours by name, or of a file by path.

    Raises:
        NotFoundError: There is neither.
        UsageError: The file is not UTF-8 text.
    """
    if name in names():
        return (resources.files("haulage.lab") / "plans" / f"{name}.toml").read_text(encoding="utf-8")
    path = Path(name)
    if not path.is_file():
        near = difflib.get_close_matches(name, names(), 1)
        hint = f"did you mean '{near[0]}'?" if near else f"plans: {', '.join(names())}; or name a TOML file"
        raise NotFoundError("read plan", name, "neither a plan nor a file", hint)
    return text_at(path)


def text_at(path: Path) -> str:
    """Return the text of a file.

    Raises:
        UsageError: It is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError("read plan", str(path), "not UTF-8 text", "save it as UTF-8") from None


def tables_of(text: str, name: str) -> dict[str, Any]:
    """Return what the text of a plan says, not checked yet.

    Raises:
        UsageError: It is not TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError("read plan", name, f"not TOML: {error}", "see docs/reference/lab.md") from None


def load(name: str, *, variant: str | None = None, overrides: Mapping[str, Any] | None = None) -> Plan:
    """Read a plan by name or path.

    Args:
        name: One of :func:`names`, or the path of a TOML file.
        variant: A table below ``[variants]`` whose keys replace the plan's, such as ``"full"``; default
            none.
        overrides: Keys that replace the plan's, such as ``{"replicates": 3}``; default none.

    Raises:
        NotFoundError: No such plan or file.
        UsageError: Not TOML, a key that is not known, a value without its unit.
    """
    values = tables_of(text_of(name), name)
    variants = values.pop("variants", {})
    if variant is not None:
        if variant not in variants:
            known = ", ".join(variants) or "none"
            raise UsageError("read plan", name, f"has no variant '{variant}'", f"its variants: {known}")
        values |= variants[variant]
    for key, value in (overrides or {}).items():
        _put(values, key, value)
    return parse(values)


def parse(values: Mapping[str, Any]) -> Plan:
    """Check the tables of a plan and fill in the defaults.

    Raises:
        UsageError: A key that is not known, a value without its unit, nothing to do.
    """
    table = Table(values, "plan")
    ceiling, stop, prices = table.table("ceiling"), table.table("stop"), table.table("prices")
    scale = table.table("scale")
    counts = _counts(scale)
    arms = [arm for item in table.tables("arms") for arm in _arms(item)]
    plan = Plan(
        name=table.text("name"),
        title=table.text("title", ""),
        question=table.text("question", ""),
        follows=table.text("follows", ""),
        target=table.text("target", "emulated:none"),
        store=table.choice("store", ("null", "memory"), "null"),
        faults=table.text("faults", "none"),
        fresh_link=table.flag("fresh_link", False),
        fresh_nodes=table.flag("fresh_nodes", False),
        source=table.choice("source", ("disk", "memory"), "disk"),
        seed=table.number("seed", 1),
        replicates=table.number("replicates", 6, least=1),
        warm_up=table.number("warm_up", 1),
        idle_ns=table.duration_ns("idle", "100ms"),
        time_bound_ns=table.duration_ns("time_bound", "24h"),
        stop_width=stop.share("relative_width", 0.0),
        stop_at_least=stop.number("at_least", 6, least=2),
        ceiling=ceiling.flag("measure", True),
        ceiling_connections=ceiling.number("connections", 64, least=1),
        ceiling_time_ns=ceiling.duration_ns("time", "2s"),
        directions=table.choices("directions", DIRECTIONS, ["up"]),
        arms=tuple(arms),
        files=tuple(_file_set(item) for item in table.tables("files")),
        nodes=tuple(_node(item) for item in table.tables("nodes")),
        places=tuple(_node(item) for item in table.tables("places")),
        again=table.text("again", "baseline"),
        margin=table.share("margin", 0.05),
        prices=Prices(
            prices.text("currency", "USD"),
            prices.share("writes_per_10k", Prices.writes_per_10k),
            prices.share("reads_per_10k", Prices.reads_per_10k),
            prices.share("egress_per_gb", Prices.egress_per_gb),
        ),
        counts=counts,
        own_links=_own_links(scale, counts),
    )
    for part in (ceiling, stop, prices, scale, table):
        part.end()
    return _checked(plan)


def _counts(scale: Table) -> tuple[int, ...]:
    """Read how many nodes there are at once; one alone is always among them, to hold the others against."""
    found = scale.many("nodes", [])
    for count in found:
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_NODES:
            hint = f"write whole numbers from 1 to {MOST_NODES}, such as [1, 2, 4]"
            raise scale.fault("nodes", f"{count!r} is no number of nodes", hint)
    return tuple(sorted({1, *found})) if found else ()


def _own_links(scale: Table, counts: tuple[int, ...]) -> tuple[tuple[int, str], ...]:
    links = scale.table("links").values
    for node in links:
        if not node.isdecimal() or not 1 <= int(node) <= max(counts, default=0):
            raise scale.fault("links", f"there is no node '{node}'", 'write links = { 2 = "total=5mbit" }')
    return tuple(sorted((int(node), str(link)) for node, link in links.items()))


def _checked(plan: Plan) -> Plan:
    def refuse(what: str, cause: str, hint: str) -> UsageError:
        return UsageError("read plan", f"{plan.name}: {what}", cause, hint)

    if not plan.arms:
        raise refuse("arms", "none", "write [[arms]] with method = " + ", ".join(METHODS))
    if not plan.files:
        raise refuse("files", "none", '[[files]] with size = "10MiB"')
    for what, found in (
        ("arms", plan.arms),
        ("files", plan.files),
        ("nodes", plan.nodes),
        ("places", plan.places),
    ):
        labels = [item.name for item in found]
        twice = {label for label in labels if labels.count(label) > 1}
        if twice:
            raise refuse(what, f"'{min(twice)}' is there twice", "give one of them another name")
    if plan.source == "memory" and any(arm.client != "engine" or arm.tool for arm in plan.arms):
        raise refuse("source", "only the engine reads from memory", 'write source = "disk"')
    if plan.counts and any(arm.client != "engine" or arm.tool for arm in plan.arms):
        raise refuse("scale", "only the engine moves files on many nodes", "leave the other arms out")
    if plan.counts:
        _check_links(plan)
    _check_rows(plan, refuse)
    if plan.counts and plan.fresh_link:
        raise refuse("scale", "not with links that begin anew in each cell", "write fresh_link = false")
    if plan.again and plan.again not in [arm.name for arm in plan.arms]:
        # A plan without a baseline has nothing to repeat; one that names another arm has a typing error.
        if plan.again != "baseline":
            raise refuse("again", f"no arm is called '{plan.again}'", 'name an arm, or write again = ""')
        plan = replace(plan, again="")
    return plan


def _check_rows(plan: Plan, refuse: Callable[[str, str, str], UsageError]) -> None:
    """Refuse a plan in which rows are moved as files, or files as rows."""
    arms = {arm.method == "table-rows" for arm in plan.arms}
    files = {item.kind == "rows" for item in plan.files}
    if True not in arms | files:
        return
    if arms != files or len(arms) > 1 or len(plan.files) > 1:
        cause = "rows of one table go with arms of the method table-rows, and with nothing else"
        raise refuse(
            "files", cause, 'write one [[files]] with kind = "rows", and method = "table-rows" in all arms'
        )
    if plan.directions != ("down",):
        raise refuse("directions", "rows are read", 'write directions = "down"')
    if plan.ceiling:
        raise refuse("ceiling", "it is measured with blobs", "write [ceiling] with measure = false")
    if not plan.target.startswith("emulated:"):
        raise refuse(
            "target", "tables are asked at emulated endpoints alone", 'write target = "emulated:none"'
        )


def _check_links(plan: Plan) -> None:
    """Refuse what a link between a node and that of the target cannot do."""
    of_sizes = [link for node in plan.nodes for link in (node.link, node.link_down) if link]
    for link in [*of_sizes, *(link for _, link in plan.own_links)]:
        keys = {word.partition("=")[0] for word in link.split(",")}
        if keys - {"total", "conn"}:
            raise UsageError(
                "read plan",
                f"{plan.name}: link of a node",
                f"'{link}' has more than total= and conn=",
                "write the round trip in the target, which all nodes have before them",
            )
    for key in ("via", "cpus"):
        if any(getattr(node, key) is not None for node in plan.nodes):
            cause = f"{key} is not for many nodes"
            raise UsageError("read plan", f"{plan.name}: nodes", cause, "leave it out")


def _arms(table: Table) -> list[Arm]:
    """Read ``[[arms]]``; lists of block sizes and of concurrencies stand for an arm each."""
    method = table.choice("method", METHODS)
    if method == "table-rows":
        return _row_arms(table)
    plain = method in ("ranges", "put-blocks", "local-disk")
    client = table.choice("client", ("engine", "plain"), "plain" if plain else "engine")
    tool = table.choice("tool", TOOLS) if method == "external" else None
    sequence = table.flag("sequence", False)
    stall = table.duration_ns("stall_timeout", "30s") if table.has("stall_timeout") else None
    checksum = table.choice("checksum", ("crc64", "md5", "none"), "crc64") if table.has("checksum") else None
    directions = table.choices("directions", DIRECTIONS, DIRECTIONS)
    window = table.duration_ns("window", "90s") if table.has("window") else None
    body, one_blob = table.choice("body", BODIES, "bytes"), table.flag("one_blob", False)
    if client == "engine" and (window is not None or body != "bytes"):
        key = "body" if window is None else "window"
        raise table.fault(key, "only the plain client has it", 'write client = "plain"')
    default_concurrency = {"baseline": 1, "single-put": 1, "ranges": 8, "whole-files": 4, "local-disk": 1}
    default_concurrency |= {"blocks": 16, "put-blocks": 16}
    blocks = table.many("block_size", [None])
    counts = table.many("concurrency", [default_concurrency.get(method)])
    given = table.text("name", "")
    arms = []
    for block, count in itertools.product(blocks, counts):
        block_size = None if block is None else Table({"block_size": block}, "arms").size_bytes("block_size")
        if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 1):
            raise table.fault("concurrency", f"{count!r} is not a number of requests", "write 1 or more")
        if block_size is None and method in ("blocks", "put-blocks", "ranges"):
            block_size = 4 << 20 if method == "ranges" else 1 << 20
        if method == "baseline" and count != 1:
            raise table.fault("concurrency", "a baseline has one request in flight", "use whole-files")
        arm = Arm(
            method, given, count, block_size, client, tool, sequence, stall, checksum, tuple(directions)
        )
        arm = replace(arm, window_ns=window, body=body, one_blob=one_blob)
        arms.append(replace(arm, name=_arm_name(arm, len(blocks) * len(counts) > 1)))
    table.end()
    return arms


def _row_arms(table: Table) -> list[Arm]:
    """Read an arm that asks for rows; lists of formats, of ways and of gathered stand for an arm each."""
    formats = table.choices("format", ROW_FORMATS, ROW_FORMATS)
    ways = table.choices("way", WAYS, WAYS)
    gatherings = table.many("gathered", [False, True])
    given = table.text("name", "")
    client = table.choice("client", ("plain",), "plain")
    arms = []
    for form, gathered, way in itertools.product(formats, gatherings, ways):
        if not isinstance(gathered, bool):
            raise table.fault("gathered", f"{gathered!r} is not true or false", "write true, false, or both")
        # A store gives pages, and no Arrow; both at once are an export, which gathers by itself.
        if way == "direct" and gathered != (form == "arrow"):
            continue
        name = f"{form}, {'gathered' if gathered else 'paged'}, {way}"
        several = len(formats) * len(gatherings) * len(ways) > 1
        arms.append(
            Arm(
                "table-rows",
                f"{given} {name}".strip() if several else given or name,
                1,
                client=client,
                directions=table.choices("directions", ("down",), ["down"]),
                format=form,
                way=way,
                gathered=gathered,
            )
        )
    for key in ("concurrency", "sequence", "body", "one_blob"):
        # Written by a run, always the same.
        table.has(key)
    table.end()
    if not arms:
        cause = "a store answers page by page, and not in Arrow"
        raise table.fault(
            "way", cause, 'write way = "proxy"; format = "arrow" with gathered = true is an export'
        )
    return arms


def _arm_name(arm: Arm, several: bool) -> str:
    """Return the name of the treatment: the arm's, with what tells its levels apart."""
    if arm.name and not several:
        return arm.name
    words = [arm.name or arm.tool or arm.method]
    if arm.client == "plain" and not arm.name and arm.method in ("single-put", "blocks"):
        words.append("plain")
    if arm.block_size_bytes and arm.method in ("blocks", "put-blocks", "ranges", "stream"):
        words.append(spell_size(arm.block_size_bytes))
    if arm.concurrency and (
        arm.method in ("blocks", "put-blocks", "ranges", "whole-files") or arm.concurrency > 1
    ):
        words.append(f"x{arm.concurrency}")
    return " ".join(words)


def _file_set(table: Table) -> FileSet:
    kind = table.choice("kind", ("random", "netcdf", "rows"), "random")
    count = table.number("count", 1, least=1)
    if kind == "netcdf":
        large = table.number("large_count", count * 32 // 144)
        found = FileSet(
            name=table.text("name", f"{count} NetCDF"),
            size_bytes=None,
            count=count,
            kind=kind,
            large_count=min(large, count),
            large_bytes=table.size_bytes("large_size", "1.5MB"),
            small_bytes=table.size_bytes("small_size", "92.5KB"),
        )
    elif kind == "rows":
        found = FileSet(table.text("name", f"{count:,} rows"), None, count, kind, small_bytes=ROW_BYTES)
    else:
        size, written = table.size_bytes("size"), table.text("size")
        default = written if count == 1 else f"{count} x {written}"
        found = FileSet(name=table.text("name", default), size_bytes=size, count=count)
    found = replace(
        found,
        replicates=table.number("replicates", None, least=1) if table.has("replicates") else None,
        again=table.flag("again", True),
        leave_out=tuple(str(pattern) for pattern in table.many("leave_out", [])),
        link=table.text("link") if table.has("link") else None,
    )
    table.end()
    return found


def _node(table: Table) -> Node:
    node = Node(
        name=table.text("name"),
        cpus=table.number("cpus", None, least=1) if table.has("cpus") else None,
        link=table.text("link") if table.has("link") else None,
        link_down=table.text("link_down") if table.has("link_down") else None,
        via=table.text("via") if table.has("via") else None,
        client=table.text("client") if table.has("client") else None,
        path=table.text("path") if table.has("path") else None,
    )
    table.end()
    return node


def _put(values: dict[str, Any], key: str, value: Any) -> None:
    """Set a key such as ``stop.relative_width``."""
    *parents, last = key.split(".")
    for parent in parents:
        values = values.setdefault(parent, {})
        if not isinstance(values, dict):
            raise UsageError("set", key, f"'{parent}' is not a table", "write KEY=VALUE or TABLE.KEY=VALUE")
    values[last] = value
