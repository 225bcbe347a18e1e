"""Two sides of a sync or a move: where they are, what is put there and what is found there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import trees
from command import Haul
from endpoints import Container

STORES = pytest.mark.parametrize("store", ["local", "azure", "s3"])


def place(store: str, container: Container, folder: Path, name: str) -> str:
    """Return a name for a folder or prefix."""
    if store == "local":
        return f"{folder / name}/"
    return container.az(f"{name}/") if store == "azure" else f"s3://{container.name}/{name}/"


def fill(folder: Path, names: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in names.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def contents(haul: Haul, place: str) -> dict[str, bytes]:
    back = haul.folder / "back"
    shutil.rmtree(back, ignore_errors=True)
    if place.startswith("/"):
        return trees.contents(Path(place)) if Path(place).exists() else {}
    haul("cp", place, back)
    return trees.contents(back)
