"""The server on an address of this machine, until it is stopped."""

from __future__ import annotations

from pathlib import Path

from haulage.view.index.sidecar_writer import Keeper
from haulage.view.reading.place import Place
from haulage.view.rows.reading import ReadRows
from haulage.view.serve.app import Application
from haulage.view.serve.library import Library
from haulage.web.serving import Serving, here

#: How long the end waits for answers that are being sent.
LAST_S = 1


class Server(Serving):
    """Listens from when it is made; answers while :meth:`run` runs.

    Args:
        place: What is viewed.
        cache: The folder for indexes; ``None`` for none.
        port: 0 for a free one.
        keeper: Writes indexes beside the files; ``None`` to write nothing.
        rows: Reads tables and Parquet files; ``None`` if nothing does.
        filter: Which rows of them, as an OData expression; ``None`` for all.

    Raises:
        LocalIOError: The port is taken.
    """

    def __init__(
        self,
        place: Place,
        cache: Path | None,
        port: int = 0,
        keeper: Keeper | None = None,
        rows: ReadRows | None = None,
        filter: str | None = None,
    ) -> None:
        address = here(port)
        self.port, self.token = address.port, address.token
        self._library = Library(place, cache, keeper, rows, filter)
        super().__init__(Application(self._library, self.port, self.token).guard, address.held, LAST_S)

    @property
    def url(self) -> str:
        """The address of the page, with the token."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @property
    def zarr_url(self) -> str:
        """The address below which every file is a store of Zarr, with the token."""
        return f"http://127.0.0.1:{self.port}/zarr/{self.token}/"

    def run(self) -> None:
        """Answer until :meth:`stop`, or until the process is told to end."""
        try:
            super().run()
        finally:
            self._library.close()
