"""``python -m haulage.tables``: the same as ``haul table``."""

import sys

from haulage.__main__ import main

if __name__ == "__main__":
    sys.argv.insert(1, "table")
    sys.exit(main())
