"""Azure's own client of tables on the emulator and on Azurite: both must answer alike.

Where Azurite is known to answer otherwise than the service, `AZURITE` says how, and both answers are checked.
"""

from __future__ import annotations

import json
import math
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from azure.core import MatchConditions
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.exceptions import HttpResponseError, ServiceRequestError, ServiceResponseError
from azure.data.tables import (
    EdmType,
    EntityProperty,
    TableAccessPolicy,
    TableClient,
    TableCorsRule,
    TableSasPermissions,
    TableServiceClient,
    TableTransactionError,
    UpdateMode,
    generate_table_sas,
)

import haulage
from endpoints import ACCOUNT, KEY, TableEndpoint

#: An entity of every type.
EVERYTHING: dict[str, Any] = {
    "PartitionKey": "it's a key",
    "RowKey": "é & 😀",
    "Text": 'quotes " and \\ and \n and é',
    "Empty": "",
    "Yes": True,
    "No": False,
    "Small": -(2**31),
    "Large": EntityProperty(2**63 - 1, EdmType.INT64),
    "Lowest": EntityProperty(-(2**63), EdmType.INT64),
    "Rate": 0.1,
    "Whole": 3.0,
    "Tiny": 5e-324,
    "Huge": 1.7976931348623157e308,
    "Nan": math.nan,
    "Inf": math.inf,
    "NegInf": -math.inf,
    "When": datetime(2026, 1, 2, 3, 4, 5, 123456, tzinfo=UTC),
    "Midnight": datetime(2026, 1, 2, tzinfo=UTC),
    "Id": uuid.UUID("c9da6455-213d-42c9-9a79-3e9149a57833"),
    "Raw": bytes(range(256)),
}

#: Filters that both must understand, over the entities that `filled` makes.
FILTERS = [
    "",
    "PartitionKey eq 'a'",
    "PartitionKey eq 'a' and RowKey eq '03'",
    "PartitionKey ge 'b' and PartitionKey lt 'c'",
    "PartitionKey gt 'a'",
    "RowKey eq '05'",
    "PartitionKey eq 'a' or PartitionKey eq 'c'",
    "PartitionKey eq 'a' and RowKey gt '02' and RowKey le '07'",
    "not (PartitionKey eq 'a')",
    "N lt 5 and N ne 3",
    "N eq 7",
    "Even eq true",
    "Even",
    "not Even and N ge 20",
    "Long ge 10L",
    "Long eq 4294967296L",
    "Rate gt 2.5 and Rate le 5.0",
    "Text eq 'it''s 7'",
    "Text gt 'it''s 3' and Text lt 'it''s 5'",
    "When ge datetime'2026-01-01T05:00:00Z' and When lt datetime'2026-01-01T09:00:00Z'",
    "Id eq guid'00000000-0000-0000-0000-000000000007'",
    "Raw eq X'07'",
    "Raw eq binary'0a'",
    "Odd eq 'yes'",
    "Odd ne 'yes'",
    "Missing eq 1",
    "Missing ne 1",
    "(N eq 1 or N eq 2) and (Even eq true or PartitionKey eq 'b')",
    "N gt -1 and N lt 1",
    "PartitionKey eq 'nobody'",
    "PartitionKey gt 'b' and PartitionKey lt 'a'",
    "Timestamp gt datetime'2020-01-01T00:00:00Z'",
]

#: What Azurite is known to answer otherwise than the service does.
AZURITE: dict[str, str] = {
    "select": "leaves properties out that are selected and not there; the service says null",
    "key": "calls a forbidden key InvalidInput; the service says OutOfRangeInput",
    "metadata": "calls the list of a table's entities '#Tables' in odata.metadata",
    "time": "gives milliseconds, not ticks of 100 ns, and a DateTime back in the digits that were sent",
    "expired": "calls an expired signature AuthorizationFailure; the service says AuthenticationFailed",
    "loose": "takes literals without an end, GUIDs that are none, and any number of properties",
}


@pytest.fixture(scope="module")
def emulator_tables() -> Iterator[TableEndpoint]:
    with haulage.Emulator() as emulator:
        yield TableEndpoint("emulator", emulator.endpoint)


