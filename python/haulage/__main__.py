"""The command ``haul``: an entry point into Rust, and commands in Python.

Imports nothing but the engine unless asked to, so that the command starts as quickly as Python does.
"""

import sys


def main() -> int:
    """Run the command with the arguments of this process.

    Returns:
        The exit code: 0 all done, 1 some objects failed, 2 usage, 3 credentials or permission,
        4 not found, 5 integrity, 6 the source changed, 130 interrupted.
    """
    if sys.argv[1:2] in (["lab"], ["why"], ["watch"], ["table"], ["view"], ["index"], ["doctor"]):
        return _in_python(sys.argv[1], sys.argv[2:])
    try:
        from haulage._engine import main as run
    except KeyboardInterrupt:
        # The engine takes signals as soon as it is there.
        return 130
    return run(["haul", *sys.argv[1:]])


def _in_python(command: str, arguments: list[str]) -> int:
    """Run one of the commands whose packages are extras."""
    try:
        if command == "lab":
            from haulage.lab.cli import main as run
        elif command == "watch":
            from haulage.watch.cli import main as run
        elif command == "doctor":
            from haulage.doctor.cli import main as run
        elif command == "table":
            from haulage.tables.cli import main as run
        elif command == "view":
            return _view(arguments)
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
    return run(arguments)


def _view(arguments: list[str]) -> int:
    """Run ``haul view``, which draws rows of tables too: the two know each other here only."""
    from haulage.view.cli import view_main

    def rows(url, options, filter, most_rows):  # type: ignore[no-untyped-def]
        from haulage.tables.reading import columns

        return columns(url, options, filter, most_rows)

    return view_main(arguments, rows)


if __name__ == "__main__":
    sys.exit(main())
