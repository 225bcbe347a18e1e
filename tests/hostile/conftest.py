"""What is hostile runs where nothing of the machine can be written, or not at all."""

from __future__ import annotations

import pytest

import sandbox


@pytest.fixture(scope="session", autouse=True)
def _contained() -> None:
    """Fail every test that runs outside the sandbox: a fault of ours must not cost a machine."""
    why = ""
    try:
        sandbox.require()
    except sandbox.NotContainedError as error:
        why = str(error)
    if why:
        pytest.fail(f"these tests run only in the sandbox: {why}", pytrace=False)
