"""Read ranges of one object, several at once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Unpack

from haulage import _engine
from haulage.errors import ArgumentTypeError, UsageError
from haulage.options import Name, StoreOptions, takes
from haulage.places import without_signature


class RangeOptions(StoreOptions, total=False):
    """Options for reading ranges of an object, in addition to :class:`~haulage.transfer.StoreOptions`.

    block_size: Longer ranges are read in pieces of this size. Default 4 MiB, the largest range for which
        Azure states a checksum.
    concurrency: Requests in flight at once. Default 64.
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
    """Return ``length`` bytes of the object ``url`` from ``start``, or everything up to its end.

    Like :func:`get_ranges` for one range.

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
    """Return the bytes of each range of the object ``url``, in the given order; they are read concurrently.

    The end of the object cuts a range short; a range beyond the end is empty. Each range is one request, and
    nothing else is sent, with two exceptions: a range longer than a block takes several requests, and one
    that reaches beyond the end or has no length takes one more for the size. Each response is compared with
    the checksum of its range if the service states one: Azure does, S3 does not. The GIL is released
    meanwhile.

    >>> import haulage
    >>> _ = haulage.put("mem://guide/numbers", b"one two three")
    >>> get_ranges("mem://guide/numbers", [(0, 3), (8, None), (11, 100)])
    [b'one', b'three', b'ee']

    Args:
        url: The object.
        ranges: The first byte and the length of each; ``None`` reads to the end. They may overlap.
        version: The ETag that the object must have, as :func:`haulage.stat` returns it. Default: that of the
            first response. All ranges are of the same version in any case.
        options: See :class:`RangeOptions`.

    Raises:
        NotFoundError: There is no such object.
        SourceChangedError: It has another ETag, or was replaced while it was read.
        UsageError: A range with a negative start or length.
    """
    wanted: list[tuple[int, int | None]] = []
    for one in ranges:
        try:
            start, length = one
        except (TypeError, ValueError):
            hint = "pass (start, length) for each range"
            cause = f"invalid range: {one!r}"[:100]
            raise ArgumentTypeError("read", without_signature(os.fspath(url)), cause, hint) from None
        # Those of an array come as rows.
        wanted.append((start, length))
        if start < 0 or (length is not None and length < 0):
            hint = "count from the beginning: (start, length), or (start, None) to read to the end"
            raise UsageError(
                "read", without_signature(os.fspath(url)), f"invalid range: ({start}, {length})", hint
            )
    return _engine.get_ranges(url, wanted, version, **options)
