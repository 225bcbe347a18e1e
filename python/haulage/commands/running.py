"""How a command in Python runs and ends, the same for all of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from haulage.commands.saying import report, say, tell
from haulage.errors import CancelledError, HaulageError, UsageError

#: What Ctrl-C says of commands that keep something.
_KEPT = "interrupted; finished cells are kept, --continue resumes"
_INTERRUPTED = {"lab run": _KEPT, "lab rerun": _KEPT}


def run(
    load: Callable[[], Callable[..., int | None]], command: str, extra: str, given: Mapping[str, Any]
) -> int:
    """Run a command; say on standard error why it fails, and return the exit code.

    Args:
        load: Imports the function of the command.
        command: Its names below ``haul``.
        extra: The extra of the package that has what it imports.
        given: What the command line gives, by the names of the function's arguments.
    """
    as_json = bool(given["as_json"])
    try:
        return load()(**given) or 0
    except KeyboardInterrupt:
        said = _INTERRUPTED.get(command, "interrupted")
        if as_json:
            tell(CancelledError(command, "", said))
        say(said)
        return 130
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "haulage":
            raise
        cause = f"the package {error.name} is missing"
        return report(UsageError("start", command, cause, f"pip install 'haulage[{extra}]'"), as_json)
    except HaulageError as error:
        return report(error, as_json)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
