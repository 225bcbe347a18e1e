"""What follows a run: confirm the cause, keep what a sweep found, write the page."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from haulage.errors import HaulageError
from haulage.lab.chain import SUMS
from haulage.lab.files import sha256
from haulage.lab.runner import OnProgress, RunProgress
from haulage.lab.runs import Run, load
from haulage.lab.target import Target
from haulage.words.numbers import counted

#: Says a line to whoever listens.
Say = Callable[[str], object]


def finish(
    run: Run,
    target: Target,
    *,
    confirm: bool,
    report: bool,
    profile_name: str | None,
    say: Say,
    on_progress: OnProgress | None = None,
) -> tuple[Run, Path | None]:
    """Confirm a complete run, keep its profile, write its page; return the run and the profile's path.

    Args:
        run: Complete or stopped; one that was stopped is not confirmed.
        target: Its path.
        confirm: Make the short transfers that confirm a cause.
        report: Analyse, and write the page.
        profile_name: Keep the profile under this name instead of in the run's folder.
        say: Called with a line for everything that is worth saying.
        on_progress: Called after each short transfer.
    """
    from haulage.lab import profile

    if confirm and run.state == "complete":
        _confirm(run.folder, target, say, on_progress or (lambda _: None))
    done = load(run.folder)
    say(f"{done.manifest['cells_done']} of {counted(done.manifest['cells_planned'], 'cell')}, {done.state}")
    if done.manifest["stopped_because"]:
        say(f"stopped because: {done.manifest['stopped_because']}")
    kept = profile.write(done.folder, name=profile_name)
    if kept is not None:
        say(f"profile: {kept}")
    elif profile_name is not None:
        say(f"no profile: {profile.why_none(done.folder)}")
    if report:
        from haulage.lab.report.page import write

        say("analysing")
        write(done.folder)
        # Whoever keeps it elsewhere can tell later that nobody wrote the whole folder anew.
        say(f"SHA-256 of {done.folder / SUMS}: {sha256(done.folder / SUMS)}")
    return done, kept


def _confirm(folder: Path, target: Target, say: Say, on_progress: OnProgress) -> None:
    """Confirm the cause; a path that fails by now spoils nothing of the run."""
    from haulage.causes.sentences import lines
    from haulage.lab.confirming import confirm

    began = time.monotonic_ns()

    def tell(made: int, of: int) -> None:
        spent = time.monotonic_ns() - began
        on_progress(RunProgress("confirm", made, of, spent, int(spent / made * (of - made))))

    say("why not faster: checking the cause with short transfers, twice as many if the first leave it open")
    try:
        verdict = confirm(folder, target, said=tell)
    except HaulageError as error:
        say(f"not confirmed: {error}")
    else:
        if verdict is None:
            say("nothing to confirm")
        else:
            for line in lines(verdict):
                say(line)