Both = Callable[[Callable[[TableEndpoint], object]], Any]


@pytest.fixture
def both(azurite_tables: TableEndpoint, emulator_tables: TableEndpoint) -> Both:
    """Ask the two for the same, and give back what both answered."""

    def ask(question: Callable[[TableEndpoint], object]) -> object:
        theirs, ours = question(azurite_tables), question(emulator_tables)
        assert ours == theirs
        return ours

    return ask


def outcome(call: Callable[[], object]) -> object:
    """Return what a call came to: its result, or status and code of its failure."""
    try:
        result = call()
    except HttpResponseError as error:
        headers = getattr(error.response, "headers", {})
        named = getattr(error, "error_code", None) or headers["x-ms-error-code"]
        failure = (error.status_code, str(getattr(named, "value", named)))
        return (*failure, error.index) if isinstance(error, TableTransactionError) else failure
    if isinstance(result, dict):
        return sorted(key for key in result if key != "content")
    return "done" if result is None else type(result).__name__


def plain(entity: Any) -> dict[str, Any]:
    """Return an entity's values such that equal ones are equal, types told apart."""
    values = {}
    for name, value in dict(entity).items():
        shown = repr(value) if isinstance(value, float) else value
        values[name] = (type(value).__name__, shown)
    return values


def filled(endpoint: TableEndpoint, count: int = 10) -> TableClient:
    """Return a table of three partitions."""
    table = endpoint.table()
    for index, partition in enumerate("abc"):
        changes = []
        for row in range(count):
            n = index * count + row
            entity = {
                "PartitionKey": partition,
                "RowKey": f"{row:02}",
                "N": n,
                "Even": n % 2 == 0,
                "Long": EntityProperty(n if n != 9 else 2**32, EdmType.INT64),
                "Rate": n / 4,
                "Text": f"it's {row}",
                "When": datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=n),
                "Id": uuid.UUID(int=n),
                "Raw": bytes([n]),
            }
            if n % 3 == 0:
                entity["Odd"] = "yes" if n % 2 else "no"
            changes.append(("create", entity))
        table.submit_transaction(changes)
    return table


def keys(entities: Any) -> list[str]:
    return [f"{entity['PartitionKey']}/{entity['RowKey']}" for entity in entities]


def test_every_type_comes_back(both: Both) -> None:
    def ask(endpoint: TableEndpoint) -> object:
        table = endpoint.table()
        made = table.create_entity(EVERYTHING)
        got = table.get_entity(EVERYTHING["PartitionKey"], EVERYTHING["RowKey"])
        [listed] = table.list_entities()
        assert made["etag"] == got.metadata["etag"] == listed.metadata["etag"]
        assert plain(got) == plain(listed)
        return plain(got)

    assert both(ask) == plain(EVERYTHING) | {"When": ("TablesEntityDatetime", EVERYTHING["When"])} | {
        "Midnight": ("TablesEntityDatetime", EVERYTHING["Midnight"])
    }


def test_tables_come_and_go(both: Both) -> None:
    def ask(endpoint: TableEndpoint) -> object:
        service = endpoint.service
        name = "Comes" + uuid.uuid4().hex
        seen = [
            outcome(lambda: service.create_table(name)),
            outcome(lambda: service.create_table(name.lower())),
        ]
        seen.append([table.name == name for table in service.query_tables(f"TableName eq '{name}'")])
        seen += [outcome(lambda: service.delete_table(name)) for _ in range(2)]
        table = service.get_table_client(name)
        seen.append(outcome(lambda: table.create_entity({"PartitionKey": "p", "RowKey": "r"})))
        seen.append(outcome(lambda: list(table.list_entities())))
        seen.append(outcome(lambda: table.get_entity("p", "r")))
        seen.append(outcome(lambda: table.delete_entity("p", "r")))
        seen.append(outcome(lambda: service.create_table(name)))
        return seen

    assert both(ask)[1] == (409, "TableAlreadyExists")


