"""Exports and imports that are killed, and gone on with: each row is there once."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import haulage
from command import HAUL, clean_environment
from endpoints import TableEndpoint
from haulage.tables.moving import export_table, import_table, verify
from tables.moving import at, fresh

#: How far a killed import has come at least.
BEGUN = 1_000
#: More bytes than a page of the service has, as they are kept.
PAGE = 40_000


@pytest.fixture(scope="module")
def rows(request: pytest.FixtureRequest) -> int:
    """How many there are: kills at random moments need a job that lasts."""
    return getattr(request, "param", 12_000)


many = pytest.mark.parametrize("rows", [60_000], indirect=True, scope="module")


@pytest.fixture(scope="module")
def emulated() -> Iterator[haulage.Emulator]:
    with haulage.Emulator(link="rtt=10ms,total=100mbit") as emulator:
        yield emulator


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory, rows: int) -> Path:
    """Rows of which every thousandth has a key that no table takes."""
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for n in range(rows):
            key = f"{n:06}" if n % 1000 != 500 else f"{n:06}/"
            row = {"PartitionKey": f"p{n % 37:02}", "RowKey": key, "n": n, "text": f"row {n}" * 5}
            file.write(json.dumps(row) + "\n")
    return path


@pytest.fixture(scope="module")
def filled(emulated: haulage.Emulator, source: Path, rows: int) -> str:
    table = at(TableEndpoint("emulator", emulated.endpoint), fresh())
    assert import_table(source, table, create=True).refused == rows // 1000
    return table


def killed(arguments: list[str], home: Path, moment: float) -> bool:
    """Run the command and kill it after a while; whether it was done before."""
    command = [str(HAUL), "table", *arguments]
    with subprocess.Popen(
        command, env=clean_environment(home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            return process.wait(timeout=moment) in (0, 1)
        except subprocess.TimeoutExpired:
            process.kill()
            return False


def duration(arguments: list[str], home: Path) -> float:
    began = time.monotonic()
    assert killed(arguments, home, 60)
    return time.monotonic() - began


def until_done(arguments: list[str], home: Path, seed: int, whole: float) -> int:
    """Kill the command at random moments until it is done; how often that was."""
    rng = random.Random(seed)
    for kills in range(4):
        if killed(arguments, home, whole * rng.uniform(0.3, 1.0)):
            return kills
    assert killed(arguments, home, 60)
    return 4


def exports(filled: str, rows: int, tmp_path: Path, seeds: range) -> None:
    whole = duration(["export", filled, str(tmp_path / "whole.parquet")], tmp_path)
    kills = 0
    for seed in seeds:
        path = tmp_path / f"{seed}.parquet"
        kills += until_done(["export", filled, str(path)], tmp_path, seed, whole)
        numbers = pq.read_table(path, columns=["n"]).column("n").to_pylist()
        assert sorted(numbers) == [n for n in range(rows) if n % 1000 != 500], seed
        assert verify(str(tmp_path / "whole.parquet"), str(path)).same
        path.unlink()
        assert not list(tmp_path.glob(".*haul-export*"))
    assert kills >= len(seeds) // 3


def imports(
    emulated: haulage.Emulator, filled: str, source: Path, rows: int, tmp_path: Path, seeds: range
) -> None:
    whole, kills = 0.0, 0
    for seed in seeds:
        table = at(TableEndpoint("emulator", emulated.endpoint), fresh())
        letters = tmp_path / f"{seed}.jsonl"
        arguments = ["import", str(source), table, "--create", "--dead-letters", str(letters)]
        if not whole:
            whole = duration(arguments, tmp_path)
        else:
            kills += until_done(arguments, tmp_path, seed, whole)
        assert verify(filled, table).same, seed
        refused = [json.loads(line)["row"] for line in letters.read_text().splitlines()]
        assert sorted(refused) == list(range(500, rows, 1000)), seed
    assert kills >= len(seeds) // 3


def import_killed_at(done: int, arguments: list[str], source: Path, table: str, home: Path) -> None:
    """Kill an import as soon as so many rows are done."""
    kept = source.with_name(f"{source.name}.{table.rpartition('/')[2]}.haul-import")
    command = [str(HAUL), "table", "import", str(source), table, *arguments, "--quiet"]
    with subprocess.Popen(command, env=clean_environment(home)) as process:
        while not kept.exists() or json.loads(kept.read_bytes())["done"] < done:
            assert process.poll() is None, "it was done before it was killed"
            time.sleep(0.005)
        process.kill()


def test_an_export_that_is_killed_goes_on(filled: str, rows: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    killed_on_the_way(filled, path)
    killed_on_the_way(filled, path)
    again = export_table(filled, path)
    assert again.resumed_rows > 0
    numbers = pq.read_table(path, columns=["n"]).column("n").to_pylist()
    assert sorted(numbers) == [n for n in range(rows) if n % 1000 != 500]
    assert verify(str(path), filled).same
    assert not list(tmp_path.glob(".*haul-export*"))


def test_an_import_that_is_killed_goes_on(
    emulated: haulage.Emulator, filled: str, source: Path, rows: int, tmp_path: Path
) -> None:
    table = at(TableEndpoint("emulator", emulated.endpoint), fresh())
    letters = tmp_path / "letters.jsonl"
    arguments = ["--create", "--dead-letters", str(letters)]
    import_killed_at(BEGUN, arguments, source, table, tmp_path)
    import_killed_at(3 * BEGUN, arguments, source, table, tmp_path)
    again = import_table(source, table, create=True, dead_letters=letters)
    assert again.resumed_from >= 3 * BEGUN
    assert verify(filled, table).same
    refused = [json.loads(line)["row"] for line in letters.read_text().splitlines()]
    assert sorted(refused) == list(range(500, rows, 1000))


@pytest.mark.parametrize("again", ["--create", "made by somebody"])
def test_an_import_into_a_table_that_was_removed_begins_anew(
    emulated: haulage.Emulator, filled: str, source: Path, rows: int, tmp_path: Path, again: str
) -> None:
    """It went on from where it was, and said that rows were written which went away with the table."""
    service, name = TableEndpoint("emulator", emulated.endpoint), fresh()
    table, letters = at(service, name), tmp_path / "letters.jsonl"
    import_killed_at(BEGUN, ["--create", "--dead-letters", str(letters)], source, table, tmp_path)
    assert letters.exists()
    service.service.delete_table(name)
    if again != "--create":
        service.service.create_table(name)
    imported = import_table(source, table, create=again == "--create", dead_letters=letters)
    assert (imported.resumed_from, imported.refused) == (0, rows // 1000)
    assert verify(filled, table).same
    assert len(letters.read_text().splitlines()) == rows // 1000


def test_an_import_of_a_file_that_another_one_has_replaced_begins_anew(
    emulated: haulage.Emulator, source: Path, rows: int, tmp_path: Path
) -> None:
    """One of the same size and time, as `cp -p` leaves it, was gone on with: rows of two files."""
    service, name = TableEndpoint("emulator", emulated.endpoint), fresh()
    table, mine, other = at(service, name), tmp_path / "rows.jsonl", tmp_path / "other.jsonl"
    text = source.read_text()
    mine.write_text(text)
    letters = tmp_path / "letters.jsonl"
    import_killed_at(BEGUN, ["--create", "--dead-letters", str(letters)], mine, table, tmp_path)
    other.write_text(text.replace("row ", "new "))
    before = mine.stat()
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(mine)
    again = import_table(mine, table, create=True, dead_letters=tmp_path / "others.jsonl")
    assert (again.resumed_from, again.refused) == (0, rows // 1000)
    found = service.service.get_table_client(name).list_entities(select="text")
    assert {row["text"][:4] for row in found} == {"new "}


def size_of(kept: Path) -> int:
    return sum(pages.stat().st_size for pages in kept.glob("*.pages"))


def killed_on_the_way(table: str, path: Path) -> Path:
    """Kill an export when a page more of its rows is kept; return the plan of what is."""
    kept = path.with_name(f".{path.name}.haul-export")
    before = size_of(kept)
    command = [str(HAUL), "table", "export", table, str(path), "--quiet"]
    with subprocess.Popen(command, env=clean_environment(path.parent)) as process:
        while size_of(kept) < before + PAGE:
            assert process.poll() is None, "it was done before it was killed"
            time.sleep(0.005)
        process.kill()
    return kept / "plan.json"


def test_an_export_of_a_table_that_was_made_again_begins_anew(
    emulated: haulage.Emulator, source: Path, tmp_path: Path
) -> None:
    service, name = TableEndpoint("emulator", emulated.endpoint), fresh()
    table, path = at(service, name), tmp_path / "rows.parquet"
    import_table(source, table, create=True, dead_letters=tmp_path / "letters.jsonl")
    killed_on_the_way(table, path)
    service.service.delete_table(name)
    made = service.service.create_table(name)
    made.create_entity({"PartitionKey": "new", "RowKey": "1"})
    exported = export_table(table, path)
    assert (exported.rows, exported.resumed_rows) == (1, 0)
    assert pq.read_table(path, columns=["RowKey"]).to_pylist() == [{"RowKey": "1"}]


def test_rows_that_were_read_more_than_a_day_ago_are_read_again(filled: str, tmp_path: Path) -> None:
    path, day = tmp_path / "rows.parquet", 24 * 3600
    plan = killed_on_the_way(filled, path)
    said = json.loads(plan.read_text())
    began = said["since_unix_s"]
    plan.write_text(json.dumps({**said, "since_unix_s": began - day + 600}))
    export = ["export", filled, str(path)]
    stderr = subprocess.run(
        [HAUL, "table", *export], check=True, capture_output=True, text=True, env=clean_environment(tmp_path)
    ).stderr
    since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(began - day + 600))
    assert f"haul: an earlier run that was interrupted, at {since}, had already fetched " in stderr
    plan = killed_on_the_way(filled, path)
    plan.write_text(json.dumps({**json.loads(plan.read_text()), "since_unix_s": began - day}))
    again = export_table(filled, path)
    assert again.resumed_rows == 0
    assert again.since_unix_s >= began


def test_a_copy_goes_on_only_with_rows_of_its_own_account(
    emulated: haulage.Emulator, filled: str, rows: int, tmp_path: Path
) -> None:
    """The same names, with another account in the environment, are other tables."""
    name, target = filled.partition("?")[0].rpartition("/")[2], fresh()
    command = [str(HAUL), "table", "copy", f"az-table://{name}", f"az-table://{target}", "--quiet"]
    here = TableEndpoint("emulator", emulated.endpoint)
    env = clean_environment(tmp_path) | {"AZURE_STORAGE_CONNECTION_STRING": emulated.connection_string}
    with subprocess.Popen(command, env=env) as process:
        while target not in [table.name for table in here.service.list_tables()]:
            assert process.poll() is None, "it was done before it was killed"
            time.sleep(0.02)
        process.kill()
    with haulage.Emulator() as other:
        there = TableEndpoint("emulator", other.endpoint)
        there.service.create_table(name).create_entity({"PartitionKey": "other", "RowKey": "1"})
        env["AZURE_STORAGE_CONNECTION_STRING"] = other.connection_string
        ran = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stderr) == (0, "")
        copied = there.service.get_table_client(target).list_entities()
        assert [row["PartitionKey"] for row in copied] == ["other"]
    env["AZURE_STORAGE_CONNECTION_STRING"] = emulated.connection_string
    ran = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert f"had already fetched {rows - rows // 1000:,} of these rows" in ran.stderr
    here.service.delete_table(target)


def stations(folder: Path, rows: int) -> Path:
    source = folder / "stations.jsonl"
    with source.open("w", encoding="utf-8") as file:
        for n in range(rows):
            row = {"PartitionKey": f"p{n % 17:02}", "RowKey": f"{n:05}", "station": f"s/{n % 29}"}
            file.write(json.dumps(row) + "\n")
    return source


def index_is_whole(table: str, rows: int, tmp_path: Path) -> None:
    index = tmp_path / f"{table.rpartition('/')[2]}.parquet"
    export_table(f"{table}Bystation", index)
    entries = pq.read_table(index, columns=["P", "R"]).to_pylist()
    keys = [(entry["P"], entry["R"]) for entry in entries]
    assert sorted(keys) == sorted((f"p{n % 17:02}", f"{n:05}") for n in range(rows))
    found = export_table(table, tmp_path / "found.parquet", filter="station eq 's/7'")
    assert (found.index, found.rows) == (f"{table}Bystation", sum(n % 29 == 7 for n in range(rows)))


@pytest.mark.slow("kills and repeats")
def test_an_index_has_every_row_after_kills(emulated: haulage.Emulator, rows: int, tmp_path: Path) -> None:
    source, table = stations(tmp_path, rows), at(TableEndpoint("emulator", emulated.endpoint), fresh())
    arguments = ["--create", "--index", "station"]
    import_killed_at(BEGUN, arguments, source, table, tmp_path)
    import_killed_at(2 * BEGUN, arguments, source, table, tmp_path)
    assert import_table(source, table, create=True, index=["station"]).resumed_from >= 2 * BEGUN
    index_is_whole(table, rows, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_an_index_has_every_row_after_many_kills(emulated: haulage.Emulator, tmp_path: Path) -> None:
    kills, whole, seeds = 0, 0.0, range(400, 420)
    source = stations(tmp_path, 6_000)
    for seed in seeds:
        table = at(TableEndpoint("emulator", emulated.endpoint), fresh())
        arguments = ["import", str(source), table, "--create", "--index", "station"]
        if not whole:
            whole = duration(arguments, tmp_path)
        else:
            kills += until_done(arguments, tmp_path, seed, whole)
        index_is_whole(table, 6_000, tmp_path)
    assert kills >= len(seeds) // 3


@pytest.mark.long
@pytest.mark.timeout(3600)
@many
def test_fifty_exports_that_are_killed(filled: str, rows: int, tmp_path: Path) -> None:
    exports(filled, rows, tmp_path, range(100, 150))


@pytest.mark.long
@pytest.mark.timeout(3600)
@many
def test_twenty_imports_that_are_killed(
    emulated: haulage.Emulator, filled: str, source: Path, rows: int, tmp_path: Path
) -> None:
    imports(emulated, filled, source, rows, tmp_path, range(200, 220))
