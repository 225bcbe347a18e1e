"""What a hostile service must not achieve: a test for each case of `themes`.

A case is met by few lines here (see `chosen`), and in `make long` by all of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from hostile.case import Case, Line
from hostile.cases import CHOSEN, SERVICE
from hostile.judge import faults
from hostile.run import run

#: Cases at once: a client waits between tries, so most of them sleep.
AT_ONCE = 6
#: How long a service may keep the interpreter while others wait for it.
SWITCH_S = 0.0005

Begun = dict[str, list[Future[list[str]]]]


def meet(case: Case, credential: str, line: Line, folder: Path) -> list[str]:
    """Run a line of a case; return all that is wrong."""
    said = []
    for ran in run(case, line, credential, folder):
        if found := faults(ran):
            said += [str(ran), *(f"  - {fault}" for fault in found), ""]
    return said


def fail_with(found: Iterable[list[str]]) -> None:
    if said := [line for lines in found for line in lines]:
        pytest.fail("\n".join(said), pytrace=False)


@pytest.fixture(scope="module")
def begun(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Begun]:
    """Begin them beside one another: at once those that wait more than they work, in turn the others."""
    # An answer waits until another thread lets go of the interpreter, ten thousand times in some cases.
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    ids = {item.name for item in request.session.items}
    wanted = [
        (case, case.runs if f"test_every_line[{case.name}]" in ids else CHOSEN[case.name])
        for case in SERVICE
        if ids & {f"test_case[{case.name}]", f"test_every_line[{case.name}]"}
    ]
    waiting = sum(len(runs) for case, runs in wanted if case.slow)
    with ThreadPoolExecutor(max(1, waiting)) as beside, ThreadPoolExecutor(AT_ONCE) as in_turn:
        yield {
            case.name: [
                (beside if case.slow else in_turn).submit(
                    meet, case, *told, tmp_path_factory.mktemp(case.name) / "case"
                )
                for told in runs
            ]
            for case, runs in wanted
        }
    sys.setswitchinterval(before)


@pytest.mark.slow("cases run beside one another, and one waits for its turn")
@pytest.mark.parametrize("case", [case for case in SERVICE if not case.costly], ids=lambda case: case.name)
def test_case(case: Case, begun: Begun) -> None:
    fail_with(future.result() for future in begun[case.name])


@pytest.mark.long
@pytest.mark.parametrize("case", SERVICE, ids=lambda case: case.name)
def test_every_line(case: Case, begun: Begun) -> None:
    fail_with(future.result() for future in begun[case.name])
