"""Mistakes in command lines, said in the words of the commands in Rust. Needs no other package."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from haulage.errors import HaulageError, UsageError
from haulage.places import without_signature

#: Whose values may be secret. What is wrong with them is said without them.
_SECRET = ("--proxy", "--token")
#: Commands that also start other tools, which learn from the environment how to reach a service.
_OF_RUNS = ("haul lab run", "haul lab rerun")
#: What to do in those in place of an option.
_INSTEAD = {
    "--ca": "set SSL_CERT_FILE, which the other tools of a run read, too",
    "--proxy": "set HTTPS_PROXY, which the other tools of a run read, too",
    "--endpoint": "write the whole URL of the container: --to https://HOST/CONTAINER",
}


def no_such_option(name: str, known: Iterable[str], command: str) -> UsageError:
    """Return the error for an option that the command does not have."""
    name = name.partition("=")[0]
    hint = _INSTEAD.get(name) if command in _OF_RUNS else None
    return UsageError("parse", name, "no such option", hint or _similar(name, known) or _see_help(command))


def no_such_command(name: str, known: Iterable[str], command: str) -> UsageError:
    """Return the error for a command that is not below this one."""
    return UsageError(
        "parse", without_signature(name), "no such command", _similar(name, known) or _see_list(command)
    )


def no_command(command: str) -> UsageError:
    """Return the error for a command line without the name of what is to be done."""
    return UsageError("parse", "arguments", "no command", _see_list(command))


def one_too_many(argument: str, command: str) -> UsageError:
    """Return the error for an argument that has no place."""
    return UsageError("parse", without_signature(argument), "one argument too many", _see_help(command))


def missing(names: Sequence[str], command: str) -> UsageError:
    """Return the error for arguments that are not there."""
    return UsageError("parse", " ".join(names), "missing", _see_help(command))


def needs_a_value(option: str, command: str) -> UsageError:
    """Return the error for an option without its value."""
    return UsageError("parse", option, "needs a value", _see_help(command))


def takes_no_value(option: str, value: str, command: str) -> UsageError:
    """Return the error for a value of an option that has none."""
    cause = f"unexpected value '{without_signature(value)}' for '{option}' found; no more were expected"
    return UsageError("parse", "arguments", cause, _see_help(command))


def given_twice(option: str, command: str) -> UsageError:
    """Return the error for an option that counts once."""
    return UsageError("parse", option, "given twice", _see_help(command))


def not_one_of(option: str, value: str, choices: Sequence[str], command: str) -> UsageError:
    """Return the error for a value that is none of those that there are."""
    if not value:
        return needs_a_value(option, command)
    cause = f"not one of {', '.join(choices)}"
    hint = _similar(value, choices) or _see_help(command)
    return UsageError("parse", f"{option} {without_signature(value)}", cause, hint)


def bad_value(option: str, value: str, hint: str | None, command: str) -> UsageError:
    """Return the error for any other value; the hint says what to write."""
    shown = option if option in _SECRET else f"{option} {without_signature(value)}"
    return UsageError("parse", shown, "not a valid value", hint or _see_help(command))


def _similar(name: str, known: Iterable[str]) -> str | None:
    """Return the hint for a name that is nearly one that there is. The dashes of options do not count."""
    bare = {word.lstrip("-"): word for word in sorted(known)}
    close = get_close_matches(name.lstrip("-"), bare, n=1, cutoff=0.65)
    if not close:
        return None
    return f"did you mean {bare[close[0]]}?"


def _see_help(command: str) -> str:
    return f"{command} --help shows examples"


def _see_list(command: str) -> str:
    return f"{command} --help lists the commands"


def report(error: HaulageError, arguments: Sequence[str]) -> int:
    """Say a failure on standard error, and with ``--json`` to programs; return the exit code."""
    from haulage.words.secrets import without_url_secrets

    tell(error, arguments)
    say(without_url_secrets(str(error)))
    return error.exit_code


def tell(error: HaulageError, arguments: Sequence[str]) -> None:
    """Say a failure to programs, where ``--json`` is among the arguments."""
    words = list(arguments)
    if "--json" in words[: words.index("--") if "--" in words else None]:
        print(json.dumps(as_line(error)), flush=True)  # noqa: T201


def as_line(error: HaulageError) -> dict[str, object]:
    """Return what programs read of a failure, as the last line."""
    from haulage.words.secrets import without_url_secrets

    return {
        "event": "error",
        "kind": error.code,
        "operation": error.operation,
        "object": without_url_secrets(error.object),
        "cause": without_url_secrets(error.cause),
        "hint": error.hint and without_url_secrets(error.hint),
        "exit_code": error.exit_code,
    }


def say(text: str) -> None:
    """Say a line of the command itself on standard error: ``haul:`` and the text."""
    coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    print("\x1b[1;31mhaul:\x1b[0m" if coloured else "haul:", text, file=sys.stderr, flush=True)  # noqa: T201
