"""Sources from what the command line names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from haulage import _engine
from haulage.errors import CredentialError, HaulageError, NotFoundError, UsageError
from haulage.places import without_signature
from haulage.tables.serve.arrow import batch_of
from haulage.tables.serve.entities import EDM_KEY, from_json
from haulage.tables.serve.indexes import Indexes
from haulage.tables.serve.parquet_source import ParquetSource
from haulage.tables.serve.table_source import Table, TableSource
from haulage.tables.source import Source
from haulage.transfer import StoreOptions

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


def opened(places: Sequence[str], options: StoreOptions, *, use_index: bool = True) -> list[Source]:
    """Return a source for each table or file; nothing is read yet, see :func:`look`.

    Args:
        places: ``az-table://TABLE``, the URL of a table, or a Parquet file; ``NAME=`` may stand before.
        options: How to reach stores.
        use_index: Find rows of tables by their index tables, where a filter has a column with one.

    Raises:
        UsageError: A name is not one, or there twice.
    """
    found: dict[str, Source] = {}
    for place in places:
        name, url = named(place)
        if name in found:
            hint = "give each a name of its own: NAME=URL"
            raise UsageError("serve", name, "there are two tables of this name", hint)
        found[name] = _source(name, url, options, use_index)
    return list(found.values())


def look(sources: Sequence[Source]) -> None:
    """Look at each source once: what is not there is said now, and not only to whoever asks for rows.

    What is wrong with a store or a file for the moment is said to these: it may be put right meanwhile.

    Raises:
        HaulageError: There is no such file or table, or it may not be read.
    """
    for source in sources:
        try:
            if source.version() is None:
                source.page(filter=None, select=None, top=1, continuation=None, metadata="none")
        except (NotFoundError, CredentialError, UsageError):
            raise
        except HaulageError:
            continue


def _source(name: str, url: str, options: StoreOptions, use_index: bool) -> Source:
    if is_table(url):
        indexes = Indexes(name, url, options) if use_index else None
        return TableSource(name, _table(url, options), _to_batch, indexes)
    return ParquetSource(name, url, options)


def named(place: str) -> tuple[str, str]:
    """Return the name and the address of what is written ``NAME=URL`` or ``URL``.

    >>> named("stations=az://c/x.parquet"), named("az-table://Stations")
    (('stations', 'az://c/x.parquet'), ('Stations', 'az-table://Stations'))
    """
    before, equals, after = place.partition("=")
    if equals and _NAME.fullmatch(before):
        return before, after
    path = without_signature(place).rstrip("/") if "://" in place else place
    name = unquote(path.rpartition("/")[2]).removesuffix(".parquet")
    if not _NAME.fullmatch(name):
        hint = "give it a name of letters and digits: NAME=URL"
        raise UsageError("serve", without_signature(place), "nothing here is a name", hint)
    return name, place


def is_table(url: str) -> bool:
    """Return whether this is a table rather than a Parquet file."""
    scheme, there, _ = url.partition("://")
    if not there or urlsplit(url).path.endswith(".parquet"):
        return False
    return scheme in ("az-table", "http", "https")


def _table(url: str, options: StoreOptions) -> Table:
    table: Table = _engine.Table(url, **options)
    return table


def _to_batch(body: bytes) -> pa.RecordBatch:
    """Return the rows of a page, as the engine reads them: a column for each name and type."""
    rows = pa.ipc.open_stream(_engine.table_page_arrow(body)).read_all().combine_chunks()
    fields = [_by_its_name(field) for field in rows.schema]
    if len({field.name for field in fields}) < len(fields):
        # Of several types, so that it becomes text.
        return batch_of(from_json(body, "page"))
    named = rows.rename_columns([field.name for field in fields])
    return next(iter(named.to_batches()), pa.RecordBatch.from_pylist([], schema=pa.schema(fields)))


def _by_its_name(field: pa.Field) -> pa.Field:
    edm = (field.metadata or {}).get(EDM_KEY, b"").decode()
    return field.with_name(field.name.removesuffix(f"@{edm}"))
