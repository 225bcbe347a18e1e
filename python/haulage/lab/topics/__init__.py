"""The questions of the lab, a folder for each, with all that answers it.

``*.sql`` reads the files of a run, ``rows.py`` has the tables that statistics make of its rows (``TABLES``),
``says.py`` the cards, sentences with a number, by the plan whose runs get them (``CARDS``), and ``chart.py``
the charts and how to read them (``SECTIONS``). A folder has what its question needs. All of it is imported on
first use: queries need no statistics, and statistics no charts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module, resources
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from haulage.lab.analysis.cards import Maker
    from haulage.lab.analysis.tables import Table
    from haulage.lab.report.section import Section

Found = TypeVar("Found")


@dataclass(frozen=True)
class Topic:
    """A question.

    Attributes:
        name: Of its folder.
        page: The place of its charts in a report, counted from the top. What few runs have comes first.
    """

    name: str
    page: int = 0

    @property
    def folder(self) -> Traversable:
        """Where its queries are."""
        return resources.files(__name__) / self.name

    @property
    def tables(self) -> Sequence[Table]:
        """What statistics make of the rows of queries."""
        return self._part("rows", "TABLES", ())

    @property
    def cards(self) -> Mapping[str, Sequence[Maker]]:
        """What makes cards, by how the name of the plan begins: every name with ``""``."""
        return self._part("says", "CARDS", {})

    @property
    def sections(self) -> Sequence[Section]:
        """Its charts."""
        return self._part("chart", "SECTIONS", ())

    def _part(self, module: str, name: str, nothing: Found) -> Found:
        path = f"{__name__}.{self.name}.{module}"
        found: Found = getattr(import_module(path), name, nothing) if find_spec(path) else nothing
        return found


#: In the order in which their tables are made and their cards shown.
TOPICS = (
    Topic("rates"),
    Topic("baseline", page=15),
    Topic("files", page=6),
    Topic("over_time", page=13),
    Topic("collapse", page=14),
    Topic("nodes", page=9),
    Topic("pieces", page=12),
    Topic("sweep", page=7),
    Topic("concurrency", page=8),
    Topic("crossover", page=16),
    Topic("formats", page=4),
    Topic("scaling", page=1),
    Topic("stragglers", page=2),
    Topic("simulated_nodes", page=3),
    Topic("time", page=5),
    Topic("requests", page=11),
    Topic("ceiling", page=10),
    Topic("every_run", page=17),
)


def sections() -> list[Section]:
    """Return all charts in the order of a report."""
    return [section for topic in sorted(TOPICS, key=lambda one: one.page) for section in topic.sections]
