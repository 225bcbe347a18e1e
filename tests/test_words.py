"""`scripts/check_words.py` finds what it is there to find."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts/check_words.py"


@pytest.fixture(scope="module")
def words() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_words", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look for their module there.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("docs/a.md", "Run it again when the service\nhas rest."),
        (
            "crates/haulage-cli/src/a.rs",
            "    /// Again, when the service\n    /// has rest",
        ),
        ("crates/haulage/src/a.rs", 'const A: &str = "when the service \\\n    has rest";'),
        ("crates/haulage/src/a.rs", 'const A: &str = r#"when "it" has rest"#;'),
        ("python/haulage/a.py", '"""Again.\n\nWhen the service has rest.\n"""'),
        ("python/haulage/a.py", 'hint = f"when {name}" " has rest"'),
    ],
)
def test_a_phrase_is_found(words: ModuleType, path: str, source: str) -> None:
    assert [fault for fault in words.faults(path, source) if "has rest" in fault]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("crates/haulage/src/a.rs", "// when the service has rest\nfn a() {}"),
        ("crates/haulage/src/a.rs", '#[cfg(test)]\nmod tests { const A: &str = "when it has rest"; }'),
        ("python/haulage/a.py", "# when the service has rest\n"),
        ("docs/a.md", "When the service\n\nis less busy, it has restarted."),
        ("CONTRIBUTING.md", "| when ... has rest | when ... is less busy |"),
    ],
)
def test_what_users_do_not_read_is_left_alone(words: ModuleType, path: str, source: str) -> None:
    assert list(words.faults(path, source)) == []
