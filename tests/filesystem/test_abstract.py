"""fsspec's own tests of file systems, on each service."""

from __future__ import annotations

import pytest
from fsspec.tests import abstract

from filesystem.places import Place
from haulage.filesystem import HaulageFileSystem


class _Fixtures(abstract.AbstractFixtures):  # type: ignore[misc]
    @pytest.fixture
    def fs(self, place: Place) -> HaulageFileSystem:
        return place.fs

    @pytest.fixture
    def fs_path(self, place: Place) -> str:
        return place.container

    @pytest.fixture
    def supports_empty_directories(self) -> bool:
        """A prefix without an object is not there."""
        return False


class TestCopy(abstract.AbstractCopyTests, _Fixtures):  # type: ignore[misc]
    pass


class TestGet(abstract.AbstractGetTests, _Fixtures):  # type: ignore[misc]
    pass


class TestPut(abstract.AbstractPutTests, _Fixtures):  # type: ignore[misc]
    pass


class TestPipe(abstract.AbstractPipeTests, _Fixtures):  # type: ignore[misc]
    pass


class TestOpen(abstract.AbstractOpenTests, _Fixtures):  # type: ignore[misc]
    pass
