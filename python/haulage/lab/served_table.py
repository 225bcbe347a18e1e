"""A table with rows, and a proxy before it, near each other; whoever asks is at the other end of a link.

Store, proxy and links are processes of their own, so that their processor time is not taken for the reader's.
"""

from __future__ import annotations

import json
import random
import select
import subprocess
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from haulage import children
from haulage.errors import ServiceError
from haulage.lab.relay import FAR
from haulage.lab.target import Endpoint, haul, start_emulator, start_relay

TABLE = "Rows"
_START_S = 60.0


def write_rows(path: Path, rows: int, seed: int) -> None:
    """Write rows like those of 2009: measurements, about 164 bytes each in JSON without types."""
    values = random.Random(seed)
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            row = {
                "PartitionKey": f"st{number // 300:03}",
                "RowKey": f"{number:06}",
                "name": f"m{number % 1000}",
                "latitude": round(values.uniform(-90, 90), 4),
                "longitude": round(values.uniform(-180, 180), 4),
                "value": round(values.gauss(10, 5), 3),
                "good": values.random() < 0.9,
            }
            file.write(json.dumps(row) + "\n")


class ServedTable:
    """Starts the store, fills it and starts the proxy; :meth:`close` stops all of it.

    Args:
        rows: A file of lines of JSON, whose rows have their keys.

    Raises:
        ServiceError: One of them did not start.
    """

    def __init__(self, rows: Path) -> None:
        self._store = start_emulator(store="null")
        self._doors: dict[str, tuple[Endpoint, Endpoint]] = {}
        try:
            account = self._store.base.rpartition("/")[0]
            self._table = replace(self._store, base=f"{account}/{TABLE}")
            _fill(self._table, rows)
            self._serving, self._proxy = _serve(self._table)
        except BaseException:
            self._store.close()
            raise

    def at(self, link: str) -> Endpoint:
        """Return table and proxy as they are reached over a link such as ``rtt=20ms,total=100mbit``."""
        if link not in self._doors:
            way = f"{FAR}{'rtt=0ms' if link == 'none' else link}"
            table = start_relay(self._table, way)
            try:
                self._doors[link] = table, start_relay(self._proxy, way)
            except BaseException:
                table.close()
                raise
        table, proxy = self._doors[link]
        table = replace(table, connection_string=self._store.connection_string)
        return replace(table, proxy=proxy.base, proxy_host=urlsplit(self._proxy.base).netloc)

    def close(self) -> None:
        """Stop all processes."""
        for door in self._doors.values():
            for endpoint in door:
                endpoint.close()
        self._doors.clear()
        self._serving.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._serving.wait(10)
        self._serving.kill()
        self._serving.wait()
        if self._serving.stdout is not None:
            self._serving.stdout.close()
        self._store.close()


def _fill(table: Endpoint, rows: Path) -> None:
    command = [*haul(), "table", "import", str(rows), table.base, "--create", "--quiet"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        hint = "pip install 'haulage[tables]' where packages are missing"
        raise ServiceError("fill table", TABLE, ran.stderr.strip() or "it failed", hint)


def _serve(table: Endpoint) -> tuple[subprocess.Popen[str], Endpoint]:
    # Without gzip: what is measured is the size of the forms.
    options = ["--listen", "127.0.0.1:0", "--json", "--no-compress", "--token", "none"]
    process = children.start(
        [*haul(), "table", "serve", f"{TABLE}={table.base}", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        # Ctrl-C is for the lab, which then stops this in order.
        start_new_session=True,
    )
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], _START_S)
    line = process.stdout.readline() if ready else ""
    if not line:
        process.kill()
        process.wait()
        process.stdout.close()
        raise ServiceError("serve table", TABLE, "the proxy did not start", "try `haul table serve` by hand")
    return process, Endpoint(f"{json.loads(line)['url']}tables/{TABLE}", "")
