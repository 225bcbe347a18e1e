"""Every hint of the sources, reduced to its constant words, and every text that a test quotes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import sentences

ROOT = Path(__file__).resolve().parent.parent

#: A comment, a raw or plain string, a character, a name, or any other character.
_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|r(?P<raw>#*)".*?"(?P=raw)|b?"(?:\\.|[^"\\])*"|'
    r"b?'(?:\\[^']*|[^'\\])'|\w+|\S",
    re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t"}
_TESTS = "#[cfg(test)]"
_CLOSES = {"(": ")", "[": "]", "{": "}"}

Tokens = Sequence[str]


@dataclass(frozen=True)
class Hint:
    """A hint as a source has it."""

    path: Path
    text: str
    formatted: bool  #: whether `{}` in it stands for something else

    @cached_property
    def words(self) -> str:
        """Its longest stretch that is the same whatever it is about."""
        pieces = re.split(r"\{[^{}]*\}", self.text) if self.formatted else [self.text]
        return max((piece.strip() for piece in pieces), key=len)


def of_sources() -> list[Hint]:
    """Return every hint of the engine, the command, the emulator, the bindings and the Python package."""
    found = [hint for crate in sorted(ROOT.glob("crates/*/src")) for hint in of_crate(crate)]
    for path in sorted(ROOT.glob("python/haulage/**/*.py")):
        found += of_python(path, path.read_text(encoding="utf-8"))
    return found


def of_crate(folder: Path) -> Iterator[Hint]:
    """Yield the hints of a crate, without those of its unit tests."""
    files = {
        path: tokens(path.read_text(encoding="utf-8").split(_TESTS)[0])
        for path in sorted(folder.rglob("*.rs"))
    }
    public = {name: place for rust in files.values() for name, place in _takers(rust).items()}
    for path, rust in files.items():
        for argument in _arguments(rust, public | _closures(rust)):
            # A constant may stand in another file.
            named = len(argument) == 1 and argument[0].isupper()
            places = list(files.values()) if named else [rust]
            texts = [found for place in places for found in _texts(argument, place)]
            passes_on = argument in (["hint"], ["hint", ".", "into", "(", ")"])
            assert texts or passes_on, f"{path}: no words found for the hint {' '.join(argument)}"
            yield from (Hint(path, text, formatted) for text, formatted in texts)


def of_python(path: Path, source: str) -> Iterator[Hint]:
    """Yield what becomes the `hint` of an exception: the last word of one, or of what makes one."""
    for node in _nodes(source):
        match node:
            case ast.Assign(targets=[ast.Name("hint")], value=value):
                yield from _words(path, value)
            case ast.Return(value=value) if path.name == "network.py" and isinstance(value, ast.Constant):
                yield from _words(path, value)
            case ast.Call(func=ast.Name(name), args=[_, _, _, hint]) if name.endswith("Error"):
                yield from _words(path, hint)
            case ast.Call(func=ast.Name("refuse") | ast.Attribute(attr="fault"), args=[_, _, hint]):
                yield from _words(path, hint)
            case ast.Call(func=ast.Name("Finding"), args=[_, _, _, hint, *_]) if _is_of_doctor(path):
                yield from _words(path, hint)
            case ast.Call(func=ast.Name("Trouble"), args=[_, _, hint]):
                yield from _words(path, hint)
            case ast.Tuple(elts=[_, hint]) if path.name == "credentials.py":
                # What is wrong with a SAS, and what to do about it.
                yield from _words(path, hint)
            case ast.Call(func=ast.Name("from_engine" | "_exception"), args=[_, _, _, _, hint]):
                yield from _words(path, hint)


def _nodes(source: str) -> Iterator[ast.AST]:
    """Yield what `ast.walk` does, in less than half of the time: there are a million nodes."""
    stack: list[ast.AST] = [ast.parse(source)]
    while stack:
        node = stack.pop()
        yield node
        for value in vars(node).values():
            if isinstance(value, list):
                stack.extend(each for each in value if isinstance(each, ast.AST))
            elif isinstance(value, ast.AST):
                stack.append(value)


def _is_of_doctor(path: Path) -> bool:
    return "haulage/doctor/" in path.as_posix()


def _words(path: Path, value: ast.expr) -> Iterator[Hint]:
    match value:
        case ast.Constant(str(text)):
            yield Hint(path, text, formatted=False)
        case ast.JoinedStr(parts):
            pieces = [part.value if isinstance(part, ast.Constant) else "{}" for part in parts]
            yield Hint(path, "".join(map(str, pieces)), formatted=True)
        case ast.IfExp(body=one, orelse=other):
            yield from _words(path, one)
            yield from _words(path, other)


def quoted_in_tests() -> Iterator[str]:
    """Yield every line that tests compare as a sentence, and their strings, docstrings not counted."""
    yield from (line for said in sentences.read().values() for text in said for line in text.splitlines())
    for path in sorted(ROOT.glob("tests/**/*.py")):
        nodes = list(_nodes(path.read_text(encoding="utf-8")))
        lone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in lone:
                yield node.value
    for path in sorted(ROOT.glob("crates/*/**/*.rs")):
        source = path.read_text(encoding="utf-8")
        tests = source if path.relative_to(ROOT).parts[2] == "tests" else "".join(source.split(_TESTS)[1:])
        yield from (text for token in tokens(tests) if (text := _unquoted(token)) is not None)


def tokens(rust: str) -> list[str]:
    """Return the tokens of Rust text, comments left out."""
    found = (match.group() for match in _TOKEN.finditer(rust))
    return [token for token in found if not token.startswith(("//", "/*"))]


def _unquoted(token: str) -> str | None:
    if token.startswith("r") and '"' in token:
        return token.split('"', 1)[1].rsplit('"', 1)[0]
    if not token.startswith('"'):
        return None
    joined = re.sub(r"\\\n\s*", "", token[1:-1])
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), joined)


def _texts(argument: Tokens, rust: Tokens, depth: int = 0) -> Iterator[tuple[str, bool]]:
    """Yield the words of an argument: its first literal, else what its names stand for in the file."""
    for at, token in enumerate(argument):
        text = _unquoted(token)
        if text is not None:
            yield text, list(argument[max(at - 3, 0) : at]) == ["format", "!", "("]
            return
    for name in argument:
        if depth < 3 and re.match(r"[A-Za-z_]{3,}", name):
            for definition in _definitions(name, rust):
                yield from _texts(definition, rust, depth + 1)


def _places(name: str, rust: Tokens) -> Iterator[int]:
    """Yield where a token stands that this name follows."""
    at = 0
    with suppress(ValueError):
        while True:
            at = rust.index(name, at + 1)
            yield at - 1


def _definitions(name: str, rust: Tokens) -> Iterator[Tokens]:
    """Yield what follows the `=` of a constant or variable, or the body of a function."""
    for at in _places(name, rust):
        keyword = rust[at]
        if keyword in ("const", "let"):
            equals = rust.index("=", at)
            yield rust[equals + 1 : rust.index(";", equals)]
        elif keyword == "fn":
            opens = rust.index("{", at)
            yield _within(rust, opens)


def _within(rust: Tokens, opens: int) -> Tokens:
    """Return what stands between the bracket at `opens` and the one that closes it."""
    depth = 0
    for at in range(opens, len(rust)):
        depth += (rust[at] in _CLOSES) - (rust[at] in _CLOSES.values())
        if depth == 0:
            return rust[opens + 1 : at]
    raise AssertionError(f"never closed: {' '.join(rust[opens : opens + 20])}")


def _parts(arguments: Tokens) -> list[list[str]]:
    """Return what commas part, those within brackets not counted."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in arguments:
        depth += (token in _CLOSES) - (token in _CLOSES.values())
        if token == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def _takers(rust: Tokens) -> dict[str, int]:
    """Return the functions that take a hint, each with the place of it among the arguments."""
    found = {}
    for at, token in enumerate(rust[:-2]):
        if token == "fn" and rust[at + 2] == "(":
            names = [part[0] for part in _parts(_within(rust, at + 2))]
            if "hint" in names:
                found[rust[at + 1]] = names.index("hint")
    return found


