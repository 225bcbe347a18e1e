"""Sessions and credentials by reference.

fsspec tells file systems apart by the text of their arguments, hands those arguments on as JSON, and pickles
them for other processes. A secret must be in none of these. So a session or a credential is replaced by a
short name before fsspec sees it, and the name leads back to it in this process alone. A function that makes
credentials has a name that leads to it in every process: ``package.module:function``.
"""

from __future__ import annotations

import importlib
import itertools
import os
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from haulage.errors import UsageError
from haulage.session import AzureCredential, Credential, S3Credential, Session

#: What names of this process begin with; no module is called so.
_HERE = "haulage-reference:"

_numbers = itertools.count(1)
_names: weakref.WeakKeyDictionary[object, str] = weakref.WeakKeyDictionary()
_things: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()


def reference(thing: object) -> str:
    """Return the name of a session, a credential, or a function that makes credentials; a name stays one.

    >>> reference("my_project.access:storage")
    'my_project.access:storage'
    """
    if isinstance(thing, str):
        return thing
    if callable(thing) and (name := _importable(thing)) is not None:
        return name
    if not callable(thing) and not isinstance(thing, (Session, AzureCredential, S3Credential)):
        hint = "pass a haulage.AzureCredential or S3Credential, or the name of a function that returns one"
        raise UsageError("read the arguments", "credential", "this is not a credential", hint)
    name = _names.get(thing)
    if name is None:
        name = f"{_HERE}{os.getpid()}-{next(_numbers)}"
        _names[thing] = name
        _things[name] = thing
    return name


def leads_elsewhere(name: str) -> bool:
    """Whether the name means the same in another process."""
    return not name.startswith(_HERE)


def referent(name: str) -> object:
    """Return what has the name.

    Raises:
        UsageError: Nothing in this process has it.
    """
    if name.startswith(_HERE):
        thing = _things.get(name)
        if thing is not None:
            return thing
        cause = "this session or credential belongs to another process, or no longer exists"
        raise UsageError("read the arguments", "credential", cause, ELSEWHERE)
    module, colon, function = name.partition(":")
    try:
        if colon:
            return getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as missing:
        raise UsageError("read the arguments", name, str(missing), NAMED) from missing
    raise UsageError("read the arguments", "credential", "this does not name a function", NAMED)


NAMED = (
    'write "package.module:function", a function that this process can import and that returns a credential'
)
ELSEWHERE = (
    "let each process find its own, in its environment or with a function that returns a credential: "
    'credential="package.module:function"'
)


def credentials(names: Iterable[str]) -> list[Credential]:
    """Return the credentials that the names stand for; functions are called."""
    found: list[Credential] = []
    for name in names:
        thing = referent(name)
        made = thing() if callable(thing) else thing
        one = isinstance(made, (AzureCredential, S3Credential))
        found += [made] if one else [*made]  # type: ignore[misc, list-item]
    return found


def _importable(thing: Callable[..., object]) -> str | None:
    """Return the name under which any process can import a function; ``None`` for one of a notebook."""
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", "")
    if module in (None, "__main__") or not name.isidentifier():
        return None
    return f"{module}:{name}"
