"""The pages of the site that are made from the code: the help of every command, and the docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator

import contract

#: A section of a docstring, as Google's style has them.
SECTION = re.compile(
    r"^(Args|Returns|Raises|Yields|Attributes|Example|Examples|Note|Warning):$", re.MULTILINE
)


def help_page() -> str:
    """Return the help of every command as a page."""
    parts = [
        "# Help of every command\n\nMade from the command. [Command](command.md) explains the options.\n"
    ]
    for command in [(), *contract.commands()]:
        name = " ".join(("haul", *command))
        parts.append(f"## {name}\n\n```text\n{contract.help_of(*command).strip()}\n```\n")
    return "\n".join(parts)


def api_page() -> str:
    """Return the public names of the package with their signatures and docstrings as a page."""
    parts = ["# Python API\n\nMade from the docstrings. [Python](python.md) is an overview of the same.\n"]
    for path, names in contract.MODULES.items():
        module = importlib.import_module(path)
        parts.append(f"## {path}\n")
        for name in names if names is not None else module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or callable(value):
                parts += entry(f"{path}.{name}", value, "###")
    return "\n".join(parts)


def entry(name: str, value: object, level: str) -> Iterator[str]:
    """Yield the heading, the signature and the docstring of a function, or of a class and its members."""
    yield f"{level} {name}\n"
    if not (inspect.isclass(value) and issubclass(value, Exception)):
        yield f"```python\n{signature(name.rpartition('.')[2], value)}\n```\n"
    yield prose(inspect.getdoc(value) or "")
    if inspect.isclass(value) and not issubclass(value, Exception):
        for member, held in vars(value).items():
            function = getattr(held, "__func__", getattr(held, "fget", held))
            if not member.startswith("_") and inspect.isfunction(function):
                yield from entry(f"{name}.{member}", function, "####")


def signature(name: str, value: object) -> str:
    """Return a call with its parameters, one a line if they are many."""
    try:
        found = inspect.signature(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return name
    shown = [p for p in found.parameters.values() if p.name not in ("self", "cls")]
    short = str(found.replace(parameters=shown)).replace("'", "")
    if len(shown) <= 4:
        return f"{name}{short}"
    returned = short.rpartition(") -> ")[2] if ") -> " in short else ""
    words, keyword_only = [], False
    for parameter in shown:
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            words.append("*")
        words.append(str(parameter).replace("'", ""))
    lines = ",\n    ".join(words)
    return f"{name}(\n    {lines},\n)" + (f" -> {returned}" if returned else "")


def prose(docstring: str) -> str:
    r"""Return a docstring as Markdown: sections in bold, their entries as a list, examples as code.

    >>> prose("Do it.\n\nArgs:\n    a: One,\n        still one.\n    b: Two.")
    'Do it.\n\n**Args**\n\n- `a`: One, still one.\n- `b`: Two.\n'
    """
    text = docstring.replace("``", "`")
    found = []
    for paragraph in re.split(r"\n{2,}", text):
        heading, _, rest = paragraph.partition("\n")
        if SECTION.match(heading):
            found.append(f"**{heading.rstrip(':')}**")
            found += blocks(inspect.cleandoc(rest)) if rest else []
        else:
            found += blocks(inspect.cleandoc(paragraph))
    return "\n\n".join(found) + "\n"


def blocks(text: str) -> Iterator[str]:
    """Yield a paragraph, a list of `name: meaning` lines, or an example."""
    if text.startswith(">>>"):
        yield f"```pycon\n{text}\n```"
    elif re.match(r"[\w*, ]+: ", text) and not text.startswith("http"):
        joined = re.sub(r"\n\s+", " ", text)
        yield "\n".join(re.sub(r"^([\w*, ]+): ", r"- `\1`: ", line) for line in joined.splitlines())
    else:
        yield text
