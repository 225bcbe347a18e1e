"""What tests of the lab share."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import Haul


@pytest.fixture
def haul(haul: Haul, cache: Path) -> Haul:
    """The command as everywhere, with one cache for all, so that the script of charts is bundled once."""
    haul.env["XDG_CACHE_HOME"] = str(cache)
    return haul
