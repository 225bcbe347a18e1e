"""The command ``haul lab``: parse, one call, render. Data goes to standard output, talk to standard error."""

from __future__ import annotations

from collections.abc import Sequence

import click

from haulage.errors import HaulageError, UsageError
from haulage.lab.cli import generate, predict, read, run
from haulage.lab.cli.output import STDERR, examples


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=examples(
        "haul lab plans                               what can be run",
        "haul lab run block-upload                    run it on an emulated link, write a report",
        "haul lab run concurrency --to 'https://A.blob.core.windows.net/c?SAS'  against a real store",
        "haul lab run --continue runs/block-upload-1  resume after Ctrl-C",
        "haul lab verify runs/block-upload-1          check every file, make the page again",
        "haul lab rerun runs/block-upload-1           repeat it, same seed and order, and compare",
        "haul lab run scale-out --nodes 1,2,4,8       many nodes started together",
    ),
)
def lab() -> None:
    """Measure a link, keep every row, and say why it was not faster."""


for command in (
    generate.generate,
    read.plans,
    run.run,
    read.report,
    read.verify,
    run.rerun,
    read.compare,
    read.profile,
    predict.predict,
):
    lab.add_command(command)


def main(arguments: Sequence[str]) -> int:
    """Run ``haul lab`` with these arguments; return the exit code."""
    try:
        code = lab.main(args=list(arguments), prog_name="haul lab", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.ClickException as error:
        command = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "haul lab"
        _complain(UsageError("parse", "arguments", error.format_message(), f"{command} --help tells more"))
        return 2
    except (KeyboardInterrupt, click.Abort):
        STDERR.print("haul: interrupted; finished cells are kept, --continue resumes")
        return 130
    except HaulageError as error:
        _complain(error)
        return error.exit_code
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 1


def _complain(error: HaulageError) -> None:
    STDERR.print(f"haul: {error}")
