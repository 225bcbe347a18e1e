"""Which runs of the cases `make test` has; `make long` has them all.

Each case is met once. Besides, in each theme there is a run for each way in which a family of lines may end,
and one for each family with each credential. Redirects are met by every family with every status.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from hostile.case import Case, Line

Run = tuple[str, Line]

#: What lines do, by their verb; copies and tables are told apart by more.
FAMILIES = {
    "stat": "look",
    "cat": "read",
    "ls": "list",
    "du": "list",
    "plan": "list",
    "verify": "compare",
    "mb": "make",
    "rm": "delete",
    "rb": "delete",
    "clean": "delete",
}


def family(line: Line) -> str:
    """Return what a line does; lines of one family send the same requests, or nearly."""
    verb, *words = line.text.split()
    if verb == "table":
        return words[0]
    if verb == "cp":
        return "copy " + " to ".join("store" if "://" in word else "disk" for word in words[:2])
    return FAMILIES[verb]


def differs(case: Case, credential: str, line: Line) -> set[Hashable]:
    """Return all by which a run differs in kind from others of its theme."""
    met, does = case.name, family(line)
    kinds: set[Hashable] = {met, (does, line.code, line.kind), (does, credential)}
    return kinds | {(met, does)} if case.every_family else kinds


def chosen(theme: Iterable[Case]) -> dict[str, list[Run]]:
    """Return the runs of each case of a theme: as few as have all that differs in kind."""
    left = [(case, run, differs(case, *run)) for case in theme if not case.costly for run in case.runs]
    wanted = {kind for _, _, kinds in left for kind in kinds}
    taken: dict[str, list[Run]] = {}
    while wanted:
        case, run, kinds = max(left, key=lambda one: (len(one[2] & wanted), "huge" not in one[1][1].text))
        taken.setdefault(case.name, []).append(run)
        wanted -= kinds
    return taken
