"""The command ``haul``: an entry point into Rust, and ``haul lab`` in Python.

Imports nothing but the engine unless asked to, so that the command starts as quickly as Python does.
"""

import sys


def main() -> int:
    """Run the command with the arguments of this process.

    Returns:
        The exit code: 0 all done, 1 some objects failed, 2 usage, 3 credentials or permission,
        4 not found, 5 integrity, 6 the source changed, 130 interrupted.
    """
    if sys.argv[1:2] == ["lab"]:
        return _lab(sys.argv[2:])
    try:
        from haulage._engine import main as run
    except KeyboardInterrupt:
        # The engine takes signals as soon as it is there.
        return 130
    return run(["haul", *sys.argv[1:]])


def _lab(arguments: list[str]) -> int:
    """Run ``haul lab``, whose packages are an extra."""
    try:
        from haulage.lab.cli import main as lab
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "haulage":
            raise
        missing = f"haul: start lab: the package {error.name} is missing"
        print(f"{missing} (hint: pip install 'haulage[lab]')", file=sys.stderr)  # noqa: T201
        return 2
    return lab(arguments)


if __name__ == "__main__":
    sys.exit(main())
