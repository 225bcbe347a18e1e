"""What a request asks for: which rows, in which form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import quote, urlencode

from haulage.errors import UnsupportedError, UsageError
from haulage.tables.serve.arrow import Buffers
from haulage.tables.source import Metadata

Format = Literal["json-none", "json-minimal", "json-full", "atom", "ndjson", "csv", "arrow"]
FORMATS: tuple[Format, ...] = get_args(Format)
BUFFERS: tuple[Buffers, ...] = get_args(Buffers)
#: The part of a format that a source itself can write.
METADATA: dict[Format, Metadata] = {
    "json-none": "none",
    "json-minimal": "minimal",
    "json-full": "full",
    "atom": "atom",
}
MEDIA: dict[Format, str] = {
    "json-none": "application/json;odata=nometadata;streaming=true;charset=utf-8",
    "json-minimal": "application/json;odata=minimalmetadata;streaming=true;charset=utf-8",
    "json-full": "application/json;odata=fullmetadata;streaming=true;charset=utf-8",
    "atom": "application/atom+xml;charset=utf-8",
    "ndjson": "application/x-ndjson",
    "csv": "text/csv;charset=utf-8;header=present",
    "arrow": "application/vnd.apache.arrow.stream",
}
_JSON_LEVELS: dict[str, Format] = {
    "nometadata": "json-none",
    "none": "json-none",
    "minimalmetadata": "json-minimal",
    "minimal": "json-minimal",
    "fullmetadata": "json-full",
    "full": "json-full",
}
_BY_MEDIA: dict[str, Format] = {
    "application/atom+xml": "atom",
    "application/xml": "atom",
    "application/x-ndjson": "ndjson",
    "application/jsonl": "ndjson",
    "text/csv": "csv",
    "application/vnd.apache.arrow.stream": "arrow",
}
PAGE_ROWS = 1000
#: Other names are refused, so that a misspelt filter does not bring all rows.
NAMES = (
    "$filter",
    "$select",
    "$top",
    "$orderby",
    "$format",
    "format",
    "buffers",
    "formulas",
    "token",
    "NextPartitionKey",
    "NextRowKey",
)
_CONTINUED = ("NextPartitionKey", "NextRowKey")


@dataclass(frozen=True)
class Order:
    """A column to sort by."""

    column: str
    descending: bool


@dataclass(frozen=True)
class Asked:
    """One request for rows."""

    format: Format
    filter: str | None = None
    select: str | None = None
    top: int | None = None
    order: tuple[Order, ...] = ()
    continuation: str | None = None
    buffers: Buffers = "none"
    disarm: bool = True


def asked(query: Mapping[str, str], accept: str, *, page: bool) -> Asked:
    """Return what a query string and an Accept header ask for.

    >>> asked({"$top": "5", "$orderby": "a desc"}, "text/csv", page=True).order
    (Order(column='a', descending=True),)

    Args:
        query: The parameters of the address.
        accept: The Accept header; ``""`` where there is none.
        page: Whether one page is asked for, rather than all rows.

    Raises:
        UsageError: A parameter is unknown, or its value makes no sense.
        UnsupportedError: No format is acceptable.
    """
    for name in query:
        if name not in NAMES:
            raise UsageError("ask", name[:100], "no such parameter", f"there are: {', '.join(NAMES)}")
    continued = {name: query[name] for name in _CONTINUED if name in query}
    if continued and not page:
        hint = "leave it out, or ask for /rows"
        raise UsageError("ask", "NextPartitionKey", "all rows have no pages", hint)
    buffers = next((one for one in BUFFERS if one == query.get("buffers", "none")), None)
    if buffers is None:
        raise UsageError("ask", "buffers", "no such compression", "write none, lz4 or zstd")
    formulas = query.get("formulas", "disarm")
    if formulas not in ("disarm", "keep"):
        raise UsageError("ask", "formulas", f"no such choice: {formulas[:40]}", "write disarm or keep")
    return Asked(
        format=_format(query.get("format") or query.get("$format"), accept),
        filter=query.get("$filter") or None,
        select=query.get("$select") or None,
        top=_top(query.get("$top"), page),
        order=_order(query.get("$orderby")),
        continuation=urlencode(continued, quote_via=quote) if continued else None,
        buffers=buffers,
        disarm=formulas == "disarm",
    )


def _top(text: str | None, page: bool) -> int | None:
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,15}", text) or int(text) < 1:
        raise UsageError("ask", "$top", f"no number of rows: {text[:40]}", "write a whole number, 1 or more")
    if page and int(text) > PAGE_ROWS:
        cause = f"a page has at most {PAGE_ROWS} rows"
        raise UsageError("ask", "$top", cause, "ask for /all instead, or follow the pages")
    return int(text)


def _order(text: str | None) -> tuple[Order, ...]:
    found = []
    for part in text.split(",") if text else ():
        match = re.fullmatch(r"(.+?)(?:\s+(asc|desc))?", part.strip())
        if not match:
            hint = "write for example: elevation desc, station"
            raise UsageError("ask", "$orderby", f"cannot read: {part.strip()[:40]}", hint)
        found.append(Order(match[1].strip('"'), match[2] == "desc"))
    return tuple(found)


def _format(name: str | None, accept: str) -> Format:
    if name:
        if name == "json":
            return _of_accept(accept, only_json=True) or "json-minimal"
        for known in FORMATS:
            if name == known:
                return known
        raise UsageError(
            "ask",
            "format",
            f"no such format: {name[:40]}",
            "write json, json-none, json-minimal, json-full, atom, ndjson, csv or arrow",
        )
    found = _of_accept(accept)
    if found is None:
        hint = f"accept one of: {', '.join(sorted(_BY_MEDIA))}, application/json"
        raise UnsupportedError("ask", "Accept", f"cannot write {accept[:100]}", hint)
    return found


def _of_accept(accept: str, *, only_json: bool = False) -> Format | None:
    """Return the format that is liked best; the first where several are liked alike."""
    choices: list[tuple[float, int, Format]] = []
    for place, part in enumerate(accept.split(",") if accept.strip() else ["*/*"]):
        media, *parameters = [piece.strip().lower() for piece in part.split(";")]
        told = dict(parameter.partition("=")[::2] for parameter in parameters)
        quality = _quality(told.get("q", "1"))
        found = _BY_MEDIA.get(media)
        if media in ("application/json", "application/*", "*/*", "text/json"):
            level = (told.get("odata") or told.get("odata.metadata") or "minimalmetadata").strip('"')
            found = _JSON_LEVELS.get(level, "json-minimal")
        elif media == "text/*":
            found = "csv"
        if found is None or quality <= 0 or (only_json and not found.startswith("json")):
            continue
        choices.append((-quality, place, found))
    return min(choices)[2] if choices else None


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
