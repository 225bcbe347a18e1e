"""Which arm is moved by which method."""

from __future__ import annotations

from haulage.errors import UsageError
from haulage.lab.arms import Method, blocks, disk, engine, external, puts, ranges, stream, table_rows
from haulage.lab.plan import Arm

_METHODS: dict[tuple[str, str], Method] = {
    ("single-put", "plain"): puts.move,
    ("blocks", "plain"): puts.move,
    ("put-blocks", "plain"): blocks.move,
    ("ranges", "plain"): ranges.move,
    ("local-disk", "plain"): disk.move,
    ("table-rows", "plain"): table_rows.move,
    ("stream", "engine"): stream.move,
    ("external", "engine"): external.move,
} | {
    (method, "engine"): engine.move
    for method in ("baseline", "single-put", "blocks", "adaptive", "whole-files", "ceiling")
}


def method_of(arm: Arm) -> Method:
    """Return what moves the files of this arm.

    Raises:
        UsageError: No method goes with this client.
    """
    found = _METHODS.get((arm.method, arm.client))
    if found is None:
        able = ", ".join(method for method, client in _METHODS if client == arm.client)
        raise UsageError(
            "run arm", arm.name, f"the {arm.client} client has no '{arm.method}'", f"it has {able}"
        )
    return found
