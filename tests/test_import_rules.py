"""`scripts/check_imports.py` finds what it is there to find."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "scripts/check_imports.py"


@pytest.fixture(scope="module")
def rules() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_imports", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def broken(rules: ModuleType) -> list[tuple[str, str]]:
    """Return a part of the engine and a module that it must not import, for each rule there is."""
    pairs = [(part, name) for part, names in rules.ENGINE_MUST_NOT.items() for name in names]
    return [*pairs, *((part, "store") for part in rules.ENGINE_ONLY)]


@pytest.mark.parametrize("form", ["{}.rs", "{}/mod.rs", "{}/deep/er.rs"])
def test_a_broken_arrow_is_a_fault_wherever_it_lies(
    rules: ModuleType, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "ENGINE", tmp_path)
    for part, name in broken(rules):
        path = tmp_path / form.format(part)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"use crate::{name}::Thing;\n")
        assert f"crates/haulage/src/{form.format(part)}: must not use crate::{name}" in rules.engine_faults()
        path.write_text("use crate::units::ByteSize;\n")


def test_a_rule_for_what_is_not_there_is_a_fault(
    rules: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rule for `checksum.rs` went on holding when that had become a folder: it held for nothing."""
    monkeypatch.setattr(rules, "ENGINE", tmp_path)
    assert len(list(rules.engine_faults())) == len(rules.ENGINE_MUST_NOT) + len(rules.ENGINE_ONLY)


def test_imports_of_rust_are_found_however_they_are_written(rules: ModuleType) -> None:
    source = """
        use crate::job::Job; // crate::stage in a comment does not count
        use crate::{
            store::{Store, Payload},
            units,
        };
        fn f() { crate::http::get() }
        #[cfg(test)]
        mod tests { use crate::stage; }
    """
    assert rules.engine_imports(source) == {"job", "store", "units", "http"}


def test_imports_of_python_are_found_however_they_are_written(rules: ModuleType, tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        "from typing import TYPE_CHECKING\n"
        "import haulage.lab.plans\n"
        "from haulage import _engine, copy\n"
        "if TYPE_CHECKING:\n    import haulage.view\n"
        "def f():\n    from haulage.events import Summary\n"
    )
    assert rules.python_imports(module) == {"lab", "_engine", "__init__", "events"}
