"""The options that say how to reach stores, as calls take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from haulage.options import REACH, StoreOptions


def reached(given: Mapping[str, Any]) -> StoreOptions:
    """Return what a command was given of these as a call takes it; what was left out is not in it."""
    options: StoreOptions = {}
    for name in REACH:
        value = given.get("no_sign_request" if name == "unsigned" else name)
        if value not in (None, False):
            options[name] = value  # type: ignore[literal-required]
    return options
