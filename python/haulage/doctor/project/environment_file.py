"""``environment.yml``: packages of conda, and of pip below them."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, Specifier, SpecifierSet

from haulage.doctor.project import pep508, requirements_file
from haulage.doctor.project.wanted import Place, Source, Trouble, Wanted
from haulage.errors import UsageError

#: A requirement of conda: a channel, a name, versions, a build.
_MATCH = re.compile(
    r"(?:[\w./-]+::)?(?P<name>[A-Za-z0-9_][\w.-]*)(?:\[[^\]]*version\s*=\s*['\"]?(?P<boxed>[^'\"\]]+)['\"]?[^\]]*\])?"
    r"\s*(?P<version>[<>=!~ ]?[^\s\[]*(?:\s*,\s*\S+)*)(?:\s+\S+)?"
)

#: What may stand before a version, apart from it.
_SPACED = re.compile(r"([<>=!~]=|[<>=])\s+")


def read(path: Path, text: str, *, alone: bool = False) -> Source:
    """Read an environment.

    Raises:
        UsageError: It is not YAML, or lists no dependencies.
    """
    import yaml

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        cause = f"not YAML: {str(error).splitlines()[0]}"
        raise UsageError("read", str(path), cause, "correct the file first") from None
    listed = _of(root, "dependencies")
    if listed is None or not isinstance(listed, yaml.SequenceNode):
        hint = "name the file that lists what the project needs"
        raise UsageError("read", str(path), "it has no list of dependencies", hint)
    source = Source(path, text, alone)
    for node in listed.value:
        if isinstance(node, yaml.ScalarNode):
            _take(source, node)
        elif (several := _of(node, "pip")) is not None:
            listed_by_pip = several.value if isinstance(several, yaml.SequenceNode) else ()
            for one in listed_by_pip:
                if isinstance(one, yaml.ScalarNode):
                    _take_pip(source, one)
    return source


def _of(node: Any, name: str) -> Any:
    """Return the value of a key, if the node is a mapping that has it."""
    pairs = node.value if getattr(node, "id", "") == "mapping" else ()
    return next((value for key, value in pairs if key.value == name), None)


def _stretch(source: Source, node: Any) -> tuple[int, int]:
    """Return where the text of a scalar begins and ends, without its quotes."""
    start, end = node.start_mark.index, node.end_mark.index
    quoted = source.text[start] in "\"'"
    return start + quoted, end - quoted


def _take_pip(source: Source, node: Any) -> None:
    start, end = _stretch(source, node)
    text = str(node.value)
    if not text.startswith("-"):
        pep508.add(source, text, start, end)
    elif text.startswith(("-r", "--requirement")):
        inner = requirements_file.read(
            source.path.parent / f"{source.path.name} (pip)", text, alone=source.alone
        )
        source.included += [(start, end, one) for *_, one in inner.included]
        source.troubles += inner.troubles


def _take(source: Source, node: Any) -> None:
    start, end = _stretch(source, node)
    where = pep508.place_of(source, start)
    text = str(node.value).strip()
    found = _MATCH.fullmatch(_SPACED.sub(r"\1", text))
    try:
        if found is None:
            raise InvalidSpecifier(f"not a requirement of conda: {text}")
        specifier = of_conda(found["boxed"] or found["version"])
    except InvalidSpecifier:
        hint = "write NAME, NAME=1.2 or NAME>=1.2,<2"
        source.troubles.append(Trouble(where, f"{text}: not understood", hint))
        return
    name = found["name"]
    wanted = Wanted(name, specifier, where, (str(source.path), start), text, _kind(name))
    channel = text[: text.index("::") + 2] if "::" in text else ""
    source.places.append(Place(wanted, start, end, lambda *new: channel + _written(*new)))


def _kind(name: str) -> Any:
    return "python" if name == "python" else "conda"


def _written(name: str, low: str, high: str) -> str:
    if name == "python":
        return f"python={'.'.join(low.split('.')[:2])}"
    return f"{name}={low}" if low == high else f"{name}>={low},<={high}"


def of_conda(text: str) -> SpecifierSet:
    """Return the versions that conda means.

    >>> str(of_conda("=1.2")), str(of_conda("==1.2")), str(of_conda("1.2.*")), str(of_conda("=1.2=py311_0"))
    ('==1.2.*', '==1.2', '==1.2.*', '==1.2.*')
    >>> str(of_conda(">=1.2,<2")), str(of_conda("")), str(of_conda("==1.2=py311_0"))
    ('<2,>=1.2', '', '==1.2')
    >>> str(of_conda("=2024a=h0c530f3_0")), str(of_conda("=1.1.1w"))
    ('==2024a', '===1.1.1w')

    Raises:
        InvalidSpecifier: It cannot be told.
    """
    return SpecifierSet(",".join(_of_part(part.strip()) for part in text.split(",") if part.strip(" *")))


def _of_part(part: str) -> str:
    if re.match(r"[<>!~]", part):
        return re.sub(r"\s+", "", part)
    exact = not part.startswith("=") or part.startswith("==")
    version = part.lstrip("= ").partition("=")[0].strip()
    # A single = means: whatever begins so.
    meant = f"=={version}" if exact or version.endswith("*") else f"=={version}.*"
    # What is no package of Python has versions such as 2024a and 1.1.1w.
    as_text = [f"==={version}"] if re.fullmatch(r"\d[\w.+-]*", version) else []
    for one in (meant, f"=={version}", *as_text):
        with suppress(InvalidSpecifier):
            return str(Specifier(one))
    raise InvalidSpecifier(f"not a version: {version}")
