"""The command ``haul``: an entry point into Rust.

Imports nothing but the engine, so that the command starts as quickly as Python does.
"""

import sys

from haulage._engine import main as _main


def main() -> int:
    """Run the command with the arguments of this process.

    Returns:
        The exit code: 0 all done, 1 some objects failed, 2 usage, 3 credentials or permission,
        4 not found, 5 integrity, 6 the source changed, 130 interrupted.
    """
    return _main(["haul", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
