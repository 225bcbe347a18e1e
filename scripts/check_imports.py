"""Fail where an import goes against the arrows of the design.

    python -> bindings -> {cli, emulator, engine};  cli -> {engine, emulator};  emulator -> engine

The engine knows none of the others. Within it the stores, the wire, the gate and the controller do not know
the flow that uses them, and the stages do not know the job that runs them. Within the Python package nothing
knows the command but the entry point, and each idea of OWNERS has one owner.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENGINE = ROOT / "crates/haulage/src"
PACKAGE = ROOT / "python/haulage"

#: What each crate may depend on among ours.
CRATES = {
    "haulage": set(),
    "haulage-emulator": {"haulage"},
    "haulage-cli": {"haulage", "haulage-emulator"},
    "haulage-python": {"haulage", "haulage-emulator", "haulage-cli"},
}
#: Tests of the engine move bytes to a real endpoint.
DEV_CRATES = {"haulage": {"haulage-emulator"}}

#: What runs the flow, and who asks for it: nothing below knows them.
ABOVE = {"stage", "job", "access"}
#: The parts of the engine, a module or a folder each, and the modules that each must not import.
ENGINE_MUST_NOT = {
    "access": {"job"},
    "job": {"access"},
    "stage": {"job", "access"},
    "options": ABOVE | {"gate", "http", "budget"},
    "config": ABOVE | {"options", "gate", "budget"},
    "gate": ABOVE | {"options", "store", "http"},
    "store": ABOVE | {"options", "control", "budget"},
    "http": ABOVE | {"options", "gate", "store", "control", "budget"},
    "event": ABOVE | {"options", "gate", "store", "control", "http"},
    "error": ABOVE | {"options", "gate", "store", "control", "http", "event"},
    "units": ABOVE | {"options", "gate", "store", "control", "http", "event"},
    "checksum": ABOVE | {"options", "gate", "store", "control", "http", "event"},
    "budget": ABOVE | {"options", "gate", "store", "control", "http"},
}
#: The parts of the engine that may import these modules alone.
ENGINE_ONLY = {"control": {"units", "event", "control"}}

CORE = {
    "job",
    "listing",
    "display",
    "bar",
    "arrow",
    "places",
    "cached",
    "reader",
    "writer",
    "transfer",
    "options",
    "objects",
    "ranges",
    "reach",
    "removal",
    "session",
    "events",
    "words",
    "records",
    "decisions",
    "errors",
    "outputs",
    "emulator",
    "lazy",
}
#: What each part of the Python package may import from it, besides its own parts.
PYTHON_MAY = {
    "__init__": CORE | {"_engine", "cluster", "filesystem", "lab", "tables", "watch"},
    "__main__": {
        "_engine",
        "children",
        "commands",
        "standard_streams",
        "tables",
        "watch",
    },
    "standard_streams": {"errors"},
    "commands": {"errors", "options", "places", "words"},
    "errors": {"events", "words"},
    "events": {"arrow", "display"},
    "display": {"events", "words"},
    "bar": {"display", "events"},
    "children": set(),
    "arrow": {"errors"},
    "places": {"errors"},
    "outputs": {"errors"},
    "cached": set(),
    "reader": set(),
    "writer": set(),
    "job": {"_engine", "arrow", "bar", "display", "errors", "events", "options", "places", "words"},
    "listing": {"_engine", "arrow", "errors", "events", "options", "places"},
    "words": set(),
    "records": set(),
    "causes": {"words"},
    "session": {"_engine", "errors"},
    "options": set(),
    "transfer": {"_engine", "errors", "events", "job", "listing", "options", "words"},
    "objects": {"_engine", "errors", "events", "options", "places", "reader", "transfer", "writer"},
    "ranges": {"_engine", "errors", "options", "places"},
    "reach": {"_engine", "options"},
    "decisions": {"_engine"},
    "removal": {"_engine", "errors", "events", "job", "options", "transfer", "words"},
    "emulator": {"_engine", "errors"},
    "filesystem": CORE | {"_engine"},
    "lab": CORE | {"__init__", "_engine", "causes", "children", "cluster", "commands"},
    "cluster": CORE | {"__init__", "_engine"},
    "doctor": CORE | {"__init__", "_engine", "cluster", "commands", "web"},
    "web": {"errors"},
    "lazy": set(),
    "watch": CORE | {"__init__", "_engine", "cluster", "commands", "web"},
    "tables": CORE | {"__init__", "__main__", "_engine", "commands", "web"},
    "view": CORE | {"__init__", "commands", "web"},
}

#: What only one part of the package does: what shows that it is done, the part, and what that is.
OWNERS = (
    # A number with a unit that is written by hand.
    (
        re.compile(r":,?\.\d[fg]\} ?(?:[KMGT]i?B|kB|[mun]s|min|[kMG]?bit)\b"),
        "words",
        "writes numbers with units for people",
    ),
    (re.compile(r"""endswith\(["']_ns"""), "records", "tells moments from durations"),
    (re.compile("REDACTED"), "words", "takes secrets out of text"),
    (re.compile(r"\b(?:http\.server|socketserver|uvicorn)\b"), "web", "serves pages"),
    (re.compile(r"\bhmac\.compare_digest|http\.cookies"), "web", "lets in whoever shows a token"),
    # A verdict that is made, or a code that nobody else needs to know.
    (re.compile(r"\bVerdict\(|\"(?:own-time|one-at-a-time)\""), "causes", "names causes and decides"),
)


