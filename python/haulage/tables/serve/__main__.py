"""``python -m haulage.tables.serve``: the same as ``haul table serve``."""

import sys

from haulage.tables.cli import main

if __name__ == "__main__":
    sys.exit(main(["serve", *sys.argv[1:]]))
