"""The tables of an account as a whole: list, create and remove them."""

from __future__ import annotations

from typing import Unpack

from haulage import _engine
from haulage.errors import NotFoundError
from haulage.options import StoreOptions

__all__ = ["create_table", "list_tables", "remove_table"]


def list_tables(account: str = "az-table://", **options: Unpack[StoreOptions]) -> list[str]:
    """Return the names of the tables of an account, in the order of the service.

    Args:
        account: ``az-table://`` for that of the environment, or its URL, with a SAS if needed. With the name
            of a table, only that one.
        **options: How to reach the service.

    Raises:
        NotFoundError: A table is named, and there is none of this name.
    """
    table = _engine.Table(account, **options)
    names, named = table.names(), table.url.rpartition("/")[2]
    if table.name.endswith("/"):
        return names
    found = [name for name in names if name.lower() == named.lower()]
    if not found:
        hint = "check the name; haul table ls lists the tables of the account"
        raise NotFoundError("list", table.name, "no such table", hint)
    return found


def create_table(table: str, **options: Unpack[StoreOptions]) -> None:
    """Create a table.

    Args:
        table: ``az-table://TABLE``, or its URL, with a SAS if needed.
        **options: How to reach the service.

    Raises:
        ExistsError: There is a table of this name, perhaps with other capitals.
    """
    _engine.Table(table, **options).create()


def remove_table(table: str, *, dry_run: bool = False, **options: Unpack[StoreOptions]) -> None:
    """Remove a table with all its rows.

    Args:
        table: ``az-table://TABLE``, or its URL, with a SAS if needed. The name has the capitals of the table,
            although the service would not care.
        dry_run: Only look whether the call would remove it.
        **options: How to reach the service.

    Raises:
        NotFoundError: There is no such table.
        UsageError: The name has other capitals than the table.
    """
    _engine.Table(table, **options).remove(dry_run=dry_run)