def test_tables_are_listed_in_pages(both: Both) -> None:
    def ask(endpoint: TableEndpoint) -> object:
        stem = "Page" + uuid.uuid4().hex[:8]
        for n in range(7):
            endpoint.service.create_table(f"{stem}{n}")
        pages = endpoint.service.query_tables(f"TableName gt '{stem}'", results_per_page=3).by_page()
        names = [[table.name for table in page if table.name.startswith(stem)] for page in pages]
        return [name.removeprefix(stem) for page in names for name in page]

    assert both(ask) == [str(n) for n in range(7)]


def test_changes_keep_to_their_conditions(both: Both) -> None:
    def ask(endpoint: TableEndpoint) -> object:
        table = endpoint.table()
        one = {"PartitionKey": "p", "RowKey": "r", "A": 1, "B": 2}
        seen = [outcome(lambda: table.update_entity(one)), outcome(lambda: table.upsert_entity(one))]
        first = table.get_entity("p", "r").metadata["etag"]
        seen.append(outcome(lambda: table.create_entity(one)))
        for mode in (UpdateMode.MERGE, UpdateMode.REPLACE):
            other = {"PartitionKey": "p", "RowKey": "r", "B": 3, "C": mode.value}
            for call in (
                lambda other=other, mode=mode: table.upsert_entity(other, mode=mode),
                lambda other=other, mode=mode: table.update_entity(other, mode=mode),
                lambda other=other, mode=mode: table.update_entity(
                    other, mode=mode, etag=first, match_condition=MatchConditions.IfNotModified
                ),
            ):
                seen += [outcome(call), plain(table.get_entity("p", "r"))]
        for tag in (first, table.get_entity("p", "r").metadata["etag"]):
            delete = partial(table.delete_entity, "p", "r", etag=tag)
            seen.append(outcome(partial(delete, match_condition=MatchConditions.IfNotModified)))
        seen.append(outcome(lambda: table.get_entity("p", "r")))
        return seen

    assert (412, "UpdateConditionNotSatisfied") in both(ask)


@pytest.mark.parametrize("query", FILTERS)
def test_filters_choose_the_same_entities(
    query: str, azurite_filled: TableClient, emulator_filled: TableClient
) -> None:
    theirs, ours = azurite_filled.query_entities(query), emulator_filled.query_entities(query)
    assert [plain(entity) for entity in ours] == [plain(entity) for entity in theirs]


@pytest.fixture(scope="module")
def azurite_filled(azurite_tables: TableEndpoint) -> TableClient:
    return filled(azurite_tables)


@pytest.fixture(scope="module")
def emulator_filled(emulator_tables: TableEndpoint) -> TableClient:
    return filled(emulator_tables)


@pytest.mark.parametrize("query", ["N is 1", "N eq", "(N eq 1", "eq 1", "N eq 1 and"])
def test_what_is_no_filter_is_refused(query: str, both: Both) -> None:
    assert both(lambda endpoint: outcome(lambda: list(endpoint.table().query_entities(query))))[0] == 400


@pytest.mark.parametrize("per_page", [1, 7, 10, 30, 1000])
@pytest.mark.parametrize("query", ["", "Even eq true", "PartitionKey ge 'b'"])
def test_pages_come_in_order(
    query: str, per_page: int, azurite_filled: TableClient, emulator_filled: TableClient
) -> None:
    def read(table: TableClient) -> list[str]:
        pages = [keys(page) for page in table.query_entities(query, results_per_page=per_page).by_page()]
        assert all(len(page) <= per_page for page in pages)
        return [key for page in pages for key in page]

    assert read(emulator_filled) == read(azurite_filled)


def test_selected_properties_alone_are_shown(
    azurite_filled: TableClient, emulator_filled: TableClient
) -> None:
    assert AZURITE["select"]
    query, select = "PartitionKey eq 'a'", ["RowKey", "N", "Odd"]
    theirs = [plain(entity) for entity in azurite_filled.query_entities(query, select=select)]
    ours = [plain(entity) for entity in emulator_filled.query_entities(query, select=select)]
    nothing = ("NoneType", None)
    assert ours == [{"Odd": nothing} | entity for entity in theirs]
    assert [entity for entity in ours if entity["Odd"] == nothing]


