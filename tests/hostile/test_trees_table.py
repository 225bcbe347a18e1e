"""The documents list the hostile folders and files that are tested."""

from __future__ import annotations

from hostile import trees_table


def test_the_table_agrees_with_the_tests() -> None:
    """Run `python -m hostile.trees_table` in `tests` where this fails."""
    assert trees_table.BEGIN + trees_table.table() + trees_table.END in trees_table.PAGE.read_text()


def test_every_file_of_tests_is_in_the_table() -> None:
    files = {path.name for path in trees_table.HERE.glob("test_trees_*.py")}
    assert files - trees_table.FILES.keys() == {"test_trees_helpers.py", "test_trees_table.py"}
