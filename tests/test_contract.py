"""The contract: `tests/contract.txt` lists what is there, and nothing that was released goes."""

from __future__ import annotations

from pathlib import Path

import pytest

import contract

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def there() -> set[contract.Item]:
    return contract.items()


def test_the_file_lists_what_is_there(there: set[contract.Item]) -> None:
    gone, added = contract.written() - there, there - contract.written()
    hint = "to show and record the difference: make contract; what is released must not go"
    lists = f"not there:\n{contract.render(gone)}\nnot listed:\n{contract.render(added)}"
    assert not gone | added, f"tests/contract.txt:\n{lists}\nhint: {hint}"


def test_every_variable_of_the_sources_is_in_the_reference() -> None:
    assert contract.variables_of_the_sources() - contract.variables_of_the_page() == set()


def test_every_setting_is_in_the_guide() -> None:
    guide = (ROOT / "docs/guides/configuration.md").read_text(encoding="utf-8")
    settings = {part for thing, part in contract.of_the_environment() if thing.startswith("configuration")}
    assert len(settings) > 20
    assert {name for name in settings if f"`{name}`" not in guide} == set()


def test_a_file_reads_back_as_it_was_written(there: set[contract.Item]) -> None:
    assert set(contract.parse(contract.render(there))) == there


UNRELEASED, RELEASED = "## [Unreleased] 0.1.0\n", "## [0.1.0] - 2027-01-31\n"


@pytest.mark.parametrize(
    ("changelog", "options", "code"),
    [(UNRELEASED, [], 0), (RELEASED, [], 1), (UNRELEASED + RELEASED, [], 1), (RELEASED, ["--remove"], 0)],
    ids=["unreleased", "released", "the-next-unreleased", "asked"],
)
def test_a_released_name_is_not_dropped_unasked(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    changelog: str,
    options: list[str],
    code: int,
) -> None:
    """A removal that `make contract` writes down would be seen by no test."""
    listed, kept = tmp_path / "contract.txt", tmp_path / "CHANGELOG.md"
    before = "command cp\n  --cap  --json\n"
    listed.write_text(before, encoding="utf-8")
    kept.write_text(changelog, encoding="utf-8")
    there = {("command cp", "--json"), ("command cp", "--new")}
    monkeypatch.setattr(contract, "CONTRACT", listed)
    monkeypatch.setattr(contract, "CHANGELOG", kept)
    monkeypatch.setattr(contract, "items", lambda: there)
    monkeypatch.setattr("sys.argv", ["contract.py", *options])
    assert contract.main() == code
    said = capsys.readouterr().err
    assert "--cap" in said
    assert "--new" in said
    assert listed.read_text(encoding="utf-8") == (before if code else contract.render(there))
