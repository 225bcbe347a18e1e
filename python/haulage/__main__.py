"""The command ``haul``: an entry point into Rust, which parses, and the commands in Python.

Imports nothing but the engine unless asked to, so that the command starts as quickly as Python does.
"""

import os
import sys
from collections.abc import Callable

#: Where each command in Python is. A part whose packages are missing does not hold up the others.
_WHERE = {
    "doctor": "haulage.doctor.cli:doctor",
    "index": "haulage.view.cli:index",
    "lab compare": "haulage.lab.cli.read:compare",
    "lab generate": "haulage.lab.cli.generate:generate",
    "lab plans": "haulage.lab.cli.read:plans",
    "lab predict": "haulage.lab.cli.predict:predict",
    "lab profile": "haulage.lab.cli.read:profile",
    "lab report": "haulage.lab.cli.read:report",
    "lab rerun": "haulage.lab.cli.run:rerun",
    "lab run": "haulage.lab.cli.run:run",
    "lab verify": "haulage.lab.cli.read:verify",
    "table backup": "haulage.tables.moving.cli:backup",
    "table copy": "haulage.tables.moving.cli:copy",
    "table create": "haulage.tables.account.cli:create",
    "table export": "haulage.tables.moving.cli:export",
    "table import": "haulage.tables.moving.cli:import_",
    "table ls": "haulage.tables.account.cli:ls",
    "table plan": "haulage.tables.plan.cli:plan",
    "table restore": "haulage.tables.moving.cli:restore",
    "table rm": "haulage.tables.account.cli:rm",
    "table serve": "haulage.tables.serve.cli:serve",
    "table verify": "haulage.tables.moving.cli:verify",
    "view": "haulage.view.cli:view",
    "watch": "haulage.watch.cli:watch",
    "why": "haulage.lab.why.cli:why",
}


def main() -> int:
    """Run the command with the arguments of this process.

    Returns:
        The exit code, as ``haul --help`` lists them.
    """
    if "HAULAGE_ENDS_WITH" in os.environ:
        from haulage.children import end_with_parent

        end_with_parent()
    try:
        from haulage._engine import main as begin
    except KeyboardInterrupt:
        # The engine takes signals as soon as it is there.
        return 130
    try:
        begun = begin(["haul", *sys.argv[1:]])
        if isinstance(begun, int):
            return begun
        from haulage.commands import interrupts
        from haulage.standard_streams import watched

        interrupts.take()
        try:
            code = watched(lambda: run(*begun))
            if begun[0] == "watch" and "haulage.watch.cli" in sys.modules:
                from haulage.watch.cli import leave

                leave(code)
            return code
        finally:
            interrupts.ignore()
    except KeyboardInterrupt:
        print("haul: interrupted", file=sys.stderr)  # noqa: T201
        return 130


def run(command: str, extra: str, given: dict[str, object]) -> int:
    """Run a command in Python with what the engine has read from the command line; return the exit code."""
    from haulage.commands import running

    # Not by the name of the module, which most of them use.
    given["as_json"] = given.pop("json")
    return running.run(lambda: _function(command), command, extra, given)


def _function(command: str) -> Callable[..., int | None]:
    from functools import partial
    from importlib import import_module

    module, _, name = _WHERE[command].partition(":")
    function: Callable[..., int | None] = getattr(import_module(module), name)
    return partial(function, rows=_rows) if command == "view" else function


def _rows(url, options, filter, most_rows):  # type: ignore[no-untyped-def]
    """Read rows of tables for ``haul view``: the two know each other here only."""
    from haulage.tables.reading import columns

    return columns(url, options, filter, most_rows)


if __name__ == "__main__":
    sys.exit(main())
