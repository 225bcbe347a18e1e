"""Say which version this is, and write the pages of packages: `version | notes | changelog | readme`.

`collect` moves the files of `changes` into CHANGELOG.md, as the notes on this version. The version stands in
Cargo.toml and nowhere else: the wheel, the packages and `haul --version` have it from there.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHANGELOG = ROOT / "CHANGELOG.md"
CHANGES = ROOT / "changes"
#: What an entry begins with, in the order in which entries are listed.
KINDS = ("Added", "Changed", "Fixed", "Removed")


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


def entries(folder: Path) -> dict[Path, str]:
    """Return the text of each change that is not released yet, by its file.

    Raises:
        ValueError: A file has no lines or too many, or does not begin with a kind.
    """
    found = {
        path: path.read_text(encoding="utf-8").strip()
        for path in sorted(folder.glob("*.md"))
        if path.name != "README.md"
    }
    for path, text in found.items():
        if text.partition(" ")[0] not in KINDS or len(text.splitlines()) > 3:
            raise ValueError(f"{path.name}: not one to three lines that begin with {', '.join(KINDS)}")
    return found


def collected(changelog: str, number: str, date: str, changes: Iterable[str]) -> str:
    """Return the changelog with the changes in it and the version released."""
    listed = sorted(changes, key=lambda text: KINDS.index(text.partition(" ")[0]))
    items = "".join("- " + text.replace("\n", "\n  ") + "\n" for text in listed)
    head, *sections = re.split(r"^(?=## )", changelog, flags=re.MULTILINE)
    heading, unreleased = f"## [{number}] - {date}\n", f"## [Unreleased] {number}\n"
    section = heading
    if sections and sections[0].startswith(unreleased):
        section += sections.pop(0).removeprefix(unreleased).rstrip("\n") + "\n"
    section += f"\n### Changes\n\n{items}" if items else ""
    return head + section + ("\n" if sections else "") + "".join(sections)


def standalone(text: str) -> str:
    r"""Return a page of Markdown for a folder without the others: no comments, pictures or links to them.

    >>> standalone("<!-- run -->\n![p](docs/p.svg)\n\n[a](docs/a.md#b) and [c](https://c)\n")
    'a and [c](https://c)\n'
    """
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)
    text = re.sub(r"^!\[[^\]]*\]\((?!https?://)[^)]*\)\n+", "", text, flags=re.MULTILINE)
    # A link in brackets says nothing without its page.
    text = re.sub(r"\s*\(\[[^\]]*\]\((?!https?://)[^)]*\)\)", "", text)
    return re.sub(r"\[([^\]]*)\]\((?!https?://)[^)]*\)", r"\1", text)


def readme(text: str) -> str:
    """Return the README for packages: what is in them, and nothing of the sources.

    Raises:
        ValueError: A section that is replaced or left out is not there.
    """
    for heading, own in OWN.items():
        found = re.search(rf"^## {re.escape(heading)}\n.*?(?=^## |\Z)", text, flags=re.MULTILINE | re.DOTALL)
        if found is None:
            raise ValueError(f"README.md has no section {heading}")
        text = text.replace(found[0], f"## {heading}\n\n{own}\n" if own else "")
    # Sentences about the sources: `make build` and the like.
    text = re.sub(r"\(`haul why` and `haul lab` need the extra[^)]*\)\n+", LAB + "\n\n", text)
    text = re.sub(r"^`make bench-peers` repeats them\. ", "", text, flags=re.MULTILINE)
    text = re.sub(
        r" No package is published yet; `make packages`[^.]*\.",
        "",
        text.replace("`.deb` and\n  an `.rpm`", "package"),
    )
    return standalone(text)


#: Sections that are others in a package; empty where one is left out.
OWN = {
    "Install": """\
This package has the command `haul`, its manual pages and its completions. It needs Linux and no other
package. From the archive, put its folder on the path:

    export PATH=$PWD:$PATH
    man -l share/man/man1/haul.1

`haul doctor`, `lab`, `why`, `watch`, `table`, `view` and `index` come with the Python package: the wheel
`haulage-*.whl` that was made together with this package. In the folder of the wheel:

    python3 -m venv ~/haulage && . ~/haulage/bin/activate
    pip install "$(echo ./haulage-*.whl)[all]"
""",
    "Documentation": """\
`man haul` and `haul help COMMAND` have every command and option. The folder for machines without the
Internet has all pages that are named here: open `docs/index.html` in it.
""",
    "Licence": """Apache 2.0: LICENSE. THIRD-PARTY-NOTICES has the licences of what is compiled in.
""",
}
LAB = "(`haul doctor`, `haul why` and `haul lab` come with the Python package.)"


if __name__ == "__main__":
    if sys.argv[1:] == ["notes"]:
        print(standalone(notes(CHANGELOG.read_text(encoding="utf-8"), version())), end="")
    elif sys.argv[1:] == ["changelog"]:
        print(standalone(CHANGELOG.read_text(encoding="utf-8")), end="")
    elif sys.argv[1:] == ["readme"]:
        print(readme((ROOT / "README.md").read_text(encoding="utf-8")), end="")
    elif sys.argv[1:] == ["collect"]:
        changes = entries(CHANGES)
        today = datetime.now(UTC).date().isoformat()
        text = collected(CHANGELOG.read_text(encoding="utf-8"), version(), today, changes.values())
        CHANGELOG.write_text(text, encoding="utf-8")
        for path in changes:
            path.unlink()
    elif sys.argv[1:] == ["version"]:
        print(version())
    else:
        sys.exit(__doc__)
