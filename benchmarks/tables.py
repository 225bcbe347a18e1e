"""Rows out of a table: `haul table export` beside the official client, over a link of 20 ms.

The emulator serves both. The official client reads page by page, as it does for everybody; its rows are
counted and thrown away, while haul's are in a Parquet file in the end.

    ../.venv/bin/python tables.py [--rows 200000] [--rounds 3] [--link rtt=20ms]
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

OFFICIAL = """
import sys, time
from azure.data.tables import TableClient
from azure.core.credentials import AzureNamedKeyCredential
url, table, key = sys.argv[1:]
client = TableClient(url, table_name=table, credential=AzureNamedKeyCredential("devstoreaccount1", key))
print(sum(1 for _ in client.list_entities()))
"""


def rows_file(path: Path, rows: int) -> None:
    """Write rows with a property of every type, 5,000 in a partition."""
    with path.open("w", encoding="utf-8") as file:
        for n in range(rows):
            stamp = f"2024-{n % 12 + 1:02}-{n % 28 + 1:02}T{n % 24:02}:00:00.{n % 10_000_000:07}Z"
            row = {
                "PartitionKey": f"p{n // 5000:05}",
                "RowKey": f"{n:09}",
                "text": f"observation number {n}",
                "small": n % 1000,
                "large@odata.type": "Edm.Int64",
                "large": str(n * 10**9),
                "value": n / 7,
                "truth": n % 2 == 0,
                "time@odata.type": "Edm.DateTime",
                "time": stamp,
                "id@odata.type": "Edm.Guid",
                "id": f"00000000-0000-4000-8000-{n:012x}",
                "bytes@odata.type": "Edm.Binary",
                "bytes": "AAECAwQFBgc=",
            }
            file.write(json.dumps(row) + "\n")


def timed(command: list[str]) -> tuple[float, float, float]:
    """Return seconds, seconds of the processor, and the most MiB in memory of a command that ends well."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    watched = ["/usr/bin/time", "-f", "%M", *command] if Path("/usr/bin/time").exists() else command
    done = subprocess.run(watched, capture_output=True, text=True, check=True)
    seconds = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    last = done.stderr.strip().splitlines()[-1:] or ["0"]
    memory = float(last[0]) / 1024 if last[0].isdigit() else after.ru_maxrss / 1024
    return seconds, cpu, memory


def line(name: str, rows: int, seconds: float, cpu: float, memory: float) -> str:
    """Return what is printed of a tool."""
    return f"{name:8} {rows:>9,} rows  {seconds:7.2f} s  {cpu:6.2f} CPU-s  {memory:5.0f} MiB"


def main() -> int:
    """Run it and print a line for each tool."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--link", default="rtt=20ms")
    parser.add_argument(
        "--no-official", action="store_true", help="for numbers of rows that take it very long"
    )
    arguments = parser.parse_args()
    haul = str(ROOT / ".venv/bin/haul")
    listening = [haul, "emulate", "--listen", "127.0.0.1:0", "--link", arguments.link, "--json"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(listening, stdout=subprocess.PIPE, text=True) as emulator,
    ):
        assert emulator.stdout is not None
        try:
            endpoint = json.loads(emulator.stdout.readline())["endpoint"]
            source, table = Path(folder) / "rows.jsonl", f"{endpoint}/Rows"
            rows_file(source, arguments.rows)
            wrote = timed([haul, "table", "import", str(source), table, "--create", "-q"])
            print(line("import", arguments.rows, *wrote))
            tools = {"haul": [haul, "table", "export", table, str(Path(folder) / "rows.parquet"), "-q"]}
            if not arguments.no_official:
                tools["official"] = [sys.executable, "-c", OFFICIAL, endpoint, "Rows", KEY]
            seen: dict[str, list[tuple[float, float, float]]] = {name: [] for name in tools}
            for _ in range(arguments.rounds):
                for name, command in tools.items():
                    seen[name].append(timed(command))
            medians = {}
            for name, runs in seen.items():
                seconds, cpu, memory = (statistics.median(column) for column in zip(*runs, strict=True))
                medians[name] = seconds
                print(line(name, arguments.rows, seconds, cpu, memory))
            if "official" in medians:
                print(f"haul takes {medians['haul'] / medians['official']:.3f} of the official client's time")
        finally:
            emulator.terminate()
    return 0


if __name__ == "__main__":
    sys.exit(main())
