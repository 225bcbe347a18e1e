"""``python -m haulage.tables``: the same as ``haul table``."""

import sys

from haulage.tables.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
