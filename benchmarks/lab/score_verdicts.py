"""Scores the verdicts against causes that were injected, and the lab against links of known rate.

    python benchmarks/lab/score_verdicts.py --out truth.md

More than forty cases (single causes, mixed ones, links that change, none at all, other work on the
machine), ten seeds each: a transfer of a second or two is recorded, the cause named from the record
("seen"), then the experiments are made and it is named again. The table says how often each was named
rightly; "undetermined" counts apart, because to say nothing is better than to say something wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import known_ceilings
import known_rates
from haulage.causes.effects import Effect, Effects, effects_of
from haulage.causes.evidence import Evidence, Phase
from haulage.causes.rules import decide
from haulage.errors import HaulageError
from haulage.lab.experiments.confirm import settle
from injected_causes import CASES, Case, case, compile_shim, stage
from single_transfer import evidence_of

#: Cases beside each other that wait most of the time.
JOBS = 2
#: What the matrix has to reach, counted over all cases whose cause was named or not.
RIGHT = 0.8


@dataclass(frozen=True)
class Scored:
    """A case and what it was taken for.

    Attributes:
        name: Of the case.
        cause: Injected.
        seed: Of the case.
        right: Whether the name fits what was injected.
        seen: Named from the record alone.
        named: Named with the experiments.
        status: Of that.
        effects: What the experiments gave.
        record: What the record said, as the rules saw it.
        rate_bits_per_second: Of the transfer.
        seconds: For all of it.
        listed: Whether what was injected is among the causes that nothing excludes.
    """

    name: str
    cause: str
    seed: int
    right: bool
    seen: str
    named: str
    status: str
    effects: dict[str, object]
    record: dict[str, object]
    evidence: list[str]
    rate_bits_per_second: float
    seconds: float
    listed: bool = False


def judge(one: Case, folder: Path, quick_folder: Path, shim: Path | None) -> Scored:
    """Inject a cause, move, look, experiment, and name it."""
    began = time.monotonic()
    with stage(one, folder, quick_folder, shim) as site:
        observation = site.transfer(one.setting)
        evidence = evidence_of(observation, one.setting, site.folder / "run")
        seen = decide(evidence)
        named, rows = settle(evidence, site, seed=one.seed)
    return Scored(
        one.name,
        one.cause,
        one.seed,
        one.is_right(named.cause),
        seen.cause,
        named.cause,
        named.status,
        asdict(effects_of(rows)),
        asdict(evidence),
        named.evidence,
        evidence.rate_bits_per_second,
        time.monotonic() - began,
        one.is_listed(named),
    )


def judge_all(
    causes: Sequence[str],
    seeds: Sequence[int],
    build: Path,
    said: Callable[[str], object],
    rows: Path | None = None,
    jobs: int = JOBS,
) -> list[Scored]:
    """Judge every cause with every seed.

    Those that wait most of the time run beside each other; those that need processors alone, for two of them
    at once would be a cause of their own.
    """
    shim = compile_shim(build) if any(name.startswith("disk") for name in causes) else None
    memory = Path("/dev/shm")

    def one(cause: str, seed: int) -> Scored:
        with (
            tempfile.TemporaryDirectory(prefix="haulage-truth-", dir=build) as folder,
            tempfile.TemporaryDirectory(
                prefix="haulage-truth-", dir=memory if memory.is_dir() else build
            ) as quick,
        ):
            return judge(case(cause, seed), Path(folder), Path(quick), shim)

    def keep(found: Scored) -> Scored:
        said(f"{found.name} {found.seed}: seen {found.seen}, named {found.named} ({found.seconds:.1f} s)")
        if rows is not None:
            # As they come: a matrix takes hours, and what is there should not be lost with the rest.
            with rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(found)) + "\n")
        return found

    scored = []
    with ThreadPoolExecutor(max_workers=jobs) as beside:
        for seed in seeds:
            waiting = [cause for cause in causes if case(cause, seed).waits]
            scored += [keep(found) for found in beside.map(partial(one, seed=seed), waiting)]
            scored += [keep(one(cause, seed)) for cause in causes if cause not in waiting]
    return scored


def judge_again(rows: Path) -> list[Scored]:
    """Return what the current rules make of kept rows: what was recorded and what the experiments gave.

    Raises:
        OSError: They cannot be read.
        ValueError: They are no such rows.
    """
    scored = []
    for line in rows.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        record, gave = dict(row["record"]), dict(row["effects"])
        record["phases"] = tuple(Phase(**phase) for phase in record["phases"])
        gave["of"] = {name: Effect(**one) for name, one in gave["of"].items()}
        gave["commit"] = Effect(**gave["commit"]) if gave["commit"] else None
        evidence = Evidence(**record)
        found = decide(evidence, Effects(**gave))
        now = {
            "right": case(row["name"], row["seed"]).is_right(found.cause),
            "seen": decide(evidence).cause,
            "named": found.cause,
            "status": found.status,
            "listed": case(row["name"], row["seed"]).is_listed(found),
            "evidence": found.evidence,
        }
        scored.append(Scored(**{**row, **now}))
    return scored


def right_share(scored: Sequence[Scored]) -> float:
    """Return the share that was named rightly, "undetermined" counted as not."""
    return sum(one.right and one.named != "undetermined" for one in scored) / max(len(scored), 1)


def wrongly_confirmed(scored: Sequence[Scored]) -> list[Scored]:
    """Return those that were said to be confirmed and are not so."""
    return [one for one in scored if one.status == "confirmed" and not one.right]


def table(scored: Sequence[Scored]) -> str:
    """Return the confusion matrix as Markdown: a row for each kind of case that was injected."""
    kinds = list(dict.fromkeys(kind_of(one.name) for one in scored))
    columns = [*sorted({one.named for one in scored} - {"undetermined"}), "undetermined"]
    lines = [
        "| injected | " + " | ".join(columns) + " | right | confirmed | wrongly |",
        "|---|" + "---:|" * (len(columns) + 3),
    ]
    for kind in kinds:
        rows = [one for one in scored if kind_of(one.name) == kind]
        counts = [sum(one.named == column for one in rows) for column in columns]
        cells = [str(count) if count else "" for count in counts]
        lines.append(
            f"| {kind} | {' | '.join(cells)} | {sum(one.right for one in rows)}/{len(rows)}"
            f" | {sum(one.status == 'confirmed' for one in rows)} | {len(wrongly_confirmed(rows))} |"
        )
    silent = sum(one.named == "undetermined" for one in scored)
    named_wrongly = sum(not one.right and one.named != "undetermined" for one in scored)
    confirmed = sum(one.status == "confirmed" for one in scored)
    listed = sum(one.listed and one.named == "undetermined" for one in scored)
    lines += [
        "",
        f"{len({one.name for one in scored})} cases, {len(scored)} transfers: {right_share(scored):.0%} named"
        f" rightly, {named_wrongly} wrongly, {silent} undetermined, {listed} of these with the cause listed."
        f" {confirmed} were confirmed,"
        f" {len(wrongly_confirmed(scored))} of these wrongly.",
    ]
    return "\n".join(lines) + "\n"


def kind_of(name: str) -> str:
    """Return the name of a case without its number."""
    return name.rstrip("0123456789").strip()


def put(text: str, path: Path, name: str) -> None:
    """Write a table into a file: between ``<!-- begin NAME -->`` and ``<!-- end NAME -->`` if it has them."""
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
    old = path.read_text(encoding="utf-8") if path.is_file() else ""
    head, found, rest = old.partition(begin)
    if found and end in rest:
        text = f"{head}{begin}\n{text}\n{rest[rest.index(end) :]}"
    path.write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the tables; return 1 if they miss what they have to reach."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="Markdown file, or one with marks for it; default stdout")
    parser.add_argument("--rows", type=Path, help="every case as a line of JSON goes here")
    parser.add_argument("--again", type=Path, help="judge such lines by the current rules; moves nothing")
    parser.add_argument("--causes", default=",".join(CASES), help="default all: %(default)s")
    parser.add_argument("--seeds", type=int, default=10, help="seeds of each cause; default %(default)s")
    parser.add_argument("--first-seed", type=int, default=0, help="default %(default)s")
    parser.add_argument("--jobs", type=int, default=JOBS, help="that wait, at once; default %(default)s")
    parser.add_argument("--build", type=Path, default=Path("build"), help="for the shim; default %(default)s")
    parser.add_argument("--calibrate", action="store_true", help="known links and A/A instead of causes")
    parser.add_argument("--ceiling", action="store_true", help="the ceiling of 24 known links instead")
    chosen = parser.parse_args(arguments)
    chosen.build.mkdir(parents=True, exist_ok=True)

    def said(line: str) -> None:
        sys.stderr.write(line + "\n")

    try:
        if chosen.ceiling:
            text, good = known_ceilings.make(range(chosen.seeds), said)
        elif chosen.calibrate:
            text, good = known_rates.make(chosen.build, chosen.seeds, said)
        else:
            seeds = range(chosen.first_seed, chosen.first_seed + chosen.seeds)
            causes = chosen.causes.split(",")
            scored = (
                judge_again(chosen.again)
                if chosen.again
                else judge_all(causes, seeds, chosen.build, said, chosen.rows, chosen.jobs)
            )
            text = table(scored)
            good = right_share(scored) >= RIGHT and not wrongly_confirmed(scored)
    except HaulageError as error:
        said(f"truth: {error}")
        return error.exit_code
    if chosen.out:
        name = "ceiling" if chosen.ceiling else "calibration" if chosen.calibrate else "truth"
        put(text, chosen.out, name)
    else:
        sys.stdout.write(text)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
