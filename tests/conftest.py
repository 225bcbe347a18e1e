"""Fixtures: the command, the endpoints, trees of files. All are real; nothing is mocked."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

import costs
import endpoints
import haulage
import sentences
import trees
from command import Haul, kill_started
from endpoints import Container, Endpoint, S3Endpoint, TableEndpoint
from sentences import sentence  # noqa: F401  a fixture

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def pytest_configure(config: pytest.Config) -> None:
    """Count the costs of all tests; hooks of a conftest would not see fixtures of the session."""
    config.pluginmanager.register(costs, "costs")
    # Under nohup it is ignored, by all that tests start as well.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes minutes or needs a machine of its own, unless it is asked for by mark."""
    if not any("::" in name for name in config.args):
        config.stash[sentences.LEFT_OVER] = left_over = sentences.left_over(items)
        if sentences.writing() and left_over:
            sentences.change({}, left_over)
    for mark in ("long", "clusters", "packages"):
        if mark in config.getoption("-m"):
            continue
        left_out = [item for item in items if item.get_closest_marker(mark)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    quarantined = quarantine()
    for item in items:
        if item.nodeid in quarantined:
            item.add_marker(pytest.mark.xfail(strict=False, reason="in tests/quarantine.txt"))
        # A hundred trials take longer than what bounds all others.
        if item.get_closest_marker("long") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(3600))


def quarantine() -> set[str]:
    """Return the tests that may fail: those that came to the list within two weeks."""
    lines = Path(__file__).with_name("quarantine.txt").read_text("utf-8").splitlines()
    listed = (line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    first = date.today() - timedelta(weeks=2)
    return {test for since, test in listed if date.fromisoformat(since) >= first}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
    call: pytest.CallInfo[None],  # noqa: ARG001
) -> Iterator[None]:
    """Fail a test that skips in CI: what is not run proves nothing."""
    report: pytest.TestReport = yield  # type: ignore[assignment]
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"
    item.stash[sentences.PASSED] = report.passed
    return report  # type: ignore[return-value]


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What jobs in this process remember of links, keep of logs and find configured, apart from its own."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("XDG_CACHE_HOME", str(folder))
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield folder


@pytest.fixture(autouse=True)
def nothing_left_running() -> Iterator[None]:
    """What a test that failed has started does not disturb the next one."""
    yield
    kill_started()


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with endpoints.azurite(tmp_path_factory.mktemp("azurite")) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def azurite_tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TableEndpoint]:
    with endpoints.azurite_tables(tmp_path_factory.mktemp("azurite-tables")) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def versitygw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Endpoint]:
    with endpoints.versitygw(tmp_path_factory.mktemp("versitygw")) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """The emulator with its blobs in memory, over a link as good as the machine's."""
    with endpoints.emulator(tmp_path_factory.mktemp("emulator")) as endpoint:
        yield endpoint


# Its event loop runs until the browser ends; no other test of the process could have one.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for pages."""
    # Few tests need it, and it takes a while to import.
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs Debian's chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def counting() -> Iterator[haulage.Emulator]:
    """An emulator in this process that nobody else asks, and that counts."""
    with haulage.Emulator() as own:
        yield own


@pytest.fixture
def blobs(counting: haulage.Emulator, monkeypatch: pytest.MonkeyPatch) -> Container:
    """A container of it, with its key in the environment."""
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", counting.connection_string)
    return Endpoint("in process", counting.endpoint, counting.connection_string).container()


class StartEmulator(Protocol):
    def __call__(self, *, store: str = ..., link: str = ..., faults: str = ...) -> Endpoint: ...


@pytest.fixture
def start_emulator(tmp_path: Path) -> Iterator[StartEmulator]:
    """Start emulators of any kind; they end with the test."""
    with ExitStack() as stack:

        def start(*, store: str = "memory", link: str = "none", faults: str = "") -> Endpoint:
            return stack.enter_context(endpoints.emulator(tmp_path, store=store, link=link, faults=faults))

        yield start


@pytest.fixture(params=["azurite", "emulator"])
def endpoint(request: pytest.FixtureRequest) -> Endpoint:
    found: Endpoint = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def container(endpoint: Endpoint) -> Container:
    return endpoint.container()


@pytest.fixture
def haul(tmp_path: Path, request: pytest.FixtureRequest) -> Haul:
    """The command, with the key of the endpoint that the test uses in its environment."""
    names = ("endpoint", "emulator", "azurite")
    used = [request.getfixturevalue(name) for name in names if name in request.fixturenames]
    return Haul(tmp_path, used[0].env if used else {}, [endpoints.KEY])


@pytest.fixture
def haul_at(tmp_path: Path) -> Callable[[Endpoint], Haul]:
    """Return the command for an endpoint that the test started."""
    return lambda endpoint: Haul(tmp_path, endpoint.env, [endpoints.KEY])


@pytest.fixture(params=["versitygw", "emulator"])
def service(request: pytest.FixtureRequest) -> S3Endpoint:
    """Each server of S3 in turn."""
    found = request.getfixturevalue(request.param)
    return found if isinstance(found, S3Endpoint) else endpoints.by_s3(found)


@pytest.fixture
def s3(tmp_path: Path, service: S3Endpoint) -> Haul:
    """The command, with the keys of the server in its environment."""
    return Haul(tmp_path, service.env, [service.keys[1]])


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A few files of awkward names and one of several megabytes."""
    folder = trees.make(tmp_path / "tree", files=20)
    trees.random_file(folder / "large.bin", 3_000_001)
    return folder
