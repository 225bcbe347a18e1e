"""The contract: what `docs/reference/contract.txt` lists is there, and nothing public is missing from it."""

from __future__ import annotations

from pathlib import Path

import pytest

import contract

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def there() -> set[contract.Item]:
    return contract.items()


def test_nothing_stable_is_removed_or_renamed(there: set[contract.Item]) -> None:
    gone = contract.written() - there
    hint = "bring it back; if it must go: make contract ARGS=--remove, and say so in CHANGELOG.md"
    assert not gone, f"users rely on:\n{contract.render(gone)}\nhint: {hint}"


def test_everything_public_is_written_down(there: set[contract.Item]) -> None:
    added = there - contract.written()
    hint = "if it is meant to stay as it is: make contract"
    assert not added, f"not in docs/reference/contract.txt:\n{contract.render(added)}\nhint: {hint}"


def test_every_variable_of_the_sources_is_in_the_reference() -> None:
    assert contract.variables_of_the_sources() - contract.variables_of_the_page() == set()


def test_every_setting_is_in_the_guide() -> None:
    guide = (ROOT / "docs/guides/configuration.md").read_text(encoding="utf-8")
    settings = {part for thing, part in contract.of_the_environment() if thing.startswith("configuration")}
    assert len(settings) > 20
    assert {name for name in settings if f"`{name}`" not in guide} == set()


def test_a_file_reads_back_as_it_was_written(there: set[contract.Item]) -> None:
    assert set(contract.parse(contract.render(there))) == there


def test_a_name_that_would_go_is_not_dropped_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A removal that `make contract` writes down would be seen by no test."""
    kept = tmp_path / "contract.txt"
    kept.write_text("command cp\n  --cap  --json\n", encoding="utf-8")
    monkeypatch.setattr(contract, "CONTRACT", kept)
    monkeypatch.setattr(contract, "items", lambda: {("command cp", "--json"), ("command cp", "--new")})
    monkeypatch.setattr("sys.argv", ["contract.py"])
    assert contract.main() == 1
    assert "--cap" in capsys.readouterr().err
    assert "--cap" in kept.read_text(encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["contract.py", "--remove"])
    assert contract.main() == 0
    assert set(contract.parse(kept.read_text(encoding="utf-8"))) == contract.items()
