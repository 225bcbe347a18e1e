"""The command ``haul table``: a group whose parts are loaded when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

import click

from haulage.commands.grammar import Group, group
from haulage.commands.running import run

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


class LazyGroup(Group):
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


@group(LazyGroup)
def table() -> None:
    """Tables of the cloud: rows out, rows in, keys, and a proxy that browsers can page."""


def main(arguments: Sequence[str]) -> int:
    """Run ``haul table`` with these arguments; return the exit code."""
    return run(table, "table", arguments, extra="tables")