def test_transactions_are_whole(both: Both) -> None:
    def ask(endpoint: TableEndpoint) -> object:
        table = endpoint.table()

        def row(key: str, **values: object) -> dict[str, object]:
            return {"PartitionKey": "p", "RowKey": key, **values}

        stale = {
            "etag": "W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\"",
            "match_condition": MatchConditions.IfNotModified,
        }
        table.create_entity(row("old", A=1))
        seen: list[object] = []
        transactions: list[Any] = [
            [("create", row("new")), ("upsert", row("old", B=2)), ("upsert", row("x"), {"mode": "replace"})],
            [("update", row("old", C=3)), ("delete", row("x"))],
            [("create", row("a")), ("create", row("old"))],
            [("create", row("a")), ("update", row("nobody", A=1))],
            [("create", row("a")), ("delete", row("nobody"))],
            [("create", row("a")), ("update", row("old", A=5), stale)],
            [("delete", row("old")), ("create", row("new"))],
            [("create", row(f"{n:03}")) for n in range(100)],
        ]
        for changes in transactions:
            seen.append(outcome(partial(table.submit_transaction, changes)))
            seen.append([plain(entity) for entity in table.list_entities()])
        return seen

    seen = both(ask)
    assert seen[4] == (409, "EntityAlreadyExists", 1)
    assert len(seen[-1]) == 102


def test_signatures_allow_what_they_say(both: Both) -> None:
    def ask(endpoint: TableEndpoint) -> object:
        table = filled(endpoint)
        key = AzureNamedKeyCredential(ACCOUNT, KEY)
        expiry = datetime.now(UTC) + timedelta(hours=1)

        def seen_by(sas: str) -> list[object]:
            client = TableClient(endpoint.url, table.table_name, credential=AzureSasCredential(sas))
            return [
                outcome(lambda: client.get_entity("a", "01")),
                outcome(lambda: list(client.list_entities())),
                outcome(lambda: client.create_entity({"PartitionKey": "a", "RowKey": uuid.uuid4().hex})),
                outcome(
                    lambda: client.delete_entity("a", "02", match_condition=MatchConditions.Unconditionally)
                ),
            ]

        def table_sas(**options: Any) -> str:
            return generate_table_sas(key, table.table_name, **options)

        reads = TableSasPermissions(read=True)
        seen = [
            seen_by(table_sas(permission=reads, expiry=expiry)),
            seen_by(
                table_sas(permission=TableSasPermissions(read=True, add=True, delete=True), expiry=expiry)
            ),
            seen_by(endpoint.sas("rl")),
            seen_by(endpoint.sas("a")),
        ]
        # Azurite takes no policy without a start.
        policy = TableAccessPolicy(permission="r", start=datetime(2026, 1, 1, tzinfo=UTC), expiry=expiry)
        table.set_table_access_policy({"readers": policy})
        policies: Any = table.get_table_access_policy()
        return seen, {name: policy.permission for name, policy in policies.items()}

    assert both(ask)[1] == {"readers": "r"}


def test_an_expired_signature_is_refused(
    azurite_tables: TableEndpoint, emulator_tables: TableEndpoint
) -> None:
    assert AZURITE["expired"]

    def ask(endpoint: TableEndpoint) -> object:
        table = endpoint.table()
        reads, past = TableSasPermissions(read=True), datetime(2020, 1, 1, tzinfo=UTC)
        sas = generate_table_sas(
            AzureNamedKeyCredential(ACCOUNT, KEY), table.table_name, permission=reads, expiry=past
        )
        client = TableClient(endpoint.url, table.table_name, credential=AzureSasCredential(sas))
        return outcome(lambda: list(client.list_entities()))

    assert ask(azurite_tables) == (403, "AuthorizationFailure")
    assert ask(emulator_tables) == (403, "AuthenticationFailed")


