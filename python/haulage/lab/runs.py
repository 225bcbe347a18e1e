"""A run in Python: the manifest, the plan, and the tables as data frames."""

from __future__ import annotations

import tempfile
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
    """The folder of a run. Tables are read on first use.

    Attributes:
        folder: The path of the folder.
        manifest: What was run, where and with which settings; see ``docs/reference/lab.md``.
    """

    folder: Path
    manifest: dict[str, Any]

    def __repr__(self) -> str:
        """Return the folder, the state and how far it has come: a manifest has hundreds of values."""
        cells = f"{self.manifest.get('cells_done', 0)} of {self.manifest.get('cells_planned', 0)} cells"
        return f"Run({str(self.folder)!r}, {self.state}, {cells})"

    @property
    def state(self) -> str:
        """``complete``; ``stopped`` if it can be continued; ``running``."""
        return str(self.manifest["state"])

    @property
    def page(self) -> Path | None:
        """The path of the report; ``None`` before it is written."""
        path = self.folder / PAGE
        return path if path.is_file() else None

    @cached_property
    def plan(self) -> Plan:
        """The plan as it was resolved."""
        return parse(RunStore(self.folder).plan_values)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row per cell: one treatment in one replicate."""
        return self.table("cells")

    @cached_property
    def transfers(self) -> pd.DataFrame:
        """One row per file of a cell."""
        return self.table("transfers")

    @cached_property
    def attempts(self) -> pd.DataFrame:
        """One row per request of a cell."""
        return self.table("attempts")

    @cached_property
    def host(self) -> pd.DataFrame:
        """Samples of this machine, ten a second."""
        return self.table("host")

    @cached_property
    def analysis(self) -> Analysis:
        """The results of the queries and tests. Takes seconds the first time; writes nothing."""
        from haulage.lab.analysis import analyse

        with tempfile.TemporaryDirectory(prefix="haulage-lab-") as scratch:
            return analyse(self.folder, into=Path(scratch) / "results")

    def table(self, name: str) -> pd.DataFrame:
        """Read one of the tables.

        Raises:
            NotFoundError: The run has no such table.
        """
        path = self.folder / f"{name}.parquet"
        if not path.is_file():
            hint = "resume the run, or name another table"
            raise NotFoundError("read run", str(path), "no such table", hint)
        with duckdb.connect() as database:
            return database.execute("select * from read_parquet(?)", [str(path)]).df()

    def sql(self, query: str) -> pd.DataFrame:
        """Query the tables ``cells``, ``transfers``, ``attempts`` and ``host`` with SQL."""
        with duckdb.connect() as database:
            for path in sorted(self.folder.glob("*.parquet")):
                database.read_parquet(str(path)).create_view(path.stem)
            return database.execute(query).df()


def load(directory: str | Path) -> Run:
    """Open the folder of a run.

    Raises:
        NotFoundError: The folder does not hold a run.
    """
    store = RunStore.open(Path(directory))
    return Run(store.folder, store.manifest)
