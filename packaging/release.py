"""Say which version this is, and what is new in it: `packaging/release.py version | notes`.

The version stands in Cargo.toml and nowhere else: the wheel, the packages and `haul --version`
have it from there.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def version() -> str:
    """Return the version."""
    text = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    found: str = tomllib.loads(text)["workspace"]["package"]["version"]
    return found


def notes(changelog: str, number: str) -> str:
    r"""Return what the changelog says of a version, without its heading.

    >>> notes("# C\n## [0.2.0] - 2026-11-25\n- b\n\n## [0.1.0]\n- a\n", "0.2.0")
    '- b\n'

    Raises:
        ValueError: It says nothing of it.
    """
    for part in re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]:
        heading, _, text = part.partition("\n")
        if number in re.findall(r"\d+\.\d+\.\d+", heading) and text.strip():
            return text.strip() + "\n"
    raise ValueError(f"CHANGELOG.md says nothing of {number}")


if __name__ == "__main__":
    if sys.argv[1:] == ["notes"]:
        print(notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version()), end="")
    elif sys.argv[1:] == ["version"]:
        print(version())
    else:
        sys.exit(__doc__)
