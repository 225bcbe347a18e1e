"""Fail if users would read a phrase that `PHRASES` replaces.

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
#: Its table of examples quotes what nobody should write.
CONTRIBUTING = "CONTRIBUTING.md"
#: What not to write, and what to write instead; `...` stands for up to five words.
PHRASES = {
    "when ... has rest": "when ... is less busy",
    "fits into no bytes": "size must be greater than zero",
    "does it serve": "is the server running",
    "leads round": "symlink loop",
    "not with the rest": "duplicate or conflicting option",
    "if none is retried": "not counting retries",
    "not to be copied": "excluded",
    "that the receipt tells of": "listed in the receipt",
    "all that the": "everything that the",
    "what lies at": "the contents of",
    "now lie": "are now",
    "in the midst of": "in the middle of",
    "gone on with": "resumed",
    "nobody knows": "unknown",
    "nobody can know": "it is not possible to know",
    "no knob": "nothing to tune",
    "as many as pay": "as many as help",
    "as many requests as pay": "as many requests as help",
    "nor is": "also not",
    "some microseconds": "a few microseconds",
    "tell ... apart": "distinguish",
    "told apart": "distinguished",
    "rate of now": "current rate",
    "rules of now": "current rules",
    "by and by": "gradually",
    "comes to its end": "ends",
    "come to their end": "end",
    "taken along": "copied",
    "to be had": "available",
    "or else from": "then",
    "is no failure": "is not an error",
    "are no failure": "are not errors",
    "come ... by themselves": "are added automatically",
    "shall say": "says",
    "go on where": "continue from where",
    "is a part of the lab": "comes with the lab",
    "whatever it is about": "for any subject",
    "goes on from": "continues from",
    "go on from": "continue from",
    "goes on where": "continues where",
    "command goes on": "command resumes",
    "call goes on": "call resumes",
    "may be given again": "may be repeated",
    "with commas between them": "separated by commas",
    "shared out": "divided",
    "dealt out": "assigned",
    "lies below": "is below",
    "lies beside": "is next to",
    "stands in": "is in",
    "tells of": "reports",
    "tell of": "report",
    "shall": "must, can, or the plain verb",
    "beside the system's": "in addition to the system's",
    "so many requests": "this many requests",
    "as ever": "as usual",
    "knows nothing of": "does not know",
}

#: Vendored, or not prose.
OTHERS = re.compile(r"web/static/(?:uplot|leaflet)|\.svg$|\.min\.")

ROW = re.compile(r"^\| [^|]+ \| [^|]+ \|$", re.MULTILINE)
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
            if path == CONTRIBUTING:
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


WRONG = {phrase: pattern(phrase) for phrase in PHRASES}


def faults(path: str, source: str) -> Iterator[str]:
    """Yield each phrase that users would read, with its place."""
    found = set()
    for text in texts_of(path, source):
        for phrase, finder in WRONG.items():
            for hit in finder.finditer(text.text):
                line = text.line + text.text.count("\n", 0, hit.start())
                found.add((line, phrase, " ".join(hit[0].split())))
    for line, phrase, match in sorted(found):
        yield f"{path}:{line}: '{match}': not '{phrase}', but '{PHRASES[phrase]}'"


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
    found = [fault for path in files() for fault in faults(path, (ROOT / path).read_text("utf-8"))]
    for fault in found:
        print(fault, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
