"""Machines without compilers, which the tests of a file share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from packages.machine import PACKAGES, Machine, machine, sample_data


@pytest.fixture(scope="module")
def bookworm() -> Iterator[Machine]:
    """Debian 12 with Python 3.11, shells and their completions, and the climate files in /data."""
    with machine("bookworm", packages=PACKAGES, data=sample_data()) as made:
        yield made


@pytest.fixture(scope="module")
def bullseye() -> Iterator[Machine]:
    """Debian 11, the oldest that can be had, without Python."""
    with machine("bullseye", packages=PACKAGES, data=sample_data()) as made:
        yield made
