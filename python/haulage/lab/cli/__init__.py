"""The command ``haul lab``: parse, one call, render. Data goes to standard output, talk to standard error."""

from __future__ import annotations

from collections.abc import Sequence

from haulage.commands import running
from haulage.commands.grammar import group
from haulage.lab.cli import generate, predict, read, run
from haulage.lab.cli.output import examples


@group(
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


for _command in (
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
    lab.add_command(_command)


def main(arguments: Sequence[str]) -> int:
    """Run ``haul lab`` with these arguments; return the exit code."""
    said = "interrupted; finished cells are kept, --continue resumes"
    return running.run(lab, "lab", arguments, extra="lab", interrupted=said)
