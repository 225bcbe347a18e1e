"""Tables as a whole: listed, created and removed."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import haulage
from command import in_process
from endpoints import TableEndpoint
from haulage.tables.account import create_table, list_tables, remove_table
from sentences import Sentence
from tables.moving import at, fresh


@pytest.fixture(scope="module")
def own() -> Iterator[TableEndpoint]:
    with haulage.Emulator() as emulator:
        yield TableEndpoint("emulator", emulator.endpoint)


@pytest.fixture(params=["emulator", "azurite"])
def service(request: pytest.FixtureRequest) -> TableEndpoint:
    found = request.getfixturevalue("own" if request.param == "emulator" else "azurite_tables")
    assert isinstance(found, TableEndpoint)
    return found


def test_tables_are_created_listed_and_removed(
    service: TableEndpoint, capfd: pytest.CaptureFixture[str], sentence: Sentence
) -> None:
    name, other = fresh(), fresh()
    assert in_process("table", "create", at(service, name), at(service, other)) == 0
    assert {name, other} <= {*list_tables(service.url)}
    # One is there already, the other is not: both are said.
    capfd.readouterr()
    new = fresh()
    assert in_process("table", "create", "--json", at(service, name), at(service, new)) == 1
    error, made = map(json.loads, capfd.readouterr().out.splitlines())
    assert (error["kind"], error["exit_code"], made["event"]) == ("exists", 1, "made")
    assert made["url"] == at(service, new)
    sentence(error["hint"])

    assert in_process("table", "rm", "--dry-run", at(service, name)) == 0
    assert in_process("table", "ls", at(service, name)) == 0
    assert capfd.readouterr().out.splitlines() == [name]
    assert in_process("table", "rm", *(at(service, one) for one in (name, other, new))) == 0
    assert not {name, other, new} & {*list_tables(service.url)}


def test_a_name_in_other_capitals_removes_nothing(service: TableEndpoint, sentence: Sentence) -> None:
    name = fresh()
    create_table(at(service, name))
    for wrong in (name.lower(), name.upper()):
        with pytest.raises(haulage.UsageError, match=name) as raised:
            remove_table(at(service, wrong))
        sentence(raised.value.hint)
        assert list_tables(at(service, wrong)) == [name]
    # What is no name stops the others too, before anything is sent.
    assert in_process("table", "rm", at(service, name), at(service, "no_name")) == 2
    assert list_tables(at(service, name)) == [name]
    remove_table(at(service, name))


def test_what_is_not_there(own: TableEndpoint, sentence: Sentence) -> None:
    for call in (list_tables, remove_table):
        with pytest.raises(haulage.NotFoundError) as raised:
            call(at(own, "Nowhere"))
        sentence(raised.value.hint)
    for change in (create_table, remove_table):
        with pytest.raises(haulage.UsageError) as refused:
            change(own.url)
        sentence(refused.value.hint)
    for reserved in ("tables", "$metrics"):
        with pytest.raises(haulage.UsageError) as refused:
            create_table(at(own, reserved))
        sentence(refused.value.hint)
    assert in_process("table", "rm", at(own, "Nowhere"), at(own, "NowhereElse")) == 4


def test_an_account_without_tables(capfd: pytest.CaptureFixture[str]) -> None:
    with haulage.Emulator() as emulator:
        assert in_process("table", "ls", "--endpoint", emulator.endpoint) == 0
        assert capfd.readouterr().out == ""
