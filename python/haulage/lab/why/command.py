"""How a job was told what to do, and the command that repeats it with one thing changed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from haulage.causes.evidence import Told
from haulage.causes.settling import Experiment
from haulage.lab.units import parse_rate, parse_size

#: Options of ``haul cp`` that other commands do not have.
_OF_COPIES = ("--atomic", "--no-flush", "--tier", "--no-tags", "--overwrite")
#: Options that say which objects are copied.
_CHOOSING = (
    "--include",
    "--exclude",
    "--min-size",
    "--max-size",
    "--min-age",
    "--max-age",
    "--files-from",
    "--files-from0",
)


@dataclass(frozen=True)
class Job:
    """How a job began.

    Attributes:
        operation: ``"copy"``, ``"verify"``, ``"sync"`` or ``"move"``.
        sources: Without secrets.
        destination: The same.
        options: Those that were set, as ``haul cp`` has them; without secrets.
    """

    operation: str = "copy"
    sources: tuple[str, ...] = ()
    destination: str = ""
    options: tuple[str, ...] = ()

    def value(self, name: str) -> str | None:
        """Return the value of an option, if it was set."""
        return dict(self.pairs()).get(name)

    def pairs(self) -> Iterator[tuple[str, str | None]]:
        """Yield the options with their values; ``None`` for those that have none."""
        for number, word in enumerate(self.options):
            if word.startswith("--"):
                after = self.options[number + 1 : number + 2]
                yield word, (after[0] if after and not after[0].startswith("--") else None)

    @property
    def told(self) -> Told:
        """What bounded it because its user said so."""
        cap, memory = self.value("--cap"), self.value("--max-memory")
        return Told(
            cap_bits_per_second=parse_rate(cap) if cap else None,
            is_polite="--polite" in self.options,
            **({"memory_bytes": parse_size(memory)} if memory else {}),
        )


def repeated(experiment: Experiment, job: Job) -> Experiment | None:
    """Return the experiment with the names and the options of the job, and without harm to what it wrote.

    Copies go to a new place: nothing may be replaced, and what is there already would not be sent again.
    ``None`` for a comparison that would need another copy.
    """
    if job.operation == "verify" and "/dev/shm" in experiment.command:
        return None
    commands = [_command(one, job, experiment.without) for one in experiment.command.split(" && ")]
    return Experiment(" && ".join(commands), experiment.outcome)


def _command(command: str, job: Job, without: tuple[str, ...]) -> str:
    words = command.split(" ")
    copies = words[:2] == ["haul", "cp"] and job.operation != "verify"
    if words[:2] in (["haul", "cp"], ["haul", "plan"]):
        left_out = {*words, *without, *(("--overwrite",) if copies else _OF_COPIES)}
        if "ONE-LARGE-FILE" in words:
            left_out.update(_CHOOSING)
        for name, value in job.pairs():
            if name not in left_out:
                words += [name] if value is None else [name, shlex.quote(value)]
        if words[1] == "cp" and not copies:
            words[1] = "verify"
    names = _names(job)
    if copies and "DST" in names:
        names["DST"] = shlex.quote(_beside(job.destination))
    return " ".join(names.get(word, word) for word in words)


def _beside(place: str) -> str:
    """Return a new place beside another.

    >>> _beside("az://climate/cmip6/"), _beside("az://climate"), _beside("out/a.nc")
    ('az://climate/cmip6-again/', 'az://climate/again/', 'out/a.nc-again')
    """
    scheme, separator, rest = place.rpartition("://")
    if scheme and "/" not in rest.rstrip("/"):
        return f"{scheme}{separator}{rest.rstrip('/')}/again/"
    return place.rstrip("/") + "-again" + "/" * place.endswith("/")


def _names(job: Job) -> dict[str, str]:
    """Return what is put for the names of a template, as far as the job can be repeated with them."""
    urls = [name for name in (job.destination, *job.sources) if "://" in name]
    names = {"URL": shlex.quote(urls[0])} if urls else {}
    sources, destination = list(job.sources), job.destination
    if job.operation == "move" or "-" in (*sources, destination) or not (sources and destination):
        # They are gone, or a pipe, or a list of pairs.
        return names
    if job.operation == "sync":
        # The contents of the one go below the other, whether a name ends with a slash or not.
        sources = [name.rstrip("/") + "/" for name in sources]
    return names | {"SRC": shlex.join(sources), "DST": shlex.quote(destination)}
