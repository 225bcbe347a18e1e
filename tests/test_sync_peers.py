"""What rclone and AzCopy have copied to a service of others, a sync leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import trees
from command import Haul
from endpoints import ACCOUNT, KEY, RCLONE, Endpoint, S3Endpoint
from test_clients import azcopy, run


def assert_equal_already(haul: Haul, source: Path, there: str) -> None:
    """Sync up and down, and fail where a byte moves or anything is deleted."""
    objects = len(trees.contents(source))
    for line in (["sync", str(source), there], ["sync", there, str(source)]):
        went = haul(*line, "--delete", "--json").summary
        moved = (went["objects_skipped"], went["objects_done"], went["bytes_done"], went["objects_deleted"])
        assert moved == (objects, 0, 0, 0), line


def rclone_to(folder: Path, source: Path, place: str, settings: dict[str, str]) -> None:
    env = {f"RCLONE_CONFIG_TEST_{name}": value for name, value in settings.items()}
    how = ("--azureblob-no-check-container", "--config", "")
    run(folder, RCLONE, "copy", source, f"test:{place}", *how, env=env)


def test_a_tree_of_rclone_on_azurite(azurite: Endpoint, tree: Path, tmp_path: Path) -> None:
    container = azurite.container()
    settings = {"TYPE": "azureblob", "ACCOUNT": ACCOUNT, "KEY": KEY, "ENDPOINT": azurite.url}
    rclone_to(tmp_path, tree, f"{container.name}/t", settings)
    assert_equal_already(Haul(tmp_path, azurite.env, [KEY]), tree, container.az("t/"))


@pytest.mark.long
def test_a_tree_of_azcopy_on_azurite(azurite: Endpoint, tree: Path, tmp_path: Path) -> None:
    container, sas = azurite.container(), azurite.sas()
    how = ["--recursive", "--from-to=LocalBlob", "--preserve-posix-properties", "--put-md5"]
    azcopy(tmp_path, "copy", f"{tree}/*", container.url("", sas), *how)
    assert_equal_already(Haul(tmp_path, azurite.env, [KEY]), tree, container.az())


def test_a_tree_of_rclone_on_versitygw(versitygw: S3Endpoint, tree: Path, tmp_path: Path) -> None:
    haul, bucket = Haul(tmp_path, versitygw.env, versitygw.keys[1:]), versitygw.new_name()
    haul("mb", f"s3://{bucket}")
    key, secret = versitygw.keys
    settings = {
        "TYPE": "s3",
        "PROVIDER": "Other",
        "ACCESS_KEY_ID": key,
        "SECRET_ACCESS_KEY": secret,
        "ENDPOINT": versitygw.url,
        "REGION": "us-east-1",
    }
    rclone_to(tmp_path, tree, f"{bucket}/t", settings)
    assert_equal_already(haul, tree, f"s3://{bucket}/t/")
