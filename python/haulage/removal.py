"""What makes containers, and removes them and objects: never local files, nor after an incomplete list."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Unpack

from haulage import _engine
from haulage.errors import NotFoundError, from_engine
from haulage.events import Failure
from haulage.options import Globs, Name, StoreOptions, globs, takes


@dataclass(frozen=True, slots=True)
class Removed:
    """What :func:`remove` or :func:`remove_container` did, or would do."""

    objects: int  #: objects removed
    size_bytes: int  #: bytes in them
    failures: tuple[Failure, ...]  #: objects that could not be removed
    names: tuple[str, ...]  #: of a dry run: what would be removed, as URLs


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
    """Remove objects, as ``haul rm`` does: all that is named is looked at before the first is gone.

    >>> import haulage
    >>> _ = haulage.put("mem://removal/a/1", b"x"), haulage.put("mem://removal/a/2", b"y")
    >>> remove("mem://removal/a/", recursive=True, dry_run=True).names
    ('mem://removal/a/1', 'mem://removal/a/2')
    >>> remove("mem://removal/a/", recursive=True, max_delete=2).objects
    2

    Args:
        urls: One object or several; with ``recursive`` containers and prefixes too.
        recursive: Everything below; a container itself stays. Default ``False``: a prefix is refused.
        dry_run: Only say what would be removed. Default ``False``.
        max_delete: Remove nothing at all where it would be more objects than this. Default: no bound.
        include: Only names below that match one of these globs; default all.
        exclude: No names that match one of these globs; default none.
        check: Raise if objects could not be removed. ``False`` leaves it to the caller to read ``failures``.
        options: See :class:`~haulage.transfer.StoreOptions`.

    Raises:
        NotFoundError: Nothing is there.
        UsageError: A local path, a whole account, a container or prefix without ``recursive``, more than
            ``max_delete``; then nothing was removed.
        HaulageError: A list that was not complete, after which nothing was removed; or, with ``check``, why
            the first object that is still there is.
    """
    names = [urls] if isinstance(urls, (str, os.PathLike)) else list(urls)
    removed = _engine.remove(
        names,
        recursive=recursive,
        dry_run=dry_run,
        max_delete=max_delete,
        include=globs(include),
        exclude=globs(exclude),
        **options,
    )
    return _told(removed, check)


@takes(StoreOptions)
def make_container(url: Name, *, exist_ok: bool = False, **options: Unpack[StoreOptions]) -> None:
    """Create a container: ``az://container`` or ``s3://bucket``.

    Args:
        url: The container.
        exist_ok: Whether it may be there already. Default ``False``.
        options: See :class:`~haulage.transfer.StoreOptions`.

    Raises:
        ExistsError: It is there, and ``exist_ok`` is not given.
        UsageError: A local path, or what names no container.
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
    """Remove a container that is empty, as ``haul rb`` does.

    Args:
        url: The container.
        force: Remove it with all objects in it. Default ``False``: one that holds objects is refused.
        dry_run: Only say how many objects it holds. Default ``False``.
        max_delete: With ``force``, remove nothing at all where it would be more objects than this. Default:
            no bound.
        check: Raise if objects could not be removed. ``False`` leaves it to the caller to read ``failures``.
        options: See :class:`~haulage.transfer.StoreOptions`.

    Raises:
        UsageError: It holds objects and ``force`` is not given, or more than ``max_delete``; a local path.
        NotFoundError: There is none of this name.
    """
    removed = _engine.remove_container(url, force=force, dry_run=dry_run, max_delete=max_delete, **options)
    return _told(removed, check)


@takes(StoreOptions)
def exists(url: Name, **options: Unpack[StoreOptions]) -> bool:
    """Return whether there is an object of this name, or anything below it as a prefix; or this container.

    >>> import haulage
    >>> _ = haulage.put("mem://there/a/b", b"x")
    >>> exists("mem://there/a/b"), exists("mem://there/a"), exists("mem://there/b")
    (True, True, False)

    Raises:
        HaulageError: What kept us from knowing, such as a missing right. That is no answer.
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
        error.add_note(f"{values['objects']} objects were removed, {len(failures)} were not")
        raise error
    return Removed(values["objects"], values["size_bytes"], failures, tuple(values["names"]))
