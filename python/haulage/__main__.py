"""The command ``haul``: an entry point into Rust, and commands in Python.

Imports nothing but the engine unless asked to, so that the command starts as quickly as Python does.
"""

import os
import sys
from collections.abc import Sequence

#: Commands whose packages are extras.
_PYTHON = ("lab", "why", "watch", "table", "view", "index", "doctor")


def main() -> int:
    """Run the command with the arguments of this process.

    Returns:
        The exit code, as ``haul --help`` lists them.
    """
    if "HAULAGE_ENDS_WITH" in os.environ:
        from haulage.children import end_with_parent

        end_with_parent()
    if any(word in _PYTHON for word in sys.argv[1:]):
        code = _if_in_python()
        if code is not None:
            return code
    try:
        from haulage._engine import main as run
    except KeyboardInterrupt:
        # The engine takes signals as soon as it is there.
        return 130
    return run(["haul", *sys.argv[1:]])


def _if_in_python() -> int | None:
    """Run the command that the arguments name, if it is one of those in Python; return its exit code."""
    try:
        from haulage.commands import interrupts
        from haulage.commands.leading import leading, not_again, without_verbose

        led, arguments = leading(sys.argv[1:])
        if not arguments or arguments[0] not in _PYTHON:
            return None
        # What all commands take may stand before the name, too. None of these has another option -v.
        before, verbose = without_verbose(led)
        options, more = without_verbose(arguments[1:])
        interrupts.take()
        try:
            return _in_python(arguments[0], [*not_again(before, options), *options], verbose + more)
        finally:
            interrupts.ignore()
    except KeyboardInterrupt:
        # While its packages are loaded, which takes a second; afterwards each command says so itself.
        print("haul: interrupted", file=sys.stderr)  # noqa: T201
        return 130


def _in_python(command: str, arguments: list[str], verbose: int = 0) -> int:
    """Run one of the commands whose packages are extras."""
    if verbose:
        from haulage._engine import say_decisions

        say_decisions(min(verbose, 2))
    try:
        if command == "lab":
            from haulage.lab.cli import main as run
        elif command == "watch":
            from haulage.watch.cli import main as run
        elif command == "doctor":
            from haulage.doctor import asking
            from haulage.doctor.cli import main as run

            asking.verbose = min(verbose, 2)
        elif command == "table":
            from haulage.tables.cli import main as run
        elif command == "view":
            run = _view
        elif command == "index":
            from haulage.view.cli import index_main as run
        else:
            from haulage.lab.why.cli import main as run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "haulage":
            raise
        missing = f"haul: start {command}: the package {error.name} is missing"
        extra = {"watch": "watch", "table": "tables", "view": "view", "index": "view"}.get(command, "lab")
        print(f"{missing} (hint: pip install 'haulage[{extra}]')", file=sys.stderr)  # noqa: T201
        return 2
    from haulage.standard_streams import watched

    return watched(lambda: run(arguments))


def _view(arguments: Sequence[str]) -> int:
    """Run ``haul view``, which draws rows of tables too: the two know each other here only."""
    from haulage.view.cli import view_main

    def rows(url, options, filter, most_rows):  # type: ignore[no-untyped-def]
        from haulage.tables.reading import columns

        return columns(url, options, filter, most_rows)

    return view_main(arguments, rows)


if __name__ == "__main__":
    sys.exit(main())
