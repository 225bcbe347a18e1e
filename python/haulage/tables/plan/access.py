"""How the service would find the rows of a query, given the templates of the keys: a point, a range, a scan.

Pure: from the values that a query names to bounds of the keys, as a client would send them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

from haulage.tables.keys import CUTS, Field, Template, escape
from haulage.tables.plan.sql import is_text, is_time
from haulage.tables.values import DAY, BadKeyError, ticks_of

#: Ranges that are sent at most for one query: buckets of a hash, or months of a range of time.
MOST_PIECES = 256

Kind = Literal["point", "range", "partition", "partitions", "scan"]
KINDS: dict[Kind, str] = {
    "point": "point",
    "range": "range in one partition",
    "partition": "one whole partition",
    "partitions": "range over partitions",
    "scan": "scan of all rows",
}


@dataclass(frozen=True)
class Given:
    """What is asked of one column, with its values."""

    column: str
    equal: object = None
    low: object = None
    high: object = None
    low_open: bool = False
    high_open: bool = False
    prefix: str | None = None


@dataclass(frozen=True)
class Bounds:
    """A stretch of keys: from ``low``, below ``high``; a single key where ``exact`` is given."""

    exact: str | None = None
    low: str = ""
    high: str | None = None

    @property
    def all(self) -> bool:
        """Whether it bounds nothing."""
        return self.exact is None and not self.low and self.high is None


@dataclass(frozen=True)
class Access:
    """How a query is answered: the stretches that are sent, and what kind they are."""

    kind: Kind
    partitions: tuple[Bounds, ...]
    rows: Bounds
    in_order: bool = False  #: whether the rows come in the order that the query wants
    only_keys: bool = False  #: whether the keys alone decide which rows are returned

    @property
    def pieces(self) -> int:
        """How many stretches are asked for."""
        return len(self.partitions)


@dataclass(frozen=True)
class Shape:
    """What the templates must know of a column: its type, and whether escapes leave its order alone."""

    type: str
    in_order: bool = True


def order_of(part: Field, shape: Shape) -> int:
    """Return 1 where the texts of a field sort as its values do, -1 where they are reversed, else 0."""
    if part.format == "reversed":
        return -1
    if part.format in ("pad", "signed", *CUTS):
        return 1
    plain = is_time(shape.type) or shape.type == "BOOLEAN" or (is_text(shape.type) and shape.in_order)
    return int(part.format == "text" and plain)


def access(
    partition: Template,
    row: Template,
    given: Sequence[Given],
    shapes: Mapping[str, Shape],
    order: tuple[str, bool] | None = None,
) -> Access:
    """Return how a query is answered.

    Args:
        partition: The template of the PartitionKey.
        row: The template of the RowKey.
        given: What is asked of the columns.
        shapes: All columns.
        order: The column by which the rows are wanted, and whether the largest comes first.
    """
    asked = {one.column: one for one in given}
    partitions = tuple(_stretches(partition, asked, shapes))
    found = list(_stretches(row, asked, shapes))
    rows = found[0] if len(found) == 1 else Bounds()
    kind: Kind = "range"
    if any(one.all for one in partitions):
        kind = "scan"
    elif any(one.exact is None for one in partitions):
        kind = "partitions"
    elif rows.exact is not None:
        kind = "point"
    elif rows.all:
        kind = "partition"
        if len(partitions) > 1 and not any(part.column in asked for part in partition.fields):
            # All buckets of a hash, whole: nothing else than all rows.
            kind, partitions = "scan", (Bounds(),)
    within = kind in ("point", "range", "partition")
    in_order = within and order is not None and len(partitions) == 1 and _ordered(row, asked, shapes, order)
    return Access(kind, partitions, rows, in_order, within and _decided(partition, row, asked, shapes))


def _stretches(
    template: Template, asked: Mapping[str, Given], shapes: Mapping[str, Shape]
) -> Iterator[Bounds]:
    prefixes = [""]
    for part in template.parts:
        if isinstance(part, str):
            prefixes = [prefix + part for prefix in prefixes]
            continue
        given = asked.get(part.column)
        texts = _texts(part, given, shapes[part.column])
        if texts is not None and len(prefixes) * len(texts) <= MOST_PIECES:
            prefixes = [prefix + text for prefix in prefixes for text in texts]
            continue
        for prefix in prefixes:
            yield _range(prefix, part, given, shapes[part.column])
        return
    for prefix in prefixes:
        yield Bounds(exact=escape(prefix))


def _text(part: Field, value: object, shape: Shape) -> str:
    """Return the text of a value in a key, as it is where rows of the column's type are imported."""
    ticks = ticks_of(value) if shape.type == "DATE" else None
    return part.text(value if ticks is None else date.fromordinal(ticks // DAY + 1))


def _texts(part: Field, given: Given | None, shape: Shape) -> list[str] | None:
    """Return all texts that a field can have in the rows asked for, if they are few."""
    if given is not None and given.equal is not None:
        try:
            return [_text(part, given.equal, shape)]
        except BadKeyError:
            return None
    if part.format == "hash" and not part.optional:
        digits = len(str(part.width - 1))
        return [f"{bucket:0{digits}}" for bucket in range(part.width)]
    if given is not None and part.format in CUTS and given.low is not None and given.high is not None:
        texts = list(_cuts(part, given.low, given.high))
        return texts if texts and len(texts) <= MOST_PIECES else None
    return None


def _cuts(part: Field, low: object, high: object) -> Iterator[str]:
    """Yield the texts of a shortened time from ``low`` to ``high``, few more than may be sent at most."""
    last = part.text(high)
    text = part.text(low)
    if part.format == "iso":
        if text == last:
            yield text
        return
    moment = _begin(text)
    for _ in range(MOST_PIECES + 1):
        if text > last:
            return
        yield text
        try:
            moment = _next(moment, part.format)
        except (OverflowError, ValueError):
            return
        text = part.text(moment)


def _begin(text: str) -> datetime:
    whole = text + "0001-01-01T00"[len(text) :]
    return datetime.strptime(whole, "%Y-%m-%dT%H")


def _next(moment: datetime, step: str) -> datetime:
    if step == "year":
        return moment.replace(year=moment.year + 1)
    if step == "month":
        return (moment.replace(day=28) + timedelta(days=4)).replace(day=1)
    return moment + (timedelta(days=1) if step == "day" else timedelta(hours=1))


def _range(prefix: str, part: Field, given: Given | None, shape: Shape) -> Bounds:
    first: object = None
    last: object = None
    order = order_of(part, shape)
    if given is not None and given.prefix is not None and part.format == "text" and is_text(shape.type):
        # An escaped text begins as the escape of its beginning does, whatever escapes do to the order.
        first = last = given.prefix
    elif given is not None and order and not part.optional:
        first, last = (given.low, given.high) if order > 0 else (given.high, given.low)
    low, high = _end(part, first, shape), _end(part, last, shape)
    return Bounds(low=escape(prefix + low), high=successor(escape(prefix + high)))


def _end(part: Field, value: object, shape: Shape) -> str:
    try:
        return "" if value is None else _text(part, value, shape)
    except BadKeyError:
        # No key can hold such a value, so that it bounds nothing.
        return ""


def successor(prefix: str) -> str | None:
    """Return the least text that sorts after all that begin so; ``None`` for the empty one.

    >>> successor("a_"), successor("9"), successor("")
    ('a`', ':', None)
    """
    if not prefix:
        return None
    following = ord(prefix[-1]) + 1
    if 0xD800 <= following <= 0xDFFF:
        following = 0xE000
    if following > 0x10FFFF:
        return successor(prefix[:-1])
    # The bound goes into a filter, not into a key, so that a character that no key holds may stand in it.
    return prefix[:-1] + chr(following)


def _ordered(
    row: Template, asked: Mapping[str, Given], shapes: Mapping[str, Shape], order: tuple[str, bool]
) -> bool:
    for part in row.fields:
        given = asked.get(part.column)
        if given is not None and given.equal is not None:
            continue
        return part.column == order[0] and order_of(part, shapes[part.column]) == (-1 if order[1] else 1)
    return False


def _decided(
    partition: Template, row: Template, asked: Mapping[str, Given], shapes: Mapping[str, Shape]
) -> bool:
    """Return whether no row within the stretches fails the query: each condition is met by the keys alone."""
    left = set(asked)
    for template in (partition, row):
        for part in template.fields:
            given = asked.get(part.column)
            shape = shapes[part.column]
            lossless = part.format not in ("hash", "year", "month", "day", "hour")
            if given is None:
                break
            if given.equal is not None:
                if lossless:
                    left.discard(part.column)
                continue
            if (
                template is row
                and lossless
                and order_of(part, shape)
                and not given.low_open | given.high_open
            ):
                left.discard(part.column)
            break
    return not left
