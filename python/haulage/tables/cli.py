"""The command ``haul table``: a group whose parts are loaded when they are asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

import click
from rich.console import Console

from haulage.errors import HaulageError, UsageError

#: Talk; what is shown goes to standard output.
STDERR = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)

#: Where each command is: a part that needs more packages does not hold up the others.
COMMANDS = {
    "export": "haulage.tables.moving.cli:export",
    "import": "haulage.tables.moving.cli:import_",
    "copy": "haulage.tables.moving.cli:copy",
    "backup": "haulage.tables.moving.cli:backup",
    "restore": "haulage.tables.moving.cli:restore",
    "verify": "haulage.tables.moving.cli:verify",
    "plan": "haulage.tables.plan.cli:plan",
    "serve": "haulage.tables.serve.cli:serve",
}


class LazyGroup(click.Group):
    """A group that imports a command only when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the commands that are there."""
        return [name for name in COMMANDS if _there(name)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command; ``None`` if there is none of this name."""
        if cmd_name not in COMMANDS or not _there(cmd_name):
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command


def _there(name: str) -> bool:
    try:
        return find_spec(COMMANDS[name].partition(":")[0]) is not None
    except ModuleNotFoundError as error:
        # A part that is not there, or one that is there and wants a package that is not.
        return error.name is not None and error.name.partition(".")[0] != "haulage"


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
def table() -> None:
    """Tables of the cloud: rows out, rows in, keys, and a proxy that browsers can page."""


def main(arguments: Sequence[str]) -> int:
    """Run ``haul table`` with these arguments; return the exit code."""
    code = _main(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def _main(arguments: Sequence[str]) -> int:
    try:
        code = table.main(args=list(arguments), prog_name="haul table", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        STDERR.print(error.format_message())
        return 2
    except click.ClickException as error:
        message = error.format_message()
        STDERR.print(f"haul: {UsageError('parse', 'arguments', message, 'haul table --help shows more')}")
        return 2
    except (KeyboardInterrupt, click.Abort):
        STDERR.print("haul: interrupted")
        return 130
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "haulage":
            raise
        hint = "pip install 'haulage[tables]'"
        cause = f"the package {error.name} is missing"
        STDERR.print(f"haul: {UsageError('start', 'table', cause, hint)}")
        return 2
    except HaulageError as error:
        STDERR.print(f"haul: {error}")
        if "--json" in arguments:
            click.echo(json.dumps(_told(error)))
        return error.exit_code


def _told(error: HaulageError) -> dict[str, object]:
    """Return what programs read of a failure: the last line of the other commands."""
    return {
        "event": "error",
        "kind": error.code,
        "operation": error.operation,
        "object": error.object,
        "cause": error.cause,
        "hint": error.hint,
        "exit_code": error.exit_code,
    }
