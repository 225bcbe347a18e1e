"""A run as Python sees it: the manifest, the plan, and the tables as data frames."""

from __future__ import annotations

import tempfile
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from haulage.errors import NotFoundError
from haulage.lab.chain import PAGE
from haulage.lab.plan import Plan
from haulage.lab.planfile import parse
from haulage.lab.store import RunStore

if TYPE_CHECKING:
    import pandas as pd

    from haulage.lab.analysis import Analysis


@dataclass(frozen=True)
class Run:
    """A run's folder. Tables are read when they are first asked for.

    Attributes:
        folder: Where it lies.
        manifest: What was run, where, with what; see ``docs/reference/lab.md``.
    """

    folder: Path
    manifest: dict[str, Any]

    @property
    def state(self) -> str:
        """``complete``; ``stopped`` if it can be continued; ``running``."""
        return str(self.manifest["state"])

    @property
    def page(self) -> Path | None:
        """The report, ``None`` before it is written."""
        path = self.folder / PAGE
        return path if path.is_file() else None

    @cached_property
    def plan(self) -> Plan:
        """The plan as it was resolved."""
        return parse(tomllib.loads(RunStore(self.folder).plan_text))

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row a cell: a treatment, once, in one replicate."""
        return self.table("cells")

    @cached_property
    def transfers(self) -> pd.DataFrame:
        """One row a file of a cell."""
        return self.table("transfers")

    @cached_property
    def attempts(self) -> pd.DataFrame:
        """One row a request of a cell."""
        return self.table("attempts")

    @cached_property
    def host(self) -> pd.DataFrame:
        """Ten samples a second of this machine."""
        return self.table("host")

    @cached_property
    def analysis(self) -> Analysis:
        """What the queries and tests find; takes seconds the first time, and writes nothing there."""
        from haulage.lab.analysis import analyse

        with tempfile.TemporaryDirectory(prefix="haulage-lab-") as scratch:
            return analyse(self.folder, into=Path(scratch) / "results")

    def table(self, name: str) -> pd.DataFrame:
        """Read one of the tables.

        Raises:
            NotFoundError: It is not there.
        """
        path = self.folder / f"{name}.parquet"
        if not path.is_file():
            raise NotFoundError("read run", str(path), "not there", "continue the run, or name another table")
        with duckdb.connect() as database:
            return database.execute("select * from read_parquet(?)", [str(path)]).df()

    def sql(self, query: str) -> pd.DataFrame:
        """Ask the tables something, by their names ``cells``, ``transfers``, ``attempts``, ``host``."""
        with duckdb.connect() as database:
            for path in sorted(self.folder.glob("*.parquet")):
                database.read_parquet(str(path)).create_view(path.stem)
            return database.execute(query).df()


def load(directory: str | Path) -> Run:
    """Open the folder of a run.

    Raises:
        NotFoundError: No run is there.
    """
    store = RunStore.open(Path(directory))
    return Run(store.folder, store.manifest)
