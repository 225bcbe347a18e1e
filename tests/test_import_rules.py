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


def test_no_arrow_is_broken(rules: ModuleType) -> None:
    assert rules.main() == 0


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
