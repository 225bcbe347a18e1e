"""Ranges of one object, at random places and several at once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Unpack

from haulage import _engine
from haulage.errors import UsageError
from haulage.options import Name, StoreOptions, takes


class RangeOptions(StoreOptions, total=False):
    """How to read ranges of an object; besides these all of :class:`~haulage.transfer.StoreOptions`.

    block_size: A longer range is read in several of this size. Default 4 MiB, up to which Azure states a
        checksum of a range.
    concurrency: Requests at once. Default 64.
    """

    block_size: str | None
    concurrency: int | None


@takes(RangeOptions)
def get_range(
    url: Name,
    start: int,
    length: int | None = None,
    *,
    version: str | None = None,
    **options: Unpack[RangeOptions],
) -> bytes:
    """Return ``length`` bytes of the object ``url`` from ``start`` on, or all to its end.

    As :func:`get_ranges` for one range.

    >>> import haulage
    >>> _ = haulage.put("mem://guide/numbers", b"one two three")
    >>> get_range("mem://guide/numbers", 4, 3)
    b'two'
    """
    return get_ranges(url, [(start, length)], version=version, **options)[0]


@takes(RangeOptions)
def get_ranges(
    url: Name,
    ranges: Iterable[tuple[int, int | None]],
    *,
    version: str | None = None,
    **options: Unpack[RangeOptions],
) -> list[bytes]:
    """Return the bytes of each range of the object ``url``, in their order; all are read at once.

    A range has fewer bytes only where the object ends, and none beyond that. Each is one request, and no
    other is sent; what is longer than a block takes several, and what reaches beyond the end, or has no
    length, one more that asks for the size. Each is compared with the checksum of its range, where the
    service states one: Azure does, S3 does not. Other threads of Python run meanwhile.

    >>> import haulage
    >>> _ = haulage.put("mem://guide/numbers", b"one two three")
    >>> get_ranges("mem://guide/numbers", [(0, 3), (8, None), (11, 100)])
    [b'one', b'three', b'ee']

    Args:
        url: The object.
        ranges: The first byte and the length of each; ``None`` reads to the end. They may overlap.
        version: The ETag that the object must have, as :func:`haulage.stat` tells it. Default: that of the
            first answer; all ranges are of one version in any case.
        options: See :class:`RangeOptions`.

    Raises:
        NotFoundError: There is no such object.
        SourceChangedError: It has another ETag, or was replaced while it was read.
        UsageError: A range that begins before 0, or has less than no bytes.
    """
    wanted = [*ranges]
    for start, length in wanted:
        if start < 0 or (length is not None and length < 0):
            hint = "count from the beginning: (start, length), or (start, None) to read to the end"
            raise UsageError("read", os.fspath(url).split("?")[0], f"no range: ({start}, {length})", hint)
    return _engine.get_ranges(url, wanted, version, **options)
