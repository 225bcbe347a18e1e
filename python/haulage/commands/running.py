"""How a command of click runs and ends, the same for all of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from haulage.commands import grammar, mistakes
from haulage.errors import CancelledError, HaulageError, UsageError


def run(
    command: click.Command,
    name: str,
    arguments: Sequence[str],
    *,
    extra: str,
    interrupted: str = "interrupted",
    obj: Any = None,
) -> int:
    """Run a command; say on standard error why it fails, and return the exit code.

    Args:
        command: What the arguments are for.
        name: The name below ``haul``.
        arguments: Of the command line.
        extra: The extra of the package that has what it imports.
        interrupted: What Ctrl-C says.
        obj: The object of click's context.
    """
    path = f"haul {name}"
    try:
        code = command.main(args=list(arguments), prog_name=path, standalone_mode=False, obj=obj)
        return code if isinstance(code, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.ClickException as error:
        return mistakes.report(grammar.explain(error, path), arguments)
    except (KeyboardInterrupt, click.Abort):
        mistakes.tell(CancelledError(name, "", interrupted), arguments)
        mistakes.say(interrupted)
        return 130
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "haulage":
            raise
        cause = f"the package {error.name} is missing"
        return mistakes.report(UsageError("start", name, cause, f"pip install 'haulage[{extra}]'"), arguments)
    except HaulageError as error:
        return mistakes.report(error, arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
