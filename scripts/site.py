"""Build the documents into a site that needs no network: `scripts/site.py [FOLDER]`, by default build/site.

The pages and their order are those of docs/index.md, so that nothing is described twice. Two more are made
from the code (tests/code_pages.py): the help of every command, and the docstrings of the package. A broken
link fails the build.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import code_pages  # noqa: E402

DOCS = ROOT / "docs"
#: The line of the index after which the pages stand that are made from the code.
REFERENCE = "## Reference: the details\n"
MADE_FROM_CODE = """- [Help of every command](reference/help.md): the text of `--help`
- [Python API](reference/api.md): every public function and class, from the docstrings
"""
HEADING = re.compile(r"## ([^:\n]+)")
PART = re.compile(r"### ([^:\n]+)")
#: Where pages look for it, and the same from npm.
SHIM_URL = "https://unpkg.com/iframe-worker/shim"
SHIM = ROOT / "build/node/node_modules/iframe-worker/shim/index.js"
#: Whatever a browser loads by itself.
FETCHED = re.compile(
    r"""<(?:script|img|iframe)[^>]* src=["'](https?:[^"']+)|"""
    r"""<link rel="?stylesheet[^>]* href=["'](https?:[^"']+)"""
)
ENTRY = re.compile(r"- \[([^\]]+)\]\(([^)#]+\.md)\)")

SETTINGS = {
    "site_name": "Haulage",
    "site_description": "Moves files to, from and between object stores, and proves that every byte arrived",
    # Pages are opened from a folder as well as from a server.
    "use_directory_urls": False,
    "theme": {
        "name": "material",
        # From elsewhere, which an air-gapped reader cannot reach.
        "font": False,
        "features": [
            "navigation.top",
            "navigation.tabs",
            "navigation.sections",
            "content.code.copy",
            "search.highlight",
        ],
        "palette": [
            {
                "media": "(prefers-color-scheme: light)",
                "scheme": "default",
                "toggle": {"icon": "lucide/sun", "name": "Switch to dark"},
            },
            {
                "media": "(prefers-color-scheme: dark)",
                "scheme": "slate",
                "toggle": {"icon": "lucide/moon", "name": "Switch to light"},
            },
        ],
    },
    "plugins": ["search", "offline"],
    "markdown_extensions": [
        "tables",
        {"toc": {"permalink": True}},
        "pymdownx.highlight",
        "pymdownx.superfences",
    ],
}


def navigation(index: str) -> list[dict[str, object]]:
    r"""Return the pages of the index, each section below its heading.

    >>> navigation("# D\n## Start: now\n- [In](in.md): ...\n## Guides: how\n### Pipes\n- [Out](out.md): ...")
    [{'Home': 'index.md'}, {'Start': [{'In': 'in.md'}]}, {'Guides': [{'Pipes': [{'Out': 'out.md'}]}]}]
    """
    sections: list[dict[str, object]] = [{"Home": "index.md"}]
    section: list[dict[str, object]] = []
    pages = section
    for line in index.splitlines():
        if heading := HEADING.match(line):
            pages = section = []
            sections.append({heading[1]: section})
        elif part := PART.match(line):
            pages = []
            section.append({part[1]: pages})
        elif entry := ENTRY.match(line):
            pages.append({entry[1]: entry[2]})
    return sections


def build(folder: Path) -> None:
    """Build the site into `folder`, which it replaces."""
    index = (DOCS / "index.md").read_text(encoding="utf-8").replace(REFERENCE, REFERENCE + MADE_FROM_CODE)
    settings = {**SETTINGS, "nav": navigation(index)}
    # The builder takes nothing from outside the folder of its configuration.
    with tempfile.TemporaryDirectory() as work:
        shutil.copytree(DOCS, Path(work, "docs"))
        Path(work, "docs/index.md").write_text(index, encoding="utf-8")
        Path(work, "docs/reference/help.md").write_text(code_pages.help_page(), encoding="utf-8")
        Path(work, "docs/reference/api.md").write_text(code_pages.api_page(), encoding="utf-8")
        # JSON is YAML.
        Path(work, "mkdocs.yml").write_text(json.dumps(settings), encoding="utf-8")
        command = [str(Path(sys.executable).parent / "zensical"), "build", "--clean", "--strict"]
        subprocess.run(command, cwd=work, check=True)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(Path(work, "site"), folder)
    take_along(folder)


def take_along(folder: Path) -> None:
    """Put into the site what its pages would fetch from elsewhere to search where no server is."""
    shutil.copy(SHIM, folder / "assets/search-shim.js")
    for page in folder.rglob("*.html"):
        own = "../" * (len(page.relative_to(folder).parts) - 1) + "assets/search-shim.js"
        text = page.read_text(encoding="utf-8").replace(SHIM_URL, own)
        if foreign := FETCHED.findall(text):
            raise SystemExit(f"{page}: fetches {', '.join(foreign)}")
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/site").resolve())
