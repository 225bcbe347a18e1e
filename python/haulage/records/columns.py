"""The columns of the table of requests, by what they mean."""

from __future__ import annotations

#: Moments, in nanoseconds since the start of the job. All other columns that end in `_ns` are durations.
MOMENTS = frozenset(
    {
        "queued_ns",
        "slot_ns",
        "ready_ns",
        "connected_ns",
        "sent_ns",
        "first_byte_ns",
        "last_byte_ns",
        "committed_ns",
        "ended_ns",
    }
)


def shifted(column: str, shift: str) -> str:
    """Return SQL that puts a column on another clock: a moment is shifted, by an expression in nanoseconds.

    A clock that is known to a tenth of a millisecond may put a moment before the start: then it is the start.

    >>> shifted("tls_ns", "5")
    'tls_ns'
    """
    if column not in MOMENTS:
        return column
    # What did not happen has no time: greatest() alone would make that 0.
    return f"if({column} is null, null, greatest(0, {column}::bigint + {shift}))::ubigint as {column}"
