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


def joined(column: str, *, shift: str, connections: str, objects: str) -> str:
    """Return SQL of a column where the records of several jobs become one.

    A clock that is known to a tenth of a millisecond may put a moment before the start: then it is the start.

    >>> joined("tls_ns", shift="5", connections="2", objects="1")
    'tls_ns'

    Args:
        column: Its name.
        shift: What is added to moments, in nanoseconds, as an expression; so are the others.
        connections: What is added to numbers of connections, of which 0 is none.
        objects: What is added to numbers of objects.
    """
    if column == "object_id":
        return f"(object_id + {objects})::ubigint as object_id"
    if column == "connection":
        return f"if(connection = 0, 0, connection + {connections})::ubigint as connection"
    if column not in MOMENTS:
        return column
    # What did not happen has no time: greatest() alone would make that 0.
    return f"if({column} is null, null, greatest(0, {column}::bigint + {shift}))::ubigint as {column}"
