"""fsspec's own tests of file systems, on each service."""

from __future__ import annotations

import pytest
from fsspec.tests import abstract

from endpoints import S3Endpoint
from filesystem.places import Place, azure_place, s3_place
from haulage.filesystem import HaulageFileSystem


@pytest.fixture(
    params=[
        "emulator",
        pytest.param("azurite", marks=pytest.mark.long),
        pytest.param("versitygw", marks=pytest.mark.long),
    ]
)
def place(request: pytest.FixtureRequest) -> Place:
    """A container of each service in turn; the gate asks the emulator alone."""
    found = request.getfixturevalue(request.param)
    return s3_place(found) if isinstance(found, S3Endpoint) else azure_place(found)


class _Fixtures(abstract.AbstractFixtures):  # type: ignore[misc]
    @pytest.fixture
    def fs(self, place: Place) -> HaulageFileSystem:
        return place.fs

    @pytest.fixture
    def fs_path(self, place: Place) -> str:
        return place.container

    @pytest.fixture
    def supports_empty_directories(self, request: pytest.FixtureRequest) -> bool:
        """The store has none, but a file system remembers those that were made with it.

        Those that are there only for the objects in them go with the last of them, as in a test of copies; a
        put makes its folders.
        """
        name: str = request.node.name
        return name.partition("[")[0] != "test_copy_directory_without_files_with_same_name_prefix"


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
