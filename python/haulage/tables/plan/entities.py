"""What an entity weighs by the service's formula, and how each type of column is stored in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from haulage.tables.plan import sql
from haulage.tables.plan.data import Column

#: Bounds of the service: an entity's bytes and properties, bytes of a value, a transaction's rows and bytes.
ENTITY_BYTES = 2**20
PROPERTIES = 252
VALUE_BYTES = 64 * 1024
TRANSACTION_ROWS = 100
TRANSACTION_BYTES = 4 * 2**20
#: Entities a second that the service takes: in one partition, in one account.
PARTITION_RATE, ACCOUNT_RATE = 2_000, 20_000
#: Rows in one answer at most.
PAGE = 1_000

_SMALL = {"TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT"}
_NAME = re.compile(r"[^\W\d]\w*")
_TAKEN = {"PartitionKey", "RowKey", "Timestamp"}
#: What an export appends to the names of a property that has several types, or of times that are text.
_TYPED = re.compile(r"(.+)@(Edm\.(?:String|Boolean|Int32|Int64|Double|DateTime|Guid|Binary))(?:\.text)?")
_OWN_KEYS = {"PartitionKey", "RowKey"}
_OWN_KEY = "the file's own key, which an import without templates uses"
_OWN_TIME = "not imported, because the service sets it"
_TAKEN_NAME = "the service uses this name itself: rename the column"
_NO_NAME = "the service does not allow this name (only letters, digits and _, at most 255); it is left out"


@dataclass(frozen=True)
class Stored:
    """How the values of a column are stored."""

    column: str
    type: str
    edm: str  #: empty where no type holds it
    note: str = ""  #: what changes with it; empty where nothing does

    @property
    def left_out(self) -> bool:
        """Whether the table cannot hold the column, so that an import must exclude it."""
        return not self.edm or self.note == _NO_NAME

    @property
    def bad_name(self) -> bool:
        """Whether the service does not take a column of this name."""
        return self.note in (_NO_NAME, _TAKEN_NAME)


def stored(column: Column) -> Stored:
    """Return the type that a column gets in the table.

    >>> stored(Column("size", "UBIGINT")).edm, stored(Column("member", "SMALLINT")).edm
    ('Edm.Int64', 'Edm.Int32')
    """
    edm, note = _stored(column.type)
    if column.name in _TAKEN:
        note = _TAKEN_NAME
    elif not _NAME.fullmatch(_property(column.name)) or len(_property(column.name)) > 255:
        note = _NO_NAME
    return Stored(column.name, column.type, edm, note)


def all_stored(columns: Iterable[Column]) -> tuple[Stored, ...]:
    """Return the types that the columns of a file get, also of one that an export has written.

    >>> keys = [Column("PartitionKey", "VARCHAR"), Column("RowKey", "VARCHAR")]
    >>> [one.bad_name for one in all_stored(keys)], all_stored([Column("n@Edm.Int32", "BIGINT")])[0].edm
    ([False, False], 'Edm.Int32')
    """
    found = [stored(column) for column in columns]
    own = has_own_keys(one.column for one in found)
    for at, one in enumerate(found):
        typed = _TYPED.fullmatch(one.column)
        if own and one.column in _TAKEN:
            found[at] = replace(one, note=_OWN_KEY if one.column in _OWN_KEYS else _OWN_TIME)
        elif typed and one.edm:
            found[at] = replace(one, edm=typed[2])
    return tuple(found)


def has_own_keys(names: Iterable[str]) -> bool:
    """Whether a file with these columns has keys of its own, as an export has."""
    return set(names) >= _OWN_KEYS


def _property(name: str) -> str:
    """Return the name that a column has in the table."""
    typed = _TYPED.fullmatch(name)
    return typed[1] if typed else name


def _stored(kind: str) -> tuple[str, str]:
    if kind in _SMALL:
        return "Edm.Int32", ""
    if kind in ("BIGINT", "UINTEGER"):
        return "Edm.Int64", ""
    if kind in sql.INTEGERS:
        return "Edm.Int64", "rows with a value that does not fit into it are refused"
    if kind in sql.FLOATS:
        return "Edm.Double", ""
    if kind == "BOOLEAN":
        return "Edm.Boolean", ""
    if kind == "UUID":
        return "Edm.Binary", "as 16 bytes"
    if kind == "BLOB":
        return "Edm.Binary", ""
    if kind == "DATE":
        return "Edm.DateTime", "as midnight UTC"
    if sql.is_time(kind):
        return "Edm.DateTime", "in units of 100 ns" if kind == "TIMESTAMP_NS" else ""
    if kind == "VARCHAR" or kind.startswith("ENUM("):
        return "Edm.String", ""
    if sql.is_decimal(kind):
        return "Edm.String", "as decimal digits, because Double would round"
    if kind == "TIME":
        return "Edm.String", "as text, HH:MM:SS.fffffff"
    return "", "a table cannot store this type; it is left out"


def value_bytes(column: Column) -> str:
    """Return the expression of the bytes of a value, as the service counts them."""
    edm = _stored(column.type)[0]
    fixed = {
        "Edm.Int32": 4,
        "Edm.Int64": 8,
        "Edm.Double": 8,
        "Edm.Boolean": 1,
        "Edm.DateTime": 8,
    }
    if edm in fixed:
        return str(fixed[edm])
    if column.type == "UUID":
        return "(4 + 16)"
    if edm == "Edm.Binary":
        return f"(4 + octet_length({column.sql}))"
    return f"(4 + 2 * {sql.utf16(column.sql + '::VARCHAR')})"


def entity_bytes(columns: Iterable[Column]) -> str:
    """Return the expression of the bytes of an entity without its keys: what is missing is not stored."""
    terms = ["4"]
    for column in columns:
        if column.name not in _TAKEN and not stored(column).left_out:
            name = 8 + 2 * (len(_property(column.name).encode("utf-16-le")) // 2)
            terms.append(f"CASE WHEN {column.sql} IS NULL THEN 0 ELSE {name} + {value_bytes(column)} END")
    return f"({' + '.join(terms)})::BIGINT"