def test_azurite_takes_what_the_service_refuses(
    azurite_tables: TableEndpoint, emulator_tables: TableEndpoint
) -> None:
    assert AZURITE["loose"]

    def ask(endpoint: TableEndpoint) -> list[int]:
        table = endpoint.table()
        row = {"PartitionKey": "p", "RowKey": "r"}
        many = {f"P{n}": n for n in range(253)}
        calls: list[Callable[[], object]] = [
            lambda: list(table.query_entities("N eq 'x")),
            lambda: table.upsert_entity({**row, "A": EntityProperty("no guid", EdmType.GUID)}),
            lambda: table.upsert_entity({**row, **many}),
        ]
        refused = []
        for index, call in enumerate(calls):
            result = outcome(call)
            if isinstance(result, tuple):
                assert result[0] == 400
                refused.append(index)
        return refused

    assert ask(azurite_tables) == []
    assert ask(emulator_tables) == [0, 1, 2]


def test_part_of_a_table_is_opened(emulator_tables: TableEndpoint) -> None:
    table = filled(emulator_tables)
    sas = generate_table_sas(
        AzureNamedKeyCredential(ACCOUNT, KEY),
        table.table_name,
        permission=TableSasPermissions(read=True),
        expiry=datetime.now(UTC) + timedelta(hours=1),
        start_pk="a",
        start_rk="08",
        end_pk="b",
        end_rk="01",
    )
    part = TableClient(emulator_tables.url, table.table_name, credential=AzureSasCredential(sas))
    assert keys(part.list_entities()) == ["a/08", "a/09", "b/00", "b/01"]
    assert outcome(lambda: part.get_entity("b", "02")) == (403, "AuthorizationPermissionMismatch")


def test_settings_are_kept(both: Both) -> None:
    def ask(endpoint: TableEndpoint) -> object:
        service = endpoint.service
        rule = TableCorsRule(
            ["http://page.test"],
            ["GET"],
            allowed_headers=["x-ms-*"],
            exposed_headers=["x-ms-*"],
            max_age_in_seconds=9,
        )
        service.set_service_properties(cors=[rule])
        kept: Any = service.get_service_properties()["cors"]
        [kept] = kept
        service.set_service_properties(cors=[])
        assert service.get_service_properties()["cors"] == []
        return kept.allowed_origins, kept.allowed_methods, kept.exposed_headers, kept.max_age_in_seconds

    both(ask)


@pytest.mark.parametrize(
    "entity",
    [
        {"RowKey": "r"},
        {"PartitionKey": "p"},
        {"PartitionKey": "p", "RowKey": "r", "A": "x" * 32_769},
        {"PartitionKey": "p", "RowKey": "r", "A": b"x" * 65_537},
    ],
)
def test_bad_entities_are_refused(entity: dict[str, Any], both: Both) -> None:
    def ask(endpoint: TableEndpoint) -> object:
        table = endpoint.table()
        try:
            return outcome(lambda: table.create_entity(entity))
        except (ValueError, AttributeError) as error:
            return type(error).__name__

    both(ask)


@pytest.mark.parametrize("key", ["a/b", "a\\b", "a#b", "a?b", "a\tb", "a\x9fb", "k" * 513])
def test_forbidden_keys_are_refused(
    key: str, azurite_tables: TableEndpoint, emulator_tables: TableEndpoint
) -> None:
    assert AZURITE["key"]
    tables = [endpoint.table() for endpoint in (azurite_tables, emulator_tables)]
    entity = {"PartitionKey": "p", "RowKey": key}
    codes = [outcome(partial(table.create_entity, entity)) for table in tables]
    assert codes == [(400, "InvalidInput"), (400, "OutOfRangeInput")]


def raw(endpoint: TableEndpoint, path: str, accept: str) -> tuple[int, Any]:
    """Return status and JSON of an answer."""
    joint = "&" if "?" in path else "?"
    url = f"{endpoint.url}/{urllib.parse.quote(path, safe='/?&=$()$,')}{joint}{endpoint.sas()}"
    request = urllib.request.Request(url, headers={"Accept": accept, "x-ms-version": "2019-02-02"})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")