def crate_faults() -> Iterator[str]:
    """Yield each dependency between our crates that goes against the arrows."""
    command = ["cargo", "metadata", "--no-deps", "--locked", "--format-version", "1"]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    packages = json.loads(found.stdout)["packages"]
    for package in packages:
        name = package["name"]
        if name not in CRATES:
            yield f"{name}: not in the table of scripts/check_imports.py"
            continue
        for dependency in package["dependencies"]:
            allowed = CRATES[name] | (DEV_CRATES.get(name, set()) if dependency["kind"] == "dev" else set())
            if dependency["name"] in CRATES and dependency["name"] not in allowed:
                yield f"{name}: must not depend on {dependency['name']}"


def engine_faults() -> Iterator[str]:
    """Yield each import within the engine against the arrows, and each rule for what is not there."""
    for part in sorted({*ENGINE_MUST_NOT, *ENGINE_ONLY}):
        if not (ENGINE / part).is_dir() and not (ENGINE / f"{part}.rs").is_file():
            yield f"crates/haulage/src/{part}: not there, but in the table of scripts/check_imports.py"
    for path in sorted(ENGINE.rglob("*.rs")):
        below = path.relative_to(ENGINE)
        part = below.parts[0].removesuffix(".rs")
        imported = engine_imports(path.read_text(encoding="utf-8"))
        wrong = imported & ENGINE_MUST_NOT.get(part, set())
        if part in ENGINE_ONLY:
            wrong |= imported - ENGINE_ONLY[part]
        for name in sorted(wrong):
            yield f"crates/haulage/src/{below}: must not use crate::{name}"


def engine_imports(source: str) -> set[str]:
    """Return the top modules of the crate that `source` names, its unit tests not counted."""
    source = re.split(r"#\[cfg\(test\)\]\s*mod ", source)[0]
    source = re.sub(r"//[^\n]*", "", source)
    names = set(re.findall(r"\bcrate::([a-z_]+)", source))
    for group in re.findall(r"\bcrate::\{([^;]*)\};", source):
        names |= set(re.findall(r"(?:^|,)\s*([a-z_]+)", re.sub(r"\{[^{}]*\}", "", group)))
    return names


def python_faults() -> Iterator[str]:
    """Yield each import within the Python package that goes against the arrows."""
    for path in sorted(PACKAGE.rglob("*.py")):
        below = path.relative_to(PACKAGE)
        part = below.parts[0].removesuffix(".py")
        if part not in PYTHON_MAY:
            yield f"python/haulage/{below}: not in the table of scripts/check_imports.py"
            continue
        text = path.read_text(encoding="utf-8")
        for sign, owner, deed in OWNERS:
            if part != owner and sign.search(text):
                yield f"python/haulage/{below}: only {owner}/ {deed}"
        allowed = PYTHON_MAY[part] | {part}
        for name in sorted(python_imports(path) - allowed):
            yield f"python/haulage/{below}: must not import haulage.{name}"


def python_imports(path: Path) -> set[str]:
    """Return the parts of our package that the file imports when it runs; `__init__` is the package."""
    names: set[str] = set()
    for node in _running(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            names.add("(relative: write the whole name)")
            continue
        elif isinstance(node, ast.ImportFrom) and node.module == "haulage":
            parts = {alias.name for alias in node.names}
            modules = [
                f"haulage.{part}" if part in PYTHON_MAY or part == "_engine" else "haulage" for part in parts
            ]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        else:
            continue
        for module in modules:
            top, _, rest = module.partition(".")
            if top == "haulage":
                names.add(rest.partition(".")[0] or "__init__")
    return names


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes but those that only the type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        yield from _running(node)


def main() -> int:
    """Print each fault; return 1 if there is one."""
    faults = [*crate_faults(), *engine_faults(), *python_faults()]
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
