"""Random arguments to every verb: nothing changes but what is named, nothing panics, everything ends."""

from __future__ import annotations

import itertools
import os
import shlex
from concurrent.futures import ThreadPoolExecutor

import pytest

from hostile.trees_arena import Arena, arenas
from hostile.trees_arguments import Words, lines, shrunk

#: Of the lines; another one for another hunt: HAUL_ARGUMENTS_SEED=7.
SEED = int(os.environ.get("HAUL_ARGUMENTS_SEED", "11"))
RUNS, MANY_RUNS = 300, 10_000
#: The machine's processors; each has an arena of its own.
WORKERS = 2
#: What takes longer than this takes too long, most likely.
SHRINKING_SECONDS = 3.0
#: So many findings tell enough.
SHOWN = 8


def shown(words: Words) -> str:
    """Return a line as one would type it into bash."""
    return "haul " + " ".join(
        shlex.quote(word.decode()) if word.isascii() and word.decode().isprintable() else "$" + repr(word)[1:]
        for word in words
    )


def hunt(arena: Arena, first: int, count: int) -> list[str]:
    """Run every second line; return the findings, each with the shortest line that still shows one."""
    found: list[str] = []
    for number, words in enumerate(itertools.islice(lines(SEED, arena.port), count)):
        if number % WORKERS == first and len(found) < SHOWN and (reasons := arena.findings(words)):
            shortest = shrunk(words, lambda fewer: arena.findings(fewer, SHRINKING_SECONDS))
            reasons = arena.findings(shortest) or reasons
            found.append(
                f"line {number} of seed {SEED}: {shown(shortest)}\n    " + "\n    ".join(reasons[:3])
            )
    return found


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "count",
    [
        pytest.param(RUNS, marks=pytest.mark.slow("300 commands run")),
        pytest.param(MANY_RUNS, marks=pytest.mark.long),
    ],
)
def test_random_arguments_change_nothing_but_what_they_name(count: int) -> None:
    """Random arguments to every verb, 300 in each test run and 10,000 in a long one: no file, blob or
    container changes but what is named; no panic, no secret; exit codes from the table; an end within 20
    s.
    """
    with arenas(WORKERS) as each, ThreadPoolExecutor(WORKERS) as pool:
        hunts = pool.map(lambda first: hunt(each[first], first, count), range(WORKERS))
        found = [finding for findings in hunts for finding in findings]
    assert not found, f"{len(found)} findings (at most {SHOWN * WORKERS} are looked for):\n" + "\n".join(
        found
    )
