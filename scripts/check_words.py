"""Fail if users would read a phrase from the "not" column of the table of words in CONTRIBUTING.md.

It reads the pages, the strings of the Rust sources, the comments that clap prints as help, the docstrings
and strings of the Python package, and its pages for browsers. It skips other comments and tests.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE_OF_WORDS = "CONTRIBUTING.md"
#: The head of the table; above it is one of whole sentences, for people.
HEAD = "| not | but |\n"

#: Vendored, or not prose.
OTHERS = re.compile(r"web/static/(?:uplot|leaflet)|\.svg$|\.min\.")

ROW = re.compile(r"^\| (?P<wrong>[^|]+) \| (?P<right>[^|]+) \|$", re.MULTILINE)
#: A comment for help, another comment, a raw or plain string, or any other character.
RUST = re.compile(
    r'(?P<help>///[^\n]*(?:\n\s*///[^\n]*)*)|//[^\n]*|/\*.*?\*/|r(?P<raw>#*)"(?P<rough>.*?)"(?P=raw)'
    r"|b?\"(?P<plain>(?:\\.|[^\"\\])*)\"|b?'(?:\\[^']*|[^'\\])'|\w+|\S",
    re.DOTALL,
)


@dataclass(frozen=True)
class Text:
    """A stretch of a file that users read, and the line on which it begins."""

    line: int
    text: str


def phrases(contributing: str) -> dict[str, re.Pattern[str]]:
    """Return the phrases of the "not" column, each with what finds it: `...` stands for up to five words."""
    section = contributing.split("\n## Words\n", 1)[1].split("\n## ", 1)[0]
    section = section.split(HEAD, 1)[1]
    rows = [(row["wrong"].strip(), row["right"].strip()) for row in ROW.finditer(section)]
    return {wrong: pattern(wrong) for wrong, _ in rows if wrong != "not" and not set(wrong) <= {"-"}}


def pattern(phrase: str) -> re.Pattern[str]:
    """Return what finds a phrase whatever its case and wherever its lines break."""
    words = [r"\S+(?:\s+\S+){0,4}?" if word == "..." else re.escape(word) for word in phrase.split()]
    return re.compile(r"(?<!\w)" + r"\s+".join(words) + r"(?!\w)", re.IGNORECASE)


def texts_of(path: str, source: str) -> Iterator[Text]:
    """Yield what users read of a file."""
    match Path(path).suffix:
        case ".rs":
            yield from of_rust(source, help_too=path.startswith("crates/haulage-cli/"))
        case ".py" | ".pyi":
            yield from of_python(source)
        case _:
            if path == TABLE_OF_WORDS:
                source = ROW.sub("", source)
            yield Text(1, source)


def of_rust(source: str, help_too: bool) -> Iterator[Text]:
    """Yield the strings of a file without its unit tests, and the comments that become help."""
    shown = source.split("#[cfg(test)]")[0]
    for token in RUST.finditer(shown):
        line = shown.count("\n", 0, token.start()) + 1
        if token["help"] and help_too:
            yield Text(line, re.sub(r"\s*///", " ", token["help"]))
        elif (text := token["rough"] or token["plain"]) is not None:
            yield Text(line, re.sub(r"\\\n\s*", "", text))


def of_python(source: str) -> Iterator[Text]:
    """Yield the strings of a file, docstrings among them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            parts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values]
            yield Text(node.lineno, "".join(parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield Text(node.lineno, node.value)


def faults(path: str, source: str, wrong: dict[str, re.Pattern[str]]) -> Iterator[str]:
    """Yield each phrase that users would read, with its place."""
    found = set()
    for text in texts_of(path, source):
        for phrase, finder in wrong.items():
            for hit in finder.finditer(text.text):
                line = text.line + text.text.count("\n", 0, hit.start())
                found.add((line, phrase, " ".join(hit[0].split())))
    for line, phrase, match in sorted(found):
        yield f"{path}:{line}: '{match}': see '{phrase}' in the table of words in {TABLE_OF_WORDS}"


def files() -> list[str]:
    """Return what is under version control and holds words for users."""
    places = ["*.md", "docs", "examples", "benchmarks/*.md", "crates", "python"]
    found = subprocess.run(
        ["git", "ls-files", "-z", *places], cwd=ROOT, check=True, capture_output=True, text=True
    )
    listed = found.stdout.split("\0")
    names = {name for name in listed if name and not re.search(r"^crates/[^/]+/(?!src/)", name)}
    kinds = {".md", ".rs", ".py", ".pyi", ".html", ".js", ".toml", ".j2"}
    return sorted(name for name in names if Path(name).suffix in kinds and not OTHERS.search(name))


def main() -> int:
    """Print each fault; return 1 if there is one."""
    wrong = phrases((ROOT / TABLE_OF_WORDS).read_text(encoding="utf-8"))
    found = [fault for path in files() for fault in faults(path, (ROOT / path).read_text("utf-8"), wrong)]
    for fault in found:
        print(fault, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
