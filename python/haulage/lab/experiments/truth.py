"""Scores the verdicts against causes that were injected, and the lab against links of known rate.

    python -m haulage.lab.experiments.truth --out truth.md

Eight causes, ten seeds each: a transfer of a second or two is recorded, the cause named from the record
("seen"), then the experiments are made and it is named again. The table says how often each was named
rightly; "undetermined" counts apart, because to say nothing is better than to say something wrong.
The machine should have nothing else to do: busy processors are one of the causes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from haulage.errors import HaulageError
from haulage.lab.analysis.effects import effects_of
from haulage.lab.analysis.verdict import decide
from haulage.lab.experiments import calibration
from haulage.lab.experiments.confirm import settle
from haulage.lab.experiments.injected import INJECTED, Case, case, compile_shim, stage
from haulage.lab.experiments.single import evidence_of

#: What the matrix has to reach, counted over all cases whose cause was named or not.
RIGHT = 0.9


@dataclass(frozen=True)
class Scored:
    """A case and what it was taken for.

    Attributes:
        cause: Injected.
        seed: Of the case.
        seen: Named from the record alone.
        named: Named with the experiments.
        status: Of that.
        effects: What the experiments gave.
        rate_bits_per_second: Of the transfer.
        seconds: For all of it.
    """

    cause: str
    seed: int
    seen: str
    named: str
    status: str
    effects: dict[str, object]
    evidence: list[str]
    rate_bits_per_second: float
    seconds: float


def judge(one: Case, folder: Path, quick_folder: Path, shim: Path | None) -> Scored:
    """Inject a cause, move, look, experiment, and name it."""
    began = time.monotonic()
    with stage(one, folder, quick_folder, shim) as site:
        observation = site.transfer(one.setting)
        evidence = evidence_of(observation, one.setting, site.folder / "run")
        seen = decide(evidence)
        named, rows = settle(evidence, site, seed=one.seed)
    return Scored(
        one.cause,
        one.seed,
        seen.cause,
        named.cause,
        named.status,
        asdict(effects_of(rows)),
        named.evidence,
        evidence.rate_bits_per_second,
        time.monotonic() - began,
    )


def judge_all(
    causes: Sequence[str], seeds: Sequence[int], build: Path, said: Callable[[str], object]
) -> list[Scored]:
    """Judge every cause with every seed, one after another: two at once would be a cause of their own."""
    shim = compile_shim(build) if "disk" in causes else None
    memory = Path("/dev/shm")
    scored = []
    for seed in seeds:
        for cause in causes:
            with (
                tempfile.TemporaryDirectory(prefix="haulage-truth-", dir=build) as folder,
                tempfile.TemporaryDirectory(
                    prefix="haulage-truth-", dir=memory if memory.is_dir() else build
                ) as quick,
            ):
                found = judge(case(cause, seed), Path(folder), Path(quick), shim)
            said(f"{cause} {seed}: seen {found.seen}, named {found.named} ({found.seconds:.1f} s)")
            scored.append(found)
    return scored


def right_share(scored: Sequence[Scored]) -> float:
    """Return the share that was named rightly, "undetermined" counted as not."""
    return sum(one.named == one.cause for one in scored) / max(len(scored), 1)


def table(scored: Sequence[Scored]) -> str:
    """Return the confusion matrix as Markdown: a row for each cause that was injected."""
    names = [cause for cause in INJECTED if any(one.cause == cause for one in scored)]
    others = sorted({one.named for one in scored} - {*names, "undetermined"})
    columns = [*names, *others, "undetermined"]
    lines = [
        "| injected | " + " | ".join(columns) + " | right | seen right |",
        "|---|" + "---:|" * (len(columns) + 2),
    ]
    for cause in names:
        rows = [one for one in scored if one.cause == cause]
        counts = [sum(one.named == column for one in rows) for column in columns]
        right = sum(one.named == cause for one in rows)
        seen = sum(one.seen == cause for one in rows)
        cells = [str(count) if count else "" for count in counts]
        lines.append(f"| {cause} | " + " | ".join(cells) + f" | {right}/{len(rows)} | {seen}/{len(rows)} |")
    silent = sum(one.named == "undetermined" for one in scored)
    wrong = len(scored) - silent - sum(one.named == one.cause for one in scored)
    seen_right = sum(one.seen == one.cause for one in scored)
    lines += [
        "",
        f"{len(scored)} cases: {right_share(scored):.0%} named rightly, {wrong} wrongly,"
        f" {silent} undetermined."
        f" From the record alone {seen_right / max(len(scored), 1):.0%}.",
    ]
    return "\n".join(lines) + "\n"


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
    parser = argparse.ArgumentParser(prog="python -m haulage.lab.experiments.truth", description=__doc__)
    parser.add_argument("--out", type=Path, help="Markdown file, or one with marks for it; default stdout")
    parser.add_argument("--rows", type=Path, help="every case as a line of JSON goes here")
    parser.add_argument("--causes", default=",".join(INJECTED), help="default all: %(default)s")
    parser.add_argument("--seeds", type=int, default=10, help="seeds of each cause; default %(default)s")
    parser.add_argument("--first-seed", type=int, default=0, help="default %(default)s")
    parser.add_argument("--build", type=Path, default=Path("build"), help="for the shim; default %(default)s")
    parser.add_argument("--calibrate", action="store_true", help="known links and A/A instead of causes")
    chosen = parser.parse_args(arguments)
    chosen.build.mkdir(parents=True, exist_ok=True)

    def said(line: str) -> None:
        sys.stderr.write(line + "\n")

    try:
        if chosen.calibrate:
            text, good = calibration.make(chosen.build, chosen.seeds, said)
        else:
            seeds = range(chosen.first_seed, chosen.first_seed + chosen.seeds)
            scored = judge_all(chosen.causes.split(","), seeds, chosen.build, said)
            text, good = table(scored), right_share(scored) >= RIGHT
            if chosen.rows:
                rows = "".join(json.dumps(asdict(one)) + "\n" for one in scored)
                chosen.rows.write_text(rows, encoding="utf-8")
    except HaulageError as error:
        said(f"truth: {error}")
        return error.exit_code
    if chosen.out:
        put(text, chosen.out, "calibration" if chosen.calibrate else "truth")
    else:
        sys.stdout.write(text)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
