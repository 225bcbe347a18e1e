"""What commands say: data and failures, for people and for programs. Needs no other package."""

from __future__ import annotations

import json
import os
import sys

from haulage.errors import HaulageError
from haulage.words.secrets import without_url_secrets


def echo(text: str, *, end: str = "\n", err: bool = False) -> None:
    """Write text to standard output or standard error, at once: somebody may wait for it."""
    print(text, end=end, file=sys.stderr if err else sys.stdout, flush=True)


def say(text: str) -> None:
    """Say a line of the command itself on standard error: ``haul:`` and the text."""
    coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    echo(f"\x1b[1;31mhaul:\x1b[0m {text}" if coloured else f"haul: {text}", err=True)


def report(error: HaulageError, as_json: bool) -> int:
    """Say a failure on standard error, and with ``--json`` to programs; return the exit code."""
    if as_json:
        tell(error)
    say(without_url_secrets(str(error)))
    return error.exit_code


def tell(error: HaulageError) -> None:
    """Say a failure to programs, as the last line."""
    told = {
        "event": "error",
        "kind": error.code,
        "operation": error.operation,
        "object": without_url_secrets(error.object),
        "cause": without_url_secrets(error.cause),
        "hint": error.hint and without_url_secrets(error.hint),
        "exit_code": error.exit_code,
    }
    echo(json.dumps(told))
