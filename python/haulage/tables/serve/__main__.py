"""``python -m haulage.tables.serve``: the same as ``haul table serve``."""

import sys

from haulage.__main__ import main

if __name__ == "__main__":
    sys.argv[1:1] = ["table", "serve"]
    sys.exit(main())