@pytest.mark.parametrize("level", ["nometadata", "minimalmetadata", "fullmetadata"])
def test_json_says_as_much_as_is_asked_for(
    level: str, azurite_tables: TableEndpoint, emulator_tables: TableEndpoint
) -> None:
    assert AZURITE["metadata"]
    assert AZURITE["time"]

    def ask(endpoint: TableEndpoint) -> object:
        table = endpoint.table()
        table.create_entity({**EVERYTHING, "PartitionKey": "p", "RowKey": "r"})
        accept = f"application/json;odata={level}"
        one = raw(endpoint, f"{table.table_name}(PartitionKey='p',RowKey='r')", accept)
        many = raw(endpoint, f"{table.table_name}()", accept)
        assert (one[0], many[0]) == (200, 200)
        listed = many[1]["value"][0]
        assert set(one[1]) - set(listed) <= {"odata.metadata"}
        shown = json.dumps({"one": one[1], "listed": listed})
        shown = shown.replace(endpoint.url, "URL").replace(table.table_name, "TABLE")
        seen = json.loads(shown)
        for entity in seen.values():
            for name in ("Timestamp", "odata.etag"):
                if name in entity:
                    entity[name] = "a time"
            for name in ("When", "Midnight"):
                entity[name] = datetime.fromisoformat(entity[name])
        return seen

    assert ask(emulator_tables) == ask(azurite_tables)


def test_other_failures_are_worded_alike(both: Both) -> None:
    def ask(endpoint: TableEndpoint) -> object:
        table = endpoint.table().table_name
        seen = []
        for path in (
            f"{table}(PartitionKey='p',RowKey='r')",
            "Nobody()",
            "Nobody(PartitionKey='p',RowKey='r')",
        ):
            status, answer = raw(endpoint, path, "application/json;odata=nometadata")
            error = answer["odata.error"]
            seen.append((status, error["code"], error["message"]["value"].split("\n")[0]))
        return seen

    both(ask)


@pytest.mark.parametrize(
    "faults", ["empty=40%,seed=1", "boundary=100%", "scan=3", "page=1us", "empty=20%,boundary=50%,scan=7"]
)
def test_the_client_reads_all_pages_however_they_end(faults: str) -> None:
    with haulage.Emulator(faults=faults) as emulator:
        table = filled(TableEndpoint("emulator", emulator.endpoint))
        expected = [f"{partition}/{row:02}" for partition in "abc" for row in range(10)]
        pages = [keys(page) for page in table.list_entities(results_per_page=4).by_page()]
    found = [key for page in pages for key in page]
    # A client that is told no RowKey begins the partition, as on the service.
    assert found == expected
    assert len(pages) > 8


def test_a_lost_answer_is_a_change_that_was_made() -> None:
    with haulage.Emulator(faults="lost=30%,seed=5") as emulator:
        service = TableServiceClient(
            emulator.endpoint, credential=AzureNamedKeyCredential(ACCOUNT, KEY), retry_total=0
        )
        table = None
        lost = 0
        table = service.create_table("Lossy")
        for row in range(30):
            try:
                table.create_entity({"PartitionKey": "p", "RowKey": f"{row:02}"})
            except (ServiceRequestError, ServiceResponseError):
                lost += 1
        stats = emulator.stats()
    assert lost == stats["faults"]["lost"] > 0
    assert stats["rows_written"] == 30


def test_what_a_query_reads_is_counted() -> None:
    with haulage.Emulator() as emulator:
        table = filled(TableEndpoint("emulator", emulator.endpoint))

        def reads(query: str) -> tuple[int, int]:
            before = emulator.stats()
            list(table.query_entities(query))
            after = emulator.stats()
            return after["rows_read"] - before["rows_read"], after["rows_returned"] - before["rows_returned"]

        assert reads("PartitionKey eq 'b' and RowKey eq '03'") == (1, 1)
        assert reads("PartitionKey eq 'b' and N ge 15") == (10, 5)
        assert reads("PartitionKey ge 'b'") == (20, 20)
        assert reads("Text eq 'it''s 3'") == (30, 3)
        assert emulator.stats()["requests"]["EntityGroupTransaction"] == 3
