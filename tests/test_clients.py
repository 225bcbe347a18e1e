"""AzCopy and rclone move trees to and from `haul emulate`; `haul` reads what they wrote."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

import endpoints
import trees
from command import Haul, clean_environment
from endpoints import ACCOUNT, AZCOPY, KEY, RCLONE, Container, Endpoint


def run(folder: Path, *args: str | Path, env: Mapping[str, str]) -> None:
    ran = subprocess.run(
        [*map(str, args)],
        cwd=folder,
        env={**clean_environment(folder), **env},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]


def azcopy(folder: Path, *args: str | Path, zone: str = "UTC") -> None:
    env = {"AZCOPY_LOG_LOCATION": str(folder / "log"), "AZCOPY_JOB_PLAN_LOCATION": str(folder / "plan")}
    run(folder, AZCOPY, *args, "--skip-version-check", env=env | {"TZ": zone})


def rclone(
    folder: Path, endpoint: Endpoint, *args: str | Path, cloud: str = "azure", zone: str = "UTC"
) -> None:
    """Run rclone; `test:` is the interface of `cloud`, `azure:` and `s3:` are both."""
    by_s3 = endpoints.by_s3(endpoint)
    settings = {
        "azure": {"TYPE": "azureblob", "ACCOUNT": ACCOUNT, "KEY": KEY, "ENDPOINT": endpoint.url},
        "s3": {
            "TYPE": "s3",
            "PROVIDER": "Other",
            "ACCESS_KEY_ID": by_s3.keys[0],
            "SECRET_ACCESS_KEY": by_s3.keys[1],
            "ENDPOINT": by_s3.url,
            "REGION": "us-east-1",
        },
    }
    remotes = {**settings, "test": settings[cloud]}
    env = {
        f"RCLONE_CONFIG_{remote.upper()}_{name}": value
        for remote, values in remotes.items()
        for name, value in values.items()
    }
    how = ("--azureblob-no-check-container", "--s3-no-check-bucket")
    run(folder, RCLONE, *args, "--config", "", *how, env=env | {"TZ": zone})


def test_azcopy_moves_a_tree_to_and_from_the_emulator(
    emulator: Endpoint, haul: Haul, tree: Path, tmp_path: Path
) -> None:
    container, sas = emulator.container(), emulator.sas()
    azcopy(
        tmp_path,
        "copy",
        f"{tree}/*",
        container.url("", sas),
        "--recursive",
        "--put-md5",
        "--from-to=LocalBlob",
    )
    trees.assert_same(container.contents(), trees.contents(tree))

    azcopy(
        tmp_path,
        "copy",
        container.url("*", sas),
        "back",
        "--recursive",
        "--from-to=BlobLocal",
        "--check-md5=FailIfDifferentOrMissing",
    )
    trees.assert_same(trees.contents(tmp_path / "back"), trees.contents(tree))
    haul("verify", tree, container.az())


@pytest.mark.long
def test_azcopy_reads_what_haul_wrote(emulator: Endpoint, haul: Haul, tree: Path, tmp_path: Path) -> None:
    container, sas = emulator.container(), emulator.sas()
    haul("cp", tree, container.az(), "--content-md5")
    azcopy(
        tmp_path,
        "copy",
        container.url("*", sas),
        "back",
        "--recursive",
        "--from-to=BlobLocal",
        "--check-md5=FailIfDifferentOrMissing",
    )
    trees.assert_same(trees.contents(tmp_path / "back"), trees.contents(tree))


def test_rclone_moves_a_tree_to_and_from_the_emulator(
    emulator: Endpoint, haul: Haul, tree: Path, tmp_path: Path
) -> None:
    container: Container = emulator.container()
    rclone(tmp_path, emulator, "copy", tree, f"test:{container.name}/run")
    rclone(tmp_path, emulator, "copy", f"test:{container.name}/run", "back")
    trees.assert_same(trees.contents(tmp_path / "back"), trees.contents(tree))
    haul("cp", container.az("run/"), "by-haul")
    trees.assert_same(trees.contents(tmp_path / "by-haul"), trees.contents(tree))


def test_rclone_checks_what_haul_wrote(emulator: Endpoint, haul: Haul, tree: Path, tmp_path: Path) -> None:
    container = emulator.container()
    haul("cp", tree, container.az(), "--content-md5")
    rclone(tmp_path, emulator, "check", tree, f"test:{container.name}")


def test_azcopy_chooses_tags_and_a_tier(emulator: Endpoint, tree: Path, tmp_path: Path) -> None:
    container, sas = emulator.container(), emulator.sas("rwdlact")
    chosen = ["--block-blob-tier=Cool", "--blob-tags=project=alpha&release=2025-08"]
    to = container.url("large.bin", sas)
    azcopy(tmp_path, "copy", tree / "large.bin", to, "--from-to=LocalBlob", "--block-size-mb=1", *chosen)
    blob = container.client.get_blob_client("large.bin")
    assert blob.get_blob_tags() == {"project": "alpha", "release": "2025-08"}
    assert blob.get_blob_properties().blob_tier == "Cool"
    assert blob.download_blob().readall() == (tree / "large.bin").read_bytes()


def test_nothing_is_moved_again_after_rclone(
    emulator: Endpoint, haul: Haul, tree: Path, tmp_path: Path
) -> None:
    """Each knows the times that the other has written."""
    container = emulator.container()
    rclone(tmp_path, emulator, "copy", tree, f"test:{container.name}")
    first = haul("cp", tree, container.az(), "--json").summary
    assert (first["objects_done"], first["objects_skipped"]) == (0, len(trees.contents(tree)))

    container = emulator.container()
    haul("cp", tree, container.az())
    before = {blob.name: blob.etag for blob in container.client.list_blobs()}
    rclone(tmp_path, emulator, "copy", tree, f"test:{container.name}")
    assert {blob.name: blob.etag for blob in container.client.list_blobs()} == before


def test_a_time_that_rclone_sets_later_counts(emulator: Endpoint, haul: Haul, tmp_path: Path) -> None:
    container = emulator.container()
    (tmp_path / "file").write_bytes(b"content")
    haul("cp", "file", container.az("file"))
    rclone(tmp_path, emulator, "touch", "-t", "2001-02-03T04:05:06.789", f"test:{container.name}/file")
    haul("cp", container.az("file"), "back")
    assert (tmp_path / "back").stat().st_mtime_ns == 981_173_106_789_000_000


@pytest.mark.long
def test_nothing_is_moved_again_after_azcopy(
    emulator: Endpoint, haul: Haul, tree: Path, tmp_path: Path
) -> None:
    container, sas = emulator.container(), emulator.sas()
    how = ["--recursive", "--from-to=LocalBlob", "--preserve-posix-properties"]
    azcopy(tmp_path, "copy", f"{tree}/*", container.url("", sas), *how)
    first = haul("cp", tree, container.az(), "--json").summary
    assert (first["objects_done"], first["objects_skipped"]) == (0, len(trees.contents(tree)))