def _closures(rust: Tokens) -> dict[str, int]:
    """Return the closures that take a hint: `let name = |cause, hint| ...`."""
    found = {}
    for at, token in enumerate(rust[:-4]):
        if token == "let" and list(rust[at + 2 : at + 4]) == ["=", "|"]:
            names = [part[0] for part in _parts(rust[at + 4 : rust.index("|", at + 4)])]
            if "hint" in names:
                found[rust[at + 1]] = names.index("hint")
    return found


def _arguments(rust: Tokens, takers: dict[str, int]) -> Iterator[Tokens]:
    """Yield what is given as a hint: `.hint(..)`, `hint: Some(..)`, an argument, `Some(".." )` by kind."""
    by_kind = "usual_hint" in rust
    for at in range(1, len(rust) - 1):
        before, token, after = rust[at - 1 : at + 2]
        if (before, token, after) == (".", "hint", "("):
            yield _within(rust, at + 1)
        elif token == "Some" and after == "(" and (rust[at - 2 : at] == ["hint", ":"] or by_kind):
            given = _within(rust, at + 1)
            # Beside the hints that go by kind, the same file wraps other things.
            if not by_kind or _unquoted(given[0]) is not None:
                yield given
        elif token in takers and after == "(" and before not in (".", "fn", ":"):
            yield _parts(_within(rust, at + 1))[takers[token]]
