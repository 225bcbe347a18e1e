"""Create and remove containers, and remove objects.

Nothing here removes local files, and nothing is removed after an incomplete list.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Unpack

from haulage import _engine
from haulage.errors import NotFoundError, UsageError, from_engine
from haulage.events import Failure
from haulage.job import for_engine
from haulage.options import Globs, Name, StoreOptions, globs, takes
from haulage.words.numbers import counted


@dataclass(frozen=True, slots=True)
class Removed:
    """The result of :func:`remove` or :func:`remove_container`, or of a dry run."""

    objects: int  #: number of objects removed
    size_bytes: int  #: their total size
    failures: tuple[Failure, ...]  #: objects that could not be removed
    names: tuple[str, ...]  #: for a dry run: the URLs of the objects that would be removed


@takes(StoreOptions)
def remove(
    urls: Name | Iterable[Name],
    *,
    recursive: bool = False,
    dry_run: bool = False,
    max_delete: int | None = None,
    include: Globs | None = None,
    exclude: Globs | None = None,
    check: bool = True,
    **options: Unpack[StoreOptions],
) -> Removed:
    """Remove objects, as ``haul rm`` does. All names are checked before the first object is removed.

    >>> import haulage
    >>> _ = haulage.put("mem://removal/a/1", b"x"), haulage.put("mem://removal/a/2", b"y")
    >>> remove("mem://removal/a/", recursive=True, dry_run=True).names
    ('mem://removal/a/1', 'mem://removal/a/2')
    >>> remove("mem://removal/a/", recursive=True, max_delete=2).objects
    2

    Args:
        urls: One object or several; with ``recursive``, containers and prefixes too.
        recursive: Remove everything below; the container itself stays. Default ``False``: prefixes are
            refused.
        dry_run: Remove nothing; only return what would be removed. Default ``False``.
        max_delete: Remove nothing if more objects than this would be removed. Default no limit.
        include: Remove only names that match one of these globs; default all. It may not be empty: no globs
            would mean all names.
        exclude: Keep names that match one of these globs; default none.
        check: Raise if objects could not be removed. With ``False``, check ``failures`` yourself.
        options: See :class:`~haulage.transfer.StoreOptions`.

    Raises:
        NotFoundError: There is no such object.
        UsageError: A local path, a whole account, a container or prefix without ``recursive``, or more
            objects than ``max_delete``. Nothing was removed.
        HaulageError: A list was incomplete, and nothing was removed; or, with ``check``, the reason why the
            first remaining object could not be removed.
    """
    names = [urls] if isinstance(urls, (str, os.PathLike)) else list(urls)
    removed = _engine.remove(
        names,
        recursive=recursive,
        dry_run=dry_run,
        max_delete=max_delete,
        include=_globs("include", include),
        exclude=_globs("exclude", exclude),
        **options,
    )
    return _told(removed, check)


def _globs(option: str, given: Globs | None) -> list[str]:
    """Return globs as the engine takes them."""
    found = globs(for_engine({option: given})[option])
    if option == "include" and given is not None and not found:
        cause = "there is no glob in it, and without any all names would be removed"
        raise UsageError("remove", option, cause, "leave it out to remove all names")
    return found


@takes(StoreOptions)
def make_container(url: Name, *, exist_ok: bool = False, **options: Unpack[StoreOptions]) -> None:
    """Create a container: ``az://container`` or ``s3://bucket``.

    Args:
        url: The container.
        exist_ok: Succeed if it already exists. Default ``False``.
        options: See :class:`~haulage.transfer.StoreOptions`.

    Raises:
        ExistsError: It already exists, and ``exist_ok`` is not set.
        UsageError: A local path, or a URL that does not name a container.
    """
    try:
        _engine.make_container(url, **options)
    except FileExistsError:
        if not exist_ok:
            raise


@takes(StoreOptions)
def remove_container(
    url: Name,
    *,
    force: bool = False,
    dry_run: bool = False,
    max_delete: int | None = None,
    check: bool = True,
    **options: Unpack[StoreOptions],
) -> Removed:
    """Remove an empty container, as ``haul rb`` does.

    Args:
        url: The container.
        force: Remove it with all objects in it. Default ``False``: a container with objects is refused.
        dry_run: Remove nothing; only return how many objects it holds. Default ``False``.
        max_delete: With ``force``, remove nothing if it holds more objects than this. Default no limit.
        check: Raise if objects could not be removed. With ``False``, check ``failures`` yourself.
        options: See :class:`~haulage.transfer.StoreOptions`.

    Raises:
        UsageError: It holds objects and ``force`` is not set, or more than ``max_delete``; or a local path.
        NotFoundError: There is no such container.
    """
    removed = _engine.remove_container(url, force=force, dry_run=dry_run, max_delete=max_delete, **options)
    return _told(removed, check)


@takes(StoreOptions)
def exists(url: Name, **options: Unpack[StoreOptions]) -> bool:
    """Return whether ``url`` is an existing object, container, or prefix with objects below it.

    >>> import haulage
    >>> _ = haulage.put("mem://there/a/b", b"x")
    >>> exists("mem://there/a/b"), exists("mem://there/a"), exists("mem://there/b")
    (True, True, False)

    Raises:
        HaulageError: It is not possible to tell, for example without the permission to list.
    """
    try:
        _engine.Listing(url, recursive=False, **options).next_page()
    except NotFoundError:
        return False
    return True


def _told(values: dict[str, Any], check: bool) -> Removed:
    failures = tuple(Failure.from_dict(failure) for failure in values["failures"])
    if failures and check:
        first = failures[0]
        error = from_engine(first.kind, first.operation, first.object, first.cause, first.hint)
        error.add_note(f"removed {counted(values['objects'], 'object')}, could not remove {len(failures):,}")
        raise error
    return Removed(values["objects"], values["size_bytes"], failures, tuple(values["names"]))
